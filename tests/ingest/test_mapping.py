"""Columns to items, criteria and comparisons."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from rubriclab.datasets.comparisons import comparisons, judged
from rubriclab.datasets.items import build_dataset, origin_said
from rubriclab.datasets.mapping import ColumnMapping, guess_mapping, mapping_from_value
from rubriclab.datasets.tables import read_table
from rubriclab.model import Criterion, DataError, Dataset, Item, Rubric, RubricError, ScoreOption
from rubriclab.model.language import speaking

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TWO = (ScoreOption(1), ScoreOption(2))


def table(text: str) -> pd.DataFrame:
    return read_table("a.csv", text.encode())


def built(text: str, **changes: object) -> Dataset:
    frame = table(text)
    mapping = mapping_from_value(changes, base=guess_mapping(frame))
    return build_dataset(frame, mapping, name="d")


def test_a_plain_table_is_guessed_and_read() -> None:
    dataset = built(
        "ID,Question,Answer,Reference Answer,Model,Domain,Rater 1,Rater 2,human mean\n"
        "a,q1,r1,best,m1,law,3,,3\n"
        "b,q2,r2,,m2,law,4,5.0,4.5\n"
    )
    assert dataset.items == (
        Item("a", "q1", "r1", candidate="m1", task="law", human=(3.0,), references={5: "best"}, raters=("Rater 1",)),
        Item("b", "q2", "r2", candidate="m2", task="law", human=(4.0, 5.0), raters=("Rater 1", "Rater 2")),
    )
    assert dataset.origin == "a.csv"


def test_german_names_of_columns_are_guessed() -> None:
    dataset = built(
        "Kennung;Frage;Antwort;Musterlösung;Modell;Kategorie;Bewertung 1;Bewertung 2\na;q1;r1;best;m1;Recht;3,5;4\n"
    )
    assert dataset.items == (
        Item(
            *("a", "q1", "r1"),
            candidate="m1",
            task="Recht",
            human=(3.5, 4.0),
            references={5: "best"},
            raters=("Bewertung 1", "Bewertung 2"),
        ),
    )
    assert guess_mapping(table("Übersetzung,Bewertung\nr,3\n")).human == ("Bewertung",)
    assert guess_mapping(table("Übersetzung,note\nr,3\n")) == ColumnMapping(response="Übersetzung")


def test_where_data_are_from_is_kept_in_english_and_said_in_german() -> None:
    frame = table("response;human_1;human_2\na;1,5;2\nb;2;2,5\n;;\n;1;2\n")
    with speaking("de"):
        origin = build_dataset(frame, guess_mapping(frame), name="d", skip_empty=True).origin
        said = origin_said(origin)
    assert origin == (
        "a.csv (1 of 4 rows left out: no response; 1 row left out: nothing in any column; "
        "decimal commas read in “human_1” and “human_2”)"
    )
    assert origin_said(origin) == origin
    assert said.startswith("a.csv (")
    assert "„human_1“ und „human_2“)" in said


def test_one_mean_column_and_no_id() -> None:
    dataset = built("prompt,response,human_score\np,r,2.5\np,s,\n")
    assert [(i.item_id, i.human) for i in dataset.items] == [("1", (2.5,)), ("2", ())]


def test_a_score_column_is_not_taken_for_a_human() -> None:
    frame = table("prompt,response,gpt4_score,score\np,r,2,3\n")
    assert guess_mapping(frame).human == ()


def test_references_by_score() -> None:
    dataset = built("response,reference_1,reference_5\nr,worst,best\n")
    assert dataset.items[0].references == {1: "worst", 5: "best"}


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        ("id,response,human\na,r,3\nb,s,high\n", {}, ["a.csv", "line 3", "“human”", "'high'"]),
        ("id,response,human\na,r,inf\n", {}, ["line 2", "“human”", "'inf'"]),
        ("id,response\na,r\nb,s\na,t\n", {}, ["line 4", "“a”", "line 2"]),
        ("id,response\na,r\nb,\n", {}, ["line 3", "“response”", "no response", "1 row"]),
        ("id,response\na,\n", {}, ["no response"]),
        ("id,reply_text\na,r\n", {}, ["a.csv", "response", "reply_text"]),
        ("id,response\na,r\n", {"task": "topic"}, ["“topic”", "id, response"]),
        ("id,response\na,r\n", {"response": "respons"}, ["“respons”", "mean “response”"]),
        ("id,response\na,r\n", {"humans": "x"}, ["“humans”", "mean “human”"]),
    ],
)
def test_faults_name_their_place(text: str, changes: dict[str, object], words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        built(text, **changes)
    for word in words:
        assert word in str(caught.value)


def test_rows_without_a_response_are_counted_when_left_out() -> None:
    frame = table("id,response\na,r\nb,\nc, \n")
    dataset = build_dataset(frame, guess_mapping(frame), name="d", skip_empty=True)
    assert len(dataset) == 1
    assert dataset.origin == "a.csv (2 of 3 rows left out: no response)"


def test_a_wide_table_melts_into_text_by_criterion() -> None:
    dataset = built("id,response,human_Style,human_Depth\na,r,1,2\nb,s,,3\n")
    assert [(i.item_id, i.criterion, i.block, i.human) for i in dataset.items] == [
        ("a:Style", "Style", "a", (1.0,)),
        ("a:Depth", "Depth", "a", (2.0,)),
        ("b:Style", "Style", "b", ()),
        ("b:Depth", "Depth", "b", (3.0,)),
    ]


def test_columns_by_criterion_can_be_named() -> None:
    dataset = built("id,response,x1,x2\na,r,1,2\n", human={"Style": ["x1", "x2"]})
    assert [(i.criterion, i.human) for i in dataset.items] == [("Style", (1.0, 2.0))]


def test_an_id_under_several_criteria_is_a_block_and_of_several_candidates_a_prompt() -> None:
    long = built("id,response,criterion\na,r,Style\na,r,Depth\n")
    assert [(i.item_id, i.block) for i in long.items] == [("a:Style", "a"), ("a:Depth", "a")]
    many = built("id,response,model\na,r,m1\na,s,m2\n")
    assert [(i.item_id, i.prompt, i.block) for i in many.items] == [("a:m1", "a", None), ("a:m2", "a", None)]


# ---------------------------------------------------------------- under a rubric


def rubric(*names: str) -> Rubric:
    return Rubric("R", tuple(Criterion(name, TWO) for name in names))


def test_items_without_a_criterion_are_judged_under_each() -> None:
    dataset = Dataset("d", (Item("a", response="r", human=(3.0,)), Item("b", response="s")))
    spread = judged(dataset, rubric("Style", "Depth"))
    assert [i.item_id for i in spread.items] == ["a:Style", "a:Depth", "b:Style", "b:Depth"]
    assert spread.items[1] == Item("a:Depth", "", "r", "Depth", "a", human=(3.0,))
    assert judged(spread, rubric("Style", "Depth")) == spread
    single = judged(dataset, rubric("Style"))
    assert [(i.item_id, i.criterion) for i in single.items] == [("a", "Style"), ("b", "Style")]
    assert judged(single, rubric("Style")).id == single.id


def test_missing_criteria_are_named() -> None:
    dataset = Dataset("d", (Item("a", criterion="style"), Item("b", criterion="Wit")))
    with pytest.raises(RubricError, match=r"“style”, “Wit”.*“style” is “Style” there"):
        judged(dataset, rubric("Style"))
    mixed = Dataset("d", (Item("a", criterion="Style"), Item("b")))
    with pytest.raises(DataError, match=r"“b” names no criterion"):
        judged(mixed, rubric("Style"))


# ---------------------------------------------------------------- comparisons


def answers() -> Dataset:
    rows = [("p", "m1"), ("p", "m2"), ("p", "m3"), ("q", "m1"), ("q", "m2"), ("s", "m3")]
    items = [Item(f"{p}{c}", f"ask {p}", f"{p} by {c}", prompt=p, candidate=c) for p, c in rows]
    return Dataset("d", (*items, Item("x", response="r", prompt="p")))


def test_all_pairs_and_what_is_left_out() -> None:
    paired = comparisons(answers())
    assert [c.candidates for c in paired.dataset.items] == [("m1", "m2"), ("m1", "m3"), ("m2", "m3"), ("m1", "m2")]
    first = paired.dataset.items[0]
    assert (first.item_id, first.turns, first.responses) == ("p:m1|m2", ("ask p",), (("p by m1",), ("p by m2",)))
    assert (paired.n_prompts, paired.skipped_prompts, paired.skipped_items) == (3, 1, 1)
    assert "1 of 3 prompts" in paired.notes[0]


def test_against_a_baseline_and_lists() -> None:
    fixed = comparisons(answers(), baseline="m3")
    assert [c.candidates for c in fixed.dataset.items] == [("m3", "m1"), ("m3", "m2")]
    assert fixed.skipped_prompts == 2
    three = comparisons(answers(), candidates=3)
    assert [c.candidates for c in three.dataset.items] == [("m1", "m2", "m3")]
    one = comparisons(answers(), all_pairs=False)
    assert [c.item_id for c in one.dataset.items] == ["p:m1|m2", "q:m1|m2"]


@pytest.mark.parametrize(
    ("items", "baseline", "words"),
    [
        ((Item("a", response="r"),), None, "no candidate"),
        ((Item("a", "q", "r", candidate="m"),), None, r"none of its prompts \(1\) has 2"),
        ((Item("a", "q", "r", candidate="m"),), "z", "no candidate “z”. It has: m"),
        ((Item("a", "q", "r", candidate="m"), Item("b", "q", "s", candidate="m")), None, "twice"),
    ],
)
def test_nothing_to_compare(items: tuple[Item, ...], baseline: str | None, words: str) -> None:
    with pytest.raises(DataError, match=words):
        comparisons(Dataset("d", items), baseline=baseline)


# ---------------------------------------------------------------- Prometheus-Eval


def prompt(aspect: str = "Clear?", response: str = "Yes.", scores: str = "12") -> str:
    lines = "".join(f"Score {s}: level {s}\n" for s in scores)
    return (
        "###Task Description:\nJudge.\n\n###The instruction to evaluate:\nAsk.\n\n"
        f"###Response to evaluate:\n{response}\n\n###Reference Answer (Score 5):\nBest.\n\n"
        f"###Score Rubrics:\n[{aspect}]\n{lines}\n###Feedback: "
    )


def prometheus(*prompts: str) -> Dataset:
    rows = [
        {"idx": 1, "response_source": f"m{i}", "instruction": p, "gpt4_score": [1, 2]} for i, p in enumerate(prompts)
    ]
    frame = read_table("p.json", json.dumps(rows).encode())
    return build_dataset(frame, guess_mapping(frame), name="P")


def test_a_judge_prompt_is_taken_apart_and_its_rubric_comes_along() -> None:
    dataset = prometheus(prompt(), prompt(scores="123"), prompt())
    assert dataset.items[0] == Item(
        "1:m0", "Ask.", "Yes.", "Clear?", prompt="1", candidate="m0", references={5: "Best."}
    )
    assert dataset.rubric is not None
    assert [(c.name, c.scores) for c in dataset.rubric.criteria] == [("Clear?", (1, 2)), ("Clear? (2)", (1, 2, 3))]
    assert [i.criterion for i in dataset.items] == ["Clear?", "Clear? (2)", "Clear?"]
    assert judged(dataset, dataset.rubric) == dataset


def test_headings_inside_a_response_do_not_cut_it() -> None:
    tricky = "Here:\n###Score Rubrics:\nnone\n###Reference Answer (Score 5):\nx"
    assert prometheus(prompt(response=tricky)).items[0].response == tricky


def test_a_prompt_without_its_parts_is_named() -> None:
    with pytest.raises(DataError, match=r"row 2, column “instruction”.*rubric"):
        prometheus(prompt(), "###Task Description:\n###The instruction to evaluate:\nx")


def test_mt_bench_parses_whole() -> None:
    path = SHARED / "prometheus" / "mt_bench_eval.original.json.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not on this machine")
    frame = read_table(path.name, path.read_bytes())
    dataset = build_dataset(frame, guess_mapping(frame), name="MT-Bench")
    assert len(dataset) == 320
    assert dataset.rubric is not None
    raw = json.loads(gzip.decompress(path.read_bytes()))
    tails = {record["instruction"].split("###Score Rubrics:")[1] for record in raw}
    assert len(dataset.rubric.criteria) == len(tails)
    for item, record in zip(dataset.items, raw, strict=True):
        criterion = dataset.rubric.criterion(item.criterion)
        parts = [item.instruction, item.response, item.references[5], criterion.description]
        parts += [str(option.description) for option in criterion.options]
        assert all(part and part in record["instruction"] for part in parts)
        assert criterion.scores == (1, 2, 3, 4, 5)
        assert item.human == ()
    assert len(comparisons(dataset).dataset) == 80 * 6  # four candidates a question


def test_gpt4_scores_can_be_asked_for() -> None:
    frame = read_table("p.json", json.dumps([{"instruction": prompt(), "gpt4_score": [3, 4, 5]}]).encode())
    mapping = mapping_from_value({"human": "gpt4_score"}, base=guess_mapping(frame))
    assert build_dataset(frame, mapping, name="P").items[0].human == (3.0, 4.0, 5.0)


def test_score_rubric_objects() -> None:
    record = {
        "id": "a",
        "system_prompt": "Be brief.",
        "input": "Ask.",
        "response": "Yes.",
        "reference_answer": "Best.",
        "response_model_name": "m",
        "capability": "planning",
        "score_rubric": {"criteria": "Short?", "score1_description": "no", "score2_description": "yes"},
    }
    frame = read_table("b.json", json.dumps([record]).encode())
    dataset = build_dataset(frame, guess_mapping(frame), name="B")
    assert dataset.items[0].instruction == "Be brief.\n\nAsk."
    assert dataset.rubric is not None
    assert dataset.rubric.criterion("Short?").describe(2) == "yes"


def test_no_response_column_is_said_before_any_row_is_read() -> None:
    with pytest.raises(DataError, match="no column is chosen for the response"):
        build_dataset(table("a,b\n1,2\n"), ColumnMapping(), name="d")


GERMAN = (
    "Frage;Antwort des Systems;Note Gutachter 1;Note Gutachter 2\r\n"
    "Warum?;Darum.;6,5;7\r\n"
    ";;;\r\n"
    'Wie groß?;"Größer; als\r\ngedacht";;1,5\r\n'
)


def german(text: str, *rated: str) -> Dataset:
    mapping = ColumnMapping(response="Antwort des Systems", instruction="Frage", human=rated)
    return build_dataset(table(text), mapping, name="d")


def test_ratings_with_decimal_commas_are_read_and_said() -> None:
    dataset = german(GERMAN, "Note Gutachter 1", "Note Gutachter 2")
    first, second = dataset.items
    assert isinstance(first, Item)
    assert isinstance(second, Item)
    assert (first.human, second.human) == ((6.5, 7.0), (1.5,))
    assert second.response == "Größer; als\r\ngedacht"
    assert "decimal commas read in “Note Gutachter 1” and “Note Gutachter 2”" in dataset.origin


def test_a_row_with_nothing_in_it_needs_no_tick_and_is_counted() -> None:
    assert [item.item_id for item in german(GERMAN).items] == ["1", "3"]
    assert german(GERMAN).origin == "a.csv (1 row left out: nothing in any column)"
    with pytest.raises(DataError, match="no response; 1 row of 3 without"):
        german(GERMAN.replace(";;;\r\n", "Warum?;;;\r\n"))


@pytest.mark.parametrize("cell", ["4,5,3", "4, 5", "1.234,5", "gut"])
def test_a_rating_that_is_no_single_number_is_refused_whatever_its_commas(cell: str) -> None:
    with pytest.raises(
        DataError, match=r"column “Note Gutachter 2”: the human rating .* is not one number, as 4, 3\.5"
    ):
        german(GERMAN.replace("1,5", cell), "Note Gutachter 2")
