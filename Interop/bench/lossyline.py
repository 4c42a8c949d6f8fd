"""A relay with two nodes beside it, and a client behind a line of 20 Mbit/s, 40 ms there and back, which loses one frame in a hundred
(lab/cable.py), in network namespaces.

    relay, A, B 10.80.0.1 ── far  line  near ── 10.80.0.2 client
"""

import os
from pathlib import Path

from .process import Server, run
from .slowline import SlowLine

BITS_PER_SECOND = 20_000_000
DELAY_SECONDS = 0.02
LOSS = 0.01
PORT = 3340


class LossyLine(SlowLine):
    DESK = "10.80.0.1"
    LAPTOP = "10.80.0.2"
    LINE = (DELAY_SECONDS, BITS_PER_SECOND, LOSS)


def beside(directory: Path, http3: bool, seconds: float, tcp: str | None = None, bbr: bool = False) -> dict:
    """Round trips with B while A sends all it can, both by the client's one leg to the relay.

    `tcp` is what the kernel's TCP runs, `bbr` says what A and B run inside.
    """
    mew, url = os.environ["MEW"], f"http://{LossyLine.DESK}:{PORT}/"
    words = ["--http3"] if http3 else []
    udp = ["--udp", "0.0.0.0:7842"] if http3 else ["--no-udp"]
    with LossyLine() as line:
        env = {**os.environ, "MEW_HOME": str(directory / "lossy")}
        serve = [mew, "bench", "serve", "--bind", "0.0.0.0:0", "--relay", url, "--json", *words, *(["--bbr"] if bbr else [])]
        for name in ("desk", "laptop") if tcp else ():
            line.run(name, "sysctl", "-q", "-w", f"net.ipv4.tcp_congestion_control={tcp}")
        with Server(*line.desk(mew, "relay", "--json", "--http", f"0.0.0.0:{PORT}", *udp, "--log-level", "warning"), env=env), \
                Server(*line.desk(*serve), env=env) as one, Server(*line.desk(*serve), env=env) as other:
            found = run(*line.laptop(
                mew, "bench", "beside", other.ready["node_id"], url, one.ready["node_id"], "--milliseconds", str(int(seconds * 1000)),
                "--json", *words), env=env)
    wanted = "http/3" if http3 else "websocket"
    assert found["transport"] == wanted, found
    return {key: found[key] for key in ("p50_us", "p99_us", "bulk_mb_per_second")}
