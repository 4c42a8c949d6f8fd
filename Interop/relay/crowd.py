"""`python -m relay.crowd URL UDP-PORT COUNT`: so many endpoints on a relay; says when all are online, and waits to be killed."""

import asyncio
import sys

import iroh


async def main(url, port, count):
    endpoints = []
    for _ in range(count):
        relays = iroh.RelayMap.empty()
        relays.insert(iroh.RelayConfig(url=url, quic_port=port, auth_token=None))
        endpoints.append(
            await iroh.Endpoint.bind(
                iroh.EndpointOptions(
                    preset=iroh.preset_minimal(), bind_addr="127.0.0.1:0", relay_mode=iroh.RelayMode.custom(relays))
            )
        )
    await asyncio.gather(*(it.online() for it in endpoints))
    print("online", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
