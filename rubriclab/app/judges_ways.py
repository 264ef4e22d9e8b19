"""Draw several ways to ask for the same judgment beside each other."""

from rubriclab.app.judges_view import Several, View, numbers, show
from rubriclab.figures.axis_pictures import ways_asked, ways_beside
from rubriclab.words.phrases import say

CONTRADICTIONS = (
    "contradictions",
    "contradictions_stable",
    "contradictions_of_scores",
    "cycles",
)


def has(several: Several) -> bool:
    """Return whether the judges were asked in several ways."""
    return len(ways_asked(several.findings, several.dataset)) > 1


def draw(several: Several) -> None:
    """Draw a line for each way, and where scores and pairs contradict each other."""
    show(several, ways_beside(several.findings, several.dataset), "ways")
    numbers(several, say("contradictions", ("ways",)), CONTRADICTIONS)


VIEW = View("ways", "Ways to ask", has, draw)
