"""What changed between two times of one judge, in words and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.drift import Answer, Drift, Key
from rubriclab.findings.effects import words
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.drift import PARTS

HEADLINES = {
    "effect": "The judge has changed.",
    "equivalent": "The judge's level is the same as then.",
    "undecided": "Whether the judge has changed is undecided.",
}
PART_NAMES = dict(
    zip(
        PARTS,
        ("a common change of level", "changes of single items", "changes that go with the order", "noise"),
        strict=True,
    )
)
_QUESTIONS: dict[Key, tuple[str, str, str]] = {
    # (what rose, what fell, what is the same or open), as sentences go on
    "level": ("The judge itself scores higher now", "The judge itself scores lower now", "the judge's own level"),
    "spread": ("It sets items further apart now", "It sets items closer together now", "how far apart it sets items"),
    "order": ("The order acts otherwise now", "The order acts otherwise now", "what the order does to it"),
    "noise": (
        "It disagrees more with itself now",
        "It disagrees less with itself now",
        "how much it disagrees with itself",
    ),
    "data": (
        "The newer data are scored higher by the same judge",
        "The newer data are scored lower by the same judge",
        "the data's level",
    ),
    "total": ("The mean score rose in all", "The mean score fell in all", "the mean score in all"),
}


def sentence(found: Drift, answer: Answer) -> str:
    """One of three answers to a question, with its number."""
    up, down, about = _QUESTIONS[answer.key]
    shown = words(answer.effect)
    if answer.effect.verdict == "effect":
        which = _which(found) if answer.key == "order" else ""
        return f"{up if answer.effect.estimate > 0 else down}{which}: {shown}."
    if answer.effect.verdict == "equivalent":
        return f"{about[0].upper()}{about[1:]} is the same, to within {answer.effect.sesoi:g}: {shown}."
    return f"Undecided whether {about} changed: {shown}."


def _which(found: Drift) -> str:
    order = found.answer("order")
    if order is None:
        return ""
    worst = next((turn for turn in found.turns if turn.change == order.effect.estimate), None)
    return f" ({worst.name})" if worst is not None else ""


def sentences(found: Drift) -> Iterator[str]:
    """The headline, what it rests on, each answer, and what one read's change is made of."""
    yield HEADLINES[found.verdict]
    of = "" if found.unit == "item" else f" of {many(found.units, found.unit)}"
    yield (
        f"{many(found.items, 'item')}{of} in {many(found.orders, 'order')} at both times ({many(found.cells, 'pair')} of "
        f"reads, {found.outcome}); the intervals of all answers hold at once in 95 % of comparisons."
    )
    for answer in found.answers:
        yield sentence(found, answer)
    if found.newer is not None:
        yield _judge_or_data(found)
    if (text := _squared(found)) is not None:
        yield text
    if found.spread is not None and np.isfinite(found.spread.correlation):
        ends = interval(found.spread.correlation_interval, ".2f")
        yield f"Items then and now, noise taken out, correlate {number(found.spread.correlation, '.2f')} ({ends})."
    yield from found.warnings


def _judge_or_data(found: Drift) -> str:
    newer, data = found.newer, found.answer("data")
    if newer is None or data is None:
        return ""
    then, now = newer.means
    whole = found.answer("total")
    change = whole.effect.estimate if whole is not None else now - then
    return (
        f"“{newer.name}” ({many(newer.items, 'item')}) has a mean of {now:.2f}, the earlier run {then:.2f}: of the change of {change:+.2f}, "
        f"{change - data.effect.estimate:+.2f} is the judge's own and {data.effect.estimate:+.2f} the data's, if the judge changed on the newer "
        "data as it did on the anchors."
    )


def _squared(found: Drift) -> str | None:
    if found.squared is None or not found.squared.total > 0:
        return None
    parts = [
        f"{number(max(share, 0.0), '.0%')} {PART_NAMES[name]}"
        + (f" ({interval(ci, '.0%')})" if np.isfinite(ci.low) else "")
        for name, share, ci in zip(PARTS, found.squared.share, found.squared.interval, strict=True)
        if np.isfinite(share)
    ]
    without = (
        ""
        if np.isfinite(found.squared.share[-1])
        else "; noise is in the order's part, since no order was read twice at both times"
    )
    return f"What one read now differs by from the same read then (squared) is made of: {', '.join(parts)}{without}."


def markdown(found: Drift) -> str:
    """A report for a pull request or a nightly job's summary."""
    head, rests, *rest = sentences(found)
    lines = [
        f"# Has the judge changed? {head}",
        "",
        rests,
        "",
        "| Question | Change | 95 %, by itself | All at once | Verdict |",
    ]
    lines.append("|---|---|---|---|---|")
    for one in found.answers:
        shown = one.effect
        cells = (number(shown.estimate, "+.3f"), interval(one.ci, "+.3f"), interval(shown.interval, "+.3f"))
        why = f" ({shown.why})" if shown.why else ""
        lines.append(f"| {one.title} | {' | '.join(cells)} | {shown.verdict}{why} |")
    lines += ["", *(f"- {text}" for text in rest), ""]
    if found.turns:
        lines += ["| Order | Change | 95 %, by itself | All at once |", "|---|---|---|---|"]
        lines += [
            f"| {turn.name} | {number(turn.change, '+.3f')} | {interval(turn.ci, '+.3f')} | {interval(turn.ci_all, '+.3f')} |"
            for turn in found.turns
        ]
        lines.append("")
    lines.append(
        f"Then: `{found.then[0]}`, judge {found.then[2].judge}. Now: `{found.now[0]}`, judge {found.now[2].judge}. "
        f"Smallest effect of interest: {found.smallest:g} {found.answers[0].effect.unit}."
    )
    return "\n".join(lines) + "\n"
