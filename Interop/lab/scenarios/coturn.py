"""coturn's STUN clients, written by others from the same documents, against our relay."""

import re

from ..catalogue import scenario
from ..network import INTERNET
from ..nodes import DISCOVERY_PORT, RELAY_PORT
from ..world import World, expect

KINDS = ["mew", "coturn"]


@scenario("coturn-stun", "coturn client ↔ mew relay", KINDS, quick=True)
async def coturn_stun(lab):
    """coturn's client behind a NAT learns its router's address from both UDP ports of a relay, and the other port from each."""
    world = await World.make(lab)
    relay = world.relays[0]
    machine = await lab.machine("client", "coturn")
    _, router = await world.behind_router(machine, 2)
    for port, other in ((RELAY_PORT, DISCOVERY_PORT), (DISCOVERY_PORT, RELAY_PORT)):
        # Then it waits for an answer from the other port, which no router in front of it lets in.
        client, lines = await machine.start("turnutils_stunclient", "-p", str(port), relay.address), []
        await client.line("the address", lambda text: lines.append(text) or "reflexive addr" in text)
        said = "\n".join(lines)
        expect(f"reflexive addr: {router}:" in said, f"port {port} told another address: {said}")
        expect(names(said, "Response origin", f"{relay.address}:{port}"), f"no origin {port}: {said}")
        expect(names(said, "Other addr", f"{relay.address}:{other}"), f"the other port is not {other}: {said}")
    counted = await relay.metrics()
    expect(counted["stun_answers_total"] >= 2, f"the relay counted otherwise: {counted}")
    return f"{router} by both ports"


def names(said, what, address):
    return re.search(rf"{what}: *:? *{re.escape(address)}\b", said)


@scenario("coturn-discovery", "coturn client ↔ mew relay", KINDS)
async def coturn_discovery(lab):
    """coturn's discovery of NAT behaviour, which wants a second address, is told that there is none, and ends."""
    world = await World.make(lab)
    relay = world.relays[0]
    machine = await lab.machine("client", "coturn")
    await world.public(machine, 31)
    said = "\n".join(
        await machine.run("turnutils_natdiscovery", "-m", "-p", str(RELAY_PORT), relay.address, seconds=60))
    expect(f"{INTERNET}31:" in said, f"no address was told: {said}")
    return ""
