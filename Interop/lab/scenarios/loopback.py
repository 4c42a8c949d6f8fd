"""The groups of scenarios that need one machine only: each of theirs is one here, for each pinned version of iroh."""

import ast

from ..catalogue import scenario
from ..command import ROOT
from ..engines import IROH_VERSIONS
from ..network import INTERNET

# Those of them that the quick set leaves out.
SLOW = {"churn"}


def declared(group):
    """Names and laws in the order of the group's `ALL`, read without running it: it needs packages that this program lacks."""
    tree = ast.parse((ROOT / "Interop" / group / "scenarios.py").read_text())
    laws = {node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, ast.AsyncFunctionDef)}
    table = next(
        node.value for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ALL")
    functions = [name.id for name in table.generators[0].iter.elts]
    # A group names its scenarios with dashes or as they are; `play` takes both.
    return [(name, laws[name].split("\n")[0]) for name in functions]


def add(group, name, law, version):
    # The newest version alone is in the quick set.
    quick = version == IROH_VERSIONS[-1] and name not in SLOW

    @scenario(f"{group}/{name.replace('_', '-')}@{version}", f"mew ↔ iroh {version}", [f"iroh-{version}"], quick)
    async def play(lab):
        machine = await lab.machine("host", f"iroh-{version}")
        # An endpoint on a machine without a network does not even ask for its address.
        await (await lab.switch("internet")).plug(machine, f"{INTERNET}5/24", f"{INTERNET}1")
        lines = await machine.run("python", "-m", group, name.replace("_", "-"), seconds=110)
        return "; ".join(line.strip() for line in lines[:-1] if line.startswith("  "))[:80]

    play.__doc__ = law


for group in ("connection", "phone", "relay"):
    for name, law in declared(group):
        for version in IROH_VERSIONS:
            add(group, name, law, version)
