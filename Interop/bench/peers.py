"""Who is compared, and how each is started and asked. All on loopback, server and client in processes of their own."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from .process import Failed, Server, run

MODULE = [sys.executable, "-m", "bench.iroh_peer"]


class Iroh:
    name = "iroh 1.2.0"

    def __init__(self, _: Path):
        self.server = Server(*MODULE, "serve")
        self.where = [self.server.ready["node_id"], self.server.ready["addr"]]

    def handshakes(self, seconds: float, in_flight: int) -> dict:
        return run(*MODULE, "handshakes", *self.where, str(seconds), str(in_flight))

    def echo(self, count: int) -> dict:
        return run(*MODULE, "echo", *self.where, str(count))

    def receive(self, size: int) -> dict:
        return on_both_sides(self.server, lambda: run(*MODULE, "receive", *self.where, str(size)))


class Mew:
    name = "mew"

    def __init__(self, directory: Path):
        self.binary = os.environ["MEW"]
        self.environment = {**os.environ, "MEW_HOME": str(directory / "bench")}
        self.server = Server(
            self.binary, "bench", "serve", "--bind", "127.0.0.1:0", "--json", env=self.environment)
        self.where = [self.server.ready["node_id"], self.server.ready["addr"]]

    def ask(self, what: str, *options: str) -> dict:
        return run(self.binary, "bench", what, *self.where, *options, "--json", env=self.environment)

    def handshakes(self, seconds: float, in_flight: int) -> dict:
        return self.ask("handshakes", "--milliseconds", str(int(seconds * 1000)), "--in-flight", str(in_flight))

    def echo(self, count: int) -> dict:
        return self.ask("echo", "--count", str(count))

    def receive(self, size: int) -> dict:
        return on_both_sides(self.server, lambda: self.ask("receive", "--bytes", str(size)))


class Example:
    """ngtcp2's own client and server, over HTTP/3: the C that our connections are made of, without us."""

    name = "ngtcp2 example"
    PORT = 24_433

    def __init__(self, directory: Path):
        key, certificate, root = directory / "key.pem", directory / "certificate.pem", directory / "root"
        root.mkdir()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-keyout", key, "-out", certificate], check=True, capture_output=True)
        self.server = Server(
            "gtlsserver", "--quiet", "--no-quic-dump", "--no-http-dump", "--max-dyn-length=4G", "-d", str(root),
            "127.0.0.1", str(self.PORT), str(key), str(certificate), port=self.PORT)

    def receive(self, size: int) -> dict:
        def ask() -> dict:
            start = time.perf_counter()
            result = run(
                "gtlsclient", "--quiet", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close", "127.0.0.1",
                str(self.PORT), f"https://127.0.0.1:{self.PORT}/{size}")
            return {**result, "bytes": size, "seconds": time.perf_counter() - start}

        return on_both_sides(self.server, ask)


class PlainUDP:
    name = "UDP ping-pong"

    def __init__(self, directory: Path):
        self.program = directory / "udp_pingpong"
        source = Path(__file__).with_name("udp_pingpong.c")
        compiler = next((name for name in ("clang", "cc", "gcc") if which(name)), None)
        if compiler is None:
            raise Failed("no C compiler for udp_pingpong.c")
        subprocess.run([compiler, "-O2", "-o", self.program, source], check=True)

    def echo(self, count: int) -> dict:
        return run(str(self.program), str(count))


def which(name: str) -> bool:
    return any((Path(folder) / name).exists() for folder in os.environ["PATH"].split(":"))


def on_both_sides(server: Server, ask) -> dict:
    """Adds what the server spent meanwhile, and puts both per gigabyte."""
    before = server.cpu_seconds()
    result = ask()
    spent = result["cpu_s"] + server.cpu_seconds() - before
    gigabytes = result["bytes"] / 1e9
    return {"mb_per_second": result["bytes"] / 1e6 / result["seconds"], "cpu_s_per_gb": spent / gigabytes}


def processor() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} × {found[1] if found else 'unknown processor'}"
