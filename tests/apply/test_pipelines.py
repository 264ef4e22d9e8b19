"""Run the examples of docs/pipelines.md as written, those of other tools if they are installed."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest

import rubriclab as rl
from tests.apply.kit import Planted, item, serving, written

TEXT = (Path(__file__).parents[2] / "docs/pipelines.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"^## (.+?)\n.*?```python\n(.*?)```", TEXT, re.M | re.S))


@pytest.fixture(scope="module")
def carded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A card in a folder, and the address where its judge answers."""
    folder = tmp_path_factory.mktemp("carded")
    with serving(Planted()) as address:
        run = rl.run(written(folder, address, items=12), folder / "lab.duckdb")
        run.export(folder / "judge.card.json", protocol="average of orders")
        run.close()
        yield folder, address


def executed(name: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(EXAMPLES[name], f"docs/pipelines.md, {name}", "exec"), scope)
    return scope


def of_card(carded: tuple[Path, str]) -> tuple[Path, openai.OpenAI, float]:
    folder, address = carded
    path, client = folder / "judge.card.json", openai.OpenAI(base_url=address, api_key="x")
    return path, client, float(rl.Judge(path, client).score(item(3)).value or 0)


def test_plain_python(
    carded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, address = carded
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    code = EXAMPLES["Plain Python"].replace("Because of the sea.", item(3)["response"])
    exec(compile(code.replace("Why is the sky blue?", item(3)["instruction"]), "plain", "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) == of_card(carded)[2]


def test_promptfoo(carded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    path, client, score = of_card(carded)
    monkeypatch.chdir(path.parent)
    said = executed("promptfoo")["get_assert"](
        item(3)["response"], {"prompt": item(3)["instruction"]}, client
    )
    assert said == {"pass": score >= 3, "score": score, "reason": "0 unparsed"}


def tool(module: str) -> Any:
    """A module of a tool that the project does not need: installed, or in the folder that
    RUBRICLAB_TOOLS names.
    """
    if (folder := os.environ.get("RUBRICLAB_TOOLS", "")) not in sys.path:
        sys.path.append(folder)  # last: what the lab has is the lab's own
    return import_module(module) if os.environ.get("CI") == "true" else pytest.importorskip(module)


@pytest.mark.integration
@pytest.mark.filterwarnings("default")  # of their own libraries
def test_inspect_ai(carded: tuple[Path, str]) -> None:
    tool("inspect_ai")
    path, client, score = of_card(carded)
    scorer = executed("inspect-ai")["debiased"](path, client)
    state = SimpleNamespace(
        input_text=item(3)["instruction"], output=SimpleNamespace(completion=item(3)["response"])
    )
    assert asyncio.run(scorer(state, None)).value == score


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_deepeval(carded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    deepeval = tool("deepeval.test_case")
    path, client, score = of_card(carded)
    metric = executed("DeepEval")["Debiased"](path, client)
    case = deepeval.LLMTestCase(input=item(3)["instruction"], actual_output=item(3)["response"])
    assert (metric.measure(case), metric.is_successful()) == (score, score >= 3)


def test_a_gate_in_ci(carded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(carded[0])
    with pytest.raises(
        AssertionError
    ):  # this judge takes the first option in a third of its prompts
        executed("A gate in CI")["test_the_judge_favours_no_position"]()
