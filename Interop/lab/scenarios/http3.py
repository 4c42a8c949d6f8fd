"""aioquic, an HTTP/3 of somebody else's, at our relay; and our own client by both ways."""

import asyncio
import time

from ..catalogue import scenario
from ..nodes import RELAY_PORT
from ..world import World, expect

KINDS = ["mew", "aioquic"]


def law_of(name, text):
    @scenario(f"aioquic-{name}", "aioquic ↔ mew relay", KINDS, quick=True)
    async def play(lab):
        world = await World.make(lab)
        theirs = await lab.machine("theirs", "aioquic")
        await world.public(theirs, 32)
        lines = await theirs.run("python", "-m", "http3_client", world.relays[0].address, RELAY_PORT, name)
        return lines[-1]

    play.__doc__ = text


law_of("anybody", "An anonymous HTTP/3 client hears whether the relay is there and where nodes are, and nothing else.")
law_of("refused", "An extended CONNECT without a proof for its own connection is refused, and the connection lives on.")
law_of("talk", "Two aioquic clients exchange packets through the relay by capsule and by datagram, as ARCHITECTURE.md has it.")


# A leg whose question is not answered is given up after 5 s at most (`PingClock`); sooner when data waits for it.
FALL_BACK_SECONDS = 6.0
# Both work while one takes over from the other.
RETURN_SECONDS = 1.0


async def carried(world, daemon, transport, seconds=60):
    """Waits until both ends of the session reach the relay that way."""
    wanted = 2 if transport == "http/3" else 0
    end = time.monotonic() + seconds
    while await daemon.transport() != transport or (await world.relays[0].metrics())["http3_connections"] != wanted:
        expect(time.monotonic() < end, f"not over {transport} after {seconds} s")
        await asyncio.sleep(0.2)


@scenario("relay-without-udp", "mew ↔ mew relay ↔ mew", quick=True, limit_seconds=240)
async def relay_without_udp(lab):
    """When UDP stops passing, a relayed session goes on over WebSocket; when it passes again, over HTTP/3; no line is lost."""
    world = await World.make(lab)
    daemon = await world.hidden_daemon()
    laptop = await world.hidden_laptop()
    await laptop.pair(daemon)
    ticker = await laptop.ticking(daemon)
    await ticker.next()
    await carried(world, daemon, "http/3")
    cut = time.time()
    await world.internet.cut("meta l4proto udp")
    away, _ = await ticker.longest_gap(cut, cut + 12)
    await carried(world, daemon, "websocket")
    await world.internet.mend()
    back = asyncio.create_task(carried(world, daemon, "http/3"))
    moments = [await ticker.next()]
    end = moments[0]
    while not back.done() or moments[-1] < end:
        moments.append(await ticker.next())
        if not back.done():
            end = moments[-1] + 2
    await back
    returned = max(later - earlier for earlier, later in zip(moments, moments[1:]))
    await ticker.cancel()
    expect(away <= FALL_BACK_SECONDS, f"nothing for {away:.1f} s after UDP was gone")
    expect(returned <= RETURN_SECONDS, f"nothing for {returned:.1f} s while HTTP/3 took over")
    return f"longest silence {away:.1f} s when UDP went, {returned:.1f} s when it came back"
