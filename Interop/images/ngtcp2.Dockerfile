# ngtcp2's own client and server, as Debian ships them. The context is the root of the repository.
ARG BASE
FROM ${BASE}
COPY Scripts/common.sh /tmp/Scripts/
RUN bash -euc 'source /tmp/Scripts/common.sh; apt-get update -qq; [ -z "$(ngtcp2_suite)" ] || enable_backports; \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ngtcp2-client ngtcp2-server openssl; \
    rm -rf /var/lib/apt/lists/* /tmp/Scripts'
