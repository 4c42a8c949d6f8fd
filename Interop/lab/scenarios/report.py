"""What `mew net` says of the network it is run on."""

from ..catalogue import scenario
from ..nodes import Laptop
from ..world import World, expect


@scenario("net-report", "mew ↔ mew relay", quick=True)
async def net_report(lab):
    """A daemon and a laptop behind strict routers: `mew net` tells of both what is so, and why their link is relayed."""
    world = await World.make(lab)
    daemon = await world.hidden_daemon()
    laptop = await world.hidden_laptop()
    await laptop.pair(daemon)
    found = (await Laptop(daemon.machine).mew("net"))[0]
    ours, relay = found["ipv4"], found["relays"][0]
    expect((ours["udp"], ours["mapping"], ours["filtering"]) == ("works", "depends_on_port", "depends_on_port"), f"{ours}")
    expect(ours["hairpin"] == "fails", f"a strict router sent something back: {ours}")
    expect(all(address.startswith("198.51.100.21:") for address in ours["addresses"]), f"{ours}")
    expect(found["ipv6"]["udp"] == "unknown", f"{found['ipv6']}")
    expect(relay["udp_rtt_ms"] < 1000 and relay["transport"] == "http/3", f"{relay}")
    own = (await laptop.mew("net", "--relay", world.relays[0].url))[0]
    expect(own["ipv4"]["mapping"] == "depends_on_port" and own["port_mapping"] is None, f"{own}")
    both = (await laptop.mew("net", "desk", "--trace"))[0]
    link = both["link"]
    expect(link["path"] == "relay" and link["why_not_direct"] == "port_per_destination", f"{link}")
    expect(any("probe" in line for line in both["trace"]), f"{both['trace']}")
    return link["why_text"]


@scenario("net-blocked", "mew ↔ mew relay")
async def net_blocked(lab):
    """No UDP gets out of the daemon's network: `mew net` says so, and that the relay is reached by WebSocket."""
    world = await World.make(lab)
    daemon = await world.hidden_daemon()
    await world.internet.cut("ip saddr 198.51.100.21 meta l4proto udp")
    found = (await Laptop(daemon.machine).mew("net"))[0]
    expect(found["ipv4"]["udp"] == "blocked", f"{found['ipv4']}")
    expect(found["relays"][0]["udp_rtt_ms"] is None, f"{found['relays']}")
    return "UDP is blocked"
