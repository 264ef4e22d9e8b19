"""Published data sets as they are published: counts, ratings and rubrics, fetched from a local
server or the user's own.
"""

import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from aiohttp import web

from rubriclab.data import published as module
from rubriclab.data.published import PublicFile, cache_folder, fetched, published, sources
from rubriclab.data.published_readers import READERS
from rubriclab.data.tables import read_table
from rubriclab.model.data import DataSet, Rubric, preference
from rubriclab.model.study import PublishedName
from rubriclab.model.text import LabError
from rubriclab.runs.loading import plan_of_file
from tests.servers import Pages, running

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
FILES = {
    "hanna": ("hanna/hanna_llm_stories.csv.gz", "hanna/hanna_metric_scores_llm.csv.gz"),
    "summeval": ("summeval/summac_summeval.json.gz",),
    "mt_bench": ("prometheus/mt_bench_eval.original.json.gz",),
    "mt_bench_turns": ("prometheus/mt_bench_eval.original.json.gz",),
    "topical_chat": ("topical_chat/topical_chat.json.gz",),
    "llmbar": tuple(
        f"llmbar/{name}.dataset.json.gz"
        for name in ("Natural", "Adversarial_Neighbor", "Adversarial_Manual")
    ),
    "llm_rubric": ("llm_rubric/human_judges.tsv.gz",),
}


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not on this machine: these data are not shipped")
    return path


def real(name: str, **more: Any) -> tuple[DataSet, Rubric]:
    return published(name, tuple(shared(path) for path in FILES[name]), **more)


def written(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


@pytest.mark.papers(7)
@pytest.mark.parametrize(
    ("name", "items", "criteria"),
    # Xu et al. v2, Table 1: MT-Bench 320, HANNA 576. The others as their files have them: 100
    # summaries on consistency, 60 conversations x 6 systems x 6 criteria, (100 + 134 + 46)
    # instructions x 2 answers.
    [
        ("hanna", 576, 6),
        ("mt_bench", 320, 71),
        ("summeval", 100, 4),
        ("topical_chat", 2_160, 6),
        ("llmbar", 560, 1),
    ],
)
def test_as_many_items_as_published(name: str, items: int, criteria: int) -> None:
    dataset, rubric = real(name)
    assert (len(dataset.items), len(rubric.criteria)) == (items, criteria)
    known = {criterion.name for criterion in rubric.criteria}
    assert {item.criterion for item in dataset.items} - {None} <= known
    assert all(item.response for item in dataset.items)
    for item in dataset.items if name != "llmbar" else ():  # there 1 says which is better
        scores = rubric.criterion(item.criterion).scores
        assert all(scores[0] <= value <= scores[-1] for value in item.ratings.values())


def test_the_hashes_are_those_of_the_files() -> None:
    for name, paths in FILES.items():
        for file, path in zip(sources()[name].files, paths, strict=False):
            assert (
                hashlib.sha256(gzip.decompress(shared(path).read_bytes())).hexdigest()
                == file.sha256
            )


def test_hanna_is_what_its_authors_published() -> None:
    dataset, rubric = real("hanna")
    lines = [
        json.loads(line) for line in shared("hanna/human96.jsonl").read_text("utf-8").splitlines()
    ]
    wanted = {
        (str(k), name): (line["prompt"], line["story"], line["ratings"][name])
        for k, line in enumerate(lines)
        for name in line["ratings"]
    }
    made = {
        (i.item_id, i.criterion): (i.instruction, i.response, list(i.ratings.values()))
        for i in dataset.items
    }
    assert made == wanted
    guide = json.loads(shared("hanna/rubric_1to5.json").read_text("utf-8"))
    theirs = {text for part in guide.values() for text in part["scores"].values()}
    ours = {option.description for criterion in rubric.criteria for option in criterion.options}
    assert len(ours) == 30
    assert theirs.isdisjoint(ours), "the guideline's words are not to be passed on"


@pytest.mark.papers(11)
def test_mt_bench_brings_a_rubric_with_each_answer() -> None:
    dataset, rubric = real("mt_bench")
    item = dataset.items[0]
    assert (item.prompt, item.candidate, item.task, item.ratings) == (
        "83",
        "llama2_chat_13b",
        "writing",
        {},
    )
    assert item.response.startswith("Sure, here's a limerick")
    assert item.reference.startswith("In this blog, two phones")
    criterion = rubric.criterion(item.criterion)
    assert criterion.description.startswith(
        "Does the response properly address the specific request"
    )
    assert criterion.options[0].description.startswith("The response does not address the request")
    assert criterion.scores == (1, 2, 3, 4, 5)
    assert Counter(Counter(i.prompt for i in dataset.items).values()) == {4: 80}
    with_scores, _ = real("mt_bench", gold=("gpt4_score",))
    assert with_scores.items[0].ratings == {
        "gpt4_score 1": 3.0,
        "gpt4_score 2": 2.0,
        "gpt4_score 3": 3.0,
    }
    with pytest.raises(LabError, match="need the columns human_score"):
        real("mt_bench", gold=("human_score",))


@pytest.mark.papers(41)
def test_mt_bench_in_two_turns_shows_one_question_to_all_candidates() -> None:
    """In mt_bench a prompt holds its candidate's own first answer; in pairs only the questions may
    be shared.
    """
    dataset, _ = real("mt_bench_turns")
    asked: dict[str, set[tuple[str, str]]] = {}
    for item in dataset.items:
        asked.setdefault(str(item.prompt), set()).add(
            (item.instruction, item.columns["instruction_2"])
        )
    assert (len(asked), {len(turns) for turns in asked.values()}) == (80, {1})
    item = dataset.items[0]
    assert item.instruction.startswith("Imagine you are writing a blog post")
    assert item.response.startswith("Sure, here's an outline")
    assert (
        item.columns["instruction_2"]
        == "Take your previous response and rephrase it as a limerick."
    )
    assert item.columns["response_2"].startswith("Sure, here's a limerick")


def test_summeval_of_its_authors_gets_its_articles_from_summac(tmp_path: Path) -> None:
    expert = dict.fromkeys(("coherence", "consistency", "fluency"), 5) | {"relevance": 3}
    theirs = written(
        tmp_path,
        "aligned.jsonl",
        "\n".join(
            json.dumps(
                {
                    "id": "a1",
                    "model_id": f"M{k}",
                    "decoded": f"Short {k}.",
                    "expert_annotations": [expert, expert, expert],
                }
            )
            for k in range(2)
        ),
    )
    with pytest.raises(LabError, match="its article is in no file"):
        published("summeval", (theirs,))
    record = {
        "cnndm_id": "a1",
        "model_name": "M0",
        "document": "Long.",
        "claim": "Short.",
        "annotations": [1, 2, 3],
    }
    articles = written(tmp_path, "summeval.json", {"summeval_0": record})
    dataset, _ = published("summeval", (articles, theirs))
    assert Counter(item.criterion for item in dataset.items) == dict.fromkeys(expert, 2)
    last = dataset.items[-1]
    assert (last.instruction, last.prompt, last.candidate) == (
        "Summarise this news article.\n\nLong.",
        "a1",
        "M1",
    )
    assert last.ratings == {"Expert 1": 3.0, "Expert 2": 3.0, "Expert 3": 3.0}
    assert published("summeval", (articles,))[0].items[0].ratings == {
        "Expert 1": 1.0,
        "Expert 2": 2.0,
        "Expert 3": 3.0,
    }


def test_llm_rubric_has_one_person_a_conversation(tmp_path: Path) -> None:
    """1,701 of 223 x 9 answers are not 0: counted in the file."""
    ratings = shared(FILES["llm_rubric"][0])
    ids = read_table(ratings).column("text_id")
    said = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    texts = written(tmp_path, "real_data.json", [{"_id": name, "messages": said} for name in ids])
    dataset, rubric = published("llm_rubric", (ratings, texts))
    assert len(dataset.items) == 1_701
    assert dataset.items[0].ratings == {"person 22": 3.0}
    assert dataset.items[0].response == "User: Why?\n\nAssistant: So."
    assert [criterion.name for criterion in rubric.criteria] == ["Q0"]
    assert len([item for item in dataset.items if item.criterion == "Q0"]) == 223


def test_preferences_follow_from_ratings_of_each_answer() -> None:
    assert preference({"b": {"x": 5, "y": 2, "z": 1}, "a": {"x": 3, "y": 2}}) == {
        "x": 2.0,
        "y": 0.0,
    }  # z left a out
    assert preference({"a": {"x": 1}, "b": {"x": 4}, "c": {"x": 4}}) == {"x": 0.0}
    dataset, _ = real("llmbar")
    pairs: dict[str, dict[str, Any]] = {}
    for item in dataset.items:
        pairs.setdefault(str(item.prompt), {})[str(item.candidate)] = item.ratings
    # Natural's labels: 42 times the first, 58 times the second.
    assert Counter(
        preference(pair)["gold"] for name, pair in pairs.items() if name.startswith("Natural")
    ) == {1.0: 42, 2.0: 58}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("hanna", "Prompt,Human,Story,Model\np,h,s,m\n", "The ratings need the columns Human 1 RE"),
        ("summeval", '{"id": 1}\n', "need the columns model_id"),
        (
            "summeval",
            '{"id": 1, "model_id": 1, "decoded": "", "expert_annotations": [1], "text": "x"}\n',
            "the files differ from the published ones",
        ),
        ("mt_bench", '[{"idx": 1}]', "need the columns response_source, instruction"),
        (
            "vicuna",
            '[{"idx": 1, "response_source": "m", "instruction": "Ask."}]',
            "expected a prompt with an answer",
        ),
        (
            "topical_chat",
            '[{"source": "", "system_id": "", "system_output": "", "context": "", "scores": 3}]',
            "an object",
        ),
        (
            "llmbar",
            '[{"input": "", "output_1": "a", "output_2": "b", "label": 3}]',
            "“3” is not 1 or 2",
        ),
        ("llm_rubric", '[{"_id": 1}]', "need the columns text_id"),
    ],
)
def test_another_format_is_said_clearly(
    name: str, content: str, words: str, tmp_path: Path
) -> None:
    ending = "csv" if content.startswith("P") else "jsonl" if content.endswith("\n") else "json"
    with pytest.raises(LabError, match=words) as caught:
        published(name, (written(tmp_path, f"mine.{ending}", content),))
    assert sources()[name].files[0].path in str(caught.value), "and where the right file is"


def test_every_name_of_the_study_file_has_a_source() -> None:
    assert set(get_args(PublishedName)) == {*sources()}
    for about in sources().values():
        assert about.reader in READERS
        assert all(len(file.path.split("/")[2]) == 40 for file in about.files), (
            "a commit never moves"
        )


# ---- fetching


class Host(Pages):
    def __init__(self, content: bytes) -> None:
        super().__init__(self._file)
        self.content, self.asked, self.moved = content, 0, False

    async def _file(self, _request: web.Request) -> web.Response:
        self.asked += 1
        return (
            web.Response(status=302, headers={"Location": "/b"})
            if self.moved
            else web.Response(body=self.content)
        )


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("RUBRICLAB_DATA", str(tmp_path / "cache"))
    with running(Host(b"a,b\n1,2\n")) as server:
        monkeypatch.setattr(module, "HOST", server.url)
        yield server


def test_a_file_is_fetched_once_and_checked(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    file = PublicFile("owner/repository/commit/a.csv", hashlib.sha256(host.content).hexdigest())
    path = fetched(file)
    assert path.read_bytes() == host.content
    assert fetched(file) == path
    assert host.asked == 1
    path.write_bytes(b"damaged")
    assert fetched(file).read_bytes() == host.content
    other = PublicFile(file.path, "0" * 64)
    for change, words in (
        ({}, "has changed: sha256"),
        ({"moved": True}, "302"),
        ({"moved": False}, "too much"),
    ):
        vars(host).update(change)
        if words == "too much":
            monkeypatch.setattr(module, "MAX_FETCHED", 3)
        with pytest.raises(LabError, match=words):
            fetched(other)
    assert [known.name for known in cache_folder().iterdir()] == [path.name], "nothing else is left"


def test_what_is_not_to_be_had_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = written(tmp_path, "study.toml", '[data]\npublished = "vicuna"\n')
    with pytest.raises(
        LabError,
        match=r"prometheus-eval/.*vicuna_eval\.json and name the files that you have: files = ",
    ):
        plan_of_file(study)
    monkeypatch.setattr(module, "HOST", "http://127.0.0.1:9")
    with pytest.raises(LabError, match=r"could not be fetched.*name your own copy"):
        fetched(PublicFile("a/b/c", "0" * 64))


SUMMARY = {
    "model_id": "M0",
    "decoded": "Short.",
    "expert_annotations": [
        dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), score)
        for score in (3, 4, 5)
    ],
}
"""A line of the authors' file, as they export it: what more it has is not read."""
ARTICLE = {
    "cnndm_id": "a1",
    "model_name": "M0",
    "document": "Long.",
    "claim": "Short.",
    "annotations": [5, 5, 5],
}
VICUNA = """###Task Description:
An instruction, a response to evaluate, a reference answer that gets a score of 5, and a rubric.

###The instruction to evaluate:
How can I sleep better?

###Response to evaluate:
{answer}

###Reference Answer (Score 5):
Keep regular hours.

###Score Rubrics:
[Is the advice useful?]
Score 1: No.
Score 2: Hardly.
Score 3: Partly.
Score 4: Mostly.
Score 5: Fully.

###Feedback: """


@pytest.mark.papers(7)
@pytest.mark.parametrize(
    ("name", "items", "criteria", "ratings"),
    [
        ("summeval", 2 * 4, 4, {"Expert 1": 3.0, "Expert 2": 4.0, "Expert 3": 5.0}),
        ("vicuna", 2, 1, {"gpt4_score 1": 2.0, "gpt4_score 2": 3.0}),
    ],
)
def test_exports_of_data_that_are_not_fetched_are_read_as_the_documents_say(
    tmp_path: Path, name: str, items: int, criteria: int, ratings: dict[str, float]
) -> None:
    """The study is the one in docs/papers.md; beside it lie two records of each export."""
    text = (ROOT / "docs" / "papers.md").read_text("utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.S)
    (study,) = [block for block in blocks if f'published = "{name}"' in block]
    summaries = [SUMMARY | {"id": "a1", "model_id": system} for system in ("M0", "M1")]
    lines = "\n".join(json.dumps(summary) for summary in summaries)
    written(tmp_path, "model_annotations.aligned.jsonl", lines)
    written(tmp_path, "summeval.json", {"summeval_0": ARTICLE})
    answers = [
        {
            "idx": 1,
            "response_source": system,
            "category": "generic",
            "instruction": VICUNA.format(answer=f"Says {system}."),
            "gpt4_score": [2, 3],
        }
        for system in ("m0", "m1")
    ]
    written(tmp_path, "vicuna_eval.json", answers)
    made = plan_of_file(written(tmp_path, "study.toml", study))
    assert len(made.items) == items
    assert len({item.criterion for item in made.items}) == criteria
    assert {tuple(item.ratings.items()) for item in made.items} == {tuple(ratings.items())}


@pytest.mark.thorough
@pytest.mark.papers(7)
def test_a_study_names_its_published_data(tmp_path: Path) -> None:
    files = json.dumps([str(shared(path)) for path in FILES["hanna"]])
    study = f'[[data]]\npublished = "hanna"\nfiles = {files}\ntake = 12\n[design]\nrepeats = 1\n'
    made = plan_of_file(written(tmp_path, "study.toml", study))
    assert made.planned == (12 * 10,)  # two stories under six criteria, in ten balanced orders
    own = '[rubric]\ncriteria = [{ name = "Surprise", options = { 1 = "no", 2 = "yes" } }]\n'
    mine = plan_of_file(written(tmp_path, "mine.toml", study + own))
    assert {item.criterion for item in mine.items} == {"Surprise"}, (
        "what the rubric asks, and no other"
    )
    chosen = json.dumps(str(shared(FILES["mt_bench"][0])))
    four = f'[data]\npublished = "mt_bench"\nfiles = [{chosen}]\ncandidates = ["chatgpt"]\n'
    assert len(plan_of_file(written(tmp_path, "four.toml", four)).items) == 80
    with pytest.raises(LabError, match="no candidate “chat”"):
        plan_of_file(written(tmp_path, "none.toml", four.replace("chatgpt", "chat")))
