"""A desk and a laptop with a line of 256 kbit/s and 50 ms between them (lab/cable.py), in network namespaces.

    desk 10.79.0.1 ── far  line  near ── 10.79.0.2 laptop

Needs root, or a kernel that lets everybody make user namespaces: then the whole bench is run inside one.
"""

import subprocess
import sys
from pathlib import Path

from .process import Failed

CABLE = Path(__file__).parent.parent / "lab" / "cable.py"
BITS_PER_SECOND = 256_000
DELAY_SECONDS = 0.05


class SlowLine:
    DESK = "10.79.0.1"
    LAPTOP = "10.79.0.2"

    def __init__(self):
        self.holders: dict[str, subprocess.Popen] = {}
        try:
            for name in ("desk", "line", "laptop"):
                self.holders[name] = subprocess.Popen(
                    ["unshare", "--net", sys.executable, "-c", "print(flush=True); import sys; sys.stdin.read()"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                if not self.holders[name].stdout.readline():
                    raise Failed(f"no network namespace: {self.holders[name].stderr.read().strip()}")
                self.run(name, "ip", "link", "set", "lo", "up")
            self.connect("far", "desk", self.DESK)
            self.connect("near", "laptop", self.LAPTOP)
            self.cable = subprocess.Popen(
                self.on("line", sys.executable, str(CABLE), "carry", "near", "far", str(DELAY_SECONDS), str(BITS_PER_SECOND)),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            if self.cable.stdout.readline().strip() != "carrying":
                raise Failed("the slow line does not carry")
        except BaseException:
            self.close()
            raise

    def connect(self, end: str, name: str, address: str) -> None:
        self.run("line", "ip", "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", str(self.holders[name].pid))
        self.run("line", "ip", "link", "set", end, "up")
        self.run(name, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.run(name, "ip", "link", "set", "eth0", "up")
        for where, interface in (("line", end), (name, "eth0")):
            self.run(where, sys.executable, str(CABLE), "plain", interface)

    def on(self, name: str, *command: str) -> list[str]:
        """The command line that runs `command` there, in a process of its own."""
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net", "--", *command]

    def desk(self, *command: str) -> list[str]:
        return self.on("desk", *command)

    def laptop(self, *command: str) -> list[str]:
        return self.on("laptop", *command)

    def run(self, name: str, *command: str) -> None:
        done = subprocess.run(self.on(name, *command), capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")

    def close(self) -> None:
        if hasattr(self, "cable"):
            self.cable.kill()
            self.cable.wait()
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
