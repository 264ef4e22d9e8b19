"""DeepEval's test runs. It keeps a metric's score and reason, and no prompt of its judge.

A metric of one's own may write them into ``verboseLogs`` (``construct_verbose_logs`` with steps “Prompt:” and
“Reply:”); those are read, and the record of a judge card (``card_record``). Of all others it is said that no
prompt was kept (deepeval 4.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.card_record import RECORD, card_record, recorded
from rubriclab.datasets.logs.exchange import Exchange, messages_in
from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread
from rubriclab.datasets.logs.prompted import judgments
from rubriclab.datasets.logs.source import Source
from rubriclab.datasets.plain import json_value
from rubriclab.model import LabError
from rubriclab.model.language import msg

NO_METRIC = msg("the test case has no metric")
NO_PROMPT = msg("DeepEval keeps no prompt of this metric's judge, so its order is not known")
_STEPS = re.compile(
    r"\A\s*(?:judge'?s? )?prompt:[ \t]*\n(?P<prompt>.*?)\n\s*(?:judge'?s? )?(?:reply|response|output):[ \t]*\n(?P<reply>.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_MATCH = re.compile(r'"testCases"\s*:\s*\[')
_DEEP = re.compile(r'"metricsData"|"metrics_data"|"conversationalTestCases"')


def _matches(source: Source) -> bool:
    return _MATCH.search(source.head) is not None and _DEEP.search(source.head) is not None


def _read(source: Source) -> Records:
    return judgments(one for line, case in source.records("testCases") for one in _exchanges(line, case))


def _exchanges(line: int, case: Mapping[str, Any]) -> Iterator[Exchange | Logged | Unread]:
    metrics = case.get("metricsData", case.get("metrics_data"))
    if not isinstance(metrics, list) or not metrics:
        yield Unread(line, NO_METRIC)
        return
    for metric in metrics:
        logs = metric.get("verboseLogs", metric.get("verbose_logs")) if isinstance(metric, Mapping) else None
        record = _record(logs)
        if record is not None:
            yield from recorded(line, record)
            continue
        steps = _STEPS.match(logs) if isinstance(logs, str) else None
        if steps is None:
            yield Unread(line, NO_PROMPT)
            continue
        score = metric.get("score")
        known = isinstance(score, int | float) and not isinstance(score, bool)
        yield Exchange(
            line=line,
            messages=messages_in(steps["prompt"]),
            reply=steps["reply"],
            judge=str(metric.get("evaluationModel") or ""),
            verdict=f"{score:g}" if known else "",
            task=str(metric.get("name") or ""),
        )


def _record(logs: object) -> Mapping[str, Any] | None:
    """What a judge card's metric wrote behind the name of its record; None where there is none, or no JSON."""
    _, named, text = logs.partition(f"\n{RECORD}: ") if isinstance(logs, str) else ("", "", "")
    try:
        return card_record({RECORD: json_value("a record", text)}) if named else None
    except (ValueError, LabError):
        return None


DEEPEVAL = LogFormat(
    msg("DeepEval: a test run whose metric writes prompt and reply into its verbose logs"),
    "testCases[].metricsData[].verboseLogs",
    _matches,
    _read,
)
