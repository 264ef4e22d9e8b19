"""Pass or fail a run in continuous integration: the command ``gate``.

It checks limits on the intervals of measures, or whether a judge has changed since an earlier run.
With --derive it prints limits for later runs. ``core/operations.py`` decides what passes, and
``exports/gate_lines.py`` phrases it. This file reads the options and picks the exit code, which
other people's pipelines rely on. (The permutation test, ``gate`` in JSON, has nothing to do with
it.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from rubriclab.cli.common import (
    CODES_OF_GATES,
    Cut,
    Json,
    Labels,
    Outcome,
    Passes,
    StorePath,
    other_run,
    progress_line,
    run_of,
    say_waiting,
    store_path,
)
from rubriclab.model.judgment import RULES
from rubriclab.model.text import LabError, printable

if TYPE_CHECKING:
    from rubriclab.api import Run
    from rubriclab.core.operations import Checked, Drifted, Limit, Word
    from rubriclab.core.topic import Findings

Target = Annotated[
    str,
    Parameter(
        help="Run, file of judgments, or study file. The calls that a study file still lacks are "
        "asked first."
    ),
]


def gate(
    target: Target,
    *,
    limit: Annotated[
        list[str] | None,
        Parameter(
            help="Limit on a measure, for example favours_positions=0.1 (at most), "
            "parsed_share=0.8.. (at least) or position_share:1=0.1..0.3 (one row). Repeatable."
        ),
    ] = None,
    every_order: Annotated[
        bool,
        Parameter(
            help="Hold each order to the limits on sensitivity and specificity. The worst decides."
        ),
    ] = False,
    against: Annotated[
        str | None, Parameter(help="Earlier run: fail if the judge has changed since.")
    ] = None,
    derive: Annotated[
        bool, Parameter(help="Print limits that this run supports, for later runs.")
    ] = False,
    judge: Annotated[
        str,
        Parameter(
            help="Check only this judge of the run. With --derive, the default is every judge by "
            "itself."
        ),
    ] = "",
    rules: Annotated[
        int | None,
        Parameter(
            help="Version of the rules under which the limits were derived. Refused if the rules "
            "have changed."
        ),
    ] = None,
    junit: Annotated[Path | None, Parameter(help="Write the result as JUnit XML too.")] = None,
    cut: Cut = None,
    passes: Passes = None,
    labels: Labels = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Pass or fail a run in CI: limits on its intervals, or drift since an earlier run.

    A limit passes if the whole interval is inside, and fails if it is outside. Otherwise the gate
    cannot tell.
    """
    from rubriclab.core.operations import in_every_order, limit_of, same_rules

    limits = [limit_of(text) for text in limit or ()]
    checks_something = bool(limits) or against is not None
    if checks_something == derive:  # both wishes at once, or none
        raise LabError(
            "Give limits (for example --limit favours_positions=0.1), an earlier run (--against "
            "RUN), or --derive."
        )
    if rules is not None:
        same_rules(rules, "The gate", "Derive its limits again: rubriclab gate RUN --derive.")
    if every_order and not limits:
        raise LabError("--every-order needs a limit, for example --limit sensitivity=0.8..")
    with _run_to_check(target, store) as run:
        if any(value is not None for value in (cut, passes, labels)):
            run = run.read_as(cut=cut, passes=passes, labels=labels)
        if derive:
            return _derived(run.findings, judge, json=json)
        if every_order:
            limits = in_every_order(run.findings, limits)
        earlier = other_run(run, against).findings if against is not None else None
        return _checked(run, limits, judge, earlier, junit=junit, json=json)


@contextmanager
def _run_to_check(target: str, store: Path | None) -> Iterator[Run]:
    """Open the run that the target names. If it names a study, ask the missing calls first."""
    from rubriclab.api import run as run_study
    from rubriclab.data.sample import presets

    if Path(target).suffix != ".toml" and target not in presets():
        with run_of(target, store) as run:
            yield run
        return
    made = run_study(target, store_path(store), progress=progress_line(), told=say_waiting)
    try:
        yield made
    finally:
        made.close()


def _derived(findings: Findings, judge: str, *, json: bool) -> Outcome:
    """Return the limits that the run supports, for one judge or for each.

    As text, also those that no later run could fail (with the reason); as JSON, only the others.
    """
    from rubriclab.core.operations import derived, known_judge
    from rubriclab.exports.gate_lines import WORDS, derived_line
    from rubriclab.words.phrases import say

    if judge:
        names = [known_judge(findings, judge)]
    else:
        names = list(dict.fromkeys(condition.judge for condition in findings.conditions))
    lines: list[str] = []
    supported: list[dict[str, Any]] = []
    for name in names:
        if len(names) > 1:
            lines.append(f"# {printable(name)}")
        for part in derived(findings, name):
            lines.append(derived_line(part, findings.conditions))
            if part.can_fail:
                supported.append(
                    {
                        "limit": str(part.limit),
                        "judge": name,
                        "condition": part.row.condition,
                        "rules": RULES,
                    }
                )
    if not supported:
        lines.append(say("not_derived", WORDS))
    code = CODES_OF_GATES["passes" if supported else "unknown"]
    return Outcome({"limits": supported} if json else "\n".join(lines), code)


class Case(NamedTuple):
    """One thing that the CI gate checked: a limit on a row, or the drift of a judge.

    ``word``: passes, fails or unknown. ``line``: the text that says so, with the numbers.
    """

    name: str
    word: Word
    line: str


def _checked(
    run: Run,
    limits: list[Limit],
    judge: str,
    earlier: Findings | None,
    *,
    junit: Path | None,
    json: bool,
) -> Outcome:
    """Check a run's limits, and compare it with an earlier run. The worst case decides."""
    from rubriclab.core.operations import check, drifts, worst
    from rubriclab.data.safe_files import write_atomically
    from rubriclab.exports import gate_lines

    checked = check(run.findings, limits, judge)
    changed = drifts(earlier, run.findings) if earlier is not None else []
    cases = _cases(run.findings, checked, changed)
    words = [case.word for case in cases]
    word = worst(words)
    if junit is not None:
        write_atomically(junit, gate_lines.junit(run.table.name, cases))
    code = CODES_OF_GATES[word]
    if json:
        document = {
            "run": run.table.name,
            "rules": RULES,
            "word": word,
            "limits": gate_lines.checked_document(checked),
            "drift": [gate_lines.drift_document(part.condition, part.drift) for part in changed],
        }
        return Outcome(document, code)
    lines = [gate_lines.overall(words), *(case.line for case in cases)]
    return Outcome("\n".join(lines), code)


def _cases(findings: Findings, checked: list[Checked], changed: list[Drifted]) -> list[Case]:
    """Return everything that was checked, limits first, each with its name and its text."""
    from rubriclab.exports import gate_lines

    cases = []
    for part in checked:
        name = gate_lines.case_name(part, findings)
        cases.append(Case(name, part.word, gate_lines.checked_line(part, findings)))
    for condition, drift, rate in changed:
        name = f"drift of {condition.judge} on {condition.dataset}"
        line = "\n".join(gate_lines.drift_lines(condition, drift, rate))
        cases.append(Case(name, gate_lines.OVERALL[drift.word], line))
    return cases
