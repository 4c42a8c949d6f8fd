# coturn's own clients, as Debian ships them.
ARG BASE
FROM ${BASE}
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends coturn && rm -rf /var/lib/apt/lists/*
