"""Run a study: ask its calls, write or read batch files, or write reference answers."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rubriclab.cli import common
from rubriclab.cli.common import Json, JudgeNames, KeyName, Outcome, StorePath, StudyName
from rubriclab.data.limits import user_path
from rubriclab.model.consent import sent_by
from rubriclab.model.text import LabError, count

if TYPE_CHECKING:
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.store.read import RunInfo
    from rubriclab.study.plan import Plan

CONTINUES = "Repeat the command to continue where it stopped."
CHECK_AGAIN = (
    "Repeat the command to check the next calls. Add --no-check to continue without a check, or "
    "--retry-failed to ask the failed calls again."
)
NOT_CHECKED = (
    "A batch has no reading check. Try some calls first with rubriclab plan STUDY --try 8."
)


@dataclass(frozen=True)
class StudyOptions:
    """What the command line changes in a study before it is planned.

    items: judge only the first so many. judged_by: judges in place of the study's. key_env: the
    variable with their key. drop: names of judges to leave out. trust: the user has read the
    study's own code and agrees to its addresses.
    """

    items: int | None = None
    judged_by: tuple[str, ...] = ()
    key_env: str | None = None
    drop: tuple[str, ...] = ()
    trust: bool = False

    @property
    def agreed(self) -> bool:
        """Whether keys may go to the study's addresses.

        The user agrees with ``--trust``, or by typing an address and the variable of its key.
        """
        return self.trust or bool(self.judged_by and self.key_env)

    def plan(self, study: str) -> Plan:
        """Return the plan of a study with these changes. Raises LabError."""
        from rubriclab.runs.loading import plan_of_file

        return plan_of_file(
            study,
            items=self.items,
            judged_by=self.judged_by,
            key_env=self.key_env,
            drop=self.drop,
            trust=self.trust,
        )


def run(
    study: StudyName,
    *,
    items: Annotated[int | None, Parameter(help="Judge only the first N answers.")] = None,
    max_calls: Annotated[int | None, Parameter(help="Pause after N calls.")] = None,
    max_money: Annotated[
        float | None, Parameter(help="Pause when the calls have cost this much.")
    ] = None,
    retry_failed: Annotated[
        bool, Parameter(help="Ask again every call that has no score.")
    ] = False,
    ask_all: Annotated[
        bool,
        Parameter(
            name="--all",
            help="Ask every planned call of a study that stops as soon as its answer is clear.",
        ),
    ] = False,
    judge: JudgeNames = None,
    key_env: KeyName = None,
    drop: Annotated[
        list[str] | None, Parameter(help="Leave out the judge of this name. Repeatable.")
    ] = None,
    trust: Annotated[
        bool,
        Parameter(
            help="Run the study's own code, which you have read, and send its keys to its "
            "addresses."
        ),
    ] = False,
    no_check: Annotated[
        bool, Parameter(help="Skip the reading check of each judge's first eight calls.")
    ] = False,
    ray: Annotated[
        str | None,
        Parameter(help="Spread the calls over a Ray cluster, for example 10.0.0.5:6379 or auto."),
    ] = None,
    batch_out: Annotated[
        Path | None,
        Parameter(
            help="Ask nothing. Write batch files to this folder, for OpenAI's Batch API or vllm "
            "run-batch."
        ),
    ] = None,
    batch_in: Annotated[
        list[Path] | None,
        Parameter(help="Ask nothing. Read the answered batch files.", consume_multiple=True),
    ] = None,
    references: Annotated[
        Path | None,
        Parameter(
            help="Judge nothing. Write reference answers for each score to this CSV, as "
            "[references] of the study says."
        ),
    ] = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Run a study, or continue one that stopped."""
    if items is not None and items < 1:
        raise LabError(f"--items is {items}. Use 1 or more.")
    options = StudyOptions(
        items=items,
        judged_by=tuple(judge or ()),
        key_env=key_env,
        drop=tuple(drop or ()),
        trust=trust,
    )
    path = common.store_path(store)
    if references is not None:
        return _references(study, references, path, options, json=json)
    if batch_out is not None and batch_in:
        raise LabError(
            "Use --batch-out and --batch-in one after the other: write the files, have them "
            "answered, then read them."
        )
    if batch_out is not None:
        return _batch_out(
            study, batch_out, path, options, again=retry_failed, ask_all=ask_all, json=json
        )
    if batch_in:
        return _batch_in(study, batch_in, path, options, again=retry_failed, json=json)
    return _asked(
        study,
        path,
        options,
        max_calls=max_calls,
        max_money=max_money,
        again=retry_failed,
        ask_all=ask_all,
        ray=ray,
        check=not no_check,
        json=json,
    )


def run_facts(info: RunInfo) -> dict[str, Any]:
    """Return what every JSON document of a run begins with."""
    return {
        "run": info.id,
        "name": info.name,
        "state": info.state,
        "reason": info.reason,
        "planned": info.planned,
        "done": info.done,
    }


def _asked(
    study: str,
    store: Path,
    options: StudyOptions,
    *,
    max_calls: int | None,
    max_money: float | None,
    again: bool,
    ask_all: bool,
    ray: str | None,
    check: bool,
    json: bool,
) -> Outcome:
    """Ask the study's calls within its limits, and say how the run ended."""
    from rubriclab.api import run as run_study

    planned = options.plan(study)
    checks: list[ReadingCheck] = []
    # Ray prints about its nodes to standard output, which belongs to the answer alone.
    with redirect_stdout(sys.stderr):
        for dataset, _ in planned.sources:
            for line in (dataset.taken, dataset.note):
                if line:
                    print(line)
        made = run_study(
            planned,
            store,
            max_calls=max_calls,
            max_money=max_money,
            retry_failed=again,
            ask_all=ask_all,
            ray=ray,
            trust=options.agreed,
            check=check,
            progress=common.progress_with_checks(checks),
            told=common.say_waiting,
        )
    info = made.info()
    code = common.CODES_OF_STATES.get(info.state, common.STOPPED)
    if json:
        made.close()
        return Outcome(run_facts(info) | {"checks": [seen.document() for seen in checks]}, code)
    ending = f": {info.reason}" if info.reason else ""
    lines = [f"{info.name}: {info.state}{ending} · {info.done:,} of {count(info.planned, 'call')}"]
    for seen in checks:
        if seen.warnings or seen.stop:
            lines += [seen.title(), *(f"! {remark}" for remark in seen.remarks())]
    if info.state == "finished":
        lines += ["", made.text()]
    elif code == common.STOPPED:
        stopped_by_check = any(seen.stop for seen in checks)
        lines.append(CHECK_AGAIN if stopped_by_check else CONTINUES)
    made.close()
    return Outcome("\n".join(lines), code)


def _batch_out(
    study: str,
    folder: Path,
    store: Path,
    options: StudyOptions,
    *,
    again: bool,
    ask_all: bool,
    json: bool,
) -> Outcome:
    """Write the calls that the study has not asked yet as batch files.

    Of a study that stops early these are the calls before its next look.
    """
    from rubriclab.runs.batch import write_batch
    from rubriclab.store.store import Store

    planned = options.plan(study)
    with Store.open_when_free(store, told=common.say_waiting) as kept:
        written, calls, left_out = write_batch(
            kept, planned, folder, retry_failed=again, ask_all=ask_all
        )
    names = [str(path) for path in written]
    if json:
        return Outcome({"files": names, "calls": calls, "left_out": left_out})
    lines = [
        f"Wrote {count(calls, 'call')} to {count(len(names), 'file')}. Have them answered by "
        f"OpenAI's Batch API or by",
        "vllm run-batch -i FILE -o ANSWERS --model MODEL. Then: rubriclab run STUDY --batch-in "
        "ANSWERS",
        *names,
    ]
    lines += [f"Not in the files: {name}. rubriclab run asks it directly." for name in left_out]
    lines.append(NOT_CHECKED)
    return Outcome("\n".join(lines))


def _batch_in(
    study: str, files: list[Path], store: Path, options: StudyOptions, *, again: bool, json: bool
) -> Outcome:
    """Read answered batch files, and say what became of their lines."""
    from rubriclab.runs.batch import read_batch
    from rubriclab.store.store import Store

    planned = options.plan(study)
    with Store.open_when_free(store, told=common.say_waiting) as kept:
        run_id, answers = read_batch(kept, planned, files, retry_failed=again)
        info = kept.run(run_id)
    code = common.CODES_OF_STATES.get(info.state, common.STOPPED)
    if json:
        return Outcome(run_facts(info) | {"answers": vars(answers)}, code)
    return Outcome(f"{info.name}: {info.state} · {info.reason or answers.sentence()}", code)


def _references(
    study: str, out: Path, store: Path, options: StudyOptions, *, json: bool
) -> Outcome:
    """Write reference answers of each score for a study's data into ``out``.

    ``[references]`` of the study names who writes and who reviews. The same command continues
    where it stopped.
    """
    from rubriclab.api import waited
    from rubriclab.data.safe_files import write_atomically
    from rubriclab.runs.loading import read_sources
    from rubriclab.runs.write_references import ReferenceJob, items_csv
    from rubriclab.store.store import Store

    if out.suffix != ".csv":
        raise LabError(f"--references {out.name}: the name must end in .csv.")
    asked, sources, folder = read_sources(
        study,
        items=options.items,
        judged_by=options.judged_by,
        key_env=options.key_env,
        drop=options.drop,
        trust=options.trust,
    )
    if len(sources) > 1:
        raise LabError(
            f"The study has {len(sources)} data sets. Write reference answers for one data set at "
            f"a time."
        )
    for part in asked.data:
        if part.file and (folder / part.file).resolve() == user_path(out).resolve():
            raise LabError(
                f"--references {out} is the study's own data, which is never overwritten. Choose "
                f"another name."
            )
    with Store.open_when_free(store, told=common.say_waiting) as kept:
        job = ReferenceJob(kept, asked, *sources[0])
        if options.agreed:
            kept.agree(consent for judge in job.judges for consent in sent_by(judge))
        job.start()
        waited(job, common.progress_line("answer"))
        made = job.document()
    if made["accepted"]:
        write_atomically(out, items_csv(job.result()))
    code = common.DONE if made["state"] == "finished" else common.STOPPED
    if json:
        return Outcome(made | {"file": str(out) if made["accepted"] else None}, code)
    return Outcome("\n".join(_references_lines(made, out, code)), code)


def _references_lines(made: dict[str, Any], out: Path, code: int) -> list[str]:
    """Return how the writing of reference answers ended, line by line."""
    ending = f": {made['reason']}" if made["reason"] else ""
    lines = [
        f"Reference answers: {made['state']}{ending} · {made['accepted']:,} of "
        f"{count(made['wanted'], 'answer')} written in {count(made['attempts'], 'attempt')}"
    ]
    for score, ended in made["by_score"].items():
        lines.append(f"Score {score}: {ended['accepted']:,} passed, {ended['failed']:,} did not")
    lines += made["notes"]
    if made["accepted"]:
        lines.append(
            f"{out} holds your data with the new columns reference_1 and so on. Use it as the "
            f"file of [[data]]."
        )
    if code == common.STOPPED:
        lines.append(CONTINUES)
    return lines
