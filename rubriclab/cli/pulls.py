"""The command that asks which parts of a rubric make its order matter."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import (
    EXIT_OK,
    EXIT_UNFINISHED,
    add_interest,
    add_trust,
    command,
    consent,
    existing_store,
    opened_store,
    positive,
    say,
    tell,
)
from rubriclab.model import LabError

if TYPE_CHECKING:
    from rubriclab.findings.pulls import PullsGroup
    from rubriclab.runs.pulls import PullsPlan


def add_pulls(parsers: Any) -> None:
    about = (
        "What pulls? Ask a judge with many changes of one rubric at once (each description in neutral words, even "
        "lengths, other labels, other scales, ...) in few arms, and rank by how much each alters what the order of "
        "the scores does. DATA is a table of responses or “sample”; a RUN of the store is read without asking."
    )
    made = command(parsers, "pulls", pull, about)
    made.add_argument("data", metavar="DATA|RUN", help="a file of responses, “sample”, or a run of this command")
    made.add_argument("--rubric", type=Path, metavar="FILE", help="YAML, JSON or CSV (default: the sample's)")
    made.add_argument("--criterion", metavar="NAME", help="which of the rubric's criteria")
    made.add_argument(
        "--judge", metavar="NAME", help="a judge of the store or an embedded model (default smollm2-135m)"
    )
    made.add_argument("--items", type=positive, metavar="N", help="items to ask about (default 16)")
    made.add_argument("--budget", type=positive, metavar="CALLS", help="at most so many calls; more make more arms")
    made.add_argument(
        "--only", metavar="KEYS", help="changes to try, as neutral-1,labels-words (default: all that apply)"
    )
    made.add_argument(
        "--repeats", type=positive, metavar="N", help="reads of each order (default: 2 without probabilities)"
    )
    made.add_argument("--plan", action="store_true", help="print the arms and calls, and ask nothing")
    add_trust(made)
    add_interest(made)


def pull(arguments: argparse.Namespace) -> int:
    if arguments.data != "sample" and not Path(arguments.data).expanduser().exists():
        return _read(arguments)
    with opened_store(arguments.store) as store:
        planned = _planned(arguments, store)
        if arguments.plan:
            tell(_plan_json(planned) if arguments.json else "\n".join([*_told(planned), *_arms(planned)]))
            return EXIT_OK
        say("\n".join(_told(planned)))
        return _asked(arguments, store, planned)


def _asked(arguments: argparse.Namespace, store: Any, planned: PullsPlan) -> int:
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.terminal import Signals, watch

    consent(store, planned.study.judges, trust=arguments.trust)
    with Signals() as signals:
        ended = watch(RunManager(store).start(planned.study, reuse=True), signals)
    _show(arguments, store, ended.run)
    if ended.state == "finished":
        return EXIT_OK
    say(f"Run {ended.run}: {ended.state}. {ended.reason}")
    return EXIT_UNFINISHED


def _read(arguments: argparse.Namespace) -> int:
    with existing_store(arguments.store) as store:
        _show(arguments, store, arguments.data)
    return EXIT_OK


def _show(arguments: argparse.Namespace, store: Any, run: str) -> None:
    from rubriclab.findings.pulls import pulls, pulls_json

    data = store.frame(run).read_as(arguments.smallest_effect, arguments.unit)
    found = pulls(data)
    if not found.groups:
        raise LabError(f"Run {run} has no changes of a rubric read in two orders: it is not one of “What pulls?”.")
    if arguments.json:
        tell({"run": data.run, "simulated": data.simulated, "pulls": [pulls_json(group) for group in found.groups]})
    else:
        tell("\n\n".join("\n".join(_lines(group, data.run)) for group in found.groups))


def _lines(group: PullsGroup, run: str) -> Iterator[str]:
    from rubriclab.findings.pulls import calls_sentence, order_sentence, pull_sentence

    mark = " (simulated)" if group.simulated else ""
    yield f"Run {run}: {group.about}{mark}"
    yield order_sentence(group)
    for one in group.pulls:
        yield f"  {pull_sentence(group, one)}"
    yield calls_sentence(group)
    yield from (f"Note: {text}" for text in group.warnings)


def _told(planned: PullsPlan) -> list[str]:
    caution = planned.caution()
    return [planned.sentence(), *([f"Note: {caution}"] if caution else [])]


def _plan_json(planned: PullsPlan) -> dict[str, Any]:
    return {
        "calls": planned.calls,
        "items": len(planned.study.dataset),
        "units": planned.units,
        "unit": planned.unit,
        "caution": planned.caution(),
        "one_at_a_time": planned.one_at_a_time,
        "changes": [change.key for change in planned.changes],
        "arms": [rubric.name for rubric in (planned.study.rubric, *planned.study.rubrics) if rubric],
        "aliases": planned.mixed(),
    }


def _arms(planned: PullsPlan) -> Iterator[str]:
    for rubric in (planned.study.rubric, *planned.study.rubrics):
        if rubric is not None:
            yield f"  {rubric.name}"
    yield from (f"Mixed: {text}" for text in planned.mixed())


def _planned(arguments: argparse.Namespace, store: Any) -> PullsPlan:
    from rubriclab.datasets.rubrics import read_rubric
    from rubriclab.datasets.sample import DEFAULT_JUDGE, embedded_judge, sample_dataset, sample_rubrics
    from rubriclab.runs.pulls import pulls_plan

    kept = {judge.name: judge for judge in store.judges()}
    name = arguments.judge or DEFAULT_JUDGE
    dataset = sample_dataset() if arguments.data == "sample" else _dataset(Path(arguments.data).expanduser())
    rubric = dataset.rubric or sample_rubrics()[0]
    if arguments.rubric is not None:
        rubric = read_rubric(arguments.rubric.name, arguments.rubric.read_bytes())
    return pulls_plan(
        dataset,
        rubric,
        kept.get(name) or embedded_judge(name),
        criterion=arguments.criterion,
        items=arguments.items,
        budget=arguments.budget,
        repeats=arguments.repeats,
        only=frozenset(arguments.only.split(",")) if arguments.only else None,
    )


def _dataset(path: Path) -> Any:
    from rubriclab.datasets.items import build_dataset
    from rubriclab.datasets.mapping import guess_mapping
    from rubriclab.datasets.tables import read_table

    frame = read_table(path.name, path.read_bytes())
    return build_dataset(frame, guess_mapping(frame), name=path.stem)
