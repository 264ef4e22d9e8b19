"""Commands that make judgments: demo, plan, run, references."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import (
    EXIT_OK,
    EXIT_UNFINISHED,
    add_trust,
    command,
    consent,
    document,
    opened_store,
    positive,
    print_documents,
    say,
    say_end,
    tell,
)
from rubriclab.model import LabError, Study

if TYPE_CHECKING:  # the commands start faster without them
    from rubriclab.runs.runner import Run
    from rubriclab.runs.sequential import StopRule
    from rubriclab.runs.terms import Snapshot
    from rubriclab.store import Store


def add_demo(parsers: Any) -> None:
    about = "Run the sample data and rubric through an embedded judge and print the findings."
    made = command(parsers, "demo", demo, about)
    made.add_argument(
        "--items", type=positive, default=12, metavar="N", help="how many sample items to judge (default 12)"
    )
    made.add_argument(
        "--judge",
        action="append",
        metavar="MODEL",
        help="an embedded model's name, a GGUF file or hf:owner/repo/file.gguf (default smollm2-135m); may be given more than once",
    )
    made.add_argument("--name", default="Demo", help="the run's name (default Demo)")


def add_run(parsers: Any) -> None:
    about = "Run a study file. A finished study asks nothing again; an interrupted one goes on."
    made = command(parsers, "run", run, about)
    made.add_argument("study", type=Path, metavar="STUDY.toml")
    made.add_argument("--max-calls", type=positive, metavar="N", help="stop after N calls")
    made.add_argument("--max-money", type=float, metavar="M", help="stop when M is spent, at the judges' prices")
    made.add_argument(
        "--retry-failed", action="store_true", help="ask again, and only, the calls that ended in an error"
    )
    made.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="JUDGE",
        help="take a judge out of the run and go on with the others; what it judged stays, and the run says so",
    )
    made.add_argument(
        "--restore",
        action="append",
        default=[],
        metavar="JUDGE",
        help="take a judge that was dropped back into the run",
    )
    made.add_argument(
        "--stop-at-width",
        type=_width,
        metavar="W",
        help="pause once every arm's 95 %% interval on Cramér's V is at most W wide (valid however often it looks)",
    )
    made.add_argument(
        "--stop-when-settled",
        action="store_true",
        help="pause once it is settled for every judge what the order does to the mean score, to wins "
        "of the first place or to each criterion (valid however often it looks; asks items in a mixed order)",
    )
    add_trust(made)


def add_plan(parsers: Any) -> None:
    about = "Say what a study will take (calls, tokens, money, time) and what it can see (power)."
    made = parsers.add_parser("plan", help=about, description=about)
    made.add_argument("study", type=Path, metavar="STUDY.toml")
    made.add_argument(
        "--store", metavar="FILE", help="a store with earlier runs: their tokens, rates and noise are used"
    )
    made.add_argument("--effect", type=float, default=0.1, metavar="V", help="the Cramér's V to be seen (default 0.1)")
    made.add_argument("--pilot", metavar="RUN", help="a run in the store to take the noise from")
    made.add_argument(
        "--randomness",
        type=float,
        default=1.0,
        metavar="R",
        help="stated noise: share of reads whose position is as good as drawn, 0..1 (default 1, the worst)",
    )
    made.add_argument(
        "--item-sd",
        type=float,
        default=0.0,
        metavar="S",
        help="stated noise: sd over items of an item's own share at a position",
    )
    guessed = "guessed %s of a read with a person's rating, to plan its interval (from a --pilot otherwise)"
    for name, called in (("kappa", "Cohen's kappa"), ("kappa-quadratic", "quadratic kappa"), ("icc", "ICC")):
        made.add_argument(f"--{name}", type=float, metavar="G", help=guessed % called)
    made.add_argument(
        "--half-width", type=float, default=0.1, metavar="H", help="of the interval on agreement (default 0.1)"
    )
    made.add_argument(
        "--ratings", type=positive, default=2, metavar="K", help="for --icc: ratings of an item, the judge's included"
    )
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(command=plan)


def add_references(parsers: Any) -> None:
    about = (
        "Write reference answers of every score for a study's data: a writer model writes to the "
        "score's description, a reviewer must agree. Call again to go on where it stopped."
    )
    made = command(parsers, "references", references, about)
    made.add_argument("study", type=Path, metavar="STUDY.toml")
    made.add_argument("--writer", required=True, metavar="JUDGE", help="a judge of the study, else of the store")
    made.add_argument("--reviewer", required=True, metavar="JUDGE")
    made.add_argument("--limit", type=positive, default=5, metavar="N", help="attempts for each answer (default 5)")
    made.add_argument(
        "--out", type=Path, metavar="FILE.csv", help="also write the data with its reference answers as a table"
    )
    add_trust(made)


def _width(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a width between 0 and 1")
    return value


def demo(arguments: argparse.Namespace) -> int:
    from rubriclab.datasets.sample import demo_study, embedded_judge

    judges = tuple(embedded_judge(name) for name in arguments.judge or ["smollm2-135m"])
    study = demo_study(items=arguments.items, judges=judges, name=arguments.name)
    return run_study(study, arguments)


def run(arguments: argparse.Namespace) -> int:
    from rubriclab.study.reading import load_study

    return run_study(load_study(arguments.study), arguments)


def run_study(study: Study, arguments: argparse.Namespace, into: list[dict[str, Any]] | None = None) -> int:
    """Run to its end with a progress line, then print the findings, or put them ``into`` a list."""
    from rubriclab.model.answers import answer_words
    from rubriclab.runs.manager import settings_faults
    from rubriclab.runs.terminal import Signals, show_progress, watch

    for prompt in study.prompts:
        say(f"Prompt “{prompt.name}” ({prompt.id[:8]}), its answer read as {answer_words(prompt.answer)}.")
    with opened_store(arguments.store) as store:
        without = {*getattr(arguments, "drop", ()), *settings_faults(study.judges)}
        asked = [judge for judge in study.judges if judge.name not in without]
        consent(store, asked, trust=getattr(arguments, "trust", False))
        with Signals() as signals:
            run, rules = _started(study, arguments, store)
            last = watch(run, signals, show_progress if sys.stderr.isatty() else None)
        for rule in rules:
            if rule.error is not None:
                say(f"The stop rule could not look: {rule.error}")
        say_end(last)
        if hasattr(arguments, "drop"):
            _say_remedies(study, last)
        if last.done:
            waiting = {"waiting": dict(last.waiting)} if last.waiting else {}
            found = {**document(store, last.run), "asked": last.asked, "state": last.state, **waiting}
            if into is None:
                print_documents([found], as_json=arguments.json)
            else:
                into.append(found)
        return EXIT_OK if last.state == "finished" else EXIT_UNFINISHED


def _say_remedies(study: Study, last: Snapshot) -> None:
    """What can be done about each judge that waits."""
    several = len(study.judges) > 1
    for judge in study.judges:
        if judge.name in last.waiting:
            key = f"set {judge.key_env} to its key" if judge.key_env else "mend the cause"
            drop = f', or leave it out: --drop "{judge.name}"' if several else ""
            say(f"To go on with {judge.name}, {key} and give the same command again{drop}.")


def _started(study: Study, arguments: argparse.Namespace, store: Store) -> tuple[Run, list[StopRule]]:
    """The run, under way, and the rules that may stop it before its end."""
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.sequential import Mixed, StopAtWidth, StopWhenSettled
    from rubriclab.runs.terms import Limits
    from rubriclab.study.plan import plan as prepared

    width = getattr(arguments, "stop_at_width", None)
    settled = getattr(arguments, "stop_when_settled", False)
    run = RunManager(store).start(
        study,
        limits=Limits(max_calls=getattr(arguments, "max_calls", None), max_money=getattr(arguments, "max_money", None)),
        only_failed=getattr(arguments, "retry_failed", False),
        agenda=Mixed(prepared(study)) if settled or width is not None else None,
        drop=getattr(arguments, "drop", ()),
        restore=getattr(arguments, "restore", ()),
    )
    rules: list[StopRule] = []
    if width is not None:
        rules.append(StopAtWidth(run, store, width=width).start())
    if settled:
        rules.append(StopWhenSettled(run, store).start())
    return run, rules


def plan(arguments: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from rubriclab.findings.agreement_planning import COEFFICIENTS, AgreementAim
    from rubriclab.runs.estimate import plan_json, plan_text, study_plan
    from rubriclab.study.reading import load_study

    if arguments.store and not Path(arguments.store).exists():
        raise LabError(f"There is no store {arguments.store}; leave --store out to plan without one.")
    guesses = {name: guess for name in COEFFICIENTS if (guess := getattr(arguments, name)) is not None}
    with opened_store(arguments.store) if arguments.store else nullcontext() as store:
        planned = study_plan(
            load_study(arguments.study),
            store=store,
            effect_v=arguments.effect,
            pilot=arguments.pilot,
            randomness=arguments.randomness,
            item_sd=arguments.item_sd,
            agreement=AgreementAim(guesses, arguments.half_width, arguments.ratings),
        )
    tell(plan_json(planned) if arguments.json else plan_text(planned))
    return EXIT_OK


def references(arguments: argparse.Namespace) -> int:
    from rubriclab.datasets.outfiles import csv_bytes, write_file
    from rubriclab.findings.plain import plain
    from rubriclab.runs.reference_answers import references_table
    from rubriclab.runs.references import run_references
    from rubriclab.runs.terminal import Signals
    from rubriclab.study.reading import load_study

    study = load_study(arguments.study)
    with opened_store(arguments.store) as store, Signals() as signals:
        asked = [judge for judge in study.judges if judge.name in (arguments.writer, arguments.reviewer)]
        consent(store, asked, trust=arguments.trust)
        written = run_references(
            study,
            through=lambda job: _through(job, signals),
            writer=arguments.writer,
            reviewer=arguments.reviewer,
            store=store,
            limit=arguments.limit,
            progress=_references_line if sys.stderr.isatty() else None,
        )
    if arguments.out is not None:
        write_file(arguments.out, csv_bytes(references_table(written.dataset)))
    document = {
        "dataset": written.dataset.id,
        "by_score": written.by_score,
        "existing": written.existing,
        "skipped": written.skipped,
        "state": written.progress.state,
        "reason": written.progress.reason,
        "notes": list(written.notes),
    }
    if arguments.json:
        tell(plain(document))
    else:
        sentence = f"\nReference answers: {written.progress.state}. {written.progress.reason}".rstrip()
        say("\n".join([sentence, *written.notes]))
    return EXIT_OK if written.progress.state == "finished" else EXIT_UNFINISHED


def _through(job: Any, signals: Any) -> None:
    """Work through a job; a signal stops it after the attempts under way, a second at once."""
    from rubriclab.runs.terminal import LOOK

    job.start()
    heeded = 0
    while job.active and heeded < 2:
        job.wait(LOOK)
        if signals.count > heeded:
            heeded += 1
            job.stop()
            say(
                "\nStopping: the attempts under way are waited for and kept. Ctrl-C again drops them."
                if heeded == 1
                else "\nStopping at once."
            )


def _references_line(shown: Any) -> None:
    text = f"{shown.accepted} accepted, {shown.failed} given up, of {shown.wanted}"
    print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
