"""What a relay costs: round trips, throughput and CPU through the real `mew relay`, between our nodes and between real iroh
endpoints that have no other way to each other; coturn as the yardstick of forwarding."""

import os
import re
import subprocess
import time
from pathlib import Path

from . import islands
from .idle import resident_bytes
from .peers import MODULE
from .process import Failed, Server, run

IDLE_CLIENTS = 1000
PACKET_BYTES = 1200


class OurRelay:
    """In the middle; what it has forwarded and spent is asked before and after."""

    PORT = 3340
    UDP = ["--no-udp"]
    # How its clients are told to reach it.
    words: list[str] = []

    def __init__(self, where: islands.Islands, home: Path):
        self.where = where
        self.url = self.plain_url = f"http://{islands.MIDDLE}:{self.PORT}/"
        # What its clients must be told.
        self.trust: list[str] = []
        self.start(home, "--http", f"0.0.0.0:{self.PORT}")

    def start(self, home: Path, *options: str) -> None:
        self.server = Server(
            *self.where.on("middle", os.environ["MEW"], "relay", "--json", *self.UDP, *options, "--log-level", "warning"),
            env={**os.environ, "MEW_HOME": str(home)})

    def forwarded_bytes(self) -> int:
        return self.count("bytes_forwarded_total")

    def count(self, name: str) -> int:
        metrics = self.where.get(self.plain_url + "metrics")
        return int(re.search(rf"^mew_relay_{name} (\d+)", metrics, re.M)[1])

    def wait_for(self, name: str, wanted: int) -> None:
        end = time.monotonic() + 60
        while (found := self.count(name)) < wanted:
            if time.monotonic() > end:
                raise Failed(f"{name} is only {found}, not {wanted}")
            time.sleep(0.5)


class HTTP3Relay(OurRelay):
    """The same over HTTP/3."""

    UDP = ["--udp", "0.0.0.0:7842"]
    words = ["--http3"]


class SealedRelay(OurRelay):
    """The same with a certificate, which its clients are told to believe."""

    PORT = 3443
    PLAIN_PORT = 3080

    def __init__(self, where: islands.Islands, home: Path):
        self.where = where
        self.url = f"https://{islands.MIDDLE}:{self.PORT}/"
        self.plain_url = f"http://{islands.MIDDLE}:{self.PLAIN_PORT}/"
        home.mkdir(mode=0o700)
        certificate, key = home / "certificate.pem", home / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=relay", "-addext", f"subjectAltName=IP:{islands.MIDDLE}", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        self.trust = ["--relay-trust", str(certificate)]
        self.start(home / "state", "--http", f"0.0.0.0:{self.PORT}", "--plain-http", f"0.0.0.0:{self.PLAIN_PORT}",
                   "--tls-cert", str(certificate), "--tls-key", str(key))


class Relayed:
    """A server on one island, clients on the other, the relay between them."""

    def __init__(self, where: islands.Islands, relay: OurRelay, server: list[str], client: list[str], env: dict):
        self.where, self.relay, self.client, self.env = where, relay, client, env
        self.server = Server(*where.on("one", *server), env=env)

    def ask(self, what: str, *numbers: int) -> dict:
        return run(*self.where.on("other", *self.client, *self.words(what, numbers)), env=self.env)

    def echo(self, count: int) -> dict:
        return self.ask("echo", count)

    def receive(self, size: int) -> dict:
        """Throughput, and what the relay spent on what crossed it."""
        bytes_before, cpu_before = self.relay.forwarded_bytes(), self.relay.server.cpu_seconds()
        result = self.ask("receive", size)
        forwarded = self.relay.forwarded_bytes() - bytes_before
        spent = self.relay.server.cpu_seconds() - cpu_before
        if forwarded < size:
            raise Failed(f"{self.name}: only {forwarded} of {size} bytes crossed the relay")
        return {"mb_per_second": size / 1e6 / result["seconds"], "cpu_s_per_gb": spent / (forwarded / 1e9)}


class Mew(Relayed):
    name = "mew"

    def __init__(self, where: islands.Islands, relay: OurRelay, directory: Path):
        program = os.environ["MEW"]
        super().__init__(
            where, relay, [program, "bench", "serve", "--bind", "0.0.0.0:0", "--relay", relay.url, "--json", *relay.trust, *relay.words], [program, "bench"],
            {**os.environ, "MEW_HOME": str(directory / "relayed")})

    def words(self, what: str, numbers: tuple) -> list[str]:
        option = {"echo": "--count", "receive": "--bytes"}[what]
        return [what, self.server.ready["node_id"], self.relay.url, option, str(numbers[0]), "--json",
                *self.relay.trust, *self.relay.words]


class Iroh(Relayed):
    name = "iroh 1.2.0, same relay"

    def __init__(self, where: islands.Islands, relay: OurRelay, _: Path):
        super().__init__(where, relay, [*MODULE, "serve", relay.url], MODULE, dict(os.environ))

    def words(self, what: str, numbers: tuple) -> list[str]:
        return [what, self.server.ready["node_id"], self.relay.url, *(str(number) for number in numbers)]


class Coturn:
    """TURN over UDP, channels, no TLS, no passwords: the cheapest it can do. Clients on one island send to an echo on the other."""

    name = "coturn, UDP"

    def __init__(self, where: islands.Islands, directory: Path):
        self.where, self.directory = where, directory
        self.log = directory / "turnserver.log"
        self.echo = Server(*where.on("other", "turnutils_peer", "-L", "10.77.2.2"), port=3480)

    def server(self) -> Server:
        """A new one for each round: after some hundred MB turnserver 4.6 stops reading its socket for good, now and then."""
        self.log.unlink(missing_ok=True)
        return Server(
            *self.where.on("middle", "turnserver", "-n", "--no-auth", "--no-tls", "--no-dtls", "--no-cli", "--verbose",
                           "--relay-threads", "1", "--listening-ip", islands.MIDDLE, "--relay-ip", "10.77.2.1", "--realm",
                           "bench", "--log-file", self.log, "--simple-log", "--db", self.directory / "turn.db",
                           "--pidfile", self.directory / "turn.pid"), port=3478)

    def forward(self, size: int) -> dict:
        """Seconds of CPU per GB that left the relay, either way."""
        count = size // PACKET_BYTES // 2
        with self.server() as server:
            before = server.cpu_seconds()
            run(*self.where.on(
                "one", "turnutils_uclient", "-e", "10.77.2.2", "-X", "-c", "-m", "2", "-n", count // 2, "-l",
                PACKET_BYTES, "-z", "0", islands.MIDDLE), parse=False)
            end = time.monotonic() + 20
            while (sent := self.sent_bytes()) == 0 and time.monotonic() < end:
                # coturn writes its log when it likes; the figure below counts no time of this wait.
                time.sleep(0.2)
            if not sent:
                raise Failed("coturn does not say what it has sent")
            return {"cpu_s_per_gb": (server.cpu_seconds() - before) / (sent / 1e9)}

    def sent_bytes(self) -> int:
        """By its own account, which it gives when a session ends: to clients, and to their peers."""
        return sum(int(number) for number in re.findall(r"\bp?sb=(\d+)", self.log.read_text()))


def idle_memory(where: islands.Islands, relay: OurRelay) -> float:
    """KiB of the relay's resident memory per client that is there and says nothing."""
    before = resident_bytes(relay.server.pid)
    with Server(*where.on("other", os.environ["MEW"], "bench", "crowd", relay.url, "--connections", str(IDLE_CLIENTS),
                          "--json", *relay.trust, *relay.words)) as crowd:
        if crowd.ready["connections"] != IDLE_CLIENTS:
            raise Failed("the crowd is not complete")
        if relay.words:
            # Where many come at once, some come by WebSocket first.
            relay.wait_for("http3_connections", IDLE_CLIENTS)
        return (resident_bytes(relay.server.pid) - before) / 1024 / IDLE_CLIENTS
