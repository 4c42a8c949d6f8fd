"""Our programs on machines: a relay, a daemon, and a laptop's command line."""

import json
import re

from .process import Failure

RELAY_PORT = 3340
DISCOVERY_PORT = 7842


class Relay:
    def __init__(self, machine, address, process):
        self.machine = machine
        self.address = address
        self.process = process
        self.url = f"http://{address}:{RELAY_PORT}"

    @classmethod
    async def start(cls, machine, address, *options):
        process = await machine.start("mew", "relay", "--json", *options)
        await process.line("the relay is ready", lambda text: '"urls"' in text)
        return cls(machine, address, process)

    async def metrics(self):
        """Asked on its own machine, so that no fault of the network is in the way."""
        request = f"GET /metrics HTTP/1.1\\r\\nHost: relay\\r\\nConnection: close\\r\\n\\r\\n"
        lines = await self.machine.run(
            "bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{RELAY_PORT}; printf '{request}' >&3; cat <&3")
        pairs = (line.split() for line in lines if line.startswith("mew_relay_"))
        return {name.removeprefix("mew_relay_"): int(value) for name, value in pairs}

    async def kill(self):
        await self.process.signal("KILL")
        await self.process.wait()

    async def again(self, *options):
        """Another one in its place."""
        return await Relay.start(self.machine, self.address, *options)


class Daemon:
    PORT = 4433

    def __init__(self, machine, process, node):
        self.machine = machine
        self.process = process
        self.node = node

    @classmethod
    async def start(cls, machine, *relays, name="desk", bind=f"0.0.0.0:{PORT}", options=()):
        """`bind` is None for all addresses of both families."""
        options = [*options, *(["--bind", bind] if bind else [])]
        options += [word for relay in relays for word in ("--relay", relay.url)]
        process = await machine.start("mew", "daemon", "--name", name, *options)
        _, text = await process.line("the daemon is ready", lambda text: text.startswith("mew-node-id:"))
        return cls(machine, process, text.partition(":")[2])

    async def stop(self):
        await self.process.signal("TERM")
        await self.process.succeeded()

    async def invitation(self):
        """Opens a pairing window: the process that shows what happens to it, and the payload."""
        window = await self.machine.start("mew", "pair", "--no-qr", "--json")
        return window, (await window.event("window"))["payload"]

    async def status(self):
        """The links of the daemon."""
        return [row for row in map(json.loads, await self.machine.run("mew", "status", "--json")) if "path" in row]

    async def transport(self):
        """What carries the connection to its home relay: `http/3`, `websocket` or nothing."""
        rows = map(json.loads, await self.machine.run("mew", "status", "--json"))
        return next(row["relay_legs"][0]["transport"] for row in rows if "relay_legs" in row)

    def connections(self):
        """How many times a device has connected so far."""
        return sum(" is connected" in text for _, text in self.process.errors)


class Laptop:
    def __init__(self, machine):
        self.machine = machine

    async def pair(self, daemon, *options, name="desk"):
        window, payload = await daemon.invitation()
        await self.mew("add", payload, "--name", name, *options)
        await window.succeeded()

    async def mew(self, *words, seconds=30):
        """The JSON lines of a command that succeeds."""
        return [json.loads(line) for line in await self.machine.run("mew", *words, "--json", seconds=seconds)]

    async def ticking(self, daemon, count=6000):
        """A turn that says the numbers from 1 on, ten a second: what a person watches."""
        command = f"i=0; while [ $i -lt {count} ]; do i=$((i+1)); echo tick $i; sleep 0.1; done"
        return Ticker(await self.machine.start("mew", "prompt", daemon.node, command, "--permit", "once"), count)


class Ticker:
    """The numbers as they arrive. Each must come once, in order, whatever happens to the network."""

    def __init__(self, process, count):
        self.process = process
        self.count = count
        self.seen = 0

    async def next(self, seconds=30):
        """When the next one arrived."""
        time, text = await self.process.line(f"tick {self.seen + 1}", lambda text: re.match(r"tick \d", text), seconds)
        number = int(text.split()[1])
        if number != self.seen + 1:
            raise Failure(f"{self.process}: {number} came after {self.seen}")
        self.seen = number
        return time

    async def until(self, moment, seconds=30):
        """Reads on until one has arrived after that moment; when it did."""
        while (time := await self.next(seconds)) < moment:
            pass
        return time

    async def longest_gap(self, since, until):
        """Reads on until `until`; the longest time without a number between the two moments, and when it was over."""
        last, longest, end = since, 0.0, since
        while last < until:
            time = await self.next()
            if time > since and time - max(last, since) > longest:
                longest, end = time - max(last, since), time
            last = time
        return longest, end

    async def rest(self):
        """Reads to the end: all of them came."""
        while self.seen < self.count:
            await self.next()
        await self.process.succeeded()

    async def cancel(self):
        """Detaches; the turn ends with the daemon."""
        await self.process.signal("INT")
        await self.process.wait()
