"""Two homes behind NAT routers that know of each other nothing but a relay."""

import asyncio
import time

from ..catalogue import scenario
from ..network import INTERNET
from ..nodes import Daemon
from ..world import World, expect

# Issue 3: from the dial to the first application byte.
FIRST_BYTE_SECONDS = 2.0


async def prompt_at_once(lab, mtu=None):
    world = await World.make(lab)
    daemon = await world.hidden_daemon()
    laptop = await world.hidden_laptop(mtu)
    await laptop.pair(daemon)
    process = await laptop.machine.start("mew", "prompt", daemon.node, "echo it works", "--permit", "once")
    first, _ = await process.line("the answer", lambda text: text.strip() == "it works")
    await process.succeeded()
    seconds = first - process.started
    expect(seconds <= FIRST_BYTE_SECONDS, f"the answer came only after {seconds:.2f} s")
    pings = await laptop.mew("ping", daemon.node, "-c", "2")
    expect(pings[-1]["path"] == "relay", f"this was meant to go through the relay: {pings[-1]}")
    counted = await world.relays[0].metrics()
    expect(counted["packets_forwarded_total"] > 20, f"nothing crossed the relay: {counted}")
    return f"first byte after {seconds:.2f} s, ping {pings[-1]['rtt_ms']:.1f} ms"


@scenario("nat-prompt", "mew ↔ mew", quick=True)
async def nat_prompt(lab):
    """A daemon behind one NAT and a laptop behind another: `mew prompt NODE-ID` works at once, through the relay."""
    return await prompt_at_once(lab)


@scenario("nat-prompt-mtu-1280", "mew ↔ mew", quick=True)
async def nat_prompt_small_mtu(lab):
    """The same where the laptop's link takes packets of 1280 bytes at most."""
    return await prompt_at_once(lab, mtu=1280)


@scenario("two-commands", "mew ↔ mew", quick=True)
async def two_commands(lab):
    """`mew watch` and `mew prompt` of one state directory, both through the relay, do not take each other's place there."""
    world = await World.make(lab)
    daemon = await world.hidden_daemon()
    laptop = await world.hidden_laptop()
    await laptop.pair(daemon)
    await laptop.machine.start("mew", "watch", daemon.node, "--json")
    ticker = await laptop.ticking(daemon, count=50)
    await ticker.rest()
    admitted = (await world.relays[0].metrics())["clients_admitted_total"]
    # The daemon, `mew add`, and these two, each once.
    expect(admitted == 4, f"{admitted} clients came to the relay, so some came again")
    return "50 ticks beside a watcher"


@scenario("unknown-node", "mew ↔ mew", quick=True)
async def unknown_node(lab):
    """After one of two relays died, a device that knows only the node ID and the other relay pairs within 15 s."""
    world = await World.make(lab, relays=2)
    daemon = await world.hidden_daemon()
    laptop = await world.hidden_laptop()
    own = (await laptop.mew("id"))[0]["node_id"]
    await records_are_served(world.relays, daemon)
    await world.relays[0].kill()
    window = await daemon.machine.start("mew", "pair", "--no-qr", "--json", "--expect", own)
    await window.event("window")
    start = time.monotonic()
    await laptop.mew("add", daemon.node, "--name", "desk", "--relay", world.relays[1].url)
    seconds = time.monotonic() - start
    await window.succeeded()
    expect(seconds <= 15, f"it took {seconds:.1f} s")
    return f"paired after {seconds:.1f} s"


@scenario("records", "mew ↔ mew", quick=True)
async def found_through_records(lab):
    """A device that knows the node ID and a relay which the daemon has left finds it through the record that is kept there."""
    world = await World.make(lab, relays=2)
    first, second = world.relays
    machine = await lab.machine("desk")
    await world.behind_router(machine, 1)
    daemon = await Daemon.start(machine, first, second)
    await records_are_served(world.relays, daemon)
    # No packet gets from the daemon's network to the first relay from now on, but the relay still has its record.
    await world.internet.silence(f"{INTERNET}21", first.address)
    laptop = await world.hidden_laptop()
    own = (await laptop.mew("id"))[0]["node_id"]
    window = await daemon.machine.start("mew", "pair", "--no-qr", "--json", "--expect", own)
    await window.event("window")
    start = time.monotonic()
    await laptop.mew("add", daemon.node, "--name", "desk", "--relay", first.url)
    await window.succeeded()
    return f"paired after {time.monotonic() - start:.1f} s"


@scenario("two-places", "mew ↔ mew", quick=True)
async def two_places(lab):
    """A daemon whose state directory was copied to another machine that is up as well: `mew status` on the one says so."""
    world = await World.make(lab)
    machines = [await lab.machine(name) for name in ("desk", "copy")]
    for number, machine in enumerate(machines):
        await world.behind_router(machine, number + 1)
    await machines[0].run("mew", "id")
    archive = await machines[0].run("sh", "-c", 'tar -C "$MEW_HOME" -cf - . | base64')
    unpack = await machines[1].start("sh", "-c", 'mkdir -p "$MEW_HOME" && base64 -d | tar -C "$MEW_HOME" -xf -')
    await unpack.write("\n".join(archive))
    unpack.popen.stdin.close()
    await unpack.succeeded()
    first, second = [await Daemon.start(machine, *world.relays) for machine in machines]
    expect(first.node == second.node, "the copy has another identity")
    end = time.monotonic() + 30
    while not any("in another place" in line for line in await machines[0].run("mew", "status")):
        expect(time.monotonic() < end, "the first one does not know of the second after 30 s")
        # `mew status` tells what is, not when it changes.
        await asyncio.sleep(0.5)
    return ""


async def records_are_served(relays, daemon, seconds=20):
    end = time.monotonic() + seconds
    while True:
        kept = [(await relay.metrics())["records"] for relay in relays]
        if all(kept):
            return
        expect(time.monotonic() < end, f"{daemon.node} has published nothing on some relay: {kept} records")
        # Metrics are counted up, not told.
        await asyncio.sleep(0.5)
