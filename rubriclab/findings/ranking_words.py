"""Who wins, in words: how often that changes, and what of it is the order's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.ranking_results import RankingResult, RankReversal
from rubriclab.findings.topic import Advice, setting
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.verdict import Verdict


def ranking_sentence(pair: RankReversal) -> str:
    """Does the winner change between two strategies, and more often than by noise alone?"""
    if not pair.prompts:
        return tr("No prompt has two candidates that both strategies could score.")
    noise = pair.noise
    if not noise.decided:
        return tr(
            "Between {a} and {b} orders no prompt has one winner on both sides: the candidates tie.", a=pair.a, b=pair.b
        )
    start = tr(
        "Between {a} and {b} orders, {reads} each, the winner changes on {share} of prompts ({ends}; noise included)",
        a=pair.a,
        b=pair.b,
        reads=many(round(noise.reads), "read"),
        share=number(noise.changed.value, ".0%"),
        ends=interval(noise.changed.ci, ".0%"),
    )
    if noise.calls:
        return tr("{start}; no order was read twice, so what is the order's cannot be told.", start=start)
    if noise.control is None:
        return tr("{start}; in the same order, read twice, the candidates tie.", start=start)
    more: dict[Verdict, str] = {
        "effect": msg("{start}, in the same order, read twice, on {share}: more often than by noise."),
        "equivalent": msg("{start}, in the same order, read twice, on {share}: no more often than by noise."),
        "undecided": msg(
            "{start}, in the same order, read twice, on {share}: whether more often than by noise cannot be said yet."
        ),
    }
    return tr(more[noise.excess.verdict], start=start, share=number(noise.control.value, ".0%"))


def ranking_advice(result: RankingResult) -> Iterator[Advice]:
    """Of each judge in each setting its clearest strategy against the fixed one, else any pair."""
    for key in dict.fromkeys(setting(pair) for pair in result.pairs):
        mine = [pair for pair in result.pairs if setting(pair) == key and pair.prompts]
        known = sorted(mine, key=lambda pair: (pair.noise.control is None, pair.b != "fixed"))
        for pair in known[:1]:
            yield Advice(key, "ranking", tr("Does the order change who wins?"), _answer(pair), pair.noise.excess)


def _answer(pair: RankReversal) -> str:
    verdict, gain = pair.noise.excess.verdict, pair.best_of.gain
    heads = {
        "effect": tr("Yes."),
        "equivalent": tr("Not by as much as is of interest."),
        "undecided": tr("These data cannot say."),
    }
    text = f"{heads[verdict]} {ranking_sentence(pair)}"
    if pair.noise.calls:
        text += tr(
            " {calls:,} more calls would tell: each item again in the orders of the arm that has fewer reads.",
            calls=pair.noise.calls,
        )
    if gain is not None and np.isfinite(gain.value):
        text += tr(
            " Best of {n} by {a} is worth {value:+.2f} human points against {b} {ends}, all reads of both.",
            n=pair.best_of.candidates,
            a=pair.a,
            value=gain.value,
            b=pair.b,
            ends=interval(gain.ci, "+.2f", brackets=True),
        )
    return text
