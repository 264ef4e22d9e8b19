"""A run, or a study to ask, and limits in; passes, fails or cannot tell out: the command ``gate``,
and drift of two runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rubriclab.cli.common import (
    CODES,
    Json,
    Outcome,
    StorePath,
    other_run,
    progress_line,
    run_of,
    store_path,
)
from rubriclab.model.judgment import RULES
from rubriclab.model.text import LabError, printable

if TYPE_CHECKING:
    from rubriclab.api import Run

Target = Annotated[
    str, Parameter(help="A run, a file of judgments, or a study file (TOML), which is asked first.")
]


def gate(
    target: Target,
    *,
    limit: Annotated[
        list[str] | None,
        Parameter(help="MEASURE=X: at most X in size; MEASURE=A..B; MEASURE:KEY=X of one row."),
    ] = None,
    against: Annotated[
        str | None, Parameter(help="An earlier run: has the judge changed since?")
    ] = None,
    derive: Annotated[bool, Parameter(help="Write limits that the run itself supports.")] = False,
    judge: Annotated[
        str,
        Parameter(help="Only this judge of the run. With --derive: each for itself if left out."),
    ] = "",
    rules: Annotated[
        int | None,
        Parameter(
            help="The rules that the limits were derived under; refused if they changed since."
        ),
    ] = None,
    junit: Annotated[Path | None, Parameter(help="Write the outcome as JUnit's XML.")] = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Pass (0), fail (4) or cannot tell (5): limits on a run's intervals; drift against an earlier
    run.
    """
    from rubriclab.core.operations import (
        Word,
        check,
        derived,
        drifts,
        known_judge,
        limit_of,
        same_rules,
        worst,
    )
    from rubriclab.data.safe_files import write_atomically
    from rubriclab.exports import gate_lines as said
    from rubriclab.words.phrases import say

    limits = [limit_of(text) for text in limit or ()]
    if sum((bool(limits) or against is not None, derive)) != 1:
        raise LabError(
            "Give limits (--limit favours_positions=0.1), an earlier run (--against RUN), or "
            "--derive."
        )
    if rules is not None:
        same_rules(rules, "The gate", "Derive its limits again: rubriclab gate RUN --derive.")
    with _judged(target, store) as run:
        if derive:
            names = list(dict.fromkeys(asked.judge for asked in run.findings.conditions))
            if judge:
                names = [known_judge(run.findings, judge)]
            lines, supported = [], []
            for name in names:
                made = derived(run.findings, name)
                if len(names) > 1:
                    lines.append(f"# {printable(name)}")
                lines += [said.derived_line(part) for part in made]
                supported += [
                    {
                        "limit": str(part.limit),
                        "judge": name,
                        "condition": part.row.condition,
                        "rules": RULES,
                    }
                    for part in made
                    if part.can_fail
                ]
            if not supported:
                lines.append(say("not_derived", said.WORDS))
            code = CODES["passes" if supported else "unknown"]
            return Outcome({"limits": supported} if json else "\n".join(lines), code)
        checked = check(run.findings, limits, judge)
        cases: list[tuple[str, Word, str]] = [
            (said.case_name(part, run.findings), part.word, said.checked_line(part, run.findings))
            for part in checked
        ]
        changed = (
            drifts(other_run(run, against).findings, run.findings) if against is not None else []
        )
        for condition, drift in changed:
            text = "\n".join(said.drift_lines(condition, drift))
            cases.append(
                (
                    f"drift of {condition.judge} on {condition.dataset}",
                    said.OVERALL[drift.word],
                    text,
                )
            )
        word = worst([case[1] for case in cases])
        document = {
            "run": run.table.name,
            "rules": RULES,
            "word": word,
            "limits": said.checked_document(checked),
            "drift": [said.drift_document(*part) for part in changed],
        }
        if junit is not None:
            write_atomically(junit, said.junit(run.table.name, cases))
    lines = [said.overall([case[1] for case in cases]), *(line for *_, line in cases)]
    return Outcome(document if json else "\n".join(lines), CODES[word])


@contextmanager
def _judged(target: str, store: Path | None) -> Iterator[Run]:
    """The run that is meant; a study file is asked first, as far as it has not been."""
    from rubriclab.api import run as run_study
    from rubriclab.data.sample import presets

    if Path(target).suffix != ".toml" and target not in presets():
        with run_of(target, store) as run:
            yield run
        return
    asked: Any = run_study(target, store_path(store), progress=progress_line())
    try:
        yield asked
    finally:
        asked.close()
