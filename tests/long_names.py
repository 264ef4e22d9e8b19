"""Simulated runs that are hard to draw: long names of judges and criteria, seven scores, fourteen orders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rubriclab.model import Criterion, Dataset, Design, Rubric, ScoreOption, Strategy, Study
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from tests.simulated_runs import CRITERIA, answers, rubric, simulated, stories

NAMES = (
    "Organisation/some-model-name-70b-instruct-2026-04-01",
    "Organisation/some-model-name-8b-instruct-2026-04-01",
    "another-laboratory/judge-of-very-many-words-preview",
)
TASKS = ("writing for a reader in a hurry", "summaries of long documents", "code", "questions of fact")


def long_named() -> dict[str, Study]:
    """Studies by kind."""
    first, second, third = NAMES
    both = (Strategy("balanced"), Strategy("fixed"))
    scored = (
        simulated(first, position={"first": 1.5}),
        simulated(second, seed=3),
        simulated(third, position={"last": 1.2}, seed=5),
    )
    compared = (simulated(first, primacy=1.5), simulated(second, recency=1.5, seed=2), simulated(third, seed=3))
    drifting = simulated(first, criterion_position={"first": 2.0})
    return {
        "options": Study(
            "Options",
            answers(),
            scored,
            Design(strategies=(Strategy("balanced", reads=14), Strategy("fixed", reads=14))),
            _seven(),
        ),
        "criteria": Study(
            "Criteria",
            _renamed(stories()),
            (drifting,),
            Design(axis="criteria", strategies=(*both, Strategy("williams"))),
            rubric(*map(_longer, CRITERIA)),
        ),
        "forms": Study(
            "Forms",
            answers(12),
            scored,
            Design(strategies=(Strategy("fixed", reads=1), Strategy("descending", reads=1))),
            rubric("Quality"),
        ),
        "pairs": Study(
            "Pairs", _tasks(answers()), compared, Design(axis="pairwise", strategies=(Strategy("balanced"),), repeats=2)
        ),
    }


def long_store(path: Path) -> dict[str, str]:
    """A store with the studies, run; run names by kind."""
    names = {}
    with Store(path) as store:
        manager = RunManager(store)
        for kind, study in long_named().items():
            run = manager.start(study)
            ended = run.wait(60)
            if ended.state != "finished":
                raise RuntimeError(f"{kind}: {ended}")
            names[kind] = run.info.run
    return names


def _seven() -> Rubric:
    options = tuple(ScoreOption(score, f"step {score}") for score in range(1, 8))
    return Rubric("seven", (Criterion("Overall helpfulness to the reader", options),))


def _longer(name: str) -> str:
    return f"{name} of the whole answer, as asked for"


def _renamed(data: Dataset) -> Dataset:
    return replace(data, items=tuple(replace(item, criterion=_longer(item.criterion)) for item in data.items))


def _tasks(data: Dataset) -> Dataset:
    return replace(data, items=tuple(replace(item, task=TASKS[k % 4]) for k, item in enumerate(data.items)))
