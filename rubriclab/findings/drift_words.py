"""What changed between two times of one judge, in words and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.drift import Answer, Drift, Key
from rubriclab.findings.effects import VERDICTS, words
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.drift import PARTS

HEADLINES = {
    "effect": msg("The judge has changed."),
    "equivalent": msg("The judge's level is the same as then."),
    "undecided": msg("Whether the judge has changed is undecided."),
}
PART_NAMES = dict(
    zip(
        PARTS,
        (
            msg("a common change of level"),
            msg("changes of single items"),
            msg("changes that go with the order"),
            msg("noise"),
        ),
        strict=True,
    )
)
_QUESTIONS: dict[Key, tuple[str, str, str, str]] = {
    # (it rose, it fell, as sentences go on; it is the same; that is open)
    "level": (
        msg("The judge itself scores higher now"),
        msg("The judge itself scores lower now"),
        msg("The judge's own level is the same, to within {sesoi:g}: {shown}."),
        msg("Undecided whether the judge's own level changed: {shown}."),
    ),
    "spread": (
        msg("It sets items further apart now"),
        msg("It sets items closer together now"),
        msg("How far apart it sets items is the same, to within {sesoi:g}: {shown}."),
        msg("Undecided whether how far apart it sets items changed: {shown}."),
    ),
    "order": (
        msg("The order acts otherwise now"),
        msg("The order acts otherwise now"),
        msg("What the order does to it is the same, to within {sesoi:g}: {shown}."),
        msg("Undecided whether what the order does to it changed: {shown}."),
    ),
    "noise": (
        msg("It disagrees more with itself now"),
        msg("It disagrees less with itself now"),
        msg("How much it disagrees with itself is the same, to within {sesoi:g}: {shown}."),
        msg("Undecided whether how much it disagrees with itself changed: {shown}."),
    ),
    "data": (
        msg("The newer data are scored higher by the same judge"),
        msg("The newer data are scored lower by the same judge"),
        msg("The data's level is the same, to within {sesoi:g}: {shown}."),
        msg("Undecided whether the data's level changed: {shown}."),
    ),
    "total": (
        msg("The mean score rose in all"),
        msg("The mean score fell in all"),
        msg("The mean score in all is the same, to within {sesoi:g}: {shown}."),
        msg("Undecided whether the mean score in all changed: {shown}."),
    ),
}


def sentence(found: Drift, answer: Answer) -> str:
    """One of three answers to a question, with its number."""
    up, down, same, undecided = _QUESTIONS[answer.key]
    shown = words(answer.effect)
    if answer.effect.verdict == "effect":
        which = _which(found) if answer.key == "order" else ""
        return f"{tr(up if answer.effect.estimate > 0 else down)}{which}: {shown}."
    if answer.effect.verdict == "equivalent":
        return tr(same, sesoi=answer.effect.sesoi, shown=shown)
    return tr(undecided, shown=shown)


def _which(found: Drift) -> str:
    order = found.answer("order")
    if order is None:
        return ""
    worst = next((turn for turn in found.turns if turn.change == order.effect.estimate), None)
    return f" ({worst.name})" if worst is not None else ""


def sentences(found: Drift) -> Iterator[str]:
    """The headline, what it rests on, each answer, and what one read's change is made of."""
    yield tr(HEADLINES[found.verdict])
    yield tr(
        "{items}{of} in {orders} at both times ({pairs} of reads, {outcome}); the intervals of all "
        "answers hold at once in 95 % of comparisons.",
        items=many(found.items, "item"),
        of="" if found.unit == "item" else tr(" of {units}", units=many(found.units, found.unit)),
        orders=many(found.orders, "order"),
        pairs=many(found.cells, "pair"),
        outcome=tr(found.outcome),
    )
    for answer in found.answers:
        yield sentence(found, answer)
    if found.newer is not None:
        yield _judge_or_data(found)
    if (text := _squared(found)) is not None:
        yield text
    if found.spread is not None and np.isfinite(found.spread.correlation):
        ends = interval(found.spread.correlation_interval, ".2f")
        yield tr(
            "Items then and now, noise taken out, correlate {correlation} ({ends}).",
            correlation=number(found.spread.correlation, ".2f"),
            ends=ends,
        )
    yield from found.warnings


def _judge_or_data(found: Drift) -> str:
    newer, data = found.newer, found.answer("data")
    if newer is None or data is None:
        return ""
    then, now = newer.means
    whole = found.answer("total")
    change = whole.effect.estimate if whole is not None else now - then
    return tr(
        "“{name}” ({items}) has a mean of {now:.2f}, the earlier run {then:.2f}: of the change of "
        "{change:+.2f}, {own:+.2f} is the judge's own and {of_data:+.2f} the data's, if the judge "
        "changed on the newer data as it did on the anchors.",
        name=newer.name,
        items=many(newer.items, "item"),
        now=now,
        then=then,
        change=change,
        own=change - data.effect.estimate,
        of_data=data.effect.estimate,
    )


def _squared(found: Drift) -> str | None:
    if found.squared is None or not found.squared.total > 0:
        return None
    parts = [
        f"{number(max(share, 0.0), '.0%')} {tr(PART_NAMES[name])}"
        + (f" ({interval(ci, '.0%')})" if np.isfinite(ci.low) else "")
        for name, share, ci in zip(PARTS, found.squared.share, found.squared.interval, strict=True)
        if np.isfinite(share)
    ]
    without = (
        ""
        if np.isfinite(found.squared.share[-1])
        else tr("; noise is in the order's part, since no order was read twice at both times")
    )
    return tr(
        "What one read now differs by from the same read then (squared) is made of: {parts}{without}.",
        parts=", ".join(parts),
        without=without,
    )


def markdown(found: Drift) -> str:
    """A report for a pull request or a nightly job's summary."""
    head, rests, *rest = sentences(found)
    lines = [
        tr("# Has the judge changed? {head}", head=head),
        "",
        rests,
        "",
        tr("| Question | Change | 95 %, by itself | All at once | Verdict |"),
    ]
    lines.append("|---|---|---|---|---|")
    for one in found.answers:
        shown = one.effect
        cells = (number(shown.estimate, "+.3f"), interval(one.ci, "+.3f"), interval(shown.interval, "+.3f"))
        why = f" ({tr(shown.why)})" if shown.why else ""
        lines.append(f"| {one.title} | {' | '.join(cells)} | {tr(VERDICTS[shown.verdict])}{why} |")
    lines += ["", *(f"- {text}" for text in rest), ""]
    if found.turns:
        lines += [tr("| Order | Change | 95 %, by itself | All at once |"), "|---|---|---|---|"]
        lines += [
            f"| {turn.name} | {number(turn.change, '+.3f')} | {interval(turn.ci, '+.3f')} | {interval(turn.ci_all, '+.3f')} |"
            for turn in found.turns
        ]
        lines.append("")
    lines.append(
        tr(
            "Then: `{then}`, judge {judge_then}. Now: `{now}`, judge {judge_now}. Smallest effect of interest: "
            "{smallest:g} {unit}.",
            then=found.then[0],
            judge_then=found.then[2].judge,
            now=found.now[0],
            judge_now=found.now[2].judge,
            smallest=found.smallest,
            unit=tr(found.answers[0].effect.unit),
        )
    )
    return "\n".join(lines) + "\n"
