# mew in a container: the one program, for a daemon or a relay.
#
#   docker build -t mew .
#   docker run -d --name relay -p 3340:3340 -p 3340:3340/udp -p 7842:7842/udp mew relay
#   docker run -d --name desk -v mew:/var/lib/mew mew daemon --relay http://relay.example:3340
#
# Interop/run builds with this file, and with other base images where no registry can be reached. Both bases must be of the same
# Debian release: 12 or 13.
ARG BUILDER=swift:6.3-bookworm
ARG RUNTIME=debian:bookworm-slim

FROM ${BUILDER} AS builder
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /src
COPY Scripts Scripts
RUN Scripts/setup
COPY . .
# What to build besides; Interop adds its own program.
ARG PRODUCTS=mew
# The build directory outlives a build, so that the next one compiles only what has changed. The program needs nothing of the
# toolchain when it runs, and the packages of the libraries it does need are written down from what it is linked with.
RUN --mount=type=cache,target=/src/.build \
    mkdir -p /out/usr/local/bin /out/usr/share/mew; \
    for product in $PRODUCTS; do \
        swift build -c release --static-swift-stdlib --product "$product"; \
        install -s -m 755 "$(swift build -c release --static-swift-stdlib --show-bin-path)/$product" /out/usr/local/bin/; \
    done; \
    ldd /out/usr/local/bin/mew | sed -nE 's/.*=> (.*) \(.*/\1/p' | while read -r library; do \
        dpkg-query -S "*/$(basename "$library")" | cut -d: -f1 | head -n 1; \
    done | sort -u > /out/usr/share/mew/packages; \
    install -m 755 Scripts/container-health /out/usr/local/bin/mew-health

FROM ${RUNTIME}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
COPY --from=builder /out /
COPY Scripts/common.sh /tmp/Scripts/
RUN source /tmp/Scripts/common.sh; \
    apt-get update -qq; \
    [ -z "$(ngtcp2_suite)" ] || enable_backports; \
    DEBIAN_FRONTEND=noninteractive xargs -a /usr/share/mew/packages apt-get install -y -qq --no-install-recommends ca-certificates; \
    rm -rf /var/lib/apt/lists/* /tmp/Scripts; \
    mew --version; \
    useradd --system --uid 1000 --home-dir /home/mew --create-home --shell /bin/bash mew; \
    install -d -o mew -g mew -m 700 /var/lib/mew
ENV MEW_HOME=/var/lib/mew
VOLUME /var/lib/mew
USER mew
WORKDIR /home/mew
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s CMD ["mew-health"]
# The program tells its devices or clients when it is stopped.
STOPSIGNAL SIGTERM
ENTRYPOINT ["mew"]
CMD ["daemon"]
