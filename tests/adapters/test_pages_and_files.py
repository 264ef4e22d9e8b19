"""The files that the page shows are those of the documentation, and the copied code holds the adapters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rubriclab.app.views.adapters import Tool, examples
from rubriclab.runs.card_code import copied

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/adapters.md").read_text(encoding="utf-8")
SETUP = (ROOT / ".ci/adapters").read_text(encoding="utf-8")


def test_the_documentation_has_the_files_of_the_page_word_for_word_and_no_others() -> None:
    made = examples()
    texts = [text for tool in made.tools for _, text in tool.files]
    commands = ["\n".join(tool.commands) + "\n" for tool in made.tools]
    blocks = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert sorted(blocks) == sorted([*texts, *commands, made.code + "\n"])


@pytest.mark.parametrize("tool", examples().tools, ids=lambda tool: tool.key)
def test_a_tool_is_named_with_the_version_that_it_is_tested_with(tool: Tool) -> None:
    assert f"| [{tool.title}](#{tool.title.lower()}) | {tool.version} |" in PAGE
    assert re.search(rf"{tool.title.lower()}(\[\w+\])?(==|@){re.escape(tool.version)}\b", SETUP)


def test_every_file_has_the_cards_name_and_the_address_that_are_put_in_its_place() -> None:
    made = examples()
    for tool in made.tools:
        whole = "".join(text for _, text in tool.files)
        assert made.card in whole
        assert made.address in whole
        assert len(set(re.findall(r"[\w.]+\.card\.json", whole))) == 1


@pytest.mark.slow
def test_the_copied_code_holds_every_adapter_under_its_new_name() -> None:
    files = copied("judge_card")
    adapters = {Path(name).stem for name in files if name.startswith("apply/adapters/")}
    assert adapters == {"__init__", "shared", "inspect_ai", "deepeval", "promptfoo", "lm_eval"}
    assert adapters >= {tool.key for tool in examples().tools}
    code = "".join(files[f"apply/adapters/{name}.py"] for name in adapters)
    assert re.findall(r"^\s*(?:from|import) rubriclab.*", code, re.MULTILINE) == []
    assert "from judge_card.apply import" in code
