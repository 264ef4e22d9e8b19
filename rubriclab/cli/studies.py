"""A study in; a plan, a run, or pages out: the commands that ask, and the judges of this
machine.
"""

import os
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from rubriclab.cli import common
from rubriclab.cli.common import Json, JudgeNames, KeyName, Outcome, StorePath, StudyName
from rubriclab.data.limits import user_path
from rubriclab.judges.keys import hide_environment
from rubriclab.judges.supervisor import PR_SET_PDEATHSIG, prctl
from rubriclab.model.consent import sent_by, where_asked
from rubriclab.model.text import LabError, count

LAST_ANSWERS_SECONDS = 20.0
"""How long the pages may take to end: they wait for answers that are under way."""
GOES_ON = "The same command goes on where it stopped."
CHECK_AGAIN = (
    "The same command checks the next calls. It goes on without a check with --no-check, and asks "
    "the failed calls again with --retry-failed."
)
NOT_CHECKED = (
    "Nobody looks at the first replies of a batch: try some calls before, with plan STUDY --try 8."
)


def lab(
    *,
    port: Annotated[int, Parameter(help="The port on 127.0.0.1.")] = 8501,
    code: Annotated[
        Path | None, Parameter(help="A folder whose Python functions may be judges.")
    ] = None,
    store: StorePath = None,
) -> Outcome:
    """Start the lab's pages on this machine."""
    from rubriclab.data.sample import lab_folder

    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = os.environ | {
        "RUBRICLAB_STORE": str(user_path(common.store_path(store)).absolute())
    }
    if code is not None:
        if not user_path(code).is_dir():
            raise LabError(f"--code {code} is no folder; name the one that your functions are in.")
        environment["RUBRICLAB_CODE"] = str(user_path(code).absolute())
    hide_environment()
    # In a session of its own: the end comes to it once, from here, whoever was told to end.
    with subprocess.Popen(
        command,
        cwd=lab_folder(),
        env=environment,
        start_new_session=True,
        preexec_fn=end_with_parent if sys.platform == "linux" else None,
    ) as pages:
        try:
            ended = pages.wait()
        except KeyboardInterrupt:
            ended = 0
            pages.terminate()  # they pause what runs and keep what is being answered
            try:
                pages.wait(LAST_ANSWERS_SECONDS)
            except (KeyboardInterrupt, subprocess.TimeoutExpired):
                pages.kill()
    by_signal = (0, -signal.SIGINT, -signal.SIGTERM, 130, 143)
    return Outcome("The lab has ended.", common.DONE if ended in by_signal else common.MEND)


def end_with_parent() -> None:
    """On Linux, between fork and exec: ask for SIGTERM when the program that started this one
    dies.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def plan(
    study: StudyName,
    *,
    show: Annotated[
        int, Parameter(help="Print the first N prompts, and what is proved of your own.")
    ] = 0,
    reply: Annotated[
        str | None, Parameter(help="A reply to try: what the judge's own prompt reads of it.")
    ] = None,
    judge: JudgeNames = None,
    pilot: Annotated[
        str | None, Parameter(help="A run whose spread, time and tokens are taken.")
    ] = None,
    effect: Annotated[
        float | None, Parameter(help="A change that the run should find, in points.")
    ] = None,
    try_calls: Annotated[
        int | None,
        Parameter(
            name="--try",
            help="Ask N calls of each judge and show how replies are read; run goes on with them.",
        ),
    ] = None,
    key_env: KeyName = None,
    trust: Annotated[
        bool,
        Parameter(
            help="With --try: yes to the study's own code, which you have read, and to sending its "
            "keys "
            "to its addresses."
        ),
    ] = False,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """What a study would ask: calls, time, price, what it can find, and the prompts."""
    from rubriclab.api import Lab
    from rubriclab.runs.forecast import estimate, measured
    from rubriclab.runs.loading import plan_of_file

    if try_calls is not None:
        if try_calls < 1:
            raise LabError(f"--try is {try_calls}; expected 1 or more.")
        loading = {"judged_by": tuple(judge or ()), "key_env": key_env, "trust": trust}
        return _tried(study, try_calls, common.store_path(store), loading, json=json)
    planned = plan_of_file(study, judged_by=tuple(judge or ()), trust=True)  # planning runs no code
    shown: list[dict[str, Any]] = []
    for call in planned.previews()[:show]:
        about_it = planned.conditions[call.condition]
        facts = {
            "dataset": about_it.dataset,
            "reorder": about_it.reorder,
            "variant": dict(about_it.variant),
        }
        messages = [dict(message) for message in call.messages]
        shown.append({"order": list(call.ordering.labels), **facts, "messages": messages})
    read = planned.try_reply(reply) if reply is not None else None
    if effect is not None and not 0 < effect < 1e6:
        raise LabError(
            f"--effect is {effect:g}; expected points (of choices: percentage points) above 0."
        )
    seen = None
    if pilot is not None:
        with Lab(common.store_path(store)) as lab:
            about_pilot = lab.run(pilot)
            seen = measured(about_pilot.findings, lab.store.calls(str(about_pilot.id)))
    about = estimate(planned, seen, effect)
    if json:
        conditions = [
            {
                "judge": c.judge,
                "dataset": c.dataset,
                "strategy": c.strategy,
                "reorder": c.reorder,
                "variant": dict(c.variant),
                "calls": calls,
            }
            for c, calls in zip(planned.conditions, planned.planned, strict=True)
        ]
        document: dict[str, Any] = asdict(about) | {
            "name": planned.study.name,
            "conditions": conditions,
        }
        document["columns"] = [dataset.taken for dataset, _ in planned.sources if dataset.taken]
        document |= {"notes": list(planned.notes)} | ({"read": read} if read else {})
        proofs = [
            {"prompt": proof.prompt, "item": proof.item, "proof": proof.sentence()}
            for proof in planned.proofs
        ]
        return Outcome(document | ({"shown": shown, "proofs": proofs} if show else {}))
    axes = planned.study.design.axes
    taken = [dataset.taken for dataset, _ in planned.sources if dataset.taken]
    lines = [*taken, planned.study.name, *about.sentences(), *planned.notes]
    lines += where_asked(planned.study.judges)
    lines += [f"Read of that reply: {read['status']}, {read['read']}."] if read else []
    if show:
        lines += [proof.sentence() for proof in planned.proofs]
        lines += ["", *planned.proofs[0].side_by_side()] if planned.proofs else []
    for number, prompt in enumerate(shown, 1):
        base = shown[0]["variant"]
        levels = [
            f"{name} = {level}" for name, level in prompt["variant"].items() if level != base[name]
        ]
        named = (
            [prompt["dataset"]] * (len(planned.sources) > 1)
            + [prompt["reorder"]] * (len(axes) > 1)
            + levels
        )
        lines += [
            "",
            f"Order {number}: {' · '.join(prompt['order'])}"
            + "".join(f", {word}" for word in named),
        ]
        lines += [f"[{message['role']}]\n{message['content']}" for message in prompt["messages"]]
    return Outcome("\n".join(lines))


def run(
    study: StudyName,
    *,
    items: Annotated[int | None, Parameter(help="Judge only the first N items.")] = None,
    max_calls: Annotated[int | None, Parameter(help="Pause after so many calls.")] = None,
    max_money: Annotated[float | None, Parameter(help="Pause at this price.")] = None,
    retry_failed: Annotated[bool, Parameter(help="Ask again every call without a score.")] = False,
    judge: JudgeNames = None,
    key_env: KeyName = None,
    drop: Annotated[list[str] | None, Parameter(help="Leave this judge out.")] = None,
    trust: Annotated[
        bool,
        Parameter(
            help="Yes to the study's own code, which you have read, and to sending its keys to its "
            "addresses."
        ),
    ] = False,
    no_check: Annotated[
        bool, Parameter(help="Leave out the reading check of the first eight calls of each judge.")
    ] = False,
    ray: Annotated[
        str | None, Parameter(help="Spread the calls over this Ray cluster: HOST:PORT or auto.")
    ] = None,
    batch_out: Annotated[
        Path | None,
        Parameter(
            help="Instead write the calls into this folder, for OpenAI's Batch API or vllm "
            "run-batch."
        ),
    ] = None,
    batch_in: Annotated[
        list[Path] | None, Parameter(help="Instead read their answers.", consume_multiple=True)
    ] = None,
    references: Annotated[
        Path | None, Parameter(help="Instead write reference answers of each score, as CSV.")
    ] = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Ask what a study has not asked yet; the same command goes on with a stopped run."""
    from rubriclab.api import run as run_study
    from rubriclab.runs.loading import plan_of_file

    if items is not None and items < 1:
        raise LabError(f"--items is {items}; expected 1 or more.")
    loading: dict[str, Any] = {
        "items": items,
        "drop": tuple(drop or ()),
        "trust": trust,
        "judged_by": tuple(judge or ()),
        "key_env": key_env,
    }
    if references is not None:
        return _references(study, references, common.store_path(store), loading, json=json)
    if batch_out is not None or batch_in:
        return _batch(
            study,
            batch_out,
            batch_in or [],
            common.store_path(store),
            retry_failed,
            loading,
            json=json,
        )
    planned = plan_of_file(study, **loading)
    checks: list[Any] = []
    with redirect_stdout(sys.stderr):  # Ray prints there what becomes of its nodes
        for dataset, _ in planned.sources:
            for line in filter(None, (dataset.taken, dataset.note)):
                print(line)
        made = run_study(
            planned,
            common.store_path(store),
            max_calls=max_calls,
            max_money=max_money,
            retry_failed=retry_failed,
            ray=ray,
            trust=_agreed(loading),
            check=not no_check,
            progress=common.watched(checks),
        )
    info = made.info()
    code = common.CODES_OF_STATES.get(info.state, common.STOPPED)
    ending = f": {info.reason}" if info.reason else ""
    lines = [f"{info.name}: {info.state}{ending} · {info.done:,} of {count(info.planned, 'call')}"]
    for check in checks:
        if check.warnings or check.stop:
            lines += [check.title(), *(f"! {remark}" for remark in check.remarks())]
    if info.state == "finished" and not json:
        lines += ["", made.text()]
    elif code == common.STOPPED:
        stopped = any(check.stop for check in checks)
        lines.append(CHECK_AGAIN if stopped else GOES_ON)
    made.close()
    if json:
        return Outcome(_facts(info) | {"checks": [check.document() for check in checks]}, code)
    return Outcome("\n".join(lines), code)


def _tried(study: str, number: int, store: Path, loading: dict[str, Any], *, json: bool) -> Outcome:
    """Ask some calls of each judge, and say how their replies are read. The run stays paused."""
    from rubriclab.api import run as run_study
    from rubriclab.runs.loading import plan_of_file
    from rubriclab.runs.runner import TRIED

    planned = plan_of_file(study, **loading)
    with redirect_stdout(sys.stderr):
        made = run_study(
            planned,
            store,
            trust=_agreed(loading),
            tries=number,
            progress=common.progress_line(),
        )
    info, checks = made.info(), made.reading_checks
    made.close()
    tried = info.state == "paused" and info.reason == TRIED
    code = common.DONE if tried else common.CODES_OF_STATES.get(info.state, common.STOPPED)
    if json:
        return Outcome(_facts(info) | {"checks": [check.document() for check in checks]}, code)
    lines = [f"{info.name}: {info.done:,} of {count(info.planned, 'call')} asked"]
    for check in checks:
        lines += ["", *check.text()]
    if info.reason:
        lines += ["", info.reason]
    return Outcome("\n".join(lines), code)


def _agreed(loading: dict[str, Any]) -> bool:
    """Return whether the user has agreed that keys go to the addresses: by ``--trust``, or by
    typing an address and the variable of its key.
    """
    return loading["trust"] or bool(loading["judged_by"] and loading["key_env"])


def _facts(info: Any) -> dict[str, Any]:
    return {"run": info.id} | {
        key: getattr(info, key) for key in ("name", "state", "reason", "planned", "done")
    }


def _batch(
    study: str,
    out: Path | None,
    files: list[Path],
    store: Path,
    again: bool,
    loading: dict[str, Any],
    *,
    json: bool,
) -> Outcome:
    """Write the calls of a study as batch files, or read the answers of such files, and say what
    became of them.
    """
    from rubriclab.runs.batch import read_batch, write_batch
    from rubriclab.runs.loading import plan_of_file
    from rubriclab.store.store import Store

    if out is not None and files:
        raise LabError(
            "--batch-out and --batch-in are two steps: write the files, have them answered, then "
            "read them."
        )
    planned = plan_of_file(study, **loading)
    with Store.open(store) as opened:
        if out is not None:
            written, calls, left_out = write_batch(opened, planned, out, retry_failed=again)
            names = [str(path) for path in written]
            lines = [
                f"{count(calls, 'call')} in {count(len(names), 'file')}, answered by OpenAI's "
                f"Batch API or by"
            ]
            lines += [
                "vllm run-batch -i FILE -o ANSWERS --model MODEL; then: run STUDY --batch-in "
                "ANSWERS",
                *names,
            ]
            lines += [f"Not in them: {name}, which is asked by run itself." for name in left_out]
            lines.append(NOT_CHECKED)
            return Outcome(
                {"files": names, "calls": calls, "left_out": left_out} if json else "\n".join(lines)
            )
        run_id, made = read_batch(opened, planned, files, retry_failed=again)
        info = opened.run(run_id)
    said = f"{info.name}: {info.state} · {info.reason or made.sentence()}"
    code = common.CODES_OF_STATES.get(info.state, common.STOPPED)
    return Outcome(_facts(info) | {"answers": vars(made)} if json else said, code)


def _references(
    study: str, out: Path, store: Path, loading: dict[str, Any], *, json: bool
) -> Outcome:
    """Write reference answers of each score for a study's data into ``out``, and say what became of
    them.

    ``[references]`` of the study names who writes and who reviews. The same command goes on where
    it was stopped.
    """
    from rubriclab.api import waited
    from rubriclab.data.safe_files import write_atomically
    from rubriclab.runs.loading import read_sources
    from rubriclab.runs.write_references import ReferenceJob, items_csv
    from rubriclab.store.store import Store

    if out.suffix != ".csv":
        raise LabError(f"{out.name} is no name for the answers; expected one that ends in .csv.")
    asked, sources, folder = read_sources(study, **loading)
    if len(sources) > 1:
        raise LabError(
            f"The study has {len(sources)} data sets; write reference answers for one of them at a "
            f"time."
        )
    if any(
        part.file and (folder / part.file).resolve() == user_path(out).resolve()
        for part in asked.data
    ):
        raise LabError(
            f"{out} is the study's own data, which is never written over. Choose another name."
        )
    with Store.open(store) as opened:
        job = ReferenceJob(opened, asked, *sources[0])
        if _agreed(loading):
            opened.agree(consent for judge in job.judges for consent in sent_by(judge))
        job.start()
        waited(job, common.progress_line("answer"))
        made = job.document()
    if made["accepted"]:
        write_atomically(out, items_csv(job.result()))
    code = common.DONE if made["state"] == "finished" else common.STOPPED
    if json:
        return Outcome(made | {"file": str(out) if made["accepted"] else None}, code)
    ending = f": {made['reason']}" if made["reason"] else ""
    tried = (
        f"{made['accepted']:,} of {count(made['wanted'], 'answer')} written in "
        f"{count(made['attempts'], 'attempt')}"
    )
    lines = [f"Reference answers: {made['state']}{ending} · {tried}"]
    for score, ended in made["by_score"].items():
        lines.append(f"Score {score}: {ended['accepted']:,} passed, {ended['failed']:,} did not")
    lines += made["notes"]
    if made["accepted"]:
        lines.append(
            f"{out} has the data with them, as columns reference_1 …: name it as the file of "
            f"[[data]]"
        )
    if code == common.STOPPED:
        lines.append(GOES_ON)
    return Outcome("\n".join(lines), code)


def judges(
    *,
    local: Annotated[bool, Parameter(help="Look for servers on this machine.")] = False,
    test: Annotated[
        str | None,
        Parameter(help="Test a judge with up to four calls: a model of the lab, or a base URL."),
    ] = None,
    model: Annotated[str | None, Parameter(help="The model to ask for at a base URL.")] = None,
    key_env: Annotated[str | None, Parameter(help="The environment variable with the key.")] = None,
    json: Json = False,
) -> Outcome:
    """The judges that this machine offers; with --test, whether one answers and which constraints
    its server holds.
    """
    from rubriclab.judges.kinds import judge_named
    from rubriclab.judges.probe import find_servers, test_judge
    from rubriclab.judges.weights import CATALOGUE
    from rubriclab.model.judge_kind import all_kinds

    if test is not None:
        asked = judge_named(f"{model}@{test}" if model else test, key_env)
        # Whoever types an address and the variable of its key has said yes to just that.
        report = test_judge(asked, frozenset(sent_by(asked)))
        return Outcome(
            report.document() if json else report.sentence(),
            common.DONE if report.ok else common.MEND,
        )
    embedded: list[dict[str, Any]] = [
        {"name": entry.name, "megabytes": entry.megabytes, "here": entry.present()}
        for entry in CATALOGUE.values()
    ]
    servers: list[dict[str, Any]] = (
        [{"base_url": server.base_url, "models": list(server.models)} for server in find_servers()]
        if local
        else []
    )
    kinds, faults = all_kinds()
    packaged = [
        {"kind": kind.name, "label": kind.label, "package": kind.package}
        for kind in kinds
        if kind.package
    ]
    if json:
        document: dict[str, Any] = {"embedded": embedded, "servers": servers}
        if packaged or faults:
            document |= {"kinds": packaged, "faults": faults}
        return Outcome(document)
    lines = [
        f"{e['name']}: {e['megabytes']} MB, "
        f"{'on this machine' if e['here'] else 'fetched on first use'}"
        for e in embedded
    ]
    lines += [f"{s['base_url']}: {', '.join(s['models']) or 'no models named'}" for s in servers]
    lines += [f"kind {k['kind']}: {k['label']}, from the package {k['package']}" for k in packaged]
    lines += faults
    if local and not servers:
        lines.append("No server answers on the ports that vLLM, llama.cpp, Ollama and others use.")
    return Outcome("\n".join(lines))
