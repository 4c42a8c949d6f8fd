"""Processes that are measured: started, asked, and their CPU time and memory read from the kernel."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# Nothing measured here takes longer; what does, hangs.
PATIENCE = 180


class Failed(Exception):
    """A peer did not do its part; the text says which and how."""


class Server:
    """A process that runs until `stop`. It is ready when it prints a JSON line or, with `port`, when that UDP port is bound.
    Use as a context manager."""

    def __init__(self, *command: str, port: int | None = None, env: dict | None = None):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.ready = self._await_port(port) if port else self._await_line()

    def _await_line(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            self._fail()
        return json.loads(line)

    def _await_port(self, port: int) -> dict:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            # Of its own network namespace.
            if f":{port:04X} " in Path(f"/proc/{self.pid}/net/udp").read_text():
                return {}
            if self.process.poll() is not None:
                self._fail()
            time.sleep(0.02)
        raise Failed(f"{self.command[0]} does not listen on port {port}")

    def _fail(self) -> None:
        self.process.wait(PATIENCE)
        raise Failed(f"{self.command[0]} did not start: {self.process.stderr.read().strip()[-400:]}")

    @property
    def pid(self) -> int:
        return self.process.pid

    def cpu_seconds(self) -> float:
        """User and system time so far, of all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self.stop()


def run(*command: str, env: dict | None = None, parse: bool = True) -> dict:
    """Runs a client to its end; its last line is its result (unless it is none), and `cpu_s` what it cost."""
    before = os.times()
    done = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
        env=env)
    after = os.times()
    if done.returncode != 0:
        raise Failed(f"{command[0]} {command[1]}: exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
    result = json.loads(done.stdout.splitlines()[-1]) if parse and done.stdout.strip() else {}
    result["cpu_s"] = after.children_user - before.children_user + after.children_system - before.children_system
    return result
