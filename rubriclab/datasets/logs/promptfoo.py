"""promptfoo's results: the judge's prompt as it was sent, and what promptfoo kept of its reply.

``results.results[].gradingResult.componentResults[].metadata.renderedGradingPrompt`` is the prompt; of the
reply ``reason``, ``score`` and ``pass`` are kept, from which it is put together again. ``select-best`` keeps
no prompt: it shows a test's outputs in the order of ``promptIdx`` and lets the chosen one pass. The assertion of
a judge card keeps ``metadata.judge_card`` (``card_record``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rubriclab.datasets.logs.card_record import card_record, recorded
from rubriclab.datasets.logs.exchange import Exchange, messages_in, text_in
from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, question_of, text_of
from rubriclab.datasets.logs.prompted import judgments
from rubriclab.datasets.logs.source import Source
from rubriclab.model.language import msg

NOT_GRADED = msg("it was not graded")
NO_PROMPT = msg("its assertions keep no prompt of a judge")
NO_BEST = msg("select-best chose none of its outputs, or not one alone")
ORDER = msg("promptfoo's order of outputs (promptIdx)")
_HEAD = re.compile(r'"(?:promptfooVersion|evalId)"\s*:|"gradingResult"\s*:')


def _matches(source: Source) -> bool:
    return source.head.startswith("{") and '"results"' in source.head and _HEAD.search(source.head) is not None


def _read(source: Source) -> Records:
    best = _Best()
    yield from judgments(_exchanges(source, best))
    yield from best.rest()


def _exchanges(source: Source, best: _Best) -> Iterator[Exchange | Logged | Unread]:
    for line, result in source.records("results", "results"):
        grading = result.get("gradingResult")
        if not isinstance(grading, Mapping):
            yield Unread(line, NOT_GRADED)
            continue
        parts = list(_components(grading))
        asked = [part for part in parts if isinstance(_metadata(part).get("renderedGradingPrompt"), str)]
        for part in asked:
            yield _exchange(line, part)
        cards = [record for part in parts if (record := card_record(_metadata(part))) is not None]
        for record in cards:
            yield from recorded(line, record)
        chosen = next((part for part in parts if _assertion(part).get("type") == "select-best"), None)
        if chosen is not None:
            best.add(line, result, chosen)
        elif not asked and not cards:
            yield Unread(line, NO_PROMPT)


def _components(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The parts of a grading, those of sets of assertions among them; the grading itself without any."""
    components = result.get("componentResults")
    inner = [part for part in components if isinstance(part, Mapping)] if isinstance(components, list) else []
    if not inner:
        yield result
    for part in inner:
        yield from _components(part)


def _metadata(part: Mapping[str, Any]) -> Mapping[str, Any]:
    known = part.get("metadata")
    return known if isinstance(known, Mapping) else {}


def _assertion(part: Mapping[str, Any]) -> Mapping[str, Any]:
    known = part.get("assertion")
    return known if isinstance(known, Mapping) else {}


def _judge(part: Mapping[str, Any]) -> str:
    provider = _assertion(part).get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("id")
    return provider if isinstance(provider, str) else ""


def _exchange(line: int, part: Mapping[str, Any]) -> Exchange:
    kept = {name: part[name] for name in ("reason", "pass", "score") if name in part}
    score = part.get("score")
    known = isinstance(score, int | float) and not isinstance(score, bool)
    return Exchange(
        line=line,
        messages=messages_in(_metadata(part)["renderedGradingPrompt"]),
        reply=json.dumps(kept, ensure_ascii=False),
        judge=_judge(part),
        verdict=f"{score:g}" if known else "",
        task=str(_assertion(part).get("metric") or ""),
    )


# ---------------------------------------------------------------- select-best


@dataclass(frozen=True)
class _Output:
    line: int
    place: int
    name: str
    text: str
    best: bool
    judge: str
    question: str


@dataclass
class _Best:
    """Outputs of tests that ``select-best`` compares; promptfoo writes them as they end, so a test is whole only at
    the end of the file."""

    open: dict[str, list[_Output]] = field(default_factory=dict)

    def add(self, line: int, result: Mapping[str, Any], part: Mapping[str, Any]) -> None:
        response, prompt, provider = result.get("response"), result.get("prompt"), result.get("provider")
        place = result.get("promptIdx")
        label = prompt.get("label") or prompt.get("raw") if isinstance(prompt, Mapping) else ""
        maker = provider.get("label") or provider.get("id") if isinstance(provider, Mapping) else provider
        text = text_in(response.get("output")) if isinstance(response, Mapping) else ""
        made = _Output(
            line=line,
            place=place if isinstance(place, int) else 0,
            name=f"{text_of(maker)} {text_of(label)}".strip(),
            text=text,
            best=part.get("pass") is True,
            judge=_judge(part),
            question=json.dumps(result.get("vars") or {}, ensure_ascii=False, sort_keys=True),
        )
        self.open.setdefault(text_of(result.get("testIdx")), []).append(made)

    def rest(self) -> Records:
        for outputs in self.open.values():
            yield _best_of(sorted(outputs, key=lambda one: one.place))


def _best_of(outputs: list[_Output]) -> Logged | Unread:
    names = [one.name for one in outputs]
    chosen = [place for place, one in enumerate(outputs, start=1) if one.best]
    if len(outputs) < 2 or len(chosen) != 1 or len(set(names)) < len(names):
        return Unread(outputs[0].line, NO_BEST)
    return Logged(
        axis="pairwise" if len(outputs) == 2 else "listwise",
        judge=outputs[0].judge or "judge",
        line=outputs[0].line,
        question=question_of(outputs[0].question),
        shown=tuple(names),
        chosen=chosen[0],
        responses=tuple(one.text for one in outputs),
        order_from=ORDER,
    )


PROMPTFOO = LogFormat(
    msg("promptfoo: results with an llm-rubric, an own rubricPrompt, or select-best"),
    "results.results[].gradingResult",
    _matches,
    _read,
)
