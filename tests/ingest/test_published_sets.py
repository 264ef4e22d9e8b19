"""SummEval and FLASK from the files that their authors publish, real where they are on this machine."""

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rubriclab.datasets.recipes import RECIPES, load_recipe, read_files, recipe
from rubriclab.model import DataError, Item

SUMMAC = Path(__file__).resolve().parents[3] / "shared" / "data" / "summeval" / "summac_summeval.json.gz"


def items(dataset: Any) -> list[Item]:
    return [item for item in dataset.items if isinstance(item, Item)]


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def summac() -> dict[str, dict[str, Any]]:
    """The real file's records by id."""
    if not SUMMAC.exists():
        pytest.skip(f"{SUMMAC} is not on this machine")
    records: dict[str, dict[str, Any]] = json.loads(gzip.decompress(SUMMAC.read_bytes()))
    return records


def aligned(article: str = "dm-test-1", model: str = "M8", **changes: object) -> dict[str, Any]:
    """A record with the fields of model_annotations.aligned.jsonl."""
    expert = {"coherence": 2, "consistency": 5, "fluency": 5, "relevance": 3}
    crowd = {"coherence": 1, "consistency": 1, "fluency": 1, "relevance": 1}
    return {
        "id": article,
        "model_id": model,
        "decoded": "Short.",
        "expert_annotations": [expert, {**expert, "coherence": 4}, {**expert, "coherence": 3}],
        "turker_annotations": [crowd] * 5,
        "references": ["Ref.", "Another."],
        "filepath": f"cnndm/dailymail/stories/{article.removeprefix('dm-test-')}.story",
        **changes,
    }


# ---------------------------------------------------------------- SummEval


def test_summac_gives_a_hundred_summaries_with_three_ratings_each() -> None:
    raw = summac()
    made = load_recipe("summeval-consistency", files=[SUMMAC])
    ratings = [item.human for item in items(made)]
    assert ratings == [tuple(map(float, record["annotations"])) for record in raw.values()]
    assert Counter(map(len, ratings)) == {3: 100}
    assert ratings.count((5.0, 5.0, 5.0)) == 54
    for item, record in zip(items(made), raw.values(), strict=True):
        assert item.response == record["claim"]
        assert item.instruction.endswith("\n\n" + record["document"])
        assert (item.prompt, item.candidate) == (record["cnndm_id"], record["model_name"])
    assert made.rubric is not None
    assert [criterion.name for criterion in made.rubric.criteria] == ["consistency"]
    # The known hash is that of the file which the recipes would download.
    digest = hashlib.sha256(gzip.decompress(SUMMAC.read_bytes())).hexdigest()
    assert {recipe(key).files[-1].sha256 for key in ("summeval", "summeval-consistency")} == {digest}


def test_the_authors_file_gets_its_articles_from_summacs() -> None:
    raw = list(summac().values())
    records = [aligned(r["cnndm_id"], m, decoded=r["claim"]) for r in raw for m in ("M0", r["model_name"])]
    made = load_recipe("summeval", files=[SUMMAC])
    assert {item.criterion for item in items(made)} == {"consistency"}, "SummaC's file alone has no other"
    both = read_files(
        recipe("summeval"), [(SUMMAC.name, SUMMAC.read_bytes()), ("model_annotations.aligned.jsonl", lines(*records))]
    )
    assert len(both) == 4 * len(records)
    assert "without their article" not in both.origin
    by_article = {r["cnndm_id"]: r["document"] for r in raw}
    assert all(item.instruction.endswith(by_article[str(item.prompt)]) for item in items(both))


def test_the_experts_are_three_raters_and_the_crowd_none() -> None:
    made = read_files(recipe("summeval"), [("a.jsonl", lines(aligned(text="Long article.")))])
    first = items(made)[0]
    assert (first.item_id, first.block, first.prompt) == ("dm-test-1:M8:coherence", "dm-test-1:M8", "dm-test-1")
    assert (first.candidate, first.human, first.references) == ("M8", (2.0, 4.0, 3.0), {5: "Ref."})
    assert first.instruction.endswith("Long article.")
    assert made.rubric is not None
    assert [i.criterion for i in items(made)] == [c.name for c in made.rubric.criteria]
    unpaired = read_files(recipe("summeval"), [("a.jsonl", lines(aligned()))])
    assert "1 of 1 summaries without their article" in unpaired.origin


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (aligned(expert_annotations=[{"coherence": 1}]), r"row 1, column “expert_annotations”.*has changed"),
        (
            aligned(expert_annotations=[dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), "good")]),
            "'good' is",
        ),
        ({"id": "summeval_0", "document": "A."}, "model_id"),
    ],
)
def test_a_changed_summeval_is_refused_with_its_place(record: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_files(recipe("summeval"), [("a.jsonl", lines(record))])


def test_another_set_of_summac_is_not_taken_for_summeval() -> None:
    record = {
        "cnndm_id": "1",
        "model_name": "m",
        "document": "A.",
        "claim": "B.",
        "annotations": [1],
        "dataset": "frank",
    }
    with pytest.raises(DataError, match="“frank”, not of summeval"):
        read_files(recipe("summeval"), [("s.json", json.dumps({"frank_0": record}).encode())])


# ---------------------------------------------------------------- FLASK

QUESTION = {
    "question_id": 1,
    "text": "Rewrite it.",
    "task": "Self-instruct",
    "answer": "Rewritten.",
    "domain_labeled": ["Humanities", "Language"],
    "metric_explanation": "...",
    "num_skills": 3,
    "metrics": ["Readability", "Logical Correctness", "Conciseness"],
    "difficulty_labeled": "formal education knowledge",
}
OUTPUT = {"question_id": 1, "text": "So rewritten.", "model_id": "gpt-3.5-turbo:20230327"}
REVIEW = QUESTION | {
    "target_txt": "So rewritten.",
    "review": "Good. {'readability': 5, 'logical correctness': 4, 'conciseness': 'N/A'}",
    "score": {"readability": 5, "logical correctness ": 4, "conciseness": "N/A"},
    "total_tokens_step4": 749,
}


def flask(*files: tuple[str, bytes], gold: str | None = None) -> Any:
    return read_files(recipe("flask-original"), list(files), gold=gold)


def test_flasks_three_kinds_of_files_are_joined_by_the_question() -> None:
    files = [
        ("chatgpt_review.jsonl", lines(REVIEW)),
        ("chatgpt.jsonl", lines(OUTPUT, OUTPUT | {"question_id": 2})),
        ("flask_evaluation.jsonl", lines(QUESTION)),
    ]
    made = flask(*files)
    assert [item.criterion for item in items(made)] == QUESTION["metrics"]
    first = items(made)[0]
    assert first.item_id == "1:gpt-3.5-turbo:20230327:Readability"
    assert (first.instruction, first.response, first.references) == ("Rewrite it.", "So rewritten.", {5: "Rewritten."})
    assert (first.prompt, first.task, first.human) == ("1", "Self-instruct", ())
    assert first.columns == {"difficulty": "formal education knowledge", "domain": "Humanities, Language"}
    assert "1 of 2 responses left out" in made.origin
    scored = flask(*files, gold="gpt4_score")
    assert [item.human for item in items(scored)] == [(5.0,), (4.0,), ()], "a key with a space, an N/A"


def test_flasks_reviews_alone_will_do_and_name_the_model_by_their_file() -> None:
    made = flask(("tulu_7b_review.jsonl", lines(REVIEW)), ("vicuna_13b.jsonl", lines(REVIEW)), gold="gpt4_score")
    assert [item.candidate for item in items(made)] == ["tulu_7b"] * 3 + ["vicuna_13b"] * 3
    odd = REVIEW | {"score": {"readability": 0, "logical correctness": 6}}
    assert {item.human for item in items(flask(("a.jsonl", lines(odd)), gold="gpt4_score"))} == {()}


def test_flask_in_its_later_words_and_with_its_own_descriptions() -> None:
    question = {"idx": 1, "instruction": "Rewrite it.", "answer": "Rewritten.", "skill": ["Readability"]}
    skills = [{"Skill": "Readability", "Criteria": "Clear?", "Scoring": {str(n): f"words {n}" for n in range(1, 6)}}]
    made = flask(
        ("e.jsonl", lines(question)), ("o.jsonl", lines(OUTPUT)), ("skillset.json", json.dumps(skills).encode())
    )
    assert items(made)[0].instruction == "Rewrite it."
    assert made.rubric.criterion("Readability").describe(5) == "words 5"


def test_the_projects_words_cover_all_of_flasks_skills() -> None:
    names = "Comprehension Factuality Completeness Insightfulness Metacognition Readability Conciseness Harmlessness"
    more = ["Logical Correctness", "Logical Robustness", "Logical Efficiency", "Commonsense Understanding"]
    question = QUESTION | {"metrics": [*names.split(), *more]}
    made = flask(("e.jsonl", lines(question)), ("o.jsonl", lines(OUTPUT)))
    assert len(made) == 12
    assert {len(criterion.options) for criterion in made.rubric.criteria} == {5}


@pytest.mark.parametrize(
    ("files", "gold", "words"),
    [
        ([("e.jsonl", lines(QUESTION))], None, "no responses"),
        ([("o.jsonl", lines(OUTPUT))], None, r"“o\.jsonl”.*need the column answer"),
        ([("e.jsonl", lines(QUESTION)), ("o.jsonl", lines(OUTPUT | {"question_id": 9}))], None, "two versions"),
        ([("e.jsonl", lines(QUESTION)), ("o.jsonl", lines(OUTPUT))], "gpt4_score", "gpt_review/outputs"),
        ([("e.jsonl", lines(QUESTION | {"metrics": ["Wit"]})), ("o.jsonl", lines(OUTPUT))], None, "Wit"),
        ([("r.jsonl", lines(REVIEW | {"score": "5"}))], "gpt4_score", "expected an object by skill"),
        ([("r.jsonl", lines(REVIEW | {"score": {"readability": "high"}}))], "gpt4_score", "'high' is not a number"),
    ],
)
def test_flask_files_that_do_not_fit_are_refused(files: list[tuple[str, bytes]], gold: str | None, words: str) -> None:
    with pytest.raises(DataError, match=words):
        flask(*files, gold=gold)


def test_what_is_fetched_is_fixed_by_a_commit() -> None:
    for key in ("summeval-consistency", "flask-original"):
        for file in RECIPES[key].files:
            assert len(str(file.url).split("/")[5]) == 40, file.url
