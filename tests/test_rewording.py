"""A chat model's rewording: read whole or refused, kept under a name of its own, tried like any other."""

from __future__ import annotations

import json

import pytest

from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.judges.keys import ConsentNeeded
from rubriclab.model import Criterion, Judge, LabError, Reply, Rubric, ScoreOption
from rubriclab.runs.rewording import reword
from rubriclab.runs.suggestions import own_wordings, proposals
from rubriclab.runs.workshop import Bench, new_bench
from rubriclab.store import Store
from tests.labkit import ScriptedJudge

SIM = Judge("sim", "simulated", "simulated")
WRITER = Judge("writer", "openai", "some-model", base_urls=("http://127.0.0.1:9/v1",))
WORDS = {"1": "Bad.", "2": "Poor.", "3": "Fair.", "4": "Fine.", "5": "Good."}


def bench(store: Store) -> Bench:
    return new_bench(store, sample_dataset(), sample_rubrics()[0], SIM, items=4)


def written(text: str, store: Store, rubric: Rubric | None = None, **reply: object) -> tuple[Rubric, ScriptedJudge]:
    answer = Reply(text=text, **reply)  # type: ignore[arg-type]
    writer = ScriptedJudge(lambda *_: answer)
    made = reword(bench(store).study, rubric or sample_rubrics()[0], WRITER, store, opener=writer.opener)
    return made, writer


def test_descriptions_are_those_written_and_the_rest_stays() -> None:
    with Store(":memory:") as store:
        made, writer = written(f"Let me think {{1}}.\n```json\n{json.dumps(WORDS)}\n```", store)
        (old,) = sample_rubrics()[0].criteria
        (new,) = made.criteria
        assert [option.description for option in new.options] == list(WORDS.values())
        assert (new.name, new.description, new.scores, new.labels) == (
            old.name,
            old.description,
            old.scores,
            old.labels,
        )
        assert made.name == "Helpfulness, reworded by writer"
        (call,) = writer.calls
        assert "5: Excellent. Correct, complete and well put" in call.messages[0]["content"]
        assert writer.closed


def test_a_score_without_a_description_gets_none() -> None:
    options = (ScoreOption(1, "Wrong."), ScoreOption(2), ScoreOption(3, "Right."))
    rubric = Rubric("r", (Criterion("truth", options), Criterion("bare", (ScoreOption(1), ScoreOption(2)))))
    with Store(":memory:") as store:
        made, writer = written('{"1": "It errs.", "3": "It holds.", "2": "made up"}', store, rubric)
        assert [option.description for option in made.criteria[0].options] == ["It errs.", None, "It holds."]
        assert made.criteria[1] == rubric.criteria[1]
        assert len(writer.calls) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I cannot.", r"“Helpfulness” is no rewording: it holds no JSON object. It began “I cannot.”"),
        ('{"1": "Bad."}', "score 2 has no description"),
        (json.dumps({**WORDS, "3": ["Fair."]}), "score 3 has no description"),
        (json.dumps({**WORDS, "4": " "}), "score 4 has no description"),
        (json.dumps({**WORDS, "5": "x" * 2_001}), "score 5 has no description of 1 to 2000 signs"),
        ("{" * 5_000, "it holds no JSON object"),
        ("", "it holds no JSON object"),
    ],
)
def test_a_reply_that_is_no_rewording_is_refused(text: str, why: str) -> None:
    with Store(":memory:") as store, pytest.raises(LabError, match=why):
        written(text, store)


def test_a_call_that_fails_says_so() -> None:
    with Store(":memory:") as store, pytest.raises(LabError, match="could not be asked about “Helpfulness”: no route"):
        written("", store, error="no route")


def test_who_cannot_write_is_not_asked() -> None:
    with Store(":memory:") as store:
        study = bench(store).study
        with pytest.raises(LabError, match="“sim” is simulated"):
            reword(study, sample_rubrics()[0], SIM, store)
        bare = Rubric("r", (Criterion("bare", (ScoreOption(1), ScoreOption(2))),))
        with pytest.raises(LabError, match="no description that could be reworded"):
            reword(study, bare, WRITER, store)
        keyed = Judge("keyed", "openai", "m", base_urls=("http://127.0.0.1:9/v1",), key_env="SOME_KEY")
        with pytest.raises(ConsentNeeded):
            reword(study, sample_rubrics()[0], keyed, store)


def test_what_was_kept_is_tried_beside_the_rules() -> None:
    with Store(":memory:") as store:
        of = bench(store)
        made, _ = written(json.dumps(WORDS), store)
        store.save_rubric(made)
        own = own_wordings(store, of, of.versions[0])
        assert list(own) == [made.name]
        assert proposals(of.versions[0].rubric, own)[0].rubric.criteria == made.criteria
