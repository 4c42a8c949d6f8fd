"""`mew daemon` as a person runs it: its own state directory, its own port, its commands beside it."""

import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 20


@dataclass(frozen=True)
class Invitation:
    node_hex: str
    token: str
    # IP:PORT.
    where: str


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """Use as a context manager: it is stopped and its directory removed at the end."""

    def __init__(self, binary: str, directory: Path):
        self.binary = binary
        self.home = directory / "home"
        self.work = directory / "work"
        self.work.mkdir()
        self.port = free_port()
        self.log = open(directory / "log", "w+b")
        self.process = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.binary, "daemon", "--home", self.home, "--bind", f"127.0.0.1:{self.port}", "--name", "interop"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, env=self.environment,
        )
        ready = self.process.stdout.readline()
        assert ready.startswith(b"mew-node-id:"), f"the daemon said {ready!r}; its log:\n{self.log_text()}"

    @property
    def environment(self) -> dict[str, str]:
        # A person's own daemon and its directory must not be touched.
        return {**os.environ, "HOME": str(self.work), "MEW_HOME": str(self.home)}

    def command(self, *arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            [self.binary, *arguments, "--home", self.home, "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, env=self.environment, text=True,
        )

    def pair(self) -> tuple[Invitation, subprocess.Popen]:
        """Opens a pairing window; the process tells what happens to it, one JSON object a line."""
        window = self.command("pair", "--no-qr")
        first = json.loads(window.stdout.readline())
        assert first["event"] == "window", first
        prefix, _, body = first["payload"].partition("mew001:")
        assert not prefix, first["payload"]
        payload = json.loads(body)
        return Invitation(payload["node_id"], payload["token"], f"127.0.0.1:{self.port}"), window

    def log_text(self) -> str:
        self.log.flush()
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the daemon did not end on SIGTERM; its log:\n{self.log_text()}") from None
            assert self.process.returncode == 0, f"exit status {self.process.returncode}"

    def __enter__(self) -> "Daemon":
        self.start()
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.stop()
        if error is not None:
            print(f"--- daemon log\n{self.log_text()}---")
        self.log.close()


def scratch() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="mew-interop-")
