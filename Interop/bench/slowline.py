"""A desk and a laptop with a line of 256 kbit/s and 50 ms between them (lab/cable.py), in network namespaces.

    desk 10.79.0.1 ── far  line  near ── 10.79.0.2 laptop
"""

import subprocess
import sys
from pathlib import Path

from .namespaces import Namespaces
from .process import Failed

CABLE = Path(__file__).parent.parent / "lab" / "cable.py"
BITS_PER_SECOND = 256_000
DELAY_SECONDS = 0.05


class SlowLine(Namespaces):
    NAMES = ("desk", "line", "laptop")
    LINE: tuple[float, ...] = (DELAY_SECONDS, BITS_PER_SECOND)
    DESK = "10.79.0.1"
    LAPTOP = "10.79.0.2"

    cable: subprocess.Popen | None = None

    def build(self) -> None:
        self.connect("far", "desk", self.DESK)
        self.connect("near", "laptop", self.LAPTOP)
        self.cable = subprocess.Popen(
            self.on("line", sys.executable, CABLE, "carry", "near", "far", *self.LINE),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.cable.stdout.readline().strip() != "carrying":
            raise Failed("the slow line does not carry")

    def connect(self, end: str, name: str, address: str) -> None:
        self.pair("line", end, name, "eth0")
        self.run("line", "ip", "link", "set", end, "up")
        self.run(name, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.run(name, "ip", "link", "set", "eth0", "up")
        for where, interface in (("line", end), (name, "eth0")):
            self.run(where, sys.executable, CABLE, "plain", interface)

    def desk(self, *command: str) -> list[str]:
        return self.on("desk", *command)

    def laptop(self, *command: str) -> list[str]:
        return self.on("laptop", *command)

    def close(self) -> None:
        if self.cable:
            self.cable.kill()
            self.cable.wait()
        super().close()
