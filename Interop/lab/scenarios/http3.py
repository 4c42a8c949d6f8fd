"""aioquic, an HTTP/3 of somebody else's, at our relay; and our own client by both ways."""

from ..catalogue import scenario
from ..nodes import RELAY_PORT
from ..world import World

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
