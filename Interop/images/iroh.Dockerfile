# Foreign peers from PyPI (iroh, aioquic), driven by the Python of this directory, beside our own programs. The context holds
# `wheels`, downloaded on the host, and a copy of this directory.
ARG PRODUCT
FROM ${PRODUCT}
USER root
RUN apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv procps && \
    rm -rf /var/lib/apt/lists/*
ARG VERSION
COPY wheels /tmp/wheels
COPY interop/requirements-${VERSION}.txt /tmp/requirements.txt
RUN python3 -m venv /opt/iroh && \
    /opt/iroh/bin/pip install --quiet --no-index --find-links /tmp/wheels -r /tmp/requirements.txt && rm -rf /tmp/wheels
COPY interop /opt/interop
ENV PYTHONPATH=/opt/interop PYTHONDONTWRITEBYTECODE=1 MEW=/usr/local/bin/mew MEW_INTEROP_NODE=/usr/local/bin/interop-node
USER mew
