"""The images of the machines: our program by the Dockerfile at the root, and the foreign peers by those of `Interop/images`.

Base images come from a registry where one can be reached. Elsewhere Debian is installed into an empty directory by debootstrap and
imported, and the builder is that with the Swift toolchain of this host.
"""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from .command import ROOT, CommandFailed, run, say

IMAGES = ROOT / "Interop/images"
DEBIAN = os.environ.get("MEW_DEBIAN", "bookworm")
# What the Dockerfile names itself; the engine knows which registry has them.
REGISTRY_BASE = f"debian:{DEBIAN}-slim"
REGISTRY_BUILDER = f"swift:6.3-{DEBIAN}"
LOCAL_BASE = "mew-interop/base"
PRODUCTS = "mew interop-node"


class Images:
    def __init__(self, engine):
        self.engine = engine

    def tag(self, kind):
        return self.base() if kind == "router" else f"mew-interop/{kind}"

    @cache
    def build(self, kind):
        """Layers that have not changed are taken from the engine's cache."""
        match kind:
            case "router": self.base()
            case "mew": self._product()
            case "ngtcp2": self._run_build("ngtcp2", IMAGES / "ngtcp2.Dockerfile", ROOT, [("BASE", self.base())])
            case "coturn": self._run_build("coturn", IMAGES / "coturn.Dockerfile", IMAGES, [("BASE", self.base())])
            case _: self._python(kind)

    # Bases

    @cache
    def base(self):
        """A slim Debian."""
        if self._is_here(LOCAL_BASE):
            return LOCAL_BASE
        return REGISTRY_BASE if self._can_have(REGISTRY_BASE) else self._debootstrapped()

    def _is_here(self, tag):
        return self._quiet("image", "inspect", tag)

    def _can_have(self, tag):
        # A registry that is not there says so at once, or never; an image of some hundred megabytes takes its time.
        return self._is_here(tag) or self._quiet("pull", tag, seconds=300)

    def _debootstrapped(self):
        say(f"no registry: installing Debian {DEBIAN} by debootstrap")
        with tempfile.TemporaryDirectory(prefix="mew-interop-") as scratch:
            tree = f"{scratch}/tree"
            mirror = [os.environ["MEW_DEBIAN_MIRROR"]] if "MEW_DEBIAN_MIRROR" in os.environ else []
            run(["debootstrap", "--variant=minbase", "--include=ca-certificates", DEBIAN, tree, *mirror])
            # The sources in the form of today's images, with the suites that fixes come from, at the mirror that was used.
            written = Path(tree, "etc/apt/sources.list")
            used = next(words[1] for line in written.read_text().splitlines() if (words := line.split())[:1] == ["deb"])
            written.unlink()
            Path(tree, "etc/apt/sources.list.d/debian.sources").write_text(SOURCES.format(mirror=used, suite=DEBIAN))
            archive = subprocess.Popen(
                ["tar", "-C", tree, "--exclude=./var/cache/apt/archives/*.deb", "--exclude=./var/lib/apt/lists/*", "-c", "."],
                stdout=subprocess.PIPE)
            subprocess.run([self.engine, "import", "-", LOCAL_BASE], stdin=archive.stdout, check=True, capture_output=True)
            if archive.wait() != 0:
                raise CommandFailed("tar failed")
        return LOCAL_BASE

    def _builder(self):
        """The image to build in, and options for it."""
        if self.base() == REGISTRY_BASE and self._can_have(REGISTRY_BUILDER):
            return REGISTRY_BUILDER, []
        swift = shutil.which("swift")
        if not swift:
            raise CommandFailed("neither a Swift image nor a Swift toolchain can be had here")
        toolchain = Path(swift).resolve().parents[1]
        arguments = [("BASE", self.base()), ("TOOLCHAIN", toolchain)]
        if self.engine == "podman":
            self._run_build("swift", IMAGES / "swift.Dockerfile", IMAGES, arguments)
            return "mew-interop/swift", ["--volume", f"{toolchain}:{toolchain}:ro"]
        # Docker mounts nothing while it builds: the toolchain becomes a layer.
        with tempfile.NamedTemporaryFile("w", suffix=".Dockerfile") as file:
            file.write((IMAGES / "swift.Dockerfile").read_text() + f"COPY . {toolchain}\n")
            file.flush()
            self._run_build("swift", file.name, toolchain, arguments)
        return "mew-interop/swift", []

    # What runs

    def _product(self):
        builder, options = self._builder()
        arguments = [("BUILDER", builder), ("RUNTIME", self.base()), ("PRODUCTS", PRODUCTS)]
        self._run_build("mew", ROOT / "Dockerfile", ROOT, arguments, options)

    def _python(self, kind):
        version = kind.removeprefix("iroh-")
        self.build("mew")
        with tempfile.TemporaryDirectory(prefix="mew-interop-") as context:
            run(["python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
                 "-d", f"{context}/wheels", "-r", ROOT / f"Interop/requirements-{version}.txt"])
            shutil.copytree(ROOT / "Interop", f"{context}/interop", ignore=shutil.ignore_patterns("__pycache__", "Node"))
            arguments = [("PRODUCT", "mew-interop/mew"), ("VERSION", version)]
            self._run_build(kind, IMAGES / "iroh.Dockerfile", context, arguments)

    # The engine

    def _run_build(self, kind, file, context, arguments, options=()):
        say(f"building the image {kind}")
        words = [word for name, value in arguments for word in ("--build-arg", f"{name}={value}")]
        form = ["--format", "docker", *self._isolation()] if self.engine == "podman" else []
        run([self.engine, "build", *form, *options, *words, "-t", f"mew-interop/{kind}", "-f", file, context])

    @cache
    def _isolation(self):
        """Where podman may not make a container of each step, it changes the root instead."""
        with tempfile.TemporaryDirectory(prefix="mew-interop-") as context:
            file = Path(context, "Dockerfile")
            file.write_text(f"FROM {self.base()}\nRUN true\n")
            return () if self._quiet("build", "--no-cache", "-f", file, context) else ("--isolation=chroot", "--network=host")

    def _quiet(self, *words, seconds=120):
        try:
            return subprocess.run(
                [self.engine, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=seconds).returncode == 0
        except subprocess.TimeoutExpired:
            return False


SOURCES = """Types: deb
URIs: {mirror}
Suites: {suite} {suite}-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""

