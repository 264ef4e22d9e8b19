"""Draw whether judges are less consistent where answers are close."""

from typing import Literal

from rubriclab.app.judges_view import Several, View, asks_for_preference, numbers, show
from rubriclab.figures.choice_pictures import quality_gap


def has(several: Several) -> bool:
    """Return whether there are cells with a win rate."""
    return bool(several.findings.select("cell_win_rate"))


def draw(several: Several) -> None:
    """Draw a panel for each judge."""
    outcome: Literal["PC", "PF"] = "PF" if asks_for_preference(several, "gap") else "PC"
    shown = quality_gap(several.findings, several.dataset, outcome)
    show(several, shown, f"gap-{outcome}")
    numbers(several, "**Win rate of each model** · ties and flips count as half", ("win_rate",))


VIEW = View("quality-gap", "Quality gap", has, draw)
