"""Places on the internet that differ in what lies before them (RFC 4787), for one machine each.

| place | mapping | filtering | how |
|---|---|---|---|
| `none` | no translation | open | an address of its own |
| `open` | endpoint-independent | endpoint-independent | every port is forwarded to the only machine behind |
| `moderate` | endpoint-independent | address and port | port-preserving, answers only |
| `strict` | address and port | address and port | a random port for each destination |
| `carrier` | as moderate | as moderate | a moderate router behind another one |
| `blocked` | – | – | no UDP at all |

In IPv6 nothing is translated: `open` lets UDP in, `blocked` none in either direction, the others only answers.
"""

from dataclasses import dataclass

from .network import INTERNET

PLACES = ["none", "open", "moderate", "strict", "carrier", "blocked"]
FAMILIES = ["ipv4", "ipv6", "dual"]
# For documentation (RFC 3849).
INTERNET6 = "2001:db8::"


def is_direct(family, one, other):
    """Whether two places can reach one another without a relay, by theory and without a port mapping."""
    if "blocked" in (one, other):
        return False
    if family != "ipv4" or "strict" not in (one, other):
        return True
    return not {one, other} <= {"strict", "moderate", "carrier"}


def reasons(here, there):
    """What `mew status` here may name when `is_direct` says no; of two that hold, the one that is known first."""
    blocked = {"udp_blocked_here": here, "udp_blocked_there": there}
    return {code for code, place in blocked.items() if place == "blocked"} or {"port_per_destination"}


def rules(place, inner=None):
    """For nftables; `inner` is the address that an open router forwards to."""
    udp = "meta l4proto udp"
    into = f'iifname "wan" {udp} dnat to {inner}' if place == "open" and inner else ""
    randomly = f'oifname "wan" {udp} masquerade fully-random' if place == "strict" else ""
    blocked = f"{udp} drop" if place == "blocked" else ""
    admitted = "ct status dnat accept" if place == "open" else ""
    admitted6 = f"{udp} accept" if place == "open" else ""
    return f"""
table ip nat {{
    chain in {{ type nat hook prerouting priority -100; {into}
    }}
    chain out {{ type nat hook postrouting priority 100; {randomly}
        oifname "wan" masquerade
    }}
}}
table ip filter {{
    chain forward {{ type filter hook forward priority 0; policy drop;
        {blocked}
        iifname "lan" accept
        ct state established,related accept
        {admitted}
    }}
    chain input {{ type filter hook input priority 0; policy accept;
        iifname "wan" ct state new drop
    }}
}}
table ip6 filter {{
    chain forward {{ type filter hook forward priority 0; policy drop;
        meta l4proto ipv6-icmp accept
        {blocked}
        iifname "lan" accept
        ct state established,related accept
        {admitted6}
    }}
}}
"""


@dataclass
class Net:
    """A switch, and the addresses on it: `four` and `six` are what comes before the number of a machine."""

    switch: object
    four: str
    six: str

    async def plug(self, machine, number, family, **names):
        """Neither family has an address that it should not have, not even a link's own."""
        # Addresses are checked for doubles for a second otherwise.
        await machine.network("sysctl", "-q", "-w", "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
        address = f"{self.four}{number}/24" if family != "ipv6" else f"{self.six}{number}/64"
        port = await self.switch.plug(machine, address, **names)
        if family == "dual":
            await machine.network("ip", "addr", "add", f"{self.six}{number}/64", "nodad", "dev", port.interface)
        if family == "ipv4":
            await machine.network("sysctl", "-q", "-w", f"net.ipv6.conf.{port.interface}.disable_ipv6=1")
        return port

    async def default(self, machine, number, family):
        if family != "ipv6":
            await machine.network("ip", "route", "replace", "default", "via", f"{self.four}{number}")
        if family != "ipv4":
            await machine.network("ip", "-6", "route", "replace", "default", "via", f"{self.six}{number}")


class Internet:
    """An internet of one switch, with a router that knows where the networks of IPv6 are."""

    def __init__(self, lab, family, net, core):
        self.lab = lab
        self.family = family
        self.net = net
        self.core = core
        self.count = 0
        # The router of each network, by its IPv6 prefix.
        self.routers = {net.six: core}

    @classmethod
    async def make(cls, lab, family):
        net = Net(await lab.switch("internet"), INTERNET, INTERNET6)
        core = await lab.machine("core", "router")
        await net.plug(core, 1, family)
        if family != "ipv4":
            await core.network("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        return cls(lab, family, net, core)

    async def public(self, machine, number):
        """Its address, as it stands in a URL."""
        await self.net.plug(machine, number, self.family)
        await self.net.default(machine, 1, self.family)
        return f"[{INTERNET6}{number}]" if self.family == "ipv6" else f"{INTERNET}{number}"

    async def put(self, machine, place):
        self.count += 1
        number = self.count
        if place == "none":
            return await self.public(machine, 100 + number)
        outer, gateway = self.net, 1
        if place == "carrier":
            outer = await self.behind(self.net, 1, f"carrier{number}", 20 + number, "moderate", Net(
                await self.lab.switch(f"carrier{number}net"), f"100.64.{number}.", f"2001:db8:{number}:1::"), f"2001:db8:{number}::/48")
        home = Net(await self.lab.switch(f"home{number}"), f"10.{number}.0.", f"2001:db8:{number}:2::")
        kind = "moderate" if place == "carrier" else place
        await self.behind(outer, gateway, f"router{number}", 20 + number, kind, home, f"2001:db8:{number}:2::/64")
        await home.plug(machine, 2, self.family)
        await home.default(machine, 1, self.family)

    async def behind(self, outer, gateway, name, number, kind, inner, route):
        """A router between two networks: `number` outside, 1 inside."""
        machine = await self.lab.machine(name, "router")
        await outer.plug(machine, number, self.family, interface="wan")
        await inner.plug(machine, 1, self.family, interface="lan")
        await outer.default(machine, gateway, self.family)
        await machine.network("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        await machine.network("nft", "-f", "-", stdin=rules(kind, f"{inner.four}2"))
        if self.family != "ipv4":
            await machine.network("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
            # Whoever is outside sends there what is for the inside.
            await self.routers[outer.six].network("ip", "-6", "route", "add", route, "via", f"{outer.six}{number}")
        self.routers[inner.six] = machine
        return inner
