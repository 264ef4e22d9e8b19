"""Small runs of the simulated judge with planted effects, one a kind of study."""

from __future__ import annotations

import random
from functools import cache

from rubriclab.model import Criterion, Dataset, Design, Item, Judge, Rubric, RunData, ScoreOption, Strategy, Study
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store

CRITERIA = ("Clarity", "Depth", "Tone", "Wit")
CANDIDATES = {"alpha": 0.3, "beta": 0.5, "gamma": 0.7}
HOSTILE = "<script>alert(1)</script> | **q**"


def rubric(*names: str) -> Rubric:
    return Rubric("made up", tuple(Criterion(n, tuple(ScoreOption(s, f"{n} {s}") for s in range(1, 6))) for n in names))


def answers(prompts: int = 20, *, humans: bool = True) -> Dataset:
    """Three candidates a prompt, three raters each, four tasks; the first prompt is hostile text."""
    draw = random.Random(1)
    items = []
    for q in range(prompts):
        for name, level in CANDIDATES.items():
            quality = min(1.0, max(0.0, draw.gauss(level, 0.2)))
            rated = tuple(float(min(5, max(1, round(1 + 4 * quality + draw.gauss(0, 0.5))))) for _ in range(3))
            items.append(
                Item(
                    f"q{q}-{name}",
                    f"Question {q}",
                    f"{name} answers {q}",
                    prompt=HOSTILE if q == 0 else f"q{q}",
                    candidate=name,
                    task=f"task {q % 4}",
                    human=rated if humans else (),
                )
            )
    return Dataset("answers", tuple(items))


def stories(texts: int = 12) -> Dataset:
    draw = random.Random(2)
    items = [
        Item(
            f"t{t}-{name}",
            f"Prompt {t // 3}",
            f"Story {t}",
            criterion=name,
            block=f"t{t}",
            prompt=f"p{t // 3}",
            candidate=f"writer {t % 3}",
            human=(float(draw.randint(1, 5)),),
        )
        for t in range(texts)
        for name in CRITERIA
    ]
    return Dataset("stories", tuple(items))


def simulated(name: str, **options: object) -> Judge:
    return Judge(name, "simulated", "simulated", options=options)


def studies() -> dict[str, Study]:
    both = (Strategy("balanced"), Strategy("fixed"))
    leaning = simulated("leaning", position={"first": 1.5})
    return {
        "options": Study(
            "Options",
            answers(),
            (leaning, simulated("even", seed=3)),
            Design(strategies=(*both, Strategy("random"))),
            rubric("Quality"),
        ),
        "sweep": Study(
            "Sweep",
            answers(8),
            (leaning,),
            Design(strategies=both, factors={"temperature": (0.2, 1.0)}),
            rubric("Quality"),
        ),
        "forms": Study(
            "Forms",
            answers(12),
            (leaning,),
            Design(strategies=(Strategy("fixed", reads=1), Strategy("descending", reads=1))),
            rubric("Quality"),
        ),
        "plain": Study("Plain", answers(5, humans=False), (simulated("even"),), Design(), rubric("Quality")),
        "criteria": Study(
            "Criteria",
            stories(),
            (simulated("drifting", criterion_position={"first": 2.0}),),
            Design(axis="criteria", strategies=(*both, Strategy("williams"))),
            rubric(*CRITERIA),
        ),
        "batch": Study(
            "Batches",
            answers(),
            (simulated("contrasting", batch_contrast=-0.6, batch_drift=-1.5),),
            Design(axis="batch", strategies=(Strategy("williams"), Strategy("fixed", reads=2))),
            rubric("Quality"),
        ),
        "pairs": Study(
            "Pairs",
            answers(),
            (simulated("first", primacy=1.5), simulated("last", recency=1.5, seed=2), simulated("even", seed=3)),
            Design(axis="pairwise", strategies=(Strategy("balanced"),), repeats=2),
        ),
        "lists": Study(
            "Lists",
            answers(),
            (simulated("first", primacy=1.5),),
            Design(axis="listwise", strategies=(Strategy("balanced"),)),
        ),
    }


def run_into(store: Store, *kinds: str) -> dict[str, str]:
    """Run studies into ``store``; their run names by kind."""
    manager = RunManager(store)
    names = {}
    for kind in kinds:
        run = manager.start(studies()[kind])
        ended = run.wait(60)
        assert ended.state == "finished", f"{kind}: {ended}"
        names[kind] = run.info.run
    return names


@cache
def data_of(kind: str) -> RunData:
    """The judgments of a study, run once a test session."""
    with Store(":memory:") as store:
        return store.frame(run_into(store, kind)[kind], probabilities=True)
