"""A real iroh endpoint, through the bindings of its own project.

Works with iroh 1.0.0 and 1.2.0, which differ in the TLS server name they send. No relay and no public lookup: everything
stays on loopback.
"""

import asyncio
import re
from dataclasses import dataclass

import iroh

ALPN = b"mew/wire/0"


@dataclass(frozen=True)
class Closed(Exception):
    """How a connection ended, as iroh words it."""

    text: str

    @property
    def code(self) -> int | None:
        """The application close code, when the peer closed with one."""
        found = re.search(r"\(code (\d+)\)|code[ :=]+(\d+)", self.text)
        return int(next(group for group in found.groups() if group)) if found else None


def words(error: iroh.IrohError) -> str:
    """The first line; the rest is a stack trace."""
    return str(error).splitlines()[0]


async def bind(secret: bytes | None = None, alpns: list[bytes] | None = None) -> iroh.Endpoint:
    """An endpoint on a loopback port of its own, with the key made from `secret`."""
    iroh.iroh_ffi.uniffi_set_event_loop(asyncio.get_running_loop())
    return await iroh.Endpoint.bind(
        iroh.EndpointOptions(
            preset=iroh.preset_minimal(),
            bind_addr="127.0.0.1:0",
            secret_key=secret,
            alpns=alpns or [ALPN],
            relay_mode=iroh.RelayMode.disabled(),
        )
    )


async def dial(endpoint: iroh.Endpoint, node_hex: str, addresses: list[str], alpn: bytes = ALPN) -> iroh.Connection:
    """Connects to a node whose addresses are known."""
    address = iroh.EndpointAddr(iroh.EndpointId.from_string(node_hex), None, addresses)
    return await endpoint.connect(address, alpn)


async def closed(connection: iroh.Connection) -> Closed:
    return Closed(await connection.closed())
