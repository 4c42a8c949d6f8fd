"""A router that opens ports when it is asked (NAT-PMP, UPnP): a real miniupnpd in front of a daemon."""

import asyncio
import json
import tempfile
import time
from pathlib import Path

from ..catalogue import scenario
from ..command import run
from ..nodes import Daemon, Laptop, Relay
from ..world import expect, path

# miniupnpd opens nothing on addresses for documentation; these are nobody's here, where nothing leads outside.
OUTSIDE = "11.0.0."
WAN = f"{OUTSIDE}21"
DIRECT_SECONDS = 10

# Strict (RFC 4787: address-and-port-dependent mapping and filtering), with the chains that miniupnpd fills.
RULES = """
table inet filter {
    chain forward { type filter hook forward priority 0; policy drop;
        jump opened
        iifname "lan" accept
        ct state established,related accept
    }
    chain opened { }
    chain in { type nat hook prerouting priority -100; jump opened_in; }
    chain out { type nat hook postrouting priority 100;
        jump opened_out
        oifname "wan" meta l4proto udp masquerade fully-random
        oifname "wan" masquerade
    }
    chain opened_in { }
    chain opened_out { }
}
"""


def configuration(protocol):
    return f"""
ext_ifname=wan
listening_ip=lan
enable_natpmp={"yes" if protocol == "NAT-PMP" else "no"}
enable_upnp={"yes" if protocol == "UPnP" else "no"}
secure_mode=yes
uuid=0d6cb5dc-9e4b-4ce2-9a31-5d9a3c2f7d10
allow 1024-65535 0.0.0.0/0 1024-65535
deny 0-65535 0.0.0.0/0 0-65535
upnp_table_name=filter
upnp_nat_table_name=filter
upnp_forward_chain=opened
upnp_nat_chain=opened_in
upnp_nat_postrouting_chain=opened_out
"""


class Home:
    """A daemon and a router that opens ports, on an internet with a relay and a laptop behind a strict router of its own."""

    def __init__(self, router, relay, daemon, laptop):
        self.router = router
        self.relay = relay
        self.daemon = daemon
        self.laptop = laptop
        self.opener = None
        self.directory = tempfile.TemporaryDirectory(prefix="mew-miniupnpd-")

    @classmethod
    async def make(cls, lab, protocol, *options):
        run(["bash", "-c", ". Scripts/common.sh; need_packages miniupnpd miniupnpd-nftables"])
        internet = await lab.switch("internet")
        machine = await lab.machine("relay")
        await internet.plug(machine, f"{OUTSIDE}10/24")
        relay = await Relay.start(machine, f"{OUTSIDE}10")
        router, home = await cls.router(lab, internet, 1)
        desk = await lab.machine("desk")
        await home.plug(desk, "10.1.0.2/24", "10.1.0.1")
        self = cls(router, relay, None, None)
        await self.open_ports(protocol)
        self.daemon = await Daemon.start(desk, relay, options=options)
        _, away = await cls.router(lab, internet, 2)
        machine = await lab.machine("laptop")
        await away.plug(machine, "10.2.0.2/24", "10.2.0.1")
        self.laptop = Laptop(machine)
        return self

    @staticmethod
    async def router(lab, internet, number):
        machine = await lab.machine(f"router{number}", "router")
        switch = await lab.switch(f"home{number}")
        await machine.network("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        await internet.plug(machine, f"{OUTSIDE}{20 + number}/24", f"{OUTSIDE}10", interface="wan")
        await switch.plug(machine, f"10.{number}.0.1/24", interface="lan")
        await machine.network("nft", "-f", "-", stdin=RULES)
        return machine, switch

    async def open_ports(self, protocol):
        directory = Path(self.directory.name)
        (directory / "conf").write_text(configuration(protocol))
        self.opener = await self.router.background(
            "/usr/sbin/miniupnpd", "-d", "-f", directory / "conf", "-P", directory / "pid")

    async def close_ports(self):
        """As a router that is restarted: what was opened is forgotten."""
        await self.opener.signal("KILL")
        await self.opener.wait()
        await self.router.network("nft", "flush", "chain", "inet", "filter", "opened_in")
        await self.router.network("nft", "flush", "chain", "inet", "filter", "opened")

    async def mapping(self, seconds=15):
        """What the daemon says of it, when it says something else than that it is asking."""
        end = time.monotonic() + seconds
        while True:
            rows = await self.daemon.machine.run("mew", "status", "--json")
            found = [row["port_mapping"] for row in map(json.loads, rows) if "port_mapping" in row]
            if found and found[0] and found[0]["state"] != "asking":
                return found[0]
            expect(time.monotonic() < end, f"nothing came of asking the router: {found}")
            # A daemon tells its command line what is, not when it changes.
            await asyncio.sleep(0.2)

    async def is_open(self):
        chain = await self.router.network("nft", "list", "chain", "inet", "filter", "opened_in")
        return "dnat" in str(chain)


async def mapped(lab, protocol):
    home = await Home.make(lab, protocol)
    mapping = await home.mapping()
    expect(mapping == {"state": "open", "address": f"{WAN}:{Daemon.PORT}", "method": protocol}, f"{mapping}")
    expect(await home.is_open(), "the router has opened nothing")
    await home.laptop.pair(home.daemon)
    ticker = await home.laptop.ticking(home.daemon)
    await path(home.daemon, "direct", seconds=DIRECT_SECONDS)
    seconds = time.time() - ticker.process.started
    await ticker.cancel()
    await home.daemon.stop()
    expect(not await home.is_open(), "the daemon has left its port open")
    return f"direct after {seconds:.1f} s"


for protocol in ("NAT-PMP", "UPnP"):

    def make(protocol=protocol):
        async def play(lab):
            return await mapped(lab, protocol)

        play.__doc__ = f"Strict and strict, and a router that opens ports by {protocol}: direct within 10 s, and closed at the stop."
        return play

    scenario(f"port-mapping-{protocol.lower()}", "mew ↔ mew ↔ miniupnpd", quick=protocol == "NAT-PMP")(make())


@scenario("port-mapping-off", "mew ↔ mew ↔ miniupnpd")
async def off(lab):
    """With --no-port-map no router is asked, and strict and strict stay on the relay."""
    home = await Home.make(lab, "NAT-PMP", "--no-port-map")
    await home.laptop.pair(home.daemon)
    ticker = await home.laptop.ticking(home.daemon)
    await ticker.until(time.time() + DIRECT_SECONDS)
    await path(home.daemon, "relay", seconds=1)
    expect(not await home.is_open(), "a port is open")
    await ticker.cancel()
    return ""


@scenario("port-mapping-restart", "mew ↔ mew ↔ miniupnpd", limit_seconds=500)
async def restart(lab):
    """The router is restarted and has forgotten the port: it is open again within the five minutes of the next request."""
    home = await Home.make(lab, "UPnP")
    await home.mapping()
    await home.close_ports()
    await home.open_ports("UPnP")
    start = time.monotonic()
    while not await home.is_open():
        expect(time.monotonic() - start < 330, "the port is still closed")
        await asyncio.sleep(1)
    return f"open again after {time.monotonic() - start:.0f} s"
