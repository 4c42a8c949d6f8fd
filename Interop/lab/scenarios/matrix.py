"""Every place with every other: direct wherever theory allows, relayed and saying so elsewhere."""

import asyncio
import time

from ..catalogue import scenario
from ..nat import FAMILIES, PLACES, Internet, is_direct, reasons
from ..nodes import Daemon, Laptop, Relay
from ..process import Failure
from ..world import expect

# Issue 5.
FIRST_BYTE_SECONDS = 2.0
DIRECT_SECONDS = 10.0


class Matrix:
    """One relay; in each place a daemon and a laptop, which know one another from before."""

    def __init__(self, family, relay, daemons, laptops):
        self.family = family
        self.relay = relay
        self.daemons = daemons
        self.laptops = laptops

    @classmethod
    async def make(cls, lab, family, places=PLACES):
        internet = await Internet.make(lab, family)
        machine = await lab.machine("relay")
        relay = await Relay.start(machine, await internet.public(machine, 10))
        daemons, laptops = {}, {}
        for place in places:
            machine = await lab.machine(f"d-{place}")
            await internet.put(machine, place)
            daemons[place] = await Daemon.start(machine, relay, name=place, bind=None)
            machine = await lab.machine(f"l-{place}")
            await internet.put(machine, place)
            laptops[place] = Laptop(machine)
        self = cls(family, relay, daemons, laptops)
        for laptop in laptops.values():
            for place, daemon in daemons.items():
                await laptop.pair(daemon, name=place)
        return self

    async def cell(self, here, there):
        """A laptop here prompts the daemon there: the time to the first byte, and to a direct connection (or None)."""
        daemon, laptop = self.daemons[there], self.laptops[here]
        ticker = await laptop.ticking(daemon)
        try:
            first = await ticker.next() - ticker.process.started
            expect(first <= FIRST_BYTE_SECONDS, f"the first byte came only after {first:.2f} s")
            direct = await self.direct(daemon, ticker, is_direct(self.family, here, there))
            if direct is None:
                await self.named(laptop, daemon, reasons(here, there))
        finally:
            await ticker.cancel()
        return first, direct

    async def named(self, laptop, daemon, reasons):
        """The rule that keeps a link relayed is what the laptop says of another one."""
        rows = await laptop.mew("status", daemon.node)
        codes = [row["why_not_direct"] for row in rows if "why_not_direct" in row]
        expect(len(codes) == 1 and codes[0] in reasons, f"the reason should be one of {reasons}: {rows}")

    async def direct(self, daemon, ticker, is_possible):
        end = ticker.process.started + DIRECT_SECONDS
        while True:
            links = await daemon.status()
            expect(len(links) == 1, f"one connection was expected: {links}")
            if links[0]["path"] == "direct":
                expect(is_possible, "direct where nothing can be")
                return time.time() - ticker.process.started
            if time.time() > end:
                expect(not is_possible, f"not direct after {DIRECT_SECONDS:.0f} s")
                return None
            # A daemon tells its command line what is, not when it changes.
            await asyncio.sleep(0.2)


async def matrix(lab, family):
    matrix = await Matrix.make(lab, family)
    firsts, directs, faults = [], [], []
    for here in PLACES:
        for there in PLACES:
            try:
                first, direct = await matrix.cell(here, there)
            except Failure as error:
                faults.append(f"{here} → {there}: {str(error).splitlines()[0]}")
                continue
            firsts.append(first)
            directs += [direct] if direct is not None else []
    if faults:
        raise Failure(f"{len(faults)} of {len(PLACES) ** 2}: " + "; ".join(faults))
    return f"{len(directs)} of {len(firsts)} direct, after {max(directs):.1f} s at most; first byte after {max(firsts):.2f} s at most"


for family in FAMILIES:

    def make(family=family):
        async def play(lab):
            return await matrix(lab, family)

        play.__doc__ = f"Each of {', '.join(PLACES)} with each other in {family}: direct within 10 s wherever theory allows, first byte within 2 s."
        return play

    scenario(f"nat-matrix-{family}", "mew ↔ mew", limit_seconds=900)(make())
