"""Check that every preset can be planned, and gives its tables from replies with known numbers."""

import gzip
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rubriclab.measures  # noqa: F401  every measure
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import MEASURES, Findings
from rubriclab.data.published import cache_folder, sources
from rubriclab.data.sample import data_path, preset_title, presets
from rubriclab.exports.paper_table import paper_table
from rubriclab.measures.protocols import FORMS
from rubriclab.model.data import Item
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.study import read_study
from rubriclab.runs.forecast import estimate
from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.runner import Run
from rubriclab.store.bundle import read_bundle
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from tests.data.test_published import FILES, shared
from tests.runs.kit import ScriptedJudge, ended, use

# Items times orders, by hand: HANNA 576 items x (10 + 10 + 10); 96 stories x 3 x 12; MT-Bench 80
# prompts x 3 pairs with the baseline x 2 orders, and 2 repeats of them on three questions of each
# of eight tasks; LLMBar 280 x 2.
PLANNED = {
    "hanna-options": 576 * 30,
    "hanna-repeats": 576 * 20,
    "hanna-effort": 576 * 10 * 3,
    "summeval-options": 100 * 30,
    "mt-bench-options": 320 * 20,
    "li-people": 576,
    "hanna-criteria": 96 * 36,
    "hanna-scales": 576 * (10 + 2 + 6 + 18),  # balanced orders of 5, 2, 3 and 9 options
    "hanna-temperature": 576 * 10 * 4,
    # Ascending, descending, random; letters, Roman numerals, a reference of full marks. The lab's
    # own judge gives the same reply again, so only ten answers are asked twice, in five of them.
    "li-forms": 320 * 6 + 10 * 5,
    "shi-pairs": 80 * 3 * 2 + 8 * 3 * 3 * 2 * 2,
    "shi-devbench": 80 * 3 * 2 + 8 * 3 * 3 * 2 * 2,
    "shi-lists": 80 * 4 * 3,  # three of four candidates, each once at each position
    "llmbar": 280 * 2,
}
FEW = {"shi-pairs": 24, "shi-devbench": 24, "shi-lists": 24}
"""Items that a preset is cut to, where a dozen make too few pairs or lists."""
XU_1, XU_2, SHI, LI = "Xu et al. v1", "Xu et al. v2", "Shi et al.", "Li et al."
NAMED = [
    *((XU_2, f"Table {n}") for n in range(2, 8)),
    *((XU_2, f"Figure {n}") for n in range(4, 12)),
    *((XU_1, f"Table {n}") for n in range(2, 7)),
    *((SHI, f"Table {n}") for n in range(2, 9)),
    *((LI, name) for name in ("Table 2", "Table 3", "Figure 5", "Figure 6")),
]
"""Every table and figure of the papers that a preset must name."""
ONLY_TEXT = {(XU_2, "Figure 5")}
"""A figure of the prompt: no measure is drawn in it, so a comment names it."""


def planned(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    cache: Path,
    items: int | None = None,
    judged_by: tuple[str, ...] = (),
) -> Plan:
    """A preset's plan; the published files lie in the cache, as if they had been fetched."""
    monkeypatch.setenv("RUBRICLAB_DATA", str(cache))
    published = read_study(presets()[name]).data[0].published
    files = zip(sources()[published].files, FILES[published], strict=True) if published else ()
    for file, path in files:
        (cache_folder() / f"{file.sha256[:12]}-{file.title}").write_bytes(
            gzip.decompress(shared(path).read_bytes())
        )
    return plan_of_file(name, items=items, judged_by=judged_by)


@pytest.mark.papers(74, 75)
@pytest.mark.parametrize("name", PLANNED)
def test_a_preset_is_planned(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned(name, monkeypatch, tmp_path)
    study = read_study(presets()[name])
    assert sum(made.planned) == PLANNED[name]
    assert made.study.identity("d", "r") == study.model_copy(update={"paper": ()}).identity(
        "d", "r"
    )


@pytest.mark.papers(74, 75)
@pytest.mark.parametrize(("paper", "table"), NAMED)
def test_a_preset_names_every_table_and_figure_of_the_papers(paper: str, table: str) -> None:
    studies = [read_study(path) for path in presets().values()]
    named = [part.table for study in studies for part in study.paper]
    found = any(re.match(rf"{re.escape(f'{paper}, {table}')}\b", text) for text in named)
    first_lines = [path.read_text("utf-8").partition("\n")[0] for path in presets().values()]
    in_comment = any(paper in line and "Figures 4, 5 (the prompt)" in line for line in first_lines)
    assert in_comment if (paper, table) in ONLY_TEXT else found


def test_no_judge_of_a_paper_has_two_numbers_for_one_cell() -> None:
    """The later one would hide the earlier one."""
    for name, path in presets().items():
        cells = [
            (part.measure, part.across, judge)
            for part in read_study(path).paper
            for judge in part.numbers
        ]
        assert len(cells) == len(set(cells)), name


@pytest.mark.thorough
@pytest.mark.papers(74, 75)
@pytest.mark.parametrize("name", [*PLANNED, "decisions"])
def test_a_preset_runs_as_shipped_and_its_plan_says_what_it_takes(
    name: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few items, asked of the simulated judge; every number that the preset names is there."""
    judged_by = () if name == "decisions" else ("simulated:",)
    made = planned(name, monkeypatch, tmp_path, FEW.get(name, 12), judged_by)
    takes = estimate(made)
    assert takes.calls == len(made) > 0
    assert min(takes.seconds, takes.tokens_in, takes.tokens_out) > 0
    if name == "decisions":
        return  # only a decision endpoint packs the orders of an answer in a request
    end = ended(Run(store, made))
    assert (end.state, end.done, end.failed) == ("finished", len(made), 0)
    findings = Findings(Judgments(store.table(end.run)))
    for part in made.study.paper:
        by_strategy = part.across == "strategy"
        table = paper_table(
            findings, part.measure, across=part.across, by_strategy=by_strategy, papers=[part]
        )
        printed = {line[0].removesuffix(" (paper)") for line, _ in table.lines}
        assert set(part.numbers) <= printed


def test_the_preset_of_decisions_asks_every_order_and_up_and_down() -> None:
    made = plan_of_file("decisions", items=6)
    assert list(made.planned) == [6 * 24 * 2] * 3 + [6 * 2 * 2] * 3


def test_the_preset_of_examples_is_what_the_recorded_example_asked() -> None:
    """24 answers in 12 orders, and 10 of them once more; none is one of the four examples."""
    made = plan_of_file("examples")
    assert len(made) == 24 * 12 + 10 * 12
    assert not any("can be read in the examples" in note for note in made.notes)
    recorded = read_bundle(data_path("example-examples.zip"))
    assert recorded.conditions == made.conditions
    assert sorted(recorded.items["item_id"]) == sorted(item.item_id for item in made.items)


@pytest.mark.papers(75)
def test_presets_name_measures_and_say_where_their_numbers_are_from() -> None:
    assert set(presets()) == {*PLANNED, "decisions", "examples"}
    for path in (presets()[name] for name in PLANNED):
        study = read_study(path)
        assert study.paper
        for part in study.paper:
            assert part.measure.split(":")[0] in MEASURES
            assert part.numbers or "prints no numbers" in part.note
            assert "in this project's words" in part.note or study.data[0].published != "hanna"


@pytest.mark.papers(74)
@pytest.mark.parametrize(
    ("paper", "name", "table", "column"),
    [
        ("xu-rubric-position-bias-v2", "hanna-options", 0, 0),
        ("xu-rubric-position-bias-v2", "hanna-options", 2, 2),
        ("xu-rubric-position-bias-v2", "hanna-criteria", 1, 0),
        ("shi-judging-the-judges", "shi-pairs", 0, 1),
    ],
)
def test_numbers_are_those_that_the_paper_prints(
    paper: str, name: str, table: int, column: int
) -> None:
    """Each judge's line of the paper's own table holds our number, in its place."""
    text = shared(f"../papers/{paper}.txt").read_text("utf-8")
    part = read_study(presets()[name]).paper[table]
    number = re.findall(r"Table \d", part.table)[0]
    where = text.index("MTBench List-wise" if paper.startswith("shi") else f"{number}: ")
    for judge, numbers in part.numbers.items():
        line = next(
            row
            for row in text[where:].splitlines()
            if row.startswith(f"{judge.replace('4o', '40')}\t")
        )
        cells = [
            float(re.findall(r"-?\d*\.\d+", cell)[0])
            for cell in line.split("\t")[1:]
            if cell.strip()
        ]
        scale = 100 if part.measure.startswith("position_share") else 1
        assert next(iter(numbers.values())) == pytest.approx(cells[column] / scale)


# ----------------------------------------------------------- frozen replies whose numbers are known


Answer = Callable[[Call, Sequence[Item]], Reply]


def label_of(call: Call, score: int) -> str:
    """What stands for a score in a call; the prompt must list the labels in the call's order."""
    assert re.findall(r"^Score (\w+)(?::|$)", call.messages[-1]["content"], re.M) == list(
        call.ordering.labels
    )
    return dict(zip(call.ordering.shown, call.ordering.labels, strict=True))[score]


def half_first(call: Call, _items: Sequence[Item]) -> Reply:
    """Every other item gets what stands first, the rest a 2 wherever it stands."""
    score = int(call.ordering.shown[0]) if call.items[0] % 2 == 0 else 2
    return Reply(text=f"It reads well. [RESULT] {label_of(call, score)}")


def more_at_the_top(call: Call, items: Sequence[Item]) -> Reply:
    """2 or 3 by the sum of the ratings; one more for what stands first (Coherence: two), one fewer
    for what stands last.
    """
    lines = []
    for position, name in enumerate(call.ordering.shown):
        item = next(items[code] for code in call.items if items[code].criterion == name)
        moved = (1 + (name == "Coherence")) * (position == 0) - (position == len(call.items) - 1)
        lines.append(f"{name}: {two_or_three(item) + moved}")
    return Reply(text="\n".join(lines))


def fewer_under_letters(call: Call, items: Sequence[Item]) -> Reply:
    """As GPT-4 scored; where letters stand for the scores, everything above 1 one lower."""
    score = rated(items[call.items[0]])
    return Reply(text=f"[RESULT] {label_of(call, max(1, score - ('A' in call.ordering.labels)))}")


def rated(item: Item) -> int:
    return round(np.mean(list(item.ratings.values())))


def two_or_three(item: Item) -> int:
    """Of every criterion some of each, so that r is defined."""
    return 2 + int(sum(item.ratings.values())) % 2


def baseline_or_first(call: Call, _items: Sequence[Item]) -> Reply:
    """Of every other pair the baseline, of the rest what stands first."""
    shown = list(call.ordering.shown)
    first = 0 if call.items[0] % 2 else shown.index("vicuna_13b")
    return Reply(text=f"Both answer the question. [[{call.ordering.labels[first]}]]")


def r_with_people(
    score: Callable[[Item], float], *, by_criterion: bool = False
) -> Callable[[Plan], float]:
    """r between a score of each item and what people gave it; or its mean over criteria."""

    def expected(made: Plan) -> float:
        pairs = [
            (item.criterion, score(item), np.mean(list(item.ratings.values())))
            for item in made.items
        ]
        table = pd.DataFrame(pairs, columns=["criterion", "judge", "people"])
        parts = [part for _, part in table.groupby("criterion")] if by_criterion else [table]
        return float(np.mean([part["judge"].corr(part["people"]) for part in parts]))

    return expected


def baseline_share(made: Plan) -> float:
    """Of the comparisons, repeats in: how many go to the baseline in both orders."""
    return float(np.mean([call.items[0] % 2 == 0 for call in made.calls()]))


Expected = float | Callable[[Plan], float]
FROZEN: dict[str, tuple[Answer, int | None, dict[tuple[str, str], Expected]]] = {
    # 24 items x 10: half of them all at position 1 (10 each), half at each of five positions twice:
    # 144, 24, 24, 24, 24. Chi-square with 48 expected: 96^2 / 48 + 4 x 24^2 / 48 = 240.
    "hanna-options": (
        half_first,
        24,
        {
            ("chi2", "HANNA"): 240,
            ("position_share:1", "HANNA"): 0.6,
            ("position_share:5", "HANNA"): 0.1,
        },
    ),
    # With n options: 1/2 + 1/2n at position 1, 1/2n at each other. V^2 = n / (n - 1) x [(n - 1)^2 +
    # (n - 1)] / 4n^2 = 1/4.
    "hanna-scales": (half_first, 12, {("cramers_v", n): 0.5 for n in ("2", "3", "5", "9")}),
    # First and last position stand 1 + 1 apart, for Coherence 2 + 1. Every criterion stands at
    # every position twice: over all orders a constant is added, which r does not see; so is it in
    # one order.
    "hanna-criteria": (
        more_at_the_top,
        48,
        {
            ("delta_pos", "Mean"): 13 / 6,
            ("delta_pos", "Largest"): 3,
            ("pearson", "balanced"): r_with_people(two_or_three, by_criterion=True),
            ("pearson", "fixed"): r_with_people(two_or_three, by_criterion=True),
        },
    ),
    "li-forms": (
        fewer_under_letters,
        24,
        {
            ("pearson", "fixed"): r_with_people(rated),
            ("pearson", "descending"): r_with_people(rated),
            ("pearson", "arabic"): r_with_people(rated),
            ("pearson", "roman"): r_with_people(rated),
            ("pearson", "letters"): r_with_people(lambda item: max(1, rated(item) - 1)),
        },
    ),
    # What is not consistent goes to the first answer: primacy, below 0.
    "shi-pairs": (
        baseline_or_first,
        None,
        {
            ("pc", "MT-Bench"): baseline_share,
            ("pf", "MT-Bench"): lambda made: baseline_share(made) - 1,
            ("rs", "MT-Bench"): 1,
            ("error_rate", "MT-Bench"): 0,
        },
    ),
}


@pytest.mark.thorough
@pytest.mark.papers(75)
@pytest.mark.parametrize("name", FROZEN)
def test_a_preset_runs_to_the_tables_that_it_names(
    name: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, items, numbers = FROZEN[name]
    made = planned(name, monkeypatch, tmp_path, items)
    use(monkeypatch, ScriptedJudge(lambda call, _: answer(call, made.items)))
    end = ended(Run(store, made))
    assert (end.state, end.done, end.failed) == ("finished", len(made), 0)
    findings = Findings(Judgments(store.table(end.run)))
    known = {
        key: expected(made) if callable(expected) else expected for key, expected in numbers.items()
    }
    measured: dict[tuple[str, str], float] = {}
    for part in made.study.paper:
        by_strategy = part.across == "strategy"
        table = paper_table(
            findings, part.measure, across=part.across, by_strategy=by_strategy, papers=[part]
        )
        assert part.table in " ".join(table.legend) or not part.numbers
        cells = table.numbers().drop_duplicates("column")
        measured |= {(part.measure, row["column"]): row["value"] for _, row in cells.iterrows()}
    assert {key: measured[key] for key in known} == pytest.approx(known, abs=1e-12)


@pytest.mark.thorough
@pytest.mark.papers(71)
def test_li_et_al_s_forms_say_what_averaging_them_gains(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters take a point off every score above 1. The mean over the four forms in the default
    order is then 0.25 points from the default form, and 0 where the score is 1.
    """
    made = planned("li-forms", monkeypatch, tmp_path, 24, judged_by=("m@http://127.0.0.1:9/v1",))
    assert len(made) == 24 * (5 * 2 + 1), "a random order is asked once"
    use(monkeypatch, ScriptedJudge(lambda call, _: fewer_under_letters(call, made.items)))
    findings = Findings(Judgments(store.table(ended(Run(store, made)).run)))
    (gain,) = [row for row in findings.select("gain") if row.of["protocol"] == FORMS]
    above = np.mean([rated(item) > 1 for item in made.items])
    assert gain.value == pytest.approx(0.25 * np.sqrt(above))
    assert gain.interval[0] < gain.value < gain.interval[1]


def test_a_preset_is_listed_with_the_tables_that_it_repeats() -> None:
    assert preset_title(presets()["hanna-scales"]) == "hanna-scales · Xu et al. v2, Table 4"
    assert preset_title(presets()["decisions"]) == "decisions", "of no paper"
