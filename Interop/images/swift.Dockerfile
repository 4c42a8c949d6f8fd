# A builder without a toolchain of its own: the one of this host is mounted, or copied in by `images.py`, where no Swift image can
# be had. Needs Debian 12 where the host's toolchain is one for Debian 12, and so on.
ARG BASE
FROM ${BASE}
# What the compiler, the linker and the package manager are linked with, and the C headers they build against.
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        binutils ca-certificates git libc6-dev libcurl4 libgcc-12-dev libncurses6 libsqlite3-0 libstdc++-12-dev libxml2 tzdata \
        zlib1g-dev && \
    rm -rf /var/lib/apt/lists/*
ARG TOOLCHAIN
ENV PATH=${TOOLCHAIN}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
