"""Responses scored together, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.model.wording import interval, number

Json = Mapping[str, Any]


def batch_lines(arm: Json) -> Iterator[str]:
    """One arm of batches: its scores, its effects, and what it costs beside single calls."""
    counts, single = arm["judgments"], arm["single"]
    yield " · ".join(filter(None, (arm["judge"], arm["dataset"], arm["strategy"], f"batches of {arm['batch_size']}")))
    yield (
        f"  scores         {counts['ok']:,} read of {counts['total']:,}, {arm['n_items']:,} items in "
        f"{arm['batches']:,} batches, {arm['calls']:,} calls"
    )
    places = "  ".join(number(one["shift"]["estimate"], "+.2f") for one in arm["places"])
    yield f"  place 1..n     {places}   last less first {_effect(arm['drift'])}"
    yield f"  just before    {_effect(arm['contrast'])}, by {arm['contrast_by']}; by people {_effect(arm['contrast_people'])}"
    if single is not None:
        yield f"  together       {_effect(single['level'])} against alone, {single['items']:,} items"
        yield (
            f"  single call    {number(single['exact'], '.0%')} of scores equal, two single calls "
            f"{number(single['exact_alone'], '.0%')}; r {number(single['r']['r'], '.3f')}, two single calls "
            f"{number(single['r_alone']['r'], '.3f')}"
        )
        yield (
            f"  people         r {number(single['people']['r'], '.3f')}, single calls "
            f"{number(single['people_alone']['r'], '.3f')}"
        )
    yield from (f"  note           {warning}" for warning in arm["warnings"])


def _effect(shown: Json) -> str:
    ends = interval((shown["low"], shown["high"]), ".2f", brackets=True)
    return f"{number(shown['estimate'], '+.2f')} {ends} ({shown['verdict']})"
