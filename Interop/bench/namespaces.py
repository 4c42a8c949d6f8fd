"""Network namespaces of one measurement, each held by a process that waits.

Needs root, or a kernel that lets everybody make user namespaces: then the whole bench is run inside one.
"""

import subprocess
import sys

from .process import Failed


class Namespaces:
    """Use as a context manager, or end with `close`. A subclass connects them in `build`."""

    NAMES: tuple[str, ...] = ()

    def __init__(self):
        self.holders: dict[str, subprocess.Popen] = {}
        try:
            for name in self.NAMES:
                self.hold(name)
            self.build()
        except BaseException:
            self.close()
            raise

    def hold(self, name: str) -> None:
        self.holders[name] = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-c", "print(flush=True); import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not self.holders[name].stdout.readline():
            raise Failed(f"no network namespace: {self.holders[name].stderr.read().strip()}")
        self.run(name, "ip", "link", "set", "lo", "up")

    def build(self) -> None:
        raise NotImplementedError

    def pair(self, near: str, near_device: str, far: str, far_device: str) -> None:
        """Two ends of one cable; neither is up yet."""
        self.run(near, "ip", "link", "add", near_device, "type", "veth", "peer", "name", far_device, "netns",
                 str(self.holders[far].pid))

    def on(self, name: str, *command: str) -> list[str]:
        """The command line that runs `command` there, in a process of its own."""
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net", "--", *(str(word) for word in command)]

    def run(self, name: str, *command: str) -> str:
        done = subprocess.run(self.on(name, *command), capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise Failed(f"{' '.join(str(word) for word in command[:6])}: {done.stderr.strip()[-200:]}")
        return done.stdout

    def close(self) -> None:
        for holder in self.holders.values():
            holder.kill()
            holder.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()
