"""The scenarios, by name. Each is a function of a laboratory; the first line of its docstring is the law it checks."""

from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Scenario:
    name: str
    peers: str
    # The kinds of machines it needs besides routers.
    kinds: list[str]
    # Whether it belongs to the quick set, which every change has to pass.
    quick: bool
    play: Callable
    # Nothing but this may take longer; what does, hangs.
    limit_seconds: int
    # Why it cannot be played in an engine, by the engine's name. The README lists these.
    unsupported: dict[str, str] = field(default_factory=dict)

    @property
    def law(self):
        return self.play.__doc__.strip().split("\n")[0]


ALL: dict[str, Scenario] = {}


def scenario(name, peers, kinds=("mew",), quick=False, limit_seconds=120, unsupported=None):
    def add(play):
        assert name not in ALL, f"two scenarios are called {name}"
        ALL[name] = Scenario(name, peers, list(kinds), quick, play, limit_seconds, unsupported or {})
        return play

    return add
