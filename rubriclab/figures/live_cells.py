"""Draw the heatmap of a run that is still going: what was chosen where, and nothing decided.

It has the axes of the heatmap on Results, so that people recognise the one in the other. It has no
colour of an effect, because no look has been made.
"""

from collections.abc import Mapping, Sequence

from rubriclab.figures.marks import Picture, Point, picture
from rubriclab.model.text import count
from rubriclab.words.phrases import number


def cells_so_far(
    counts: Mapping[tuple[float, int], int], scores: Sequence[float], positions: int
) -> Picture | None:
    """Return score by position: of the calls that gave a score, the share at each position.

    counts: calls by (score, position from 1). None before the first score.
    """
    points: dict[tuple[str, int], Point] = {}
    for score in scores:
        given = sum(counts.get((score, place), 0) for place in range(1, positions + 1))
        for place in range(1, positions + 1):
            share = counts.get((score, place), 0) / given if given else float("nan")
            text = number(share, ".0%") if given else "–"
            of_calls = f"{text} of the {count(given, 'call')} that gave {score:g} so far"
            points[f"{score:g}", place] = Point(
                str(place),
                share,
                text,
                expected=1 / positions,
                hover=(
                    f"Score {score:g} at position {place}",
                    of_calls if given else "never given so far",
                ),
            )
    total = sum(counts.values())
    alt = (
        f"Heatmap, score by position, of {count(total, 'score')} so far. Without position bias "
        f"every cell would be {number(1 / positions, '.0%')}. Nothing is decided yet."
    )
    axes = ("Position in the list", "Score chosen")
    return picture("cells", points, alt, axes=axes, undecided=True)
