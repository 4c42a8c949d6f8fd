"""Two network namespaces that reach the middle one and not each other: what runs on them has nothing but a relay.

    one 10.77.1.2 ── 10.77.1.1  middle 10.77.0.1  10.77.2.1 ── 10.77.2.2 other

Needs root, or a kernel that lets everybody make user namespaces: then the whole bench is run inside one.
"""

import subprocess
import sys

from .process import Failed

# The address of the middle one that both sides have a route to.
MIDDLE = "10.77.0.1"


class Islands:
    def __init__(self):
        self.holders: dict[str, subprocess.Popen] = {}
        try:
            for name in ("middle", "one", "other"):
                self.holders[name] = subprocess.Popen(
                    ["unshare", "--net", sys.executable, "-c", "print(flush=True); import sys; sys.stdin.read()"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                if not self.holders[name].stdout.readline():
                    raise Failed(f"no network namespace: {self.holders[name].stderr.read().strip()}")
                self.ip(name, "link", "set", "lo", "up")
            self.ip("middle", "address", "add", f"{MIDDLE}/32", "dev", "lo")
            for number, name in enumerate(("one", "other"), 1):
                self.connect(name, number)
        except BaseException:
            self.close()
            raise

    def connect(self, name: str, number: int) -> None:
        self.ip("middle", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "up0", "netns",
                str(self.holders[name].pid))
        for where, device, address in (("middle", f"to-{name}", 1), (name, "up0", 2)):
            self.ip(where, "address", "add", f"10.77.{number}.{address}/24", "dev", device)
            self.ip(where, "link", "set", device, "up")
        self.ip(name, "route", "add", f"{MIDDLE}/32", "via", f"10.77.{number}.1")

    def ip(self, name: str, *words: str) -> None:
        done = subprocess.run(self.on(name, "ip", *words), capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def on(self, name: str, *command: str) -> list[str]:
        """The command line that runs `command` there, in a process of its own."""
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net", "--", *(str(word) for word in command)]

    def close(self) -> None:
        for holder in self.holders.values():
            holder.kill()
            holder.wait()

    def get(self, url: str) -> str:
        """What HTTP answers in the middle."""
        program = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"
        done = subprocess.run(
            self.on("middle", sys.executable, "-c", program, url), capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise Failed(f"GET {url}: {done.stderr.strip()[-200:]}")
        return done.stdout
