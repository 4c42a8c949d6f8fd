"""Two network namespaces that reach the middle one and not each other: what runs on them has nothing but a relay.

    one 10.77.1.2 ── 10.77.1.1  middle 10.77.0.1  10.77.2.1 ── 10.77.2.2 other
"""

import sys

from .namespaces import Namespaces

# The address of the middle one that both sides have a route to.
MIDDLE = "10.77.0.1"


class Islands(Namespaces):
    NAMES = ("middle", "one", "other")

    def build(self) -> None:
        self.ip("middle", "address", "add", f"{MIDDLE}/32", "dev", "lo")
        for number, name in enumerate(("one", "other"), 1):
            self.connect(name, number)

    def connect(self, name: str, number: int) -> None:
        self.pair("middle", f"to-{name}", name, "up0")
        for where, device, address in (("middle", f"to-{name}", 1), (name, "up0", 2)):
            self.ip(where, "address", "add", f"10.77.{number}.{address}/24", "dev", device)
            self.ip(where, "link", "set", device, "up")
        self.ip(name, "route", "add", f"{MIDDLE}/32", "via", f"10.77.{number}.1")

    def ip(self, name: str, *words: str) -> None:
        self.run(name, "ip", *words)

    def get(self, url: str) -> str:
        """What HTTP answers in the middle."""
        program = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"
        return self.run("middle", sys.executable, "-c", program, url)
