"""ngtcp2's own client and server, which speak HTTP/3 with certificates: the same QUIC, another purpose."""

from ..catalogue import scenario
from ..network import INTERNET
from ..nodes import DISCOVERY_PORT
from ..world import World, expect

KINDS = ["mew", "ngtcp2"]
QUIET = ["--no-quic-dump", "--no-http-dump", "--quiet"]


async def two_machines(lab, relays=0):
    world = await World.make(lab, relays)
    ours, theirs = await lab.machine("ours"), await lab.machine("theirs", "ngtcp2")
    await world.public(ours, 31)
    await world.public(theirs, 32)
    return world, ours, theirs


async def words(process, seconds):
    """All it has said by its end. Its exit status says nothing: ngtcp2's client ends with 0 when it is refused."""
    await process.wait(seconds)
    return "\n".join(text for _, text in process.errors + process.lines)


@scenario("ngtcp2-client", "mew ↔ ngtcp2 client", KINDS, quick=True)
async def ngtcp2_client(lab):
    """ngtcp2's HTTP/3 client is turned away by our node with a TLS alert, at once, and the node goes on serving."""
    _, ours, theirs = await two_machines(lab)
    node = await ours.start("interop-node", "listen", "--bind", "0.0.0.0:4433")
    ready = await node.event("ready")
    client = await theirs.start("gtlsclient", "--no-http-dump", f"{INTERNET}31", "4433", f"https://{INTERNET}31/")
    said = await words(client, 8)
    # 0x100 and the alert no_application_protocol (RFC 9001 §4.8).
    alert = "CRYPTO_ERROR(0x178)"
    expect(alert in said, f"no {alert}")
    await node_serves(ours, ready)
    return alert


async def node_serves(machine, ready):
    dial = await machine.start("interop-node", "dial", ready["node_id"], "127.0.0.1:4433")
    await dial.succeeded()


@scenario("ngtcp2-server", "mew ↔ ngtcp2 server", KINDS, quick=True)
async def ngtcp2_server(lab):
    """A node that dials ngtcp2's HTTP/3 server learns at once that no mew node is there."""
    _, ours, theirs = await two_machines(lab)
    await theirs.run(
        "openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", "/tmp/key.pem",
        "-out", "/tmp/certificate.pem")
    await theirs.start("gtlsserver", *QUIET, f"{INTERNET}32", "4433", "/tmp/key.pem", "/tmp/certificate.pem")
    # It does not say when it listens: on port 4433, which is 1151 there.
    await theirs.run("sh", "-c", "until grep -q ':1151 ' /proc/net/udp; do sleep 0.05; done")
    node_id = "ae58ff8833241ac82d6ff7611046ed67b5072d142c588d0063e942d9a75502b6"
    dial = await ours.start("interop-node", "hold", node_id, "--addr", f"{INTERNET}32:4433", "--bytes", 1, "--ways", "direct")
    event = await dial.event("dial_failed", seconds=12)
    expect("no application protocol in common" in event["reason"], event["reason"])
    return "refused: no application protocol in common"


@scenario("ngtcp2-probe", "ngtcp2 client ↔ mew relay", KINDS, quick=True)
async def ngtcp2_probe(lab):
    """The UDP port of a relay answers ngtcp2's client with a Version Negotiation packet, as RFC 9000 §6 has it."""
    world, _, theirs = await two_machines(lab, relays=1)
    relay = world.relays[0]
    client = await theirs.start("gtlsclient", "--no-http-dump", relay.address, str(DISCOVERY_PORT), f"https://{relay.address}/")
    said = await words(client, 8)
    expect("ERR_RECV_VERSION_NEGOTIATION" in said, "no Version Negotiation packet came")
    return ""
