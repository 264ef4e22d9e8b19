"""Draw the heatmap of a run that is still going: what was chosen where, and nothing decided.

It has the axes of the heatmap on Results, so that people recognise the one in the other. It has no
colour of an effect, because no look has been made.
"""

import math
from collections.abc import Mapping, Sequence

from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.model.text import count
from rubriclab.words.phrases import number


def cells_so_far(
    counts: Mapping[tuple[float, int], int], scores: Sequence[float], positions: int
) -> Picture:
    """Return score by position: of the calls that gave a score, the share at each position.

    counts: calls by (score, position from 1). Without any the cells are empty: the page can then
    draw the heatmap while the judge is being loaded, so that the first reply shows at once.
    """
    lines = []
    for score in scores:
        given = sum(counts.get((score, place), 0) for place in range(1, positions + 1))
        points = []
        for place in range(1, positions + 1):
            title = f"Score {score:g} at position {place}"
            if given:
                share = counts.get((score, place), 0) / given
                text = number(share, ".0%")
                of_calls = f"{text} of the {count(given, 'call')} that gave {score:g} so far"
            else:
                share, text, of_calls = math.nan, "–", "never given so far"
            even = 1 / positions
            points.append(Point(str(place), share, text, expected=even, hover=(title, of_calls)))
        lines.append(Series(f"{score:g}", tuple(points)))
    total = sum(counts.values())
    alt = (
        f"Heatmap, score by position, of {count(total, 'score')} so far. Without position bias "
        f"every cell would be {number(1 / positions, '.0%')}. Nothing is decided yet."
    )
    return Picture(
        "cells",
        tuple(lines),
        alt,
        axes=("Position in the list", "Score chosen"),
        levels=tuple(str(place) for place in range(1, positions + 1)),
        undecided=True,
    )
