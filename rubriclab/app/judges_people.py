"""Draw how close every judge comes to people, by ordering strategy and number of orders."""

from rubriclab.app.judges_view import Several, View, numbers, show
from rubriclab.figures.judge_pictures import balanced_against_fixed, orders_enough
from rubriclab.words.several import reorders_of
from rubriclab.words.yardstick import model_yardstick

RANKINGS = ("kendall_tau", "top1_changed", "top1_excess")
PICKS = ("pick_gain", "pick_most", "pick_difference")
SCORED = ("options", "criteria", "bare")


def has(several: Several) -> bool:
    """Return whether scores can be compared with people's."""
    return any("against" not in row.of for row in several.findings.select("pearson"))


def draw(several: Several) -> None:
    """Draw r by strategy with its paired differences, then r against the number of orders."""
    for reorder in reorders_of(several.findings):
        if reorder in SCORED:
            findings, dataset = several.findings, several.dataset
            show(several, balanced_against_fixed(findings, reorder, dataset), f"fixed-{reorder}")
            show(several, orders_enough(findings, reorder, dataset), f"enough-{reorder}")
    numbers(several, "**Does another order change who wins?** · rankings by prompt", RANKINGS)
    model = model_yardstick(several.findings)
    worth = f"by the scores of {model}" if model else "to people"
    numbers(several, f"**What is the judge's best of N worth {worth}?**", PICKS)


VIEW = View("people", "With people", has, draw)
