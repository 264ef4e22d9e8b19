"""Responses scored together, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rubriclab.model.language import tr
from rubriclab.model.wording import interval, number
from rubriclab.report.text_words import Json, notes, row, spoken


def batch_lines(arm: Json) -> Iterator[str]:
    """One arm of batches: its scores, its effects, and what it costs beside single calls."""
    counts, single = arm["judgments"], arm["single"]
    size = tr("batches of {n}", n=arm["batch_size"])
    yield " · ".join(filter(None, (arm["judge"], arm["dataset"], arm["strategy"], size)))
    read = tr(
        "{read:,} read of {all:,}, {items:,} items in {batches:,} batches, {calls:,} calls",
        read=counts["ok"],
        all=counts["total"],
        items=arm["n_items"],
        batches=arm["batches"],
        calls=arm["calls"],
    )
    yield row(tr("scores"), read)
    places = "  ".join(number(one["shift"]["estimate"], "+.2f") for one in arm["places"])
    yield row(tr("place 1..n"), tr("{places}   last less first {drift}", places=places, drift=_effect(arm["drift"])))
    before = tr(
        "{contrast}, by {by}; by people {people}",
        contrast=_effect(arm["contrast"]),
        by=spoken(arm, "contrast_by"),
        people=_effect(arm["contrast_people"]),
    )
    yield row(tr("just before"), before)
    if single is not None:
        yield from _beside_single(single)
    yield from notes(arm["warnings"])


def _beside_single(single: Json) -> Iterator[str]:
    """What the same responses got in calls of their own."""
    level = tr("{level} against alone, {items:,} items", level=_effect(single["level"]), items=single["items"])
    yield row(tr("together"), level)
    alike = tr(
        "{exact} of scores equal, two single calls {exact_alone}; r {r}, two single calls {r_alone}",
        exact=number(single["exact"], ".0%"),
        exact_alone=number(single["exact_alone"], ".0%"),
        r=number(single["r"]["r"], ".3f"),
        r_alone=number(single["r_alone"]["r"], ".3f"),
    )
    yield row(tr("single call"), alike)
    r, alone = number(single["people"]["r"], ".3f"), number(single["people_alone"]["r"], ".3f")
    yield row(tr("people"), tr("r {r}, single calls {r_alone}", r=r, r_alone=alone))


def _effect(shown: Json) -> str:
    ends = interval((shown["low"], shown["high"]), ".2f", brackets=True)
    return f"{number(shown['estimate'], '+.2f')} {ends} ({spoken(shown, 'verdict')})"
