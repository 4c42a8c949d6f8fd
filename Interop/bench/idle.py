"""What idle devices cost the real `mew daemon`: memory, and the round trip of those that are not idle."""

import json
import os
import statistics
import subprocess
from pathlib import Path

from phone.daemon import Daemon

from .process import Server, run

CONNECTIONS = 1000


def measure(directory: Path, pings: int, rounds: int) -> dict:
    """Resident bytes per connection, and the medians of ping round trips at one connection and beside the idle ones."""
    place = directory / "idle"
    place.mkdir()
    with Daemon(os.environ["MEW"], place) as daemon:
        client = Client(place / "client")
        client.pair(daemon)
        alone = statistics.median(client.ping(pings) for _ in range(rounds))
        before = resident_bytes(daemon.process.pid)
        with Server(client.binary, "bench", "hold", "interop", "--connections", str(CONNECTIONS), "--json",
                    env=client.environment) as held:
            assert held.ready["connections"] == CONNECTIONS, held.ready
            after = resident_bytes(daemon.process.pid)
            crowded = statistics.median(client.ping(pings) for _ in range(rounds))
    return {"kib_per_connection": (after - before) / 1024 / CONNECTIONS, "alone_us": alone, "crowded_us": crowded}


class Client:
    def __init__(self, home: Path):
        self.binary = os.environ["MEW"]
        self.environment = {**os.environ, "MEW_HOME": str(home)}

    def pair(self, daemon: Daemon) -> None:
        window = daemon.command("pair", "--no-qr")
        payload = json.loads(window.stdout.readline())["payload"]
        subprocess.run(
            [self.binary, "add", payload, "--name", "interop", "--addr", f"127.0.0.1:{daemon.port}"],
            env=self.environment, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        window.wait()

    def ping(self, count: int) -> float:
        """The median round trip of a `ping` message on one connection, in microseconds."""
        return run(self.binary, "bench", "ping", "interop", "--count", str(count), "--json", env=self.environment)["p50_us"]


def resident_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")
