"""The usual worlds of the scenarios: an internet with relays, a daemon somewhere, a laptop somewhere else.

             internet 198.51.100.0/24
      ┌──────────┬─────────┬─────────────┐
    relays     router    router        the daemon, when it has
     .10 .11    .21       .22 .23       an address of its own: .31 .32
                 │         │
               daemon    laptop
               10.1.0.2  10.2.0.2
"""

import asyncio
import time

from .network import INTERNET
from .nodes import Daemon, Laptop, Relay
from .process import Failure


def expect(holds, what):
    if not holds:
        raise Failure(what)


class World:
    def __init__(self, lab):
        self.lab = lab
        self.internet = None
        self.relays = []

    @classmethod
    async def make(cls, lab, relays=1):
        self = cls(lab)
        self.internet = await lab.switch("internet")
        for number in range(relays):
            machine = await lab.machine(f"relay{number + 1}")
            address = f"{INTERNET}{10 + number}"
            await self.internet.plug(machine, f"{address}/24")
            self.relays.append(await Relay.start(machine, address))
        return self

    # Places to be

    async def behind_router(self, machine, number, mtu=None, is_up=True):
        """Home number `number`: a switch and a NAT router; the port of the machine there, and the router's public address."""
        home = await self.lab.switch(f"home{number}")
        wan = f"{INTERNET}{20 + number}"
        await self.lab.router(f"router{number}", self.internet, f"{wan}/24", home, f"10.{number}.0.1/24")
        port = await home.plug(machine, f"10.{number}.0.2/24", f"10.{number}.0.1", mtu=mtu, is_up=is_up)
        return port, wan

    async def public(self, machine, number=31, is_up=True):
        """An address of its own on the internet."""
        address = f"{INTERNET}{number}"
        return await self.internet.plug(machine, f"{address}/24", is_up=is_up), address

    # Who is there

    async def hidden_daemon(self):
        machine = await self.lab.machine("desk")
        await self.behind_router(machine, 1)
        return await Daemon.start(machine, *self.relays)

    async def public_daemon(self):
        """The daemon, its port, its address."""
        machine = await self.lab.machine("desk")
        port, address = await self.public(machine)
        return await Daemon.start(machine, *self.relays), port, address

    async def hidden_laptop(self, mtu=None):
        machine = await self.lab.machine("laptop")
        await self.behind_router(machine, 2, mtu=mtu)
        return Laptop(machine)


async def path(daemon, kind, seconds=30):
    """Waits until the daemon's only link goes this way: `direct` or `relay`."""
    end = time.monotonic() + seconds
    while True:
        links = await daemon.status()
        if len(links) == 1 and links[0]["path"] == kind:
            return links[0]
        expect(time.monotonic() < end, f"the connection is not {kind} after {seconds} s but {links}")
        # A daemon tells its command line what is, not when it changes.
        await asyncio.sleep(0.25)


async def survives(daemon, ticker, fault, limit_seconds, watch_seconds=4):
    """After the fault the numbers go on within the limit, none missing, and on the same connection; the longest silence."""
    await ticker.next()
    connections = daemon.connections()
    before = time.time()
    await fault()
    gap, _ = await ticker.longest_gap(before, time.time() + limit_seconds + watch_seconds)
    expect(gap <= limit_seconds, f"nothing came for {gap:.1f} s (allowed: {limit_seconds} s)")
    expect(daemon.connections() == connections, "the laptop had to connect anew")
    return gap


def silent(seconds):
    return f"silent for {seconds:.1f} s"
