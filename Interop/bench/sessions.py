"""What sessions cost: events stored and told to many clients, coming back to a long session, a crowd that does, and a slow line.

The daemon is `mew bench desk`: `mew daemon` with an agent that talks as told.
"""

import contextlib
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

from .process import Failed, Server, run
from .slowline import SlowLine

# Events of the long sessions, and the bytes of their texts.
SIZES = {1_000: 2_500_000, 10_000: 25_000_000, 200_000: 500_000_000}
LARGEST = max(SIZES)
# Stays between runs, because the largest takes a minute to make.
KEPT = Path(".build/bench-sessions")


class Desk:
    """A daemon on a state directory of its own or a given one, and a device that is paired with it. Use as a context manager."""

    def __init__(self, directory: Path, home: Path | None = None, place: SlowLine | None = None):
        directory.mkdir(parents=True)
        self.binary = os.environ["MEW"]
        self.home = home or directory / "home"
        self.place = place
        self.host = place.DESK if place else "127.0.0.1"
        self.device = {**os.environ, "MEW_HOME": str(directory / "device")}
        self.environment = {**os.environ, "MEW_HOME": str(self.home), "HOME": str(directory)}

    def __enter__(self) -> "Desk":
        self.start()
        window = subprocess.Popen(
            [self.binary, "pair", "--no-qr", "--json"], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        payload = json.loads(window.stdout.readline())["payload"]
        self.client("add", payload, "--name", "desk", "--addr", self.address, parse=False)
        window.wait()
        return self

    def __exit__(self, *_) -> None:
        self.server.stop()

    def start(self) -> None:
        command = [self.binary, "bench", "desk", "--bind", f"{self.host}:0", "--json"]
        self.server = Server(*(self.place.desk(*command) if self.place else command), env=self.environment)
        self.address = self.server.ready["addrs"][0]

    def again(self) -> None:
        """As after a restart of the machine: nothing is loaded."""
        self.server.stop()
        self.start()

    def client(self, *words: str, parse: bool = True) -> dict:
        command = [self.binary, *words, "--json"]
        return run(*(self.place.laptop(*command) if self.place else command), env=self.device, parse=parse)

    def bench(self, what: str, *words: str) -> dict:
        return self.client("bench", what, "desk", *words, "--addr", self.address)

    def background(self, what: str, *words: str) -> subprocess.Popen:
        return subprocess.Popen(
            [self.binary, "bench", what, "desk", *words, "--addr", self.address, "--json"], env=self.device,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def commits(directory: Path, writers: int, seconds: float) -> dict:
    home = directory / f"commits-{writers}-{time.monotonic_ns()}"
    return run(
        os.environ["MEW"], "bench", "commits", "--writers", str(writers), "--milliseconds", str(int(seconds * 1_000)),
        "--json", env={**os.environ, "MEW_HOME": str(home)})


def long_sessions(directory: Path) -> dict[int, str]:
    """The state directory's sessions by their number of events; made when there are none."""
    names = directory / "sessions.json"
    if not names.exists():
        directory.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "MEW_HOME": str((directory / "home").absolute())}
        made = {
            events: run(
                os.environ["MEW"], "bench", "big-session", "--events", str(events), "--bytes", str(size), "--json",
                env=environment)["session_id"]
            for events, size in SIZES.items()
        }
        names.write_text(json.dumps(made))
    return {int(events): session for events, session in json.loads(names.read_text()).items()}


def first_screens(directory: Path, count: int, rounds: int) -> dict[int, dict]:
    """For each size: the first attach after the daemon's start and the median of later ones, milliseconds; and the bytes."""
    sessions = long_sessions(KEPT)
    found: dict[int, list[dict]] = {events: [] for events in sessions}
    with Desk(directory / "screens", (KEPT / "home").absolute()) as desk:
        for _ in range(rounds):
            for events, session in sessions.items():
                found[events].append(desk.bench("attach", session, "--count", str(count)))
            desk.again()
    return {
        events: {key: statistics.median(each[key] for each in results) for key in ("first_ms", "p50_ms", "p99_ms", "bytes")}
        for events, results in found.items()
    }


def crowd(directory: Path, clients: int, rounds: int) -> dict:
    """The delay of one client's ping, alone and while others attach to the largest session, all at the same time and again twice
    a second, milliseconds."""
    session = long_sessions(KEPT)[LARGEST]
    alone, beside = [], []
    with Desk(directory / "crowd", (KEPT / "home").absolute()) as desk:
        for _ in range(rounds):
            alone.append(desk.bench("ping", "--count", "400", "--pause-ms", "5"))
            attaching = desk.background("attach", session, "--crowd", str(clients), "--count", "1000", "--pause-ms", "500")
            # They are connected, which is not what is measured.
            if not attaching.stdout.readline():
                raise Failed("the crowd did not connect")
            beside.append(desk.bench("ping", "--count", "400", "--pause-ms", "5"))
            if attaching.poll() is not None:
                raise Failed("the crowd was done before the pings were")
            attaching.terminate()
            attaching.wait()
    milli = 1_000
    return {
        "alone_p50_ms": statistics.median(each["p50_us"] for each in alone) / milli,
        "alone_worst_ms": statistics.median(each["worst_us"] for each in alone) / milli,
        "beside_p50_ms": statistics.median(each["p50_us"] for each in beside) / milli,
        "beside_worst_ms": statistics.median(each["worst_us"] for each in beside) / milli,
    }


def slow_line(directory: Path, rounds: int) -> dict:
    """The largest session's first screen over 256 kbit/s, seconds."""
    session = long_sessions(KEPT)[LARGEST]
    with contextlib.closing(SlowLine()) as line, Desk(directory / "slow", (KEPT / "home").absolute(), line) as desk:
        found = [desk.bench("attach", session, "--count", "3") for _ in range(rounds)]
    return {
        "first_s": statistics.median(each["first_ms"] for each in found) / 1_000,
        "worst_s": max(each["worst_ms"] for each in found) / 1_000,
        "bytes": found[0]["bytes"],
    }
