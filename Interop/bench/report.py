"""Goals, and a table that says whether they were met."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    ours: float
    theirs: float
    peer: str
    unit: str
    # The ratio ours / theirs must be at least (or at most) this; None: shown for information.
    least: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def goal(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:g} ×"
        return "" if self.most is None else f"≤ {self.most:g} ×"

    @property
    def met(self) -> bool | None:
        if self.least is not None:
            return self.ratio >= self.least
        return None if self.most is None else self.ratio <= self.most

    def json(self) -> dict:
        return {
            "what": self.what, "ours": self.ours, "theirs": self.theirs, "peer": self.peer, "unit": self.unit,
            "ratio": self.ratio, "at_least": self.least, "at_most": self.most, "met": self.met,
        }


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(rows: list[Row]) -> str:
    cells = [("what", "mew", "peer's", "unit", "compared with", "ratio", "goal", "")]
    for row in rows:
        verdict = {True: "met", False: "missed", None: ""}[row.met]
        cells.append((row.what, number(row.ours), number(row.theirs), row.unit, row.peer, f"{row.ratio:.2f}", row.goal,
                      verdict))
    widths = [max(len(line[column]) for line in cells) for column in range(8)]
    right = {1, 2, 5}
    return "\n".join(
        "  ".join(
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in cells
    )
