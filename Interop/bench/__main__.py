"""`python -m bench [--quick] [--json] [--only NAME…]`: mew beside its peers, in one run; medians of interleaved rounds.

Exit status 0 when everything was measured, whether or not the goals were met; 1 when a peer failed.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from . import idle, lossyline, relayed, sessions
from .islands import Islands
from .peers import Example, Iroh, Mew, PlainUDP, processor
from .process import Failed
from .report import Row, table

MEASURES = ("handshakes", "echo", "throughput", "idle", "relay", "relay-tls", "relay-http3", "sessions")
# Of one stream through a relay.
RELAYED_BYTES = 200_000_000
# Parts of `relay` and `sessions`, for whoever works on them.
PARTS = ("relay-throughput", "relay-beside", "sessions-store", "sessions-told", "sessions-screen", "sessions-crowd", "sessions-slow-line")


def main() -> int:
    options = arguments()
    scale = 0.1 if options.quick else 1.0
    rounds = 1 if options.quick else 5
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="mew-bench-") as name:
        directory = Path(name)
        say(f"on {processor()}, loopback; {rounds} round(s)")
        bench = Bench(directory, scale, rounds)
        failed = False
        try:
            for measure in options.only:
                say(f"measuring: {measure}")
                try:
                    rows += getattr(bench, measure.replace("-", "_"))()
                except (Failed, AssertionError, OSError, subprocess.SubprocessError) as failure:
                    say(f"error: {measure} could not be measured: {failure}")
                    failed = True
        finally:
            bench.stop()
    if options.json:
        for row in rows:
            print(json.dumps(row.json()))
    else:
        print(table(rows))
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/bench", description="mew beside its peers, in one run")
    parser.add_argument("--quick", action="store_true", help="one short round: shows that it works, proves nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object per line instead of the table")
    parser.add_argument("--only", nargs="+", choices=MEASURES + PARTS, default=list(MEASURES), metavar="NAME",
                        help=f"only these: {', '.join(MEASURES + PARTS)}")
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, directory: Path, scale: float, rounds: int):
        self.directory = directory
        self.scale = scale
        self.rounds = rounds
        self.started: dict[type, object] = {}

    def peer(self, kind: type):
        """Started at its first use, so that nobody idles beside what does not need it."""
        if kind not in self.started:
            self.started[kind] = kind(self.directory)
        return self.started[kind]

    def stop(self) -> None:
        for peer in self.started.values():
            if hasattr(peer, "server"):
                peer.server.stop()

    def medians(self, *measured) -> list[dict]:
        """Each measured once per round, in turn, so that whatever else the machine does hits all alike."""
        results = [[measure() for measure in measured] for _ in range(self.rounds)]
        return [
            {key: statistics.median(result[key] for result in column) for key in column[0]} for column in zip(*results)
        ]

    def handshakes(self) -> list[Row]:
        mew, iroh = self.peer(Mew), self.peer(Iroh)
        seconds = 5 * self.scale
        ours, theirs, ours_many, theirs_many = self.medians(
            lambda: mew.handshakes(seconds, 1), lambda: iroh.handshakes(seconds, 1),
            lambda: mew.handshakes(seconds, 8), lambda: iroh.handshakes(seconds, 8))
        best = "per_second"
        return [
            Row("handshakes, 8 in flight", ours_many[best], theirs_many[best], Iroh.name, "1/s", least=2),
            Row("handshakes, one at a time", ours[best], theirs[best], Iroh.name, "1/s", least=2),
            Row("handshake, median", ours["p50_us"], theirs["p50_us"], Iroh.name, "µs"),
        ]

    def echo(self) -> list[Row]:
        mew, iroh, udp = self.peer(Mew), self.peer(Iroh), self.peer(PlainUDP)
        count = int(20_000 * self.scale)
        floor, ours, theirs = self.medians(
            lambda: udp.echo(count), lambda: mew.echo(count), lambda: iroh.echo(count // 4))
        return [
            Row("echo of 64 bytes, median", ours["p50_us"], floor["p50_us"], PlainUDP.name, "µs", most=1.6),
            Row("echo of 64 bytes, 99 %", ours["p99_us"], ours["p50_us"], "its own median", "µs", most=2),
            Row("echo of 64 bytes, median", ours["p50_us"], theirs["p50_us"], Iroh.name, "µs"),
        ]

    def throughput(self) -> list[Row]:
        mew, iroh, example = self.peer(Mew), self.peer(Iroh), self.peer(Example)
        size = int(1_000_000_000 * self.scale)
        ours, theirs, c = self.medians(
            lambda: mew.receive(size), lambda: iroh.receive(size // 4), lambda: example.receive(size))
        speed, cost = "mb_per_second", "cpu_s_per_gb"
        return [
            Row("one stream", ours[speed], theirs[speed], Iroh.name, "MB/s", least=5),
            Row("one stream", ours[speed], c[speed], Example.name, "MB/s", least=0.9),
            Row("CPU per GB, both sides", ours[cost], c[cost], Example.name, "s", most=1.25),
            Row("CPU per GB, both sides", ours[cost], theirs[cost], Iroh.name, "s"),
        ]

    def idle(self) -> list[Row]:
        found = idle.measure(self.directory, int(20_000 * self.scale), self.rounds)
        return [
            Row(f"memory per idle connection at {idle.CONNECTIONS:,}", found["kib_per_connection"], 60.0,
                "60 KiB", "KiB", most=1),
            Row(f"daemon's pong beside {idle.CONNECTIONS:,} idle", found["crowded_us"], found["alone_us"],
                "the same alone", "µs", most=1.1),
        ]

    def relay(self) -> list[Row]:
        with contextlib.ExitStack() as stack:
            where, our = self.islands(stack, relayed.OurRelay)
            mew, iroh = relayed.Mew(where, our, self.directory), relayed.Iroh(where, our, self.directory)
            coturn = relayed.Coturn(where, self.directory)
            for server in (mew.server, iroh.server, coturn.echo):
                stack.callback(server.stop)
            count, size = int(5_000 * self.scale), int(RELAYED_BYTES * self.scale)
            our_echo, their_echo, ours, theirs, turn = self.medians(
                lambda: mew.echo(count), lambda: iroh.echo(count), lambda: mew.receive(size),
                lambda: iroh.receive(size // 2), lambda: coturn.forward(size))
            idle_kib = relayed.idle_memory(where, our)
        speed, cost = "mb_per_second", "cpu_s_per_gb"
        return [
            Row("relayed echo of 64 bytes, median", our_echo["p50_us"], their_echo["p50_us"], iroh.name, "µs"),
            Row("relayed, one stream", ours[speed], theirs[speed], iroh.name, "MB/s", least=2),
            Row("relay's CPU per GB forwarded", ours[cost], turn[cost], coturn.name, "s", most=1.5),
            Row("the same, for iroh's packets", theirs[cost], turn[cost], coturn.name, "s"),
            Row(f"relay's memory per idle client at {relayed.IDLE_CLIENTS:,}", idle_kib, 40.0, "40 KiB", "KiB", most=1),
        ]

    def relay_throughput(self) -> list[Row]:
        with contextlib.ExitStack() as stack:
            where, our = self.islands(stack, relayed.OurRelay)
            mew, iroh = relayed.Mew(where, our, self.directory), relayed.Iroh(where, our, self.directory)
            for server in (mew.server, iroh.server):
                stack.callback(server.stop)
            size = int(RELAYED_BYTES * self.scale)
            ours, theirs = self.medians(lambda: mew.receive(size), lambda: iroh.receive(size // 2))
        return [Row("relayed, one stream", ours["mb_per_second"], theirs["mb_per_second"], iroh.name, "MB/s", least=2)]

    def relay_tls(self) -> list[Row]:
        """What TLS adds: our nodes through our relay with a certificate, beside the same without one."""
        with contextlib.ExitStack() as stack:
            where, plain = self.islands(stack, relayed.OurRelay)
            sealed = relayed.SealedRelay(where, self.directory / "sealed")
            stack.callback(sealed.server.stop)
            without, within = (relayed.Mew(where, relay, self.directory) for relay in (plain, sealed))
            for server in (without.server, within.server):
                stack.callback(server.stop)
            size = int(RELAYED_BYTES * self.scale)
            clear, secret = self.medians(lambda: without.receive(size), lambda: within.receive(size))
            clear_kib, secret_kib = relayed.idle_memory(where, plain), relayed.idle_memory(where, sealed)
        speed, cost, peer = "mb_per_second", "cpu_s_per_gb", "the same, plain"
        return [
            Row("relayed over TLS, one stream", secret[speed], clear[speed], peer, "MB/s"),
            Row("relay's CPU per GB forwarded over TLS", secret[cost], clear[cost], peer, "s"),
            Row(f"relay's memory per idle client over TLS at {relayed.IDLE_CLIENTS:,}", secret_kib, clear_kib, peer, "KiB"),
        ]

    def relay_http3(self) -> list[Row]:
        """HTTP/3 on both legs beside WebSocket on both."""
        with contextlib.ExitStack() as stack:
            where, over = self.islands(stack, relayed.HTTP3Relay)
            elsewhere, socket = self.islands(stack, relayed.OurRelay)
            coturn = relayed.Coturn(where, self.directory)
            stack.callback(coturn.echo.stop)
            datagrams, frames = relayed.Mew(where, over, self.directory), relayed.Mew(elsewhere, socket, self.directory)
            for server in (datagrams.server, frames.server):
                stack.callback(server.stop)
            count, size = int(5_000 * self.scale), int(RELAYED_BYTES * self.scale)
            our_echo, their_echo, ours, theirs, turn = self.medians(
                lambda: datagrams.echo(count), lambda: frames.echo(count), lambda: datagrams.receive(size),
                lambda: frames.receive(size), lambda: coturn.forward(size))
            idle_kib = relayed.idle_memory(where, over)
        speed, cost, peer = "mb_per_second", "cpu_s_per_gb", "over WebSocket"
        return [
            Row("relayed echo over HTTP/3, median", our_echo["p50_us"], their_echo["p50_us"], peer, "µs"),
            Row("relayed over HTTP/3, one stream", ours[speed], theirs[speed], peer, "MB/s"),
            Row("relay's CPU per GB over HTTP/3", ours[cost], turn[cost], coturn.name, "s", most=1.5),
            Row(f"relay's memory per idle HTTP/3 client at {relayed.IDLE_CLIENTS:,}", idle_kib, 72.0, "72 KiB", "KiB", most=1),
        ] + self.relay_beside()

    def relay_beside(self) -> list[Row]:
        """One client, two peers, one leg on a line of 20 Mbit/s and 40 ms that loses 1 %. The relay's HTTP/3 runs BBR, its TCP what
        the kernel runs; the connections inside both run CUBIC."""
        seconds = 30 * self.scale
        over, socket = self.medians(
            lambda: lossyline.beside(self.directory, True, seconds), lambda: lossyline.beside(self.directory, False, seconds))
        peer = f"over WebSocket, {Path('/proc/sys/net/ipv4/tcp_congestion_control').read_text().strip()}"
        return [
            Row("echo beside a bulk transfer, 1 % loss, 99 %", over["p99_us"], socket["p99_us"], peer, "µs", most=0.5),
            Row("the same, median", over["p50_us"], socket["p50_us"], peer, "µs"),
            Row("the bulk transfer", over["bulk_mb_per_second"], socket["bulk_mb_per_second"], peer, "MB/s", least=0.8),
        ]

    def sessions(self) -> list[Row]:
        return [
            *self.sessions_store(), *self.sessions_told(), *self.sessions_screen(), *self.sessions_crowd(),
            *self.sessions_slow_line(),
        ]

    def sessions_store(self) -> list[Row]:
        """The store alone, and the daemon around it. Every event is on the disk before anybody hears of it."""
        seconds = 3 * self.scale
        alone, together = self.medians(
            lambda: sessions.commits(self.directory, 1, seconds), lambda: sessions.commits(self.directory, 64, seconds))
        with sessions.Desk(self.directory / "store") as desk:
            count = str(int(2_000 * self.scale))
            one, many = self.medians(
                lambda: desk.bench("fanout", "--events", count),
                lambda: desk.bench("fanout", "--events", count, "--sessions", "64", "--lanes", "16"))
        rate, stored = "per_second", "stored_per_second"
        return [
            Row("commits of 64 writers, one sync for all that wait", together[rate], alone[rate], "one writer, a sync each", "1/s"),
            Row("events stored by 64 sessions, 16 at a time each", many[stored], 20_000, "20,000/s", "1/s", least=1),
            Row("events stored by one session, a sync each", one[stored], alone[rate], "the store alone", "1/s"),
        ]

    def sessions_told(self) -> list[Row]:
        """One session that tells 64 events at a time, and one that tells 1,000 a second."""
        rows = []
        with sessions.Desk(self.directory / "told") as desk:
            for clients, events in ((1, 20_000), (10, 10_000), (100, 2_000), (1_000, 200)):
                ask = lambda: desk.bench(
                    "fanout", "--events", str(max(50, int(events * self.scale))), "--clients", str(clients), "--lanes", "64")
                # That a thousand hear of each other takes longer than what is measured.
                (told,) = self.medians(ask) if clients < 1_000 else [ask()]
                rows.append(Row(
                    f"events stored and told to {clients:,} client{'s' if clients > 1 else ''}", told["told_per_second"],
                    told["told_per_second"] * clients, "what arrives", "1/s"))
            (paced,) = self.medians(lambda: desk.bench(
                "fanout", "--events", str(int(5_000 * self.scale)), "--clients", "100", "--rate", "1000"))
        return [
            *rows,
            Row("1,000 events/s to 100 clients, 99 %", paced["p99_ms"], 20, "20 ms", "ms", most=1),
            Row("1,000 events/s to 100 clients, median", paced["p50_ms"], paced["p99_ms"], "their 99 %", "ms"),
        ]

    def sessions_screen(self) -> list[Row]:
        found = sessions.first_screens(self.directory, int(50 * self.scale), self.rounds)
        with sessions.Desk(self.directory / "replay") as desk:
            (replay,) = self.medians(lambda: desk.bench("replay", "--count", str(int(50 * self.scale))))
        least = found[min(found)]
        return [
            *(Row(f"first screen of {events:,} events", one["p50_ms"], least["p50_ms"], "1,000 events", "ms")
              for events, one in found.items()),
            Row(f"first screen of {sessions.LARGEST:,} events, first after a start", found[sessions.LARGEST]["first_ms"], 50,
                "50 ms", "ms", most=1),
            *(Row(f"bytes of it, {events:,} events", one["bytes"] / 1024, 64, "64 KiB", "KiB", most=1)
              for events, one in found.items()),
            Row("replay of 1,000 events", replay["p50_ms"], least["p50_ms"], "a first screen", "ms"),
        ]

    def sessions_crowd(self) -> list[Row]:
        found = sessions.crowd(self.directory, 50, self.rounds)
        rise = max(found["beside_worst_ms"] - found["alone_p50_ms"], 0)
        return [
            Row("a ping's worst delay beside 50 that attach, rise", rise, 50, "50 ms", "ms", most=1),
            Row("a ping's median delay beside 50 that attach", found["beside_p50_ms"], found["alone_p50_ms"], "the same alone",
                "ms"),
        ]

    def sessions_slow_line(self) -> list[Row]:
        found = sessions.slow_line(self.directory, self.rounds)
        return [
            Row(f"first screen of {sessions.LARGEST:,} events over 256 kbit/s", found["first_s"], 3, "3 s", "s", most=1),
            Row("the slowest of them", found["worst_s"], 3, "3 s", "s", most=1),
        ]

    def islands(self, stack: contextlib.ExitStack, relay: type) -> tuple:
        where = Islands()
        stack.callback(where.close)
        our = relay(where, self.directory / relay.__name__)
        stack.callback(our.server.stop)
        return where, our


sys.exit(main())
