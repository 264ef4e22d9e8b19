"""The command that judges one text under many orders."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, EXIT_UNFINISHED, command, opened_store, positive, say, tell
from rubriclab.model import LabError
from rubriclab.model.wording import many, number


def add_try(parsers: Any) -> None:
    about = (
        "Judge one text under one order after the other: a response's score, two responses in "
        "swapped order, or several criteria. The usual order is asked once more (of two responses "
        "both orders): what differs there is the judge's own noise."
    )
    made = command(parsers, "try", try_it, about)
    _add_texts(made)
    made.add_argument(
        "--judge",
        action="append",
        metavar="NAME",
        help="a judge of the store, an embedded model's name, a GGUF file or hf:owner/repo/file.gguf "
        "(default smollm2-135m); may be given more than once",
    )
    made.add_argument(
        "--orders",
        type=positive,
        metavar="N",
        help="orders to ask (default: the balanced set); one more call is the control",
    )
    made.add_argument(
        "--flip",
        type=positive,
        metavar="N",
        nargs="?",
        const=12,
        help="then look for the highest and the lowest score with at most N more calls a judge (default 12)",
    )


def _add_texts(made: argparse.ArgumentParser) -> None:
    """What is judged, and by which criteria."""
    made.add_argument(
        "--instruction",
        default=None,
        metavar="TEXT",
        help="what was asked for; @FILE reads a file (default: a sample item's)",
    )
    made.add_argument(
        "--response",
        action="append",
        metavar="TEXT",
        help="the response to judge; @FILE reads a file; give two to compare them (default: a sample item's)",
    )
    made.add_argument("--rubric", type=Path, metavar="FILE", help="YAML, JSON or CSV (default: the sample's)")
    made.add_argument("--criterion", metavar="NAME", help="which of the rubric's criteria")
    made.add_argument("--criteria", action="store_true", help="all criteria in one call, in different orders")


def try_it(arguments: argparse.Namespace) -> int:
    from rubriclab.findings.plain import plain
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.terminal import Signals, watch
    from rubriclab.runs.trial import measured_priors, read_trial, start_flip, start_trial

    with opened_store(arguments.store) as store:
        study = _study(arguments, store)
        manager = RunManager(store)
        with Signals() as signals:
            ended = watch(start_trial(manager, study, orders=arguments.orders), signals)
            if arguments.flip is not None and not _stopped(ended):
                ended = watch(start_flip(manager, study, calls=arguments.flip), signals)
        trials = read_trial(store, ended.run, priors=measured_priors(store, study))
    if arguments.json:
        tell({"run": ended.run, "judges": plain(trials)})
    else:
        for trial in trials:
            tell("\n".join(_lines(trial)))
    if _stopped(ended):
        say(f"Run {ended.run}: {ended.state}. {ended.reason}")
        return EXIT_UNFINISHED
    return EXIT_OK


def _stopped(ended: Any) -> bool:
    """Did something keep the trial from asking what it wanted?"""
    from rubriclab.runs.runner import AGENDA_DONE

    return ended.state != "finished" and not ended.reason.startswith(AGENDA_DONE)


def _study(arguments: argparse.Namespace, store: Any) -> Any:
    from rubriclab.datasets.rubrics import read_rubric
    from rubriclab.datasets.sample import sample_dataset, sample_rubrics
    from rubriclab.runs.trial import Kind, Text, trial_study

    sample = sample_dataset().items[0]
    responses = tuple(map(_text, arguments.response or [sample.response]))  # type: ignore[union-attr]
    instruction = arguments.instruction
    if instruction is None:
        instruction = "" if arguments.response else sample.instruction  # type: ignore[union-attr]
    if arguments.criteria and len(responses) > 1:
        raise LabError("--criteria judges one response; two are compared without it.")
    kind: Kind = "criteria" if arguments.criteria else "options" if len(responses) == 1 else "pairwise"
    shipped = [r for r in sample_rubrics() if kind == "options" or len(r.criteria) > 1]
    rubric = shipped[0]
    if arguments.rubric is not None:
        rubric = read_rubric(arguments.rubric.name, _bytes(arguments.rubric))
    return trial_study(
        Text(_text(instruction), responses),
        named_judges(arguments.judge, store),
        kind=kind,
        rubric=rubric,
        criterion=arguments.criterion,
    )


def named_judges(names: list[str] | None, store: Any) -> list[Any]:
    from rubriclab.datasets.sample import DEFAULT_JUDGE, embedded_judge

    kept = {judge.name: judge for judge in store.judges()}
    return [kept.get(name) or embedded_judge(name) for name in names or [DEFAULT_JUDGE]]


def _text(given: str) -> str:
    """A text as it is, or the content of the file that ``@FILE`` names."""
    if not given.startswith("@"):
        return given
    try:
        return _bytes(Path(given[1:])).decode("utf-8")
    except UnicodeDecodeError as fault:
        raise LabError(f"{given[1:]} is not text in UTF-8: {fault.reason}.") from fault


def _bytes(path: Path) -> bytes:
    from rubriclab.datasets.limits import MAX_PLAIN_MB, read_file

    return read_file(path, limit_mb=MAX_PLAIN_MB)


# ---------------------------------------------------------------- in words


def _lines(trial: Any) -> Iterator[str]:
    from rubriclab.findings.trial import CriteriaTrial, OptionsTrial

    yield f"{'SIMULATED judge. ' if trial.simulated else ''}{trial.sentence}"
    calls = f" (the control: {many(trial.control.calls, 'call')})" if trial.control.calls else ""
    yield f"  {trial.control.sentence}{calls}"
    if isinstance(trial, OptionsTrial):
        yield from _options_lines(trial)
    elif isinstance(trial, CriteriaTrial):
        for c in trial.criteria:
            yield (
                f"  {c.name:<24} usual {number(c.usual, 'g'):>4}  again {number(c.again, 'g'):>4}  "
                f"mean {number(c.mean, '.2f')}  "
                f"{number(c.lowest, 'g')} to {number(c.highest, 'g')}, {c.reads} read"
            )
    else:
        for read, winner in zip(trial.reads, trial.winners, strict=True):
            yield f"  {' | '.join(read.shown):<32} {winner or 'a tie or nothing to read'}"


def _options_lines(trial: Any) -> Iterator[str]:
    for read in trial.reads:
        answer = "unread" if read.score is None else f"score {read.score:g} at position {read.position}"
        yield f"  {' '.join(read.shown):<20} {answer}"
    low, high = trial.ci.low, trial.ci.high
    yield (
        f"  mean over {many(len(trial.running.read), 'order')} {number(trial.mean, '.2f')} "
        f"[{number(low, '.2f')}, {number(high, '.2f')}]"
    )
    if trial.corrected is not None and trial.prior is not None:
        yield f"  one corrected call {trial.corrected:.2f}, with the position prior of run {trial.prior.run}"
    if trial.highest is not None and trial.lowest is not None:
        yield (
            f"  highest {trial.highest.score:g} with {' '.join(trial.highest.shown)}, lowest "
            f"{trial.lowest.score:g} with {' '.join(trial.lowest.shown)}: {len(trial.reads)} of "
            f"{many(trial.orders, 'order')} asked"
        )
