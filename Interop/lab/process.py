"""A program on a machine of the laboratory: its lines with the time of each, signals to it, and its end."""

import asyncio
import json
import time


class Failure(Exception):
    """A peer did something else than the scenario demands; the text says which and what."""


# Longer than any single step takes on a busy machine, shorter than a person's patience.
STEP_SECONDS = 30
# What a program may say before the scenario has looked at it; a scenario reads far less.
MAX_LINES = 200_000

# Says which process it is there, and when it began, then becomes the program: what the engine needs to start it is not measured.
PREFACE = 'echo "@$$ $(date +%s.%N)"; exec "$@"'


class Process:
    """`lines` and `errors` hold (seconds since the epoch, text) of the two outputs."""

    def __init__(self, machine, words, popen):
        self.machine = machine
        self.words = words
        self.popen = popen
        self.lines: list[tuple[float, str]] = []
        self.errors: list[tuple[float, str]] = []
        self.pid = None
        self.started = None
        self._read = 0
        self._news = asyncio.Event()
        self._readers = [
            asyncio.create_task(self._collect(popen.stdout, self._take)),
            asyncio.create_task(self._collect(popen.stderr, self.errors.append)),
        ]

    @classmethod
    async def start(cls, machine, prefix, words):
        popen = await asyncio.create_subprocess_exec(
            *prefix, "sh", "-c", PREFACE, "sh", *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, limit=1 << 24)
        process = cls(machine, words, popen)
        await process._until(lambda: process.pid is not None, STEP_SECONDS, "it starts")
        return process

    def __str__(self):
        return f"{self.machine.name}: {' '.join([self.words[0].rpartition('/')[2], *self.words[1:]])[:60]}"

    # Reading

    async def _collect(self, stream, take):
        while line := await stream.readline():
            take((time.time(), line.decode(errors="replace").rstrip("\n")))
            self._news.set()
        self._news.set()

    def _take(self, line):
        if self.pid is None and line[1].startswith("@"):
            pid, started = line[1][1:].split()
            self.pid, self.started = int(pid), float(started)
        elif len(self.lines) < MAX_LINES:
            self.lines.append(line)

    async def _until(self, holds, seconds, what):
        end = time.monotonic() + seconds
        while not holds():
            if all(reader.done() for reader in self._readers):
                raise Failure(f"{self} ended before this happened: {what}\n{self.tail()}")
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), max(0.01, end - time.monotonic()))
            except asyncio.TimeoutError:
                raise Failure(f"{self}: nothing for {seconds} s: {what}\n{self.tail()}") from None

    async def line(self, what, matches=lambda text: True, seconds=STEP_SECONDS):
        """The next unread line that matches, with its time; others before it are passed over."""
        found = None

        def look():
            nonlocal found
            while found is None and self._read < len(self.lines):
                line = self.lines[self._read]
                self._read += 1
                if matches(line[1]):
                    found = line
            return found is not None

        await self._until(look, seconds, what)
        return found

    async def event(self, name, seconds=STEP_SECONDS):
        """The next JSON line whose `event` has this name; for the programs of this directory."""
        _, text = await self.line(f"the event '{name}'", lambda text: event_name(text) == name, seconds)
        return json.loads(text)

    def tail(self):
        lines = [text for _, text in self.errors[-12:]] + [text[:300] for _, text in self.lines[-3:]]
        return "\n".join("    " + text for text in lines)

    # Writing, signals, end

    async def write(self, text):
        self.popen.stdin.write((text + "\n").encode())
        await self.popen.stdin.drain()

    @property
    def is_running(self):
        return self.popen.returncode is None

    async def signal(self, name):
        """`TERM`, `KILL`, `STOP`, …"""
        await self.machine.run("sh", "-c", f"kill -{name} {self.pid}")

    async def wait(self, seconds=STEP_SECONDS):
        """Its exit status."""
        try:
            status = await asyncio.wait_for(self.popen.wait(), seconds)
            await asyncio.gather(*self._readers)
            return status
        except asyncio.TimeoutError:
            raise Failure(f"{self}: not ended after {seconds} s\n{self.tail()}") from None

    async def succeeded(self, seconds=STEP_SECONDS):
        """Waits for its end; what it said on standard output."""
        status = await self.wait(seconds)
        if status != 0:
            raise Failure(f"{self}: exit status {status}\n{self.tail()}")
        return [text for _, text in self.lines]


def event_name(text):
    try:
        return json.loads(text).get("event")
    except (ValueError, AttributeError):
        return None
