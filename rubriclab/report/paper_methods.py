"""The methods of a paper about one run: what was judged, by whom, how, and by which statistics.

Every sentence is about this run. What was measured and by which method stands in ``estimands.toml``
(``paper``), each sentence with what a run must have for it to be true; here are data, judges and design.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab import __version__
from rubriclab.findings.effects import step, unfinished
from rubriclab.findings.frame import units
from rubriclab.findings.settling import settled
from rubriclab.findings.topics import Findings
from rubriclab.model import STATUSES, Judge, Study
from rubriclab.model.answers import answer_words
from rubriclab.model.designs import STRATEGIES
from rubriclab.model.wording import many
from rubriclab.report.estimands import ESTIMANDS
from rubriclab.report.paper_text import name, quoted
from rubriclab.report.source import Source
from rubriclab.report.words import UNREAD

KINDS = {
    "embedded": "run inside the lab's process",
    "vllm": "served by vLLM",
    "openai": "asked through an OpenAI-compatible interface",
    "python": "code of our own",
    "simulated": "a simulated judge with planted effects and no language model",
}
SHOWN = {
    "options": "the score options of the rubric",
    "criteria": "the criteria of the rubric, all scored in one call",
    "pairwise": "the two answers that are compared",
    "listwise": "the answers that are compared",
    "batch": "the responses that one call scores under the rubric",
}
THINGS = {
    "options": "item",
    "criteria": "item",
    "pairwise": "comparison",
    "listwise": "comparison",
    "batch": "response",
}


class Paragraph(NamedTuple):
    """A heading and the text under it; names in it are marked (see ``report.paper_text``)."""

    heading: str
    text: str


@dataclass(frozen=True)
class Methods:
    """``findings`` and ``source`` are of one run; ``study``: None where the run was imported."""

    findings: Findings
    source: Source

    @property
    def study(self) -> Study | None:
        return self.source.study

    def paragraphs(self) -> tuple[Paragraph, ...]:
        every = {
            "Read first": map(name, self.findings.alarms()),
            "Data": self._data(),
            "Judges": self._judges(),
            "Design": self._design(),
            "Reading of answers": self._answers(),
            "Statistics": self._statistics(),
            "Verdicts": self._verdicts(),
            "What was randomised": self._randomised(),
            "Software": self._software(),
        }
        made = {heading: " ".join(filter(None, sentences)) for heading, sentences in every.items()}
        return tuple(Paragraph(heading, text) for heading, text in made.items() if text)

    # ------------------------------------------------------------ what was judged

    def _data(self) -> Iterator[str]:
        data = self.findings.data
        asked = np.unique(data.judgments["item"].to_numpy())
        items = data.items.iloc[asked]
        thing = THINGS[self._axis]
        sets = [quoted(one) for one in dict.fromkeys(items["dataset"])]
        yield f"{many(len(items), thing).capitalize()} of the data set{'s' * (len(sets) > 1)} {_and(sets)} were judged."
        groups = {
            what: items[column].nunique()
            for column, what in (("prompt", "prompt"), ("block", "text"), ("task", "task"))
        }
        told = [many(known, what) for what, known in groups.items() if 1 < known < len(items)]
        if told:
            yield f"They belong to {_and(told)}."
        rated = int(np.isfinite(items["human"].to_numpy(dtype=float)).sum())
        if rated:
            most = max(len(given) for given in items["raters"] if isinstance(given, tuple | list | np.ndarray))
            yield f"People rated {rated:,} of them, by at most {many(most, 'rating')} each."
        elif thing == "item":
            yield "None of them has a human rating."
        unit = units(items.reset_index(drop=True), data.unit)
        if thing == "item":
            yield (
                f"Items are taken as independent of each other, and intervals resample {many(unit.n, 'item')}."
                if unit.kind == "item"
                else f"The {unit.kind} is taken as the unit of analysis, as items that share one are not independent of "
                f"each other: {many(unit.n, unit.kind)} [@cameron2015]."
            )
        yield from self._rubric()

    def _rubric(self) -> Iterator[str]:
        study, arms = self.study, self.findings.data.arms
        scales = sorted({arm.scores for arm in arms if arm.scores})
        scored = _and([f"{_numbers(scores)}" for scores in scales])
        if study is None or study.rubric is None:
            if scales:
                yield f"Scores were on the scale {scored}."
            return
        if self._axis in ("pairwise", "listwise"):
            return
        criteria = study.rubric.criteria
        names = _and([quoted(one.name) for one in criteria])
        kinds = "criterion" if len(criteria) == 1 else f"{many(len(criteria), 'criterion')}"
        described = all(option.description for one in criteria for option in one.options)
        words = "each score described in words" if described else "not every score described in words"
        yield f"The rubric {quoted(study.rubric.name)} has the {kinds} {names} on the scale {scored}, {words}."

    # ------------------------------------------------------------ who judged, and how

    def _judges(self) -> Iterator[str]:
        if self.study is None:
            judges = dict.fromkeys(arm.judge for arm in self.findings.data.arms)
            yield f"Judgments of {_and([quoted(judge) for judge in judges])} were imported; the lab sent no prompt."
            if origin := self.source.provenance.get("file"):
                yield f"They are from the file {quoted(origin)}."
        for judge in self.study.judges if self.study else ():
            yield self._judge(judge)
        if self.findings.data.simulated:
            yield "Simulated judges are no language models: their numbers show what the method sees, and nothing of any model."

    def _judge(self, judge: Judge) -> str:
        model = "" if judge.simulated else f", model {quoted(judge.model)}"
        known = {
            "temperature": judge.sampling.temperature,
            "top_p": judge.sampling.top_p,
            "seed": judge.sampling.seed,
            "max_tokens": judge.sampling.max_tokens,
            "reasoning_effort": judge.sampling.reasoning_effort,
            **judge.sampling.extra,
        }
        told = [f"{name(key.replace('_', ' '))} {name(value)}" for key, value in known.items() if value is not None]
        told += [f"{name(key)} {name(value)}" for key, value in sorted(judge.options.items())]
        served = [one for one in self.source.models.get(judge.name, ()) if one != judge.model]
        as_named = (
            f"; its replies name it {_and([quoted(one) for one in served])}" if served and not judge.simulated else ""
        )
        varied = set(self.study.design.factors) & set(known) if self.study else set()
        kept = f" ({', '.join(told)}{' where not varied' if varied else ''})" if told else ""
        return f"Judge {quoted(judge.name)}{model}: {KINDS[judge.kind]}{kept}{as_named}."

    def _design(self) -> Iterator[str]:
        data, study = self.findings.data, self.study
        yield f"What was reordered is {SHOWN[self._axis]}."
        for strategy in dict.fromkeys(arm.strategy for arm in data.arms):
            yield self._strategy(strategy)
        if study and study.design.factors:
            varied = [
                f"{name(factor.replace('_', ' '))} ({_and([name(v) for v in levels])})"
                for factor, levels in study.design.factors.items()
            ]
            how = "fully crossed" if study.design.crossed else "one factor at a time"
            yield f"Also varied, {how}: {_and(varied)}."
        of = self.source
        calls = data.calls_done
        if of.planned and data.unanswered:
            yield f"The run is not finished: {of.done:,} of {many(of.planned, 'call', 'have')} an answer."
        else:
            yield f"In all {many(calls, 'call')} {'were made' if study else 'are in the file'}."

    def _strategy(self, strategy: str) -> str:
        data = self.findings.data
        codes = [code for code, arm in enumerate(data.arms) if arm.strategy == strategy]
        rows = data.judgments[data.judgments["arm"].isin(codes)]
        if rows.empty:
            return f"Under the strategy {quoted(strategy)} nothing was asked yet."
        per = rows.groupby(["arm", "item"], observed=True)
        reads, orders = per.size(), per["ordering"].nunique()
        kind = next((s.kind for s in self.study.design.strategies if s.name == strategy), None) if self.study else None
        about = ""
        if kind is not None and self._axis == "options":
            about = f" ({STRATEGIES[kind].about[0].lower()}{STRATEGIES[kind].about[1:].rstrip('.')})"
        works = {"williams": " [@williams1949]"} | ({"balanced": " [@xu2026b]"} if self._axis == "options" else {})
        cite = works.get(kind or "", "")
        thing = THINGS[self._axis]
        return (
            f"Under the strategy {quoted(strategy)}{about}{cite} each {thing} was read {_at_most(reads)} time{'s' * (int(reads.max()) > 1)}, in "
            f"{_at_most(orders)} order{'s' * (int(orders.max()) > 1)}."
        )

    def _answers(self) -> Iterator[str]:
        study, rows = self.study, self.findings.data.judgments
        if study is not None and study.prompts:
            for prompt in study.prompts:
                yield f"The prompt {quoted(prompt.name)} is the user's own; its answer is read as {name(answer_words(prompt.answer))}."
        elif study is not None and self._axis in ("options", "criteria"):
            asked = "the score alone" if study.design.answer == "score" else "feedback in prose, and after it the score"
            yield f"Judges were asked, by the lab's own prompt, for {asked}."
        if np.isfinite(rows["expected"].to_numpy(dtype=float)).any():
            yield "Where a judge gave the probabilities of its answer tokens, they were kept beside the score chosen."
        status = np.bincount(rows["status"].to_numpy(), minlength=len(STATUSES))
        total, read = int(status.sum()), int(status[STATUSES.index("ok")])
        left = [f"{int(n):,} because {UNREAD[s]}" for s, n in zip(STATUSES, status, strict=True) if n and s != "ok"]
        why = f"; {', '.join(left)}, and these are left out of the numbers" if left else ""
        yield f"{read:,} of {many(total, 'judgment')} could be read{why}."

    # ------------------------------------------------------------ by which statistics

    def _statistics(self) -> Iterator[str]:
        known = facts(self.findings)
        for estimand in ESTIMANDS:
            for statement in estimand.paper:
                if all(_holds(one, known) for one in statement.when):
                    yield statement.text

    def _verdicts(self) -> Iterator[str]:
        data, advice = self.findings.data, self.findings.advice()
        if not advice:
            return
        if why := unfinished(data):
            kept = "verdicts are given of what a rule that holds at every look had settled, and no others"
            none = "no verdict is given"
            yield f"As {why}, {kept if 'fact settled' in facts(self.findings) else none}."
            return
        points = sorted({step(arm.scores) * data.smallest_effect for arm in data.arms if arm.scores})
        size = f" ({_and([f'{value:g}' for value in points])} points)" if points else ""
        unit = " steps of the scale" if points else ", as wins less losses"
        yield (
            f"The smallest effect of interest was {data.smallest_effect:g}{unit}{size}; of other questions it "
            "stands beside the estimate. The answer to a question is “equivalent” where the whole interval lies within plus or minus "
            "the smallest effect of interest, “effect” where it does not and leaves out 0, and “undecided” otherwise "
            "[@lakens2017; @wellek2010]."
        )
        yield (
            "The primary questions about one judge (does the order, or the form of the prompt, move its answers) share "
            "a level of 5 % by Bonferroni's method, so that their intervals hold at once."
        )
        if any(not line.primary for line in advice):
            yield "The other questions may show an effect only where a primary one does (gatekeeping) [@dmitrienko2007]."

    def _randomised(self) -> Iterator[str]:
        study = self.study
        if study is None:
            yield (
                "The order of what was shown is the one recorded in the file. The lab did not set it, so that it was "
                "randomised is an assumption, and so is that differences between orders are caused by them."
            )
            return
        yield (
            "The order was set by the design, with the same words in every order, so differences between orders are "
            "caused by them, for these items, prompts and judges."
        )
        drawn = [one.name for one in study.design.strategies if STRATEGIES[one.kind].drawn]
        if drawn:
            yield f"Orders of {_and([quoted(one) for one in drawn])} were drawn with the seed {study.design.seed}."
        yield "Items, judges and raters were not randomised."

    def _software(self) -> Iterator[str]:
        made = self.source.provenance
        revision = f", revision {name(made['revision'])}" if made.get("revision") else ""
        verb = "made" if self.study else "imported"
        if made.get("rubriclab"):
            yield f"The run was {verb} with rubriclab {name(made['rubriclab'])}{revision}."
        yield f"The numbers were worked out with rubriclab {__version__}; resampling has the seed {self.findings.seed}."

    @property
    def _axis(self) -> str:
        return self.findings.data.arms[0].axis


def facts(findings: Findings) -> frozenset[str]:
    """What sentences on methods may ask for: ``topic measure`` of every number that is known, ``interval
    topic measure`` of those with an interval, ``test NAME`` of every test used, ``fact NAME``."""
    table = findings.estimates()
    numbers = table[np.isfinite(table["value"].to_numpy(dtype=float))]
    known: set[str] = {
        f"{topic} {measure}" for topic, measure in zip(numbers["topic"], numbers["measure"], strict=True)
    }
    tests = numbers[numbers["measure"] == "position.test"]["note"]
    known |= {f"test {str(note).partition(':')[0]}" for note in tests}
    sure = numbers[np.isfinite(numbers["low"].to_numpy(dtype=float))]
    known |= {f"interval {topic} {measure}" for topic, measure in zip(sure["topic"], sure["measure"], strict=True)}
    return frozenset(known | {f"fact {one}" for one, holds in _facts(findings).items() if holds})


def _facts(findings: Findings) -> dict[str, bool]:
    data = findings.data
    shifts = [arm.shift for arm in findings["position"].arms] if "position" in findings else []
    models = findings["choice"].arms if "choice" in findings else ()
    return {
        "expected scores": any(one.outcome == "expected" for one in shifts),
        "mixed logit": any(one.of_typical_item for one in models),
        "settled": bool(data.unanswered) and any(settled(data, arm) is not None for arm in data.arms),
    }


def _holds(wanted: str, known: frozenset[str]) -> bool:
    return wanted.removeprefix("not ") not in known if wanted.startswith("not ") else wanted in known


def _and(names: Sequence[str]) -> str:
    """All of them: a paper names every judge."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _at_most(counts: pd.Series[int]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"


def _numbers(scores: Sequence[float]) -> str:
    gaps = {b - a for a, b in pairwise(scores)}
    if len(gaps) == 1 and math.isclose(gaps.pop(), 1):
        return f"{scores[0]:g} to {scores[-1]:g}"
    return ", ".join(f"{score:g}" for score in scores)
