"""Relays that die in every way, and direct paths that fall silent, under a session that goes on."""

import time

from ..catalogue import scenario
from ..nodes import Laptop
from ..world import World, expect, path, silent, survives

# Issue 3.
RELAY_GONE_SECONDS = 10
PATH_GONE_SECONDS = 3


async def two_relays(lab):
    """A laptop and a daemon that know two relays and can meet nowhere else; the relay that carries them comes first."""
    world = await World.make(lab, relays=2)
    daemon = await world.hidden_daemon()
    laptop = await world.hidden_laptop()
    await laptop.pair(daemon)
    ticker = await laptop.ticking(daemon)
    link = await path(daemon, "relay")
    world.relays.sort(key=lambda relay: not link["relay"].startswith(relay.url))
    return world, daemon, ticker


@scenario("relay-killed", "mew ↔ mew", quick=True)
async def relay_killed(lab):
    """The relay that carries a connection is killed: the other one carries it within 10 s."""
    world, daemon, ticker = await two_relays(lab)
    return silent(await survives(daemon, ticker, world.relays[0].kill, RELAY_GONE_SECONDS))


@scenario("relay-stopped", "mew ↔ mew", quick=True)
async def relay_stopped(lab):
    """The relay that carries a connection hangs (SIGSTOP): the other one carries it within 10 s."""
    world, daemon, ticker = await two_relays(lab)
    return silent(await survives(daemon, ticker, lambda: world.relays[0].process.signal("STOP"), RELAY_GONE_SECONDS))


@scenario("relay-dropped", "mew ↔ mew", quick=True)
async def relay_dropped(lab):
    """Every packet from and to the relay that carries a connection is lost: the other one carries it within 10 s."""
    world, daemon, ticker = await two_relays(lab)
    return silent(await survives(
        daemon, ticker, lambda: world.internet.silence(world.relays[0].address), RELAY_GONE_SECONDS))


@scenario("relay-back", "mew ↔ mew")
async def relay_back(lab):
    """The only relay is killed and started again: the connection goes on over the new one."""
    world = await World.make(lab)
    daemon = await world.hidden_daemon()
    laptop = await world.hidden_laptop()
    await laptop.pair(daemon)
    ticker = await laptop.ticking(daemon)

    async def replace():
        await world.relays[0].kill()
        await world.relays[0].again()

    return silent(await survives(daemon, ticker, replace, RELAY_GONE_SECONDS))


async def direct_pair(lab):
    """A daemon with an address of its own, a laptop behind a router, and a connection that has found the direct way."""
    world = await World.make(lab)
    daemon, _, address = await world.public_daemon()
    laptop = await world.hidden_laptop()
    await laptop.pair(daemon)
    ticker = await laptop.ticking(daemon)
    await path(daemon, "direct")
    return world, daemon, address, ticker


@scenario("path-silent", "mew ↔ mew", quick=True)
async def path_silent(lab):
    """A direct path falls silent: the relay carries the connection within 3 s, and the path again when it is good again."""
    world, daemon, address, ticker = await direct_pair(lab)
    seconds = await survives(
        daemon, ticker, lambda: world.internet.silence(address, protocol="udp"), PATH_GONE_SECONDS)
    await path(daemon, "relay")
    mended = time.time()
    again = await survives(daemon, ticker, world.internet.mend, 1)
    await path(daemon, "direct", seconds=60)
    return f"{silent(seconds)}, {again:.1f} s when mended, direct after {time.time() - mended:.0f} s"


@scenario("path-silent-one-way", "mew ↔ mew", quick=True)
async def path_silent_one_way(lab):
    """Nothing arrives at the laptop any more on the direct path: the relay carries the connection within 3 s."""
    world, daemon, address, ticker = await direct_pair(lab)
    seconds = await survives(
        daemon, ticker, lambda: world.internet.cut(f"ip saddr {address} meta l4proto udp"), PATH_GONE_SECONDS)
    await path(daemon, "relay")
    return silent(seconds)


@scenario("path-deaf", "mew ↔ mew", quick=True)
async def path_deaf(lab):
    """Nothing arrives at the daemon any more on the direct path: the relay carries the connection within 3 s."""
    world, daemon, address, ticker = await direct_pair(lab)
    seconds = await survives(
        daemon, ticker, lambda: world.internet.cut(f"ip daddr {address} meta l4proto udp"), PATH_GONE_SECONDS)
    await path(daemon, "relay")
    return silent(seconds)


@scenario("path-small", "mew ↔ mew")
async def path_small(lab):
    """Packets above 1250 bytes are lost from one moment on: what is large still arrives, and on the same connection."""
    world, daemon, address, ticker = await direct_pair(lab)
    await survives(daemon, ticker, lambda: world.internet.cut("ip length > 1250 meta l4proto udp"), PATH_GONE_SECONDS)
    connections = daemon.connections()
    laptop = Laptop(ticker.process.machine)
    start = time.monotonic()
    process = await laptop.machine.start(
        "mew", "prompt", daemon.node, "head -c 50000 /dev/zero | tr '\\0' x | fold -w 100", "--permit", "once")
    lines = await process.succeeded(60)
    count = sum(line.strip("x") == "" and len(line) == 100 for line in lines)
    expect(count == 500, f"{count} of 500 large lines arrived")
    expect(daemon.connections() == connections + 1, "the connections did not live through it")
    return f"{count} lines of a new connection after {time.monotonic() - start:.1f} s"
