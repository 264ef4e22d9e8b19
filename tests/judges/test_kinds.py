"""Test kinds of judges: the lab's own, those of packages, and packages that fail."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from rubriclab.judges import kinds as openers
from rubriclab.judges.kinds import judge_named, open_judge
from rubriclab.judges.probe import test_judge as tested
from rubriclab.model.consent import NO_CONSENTS, NoConsent, sent_by
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judge_kind import OWN_KINDS, all_kinds, kind_named, kind_names
from rubriclab.model.study import Study, VaryPart, validated
from rubriclab.model.text import LabError
from rubriclab.runs.forecast import calls_per_second
from rubriclab.study.options import check_factors
from tests.judges.kinds_kit import documented, http_kind, install
from tests.judges.kit import option_call
from tests.servers import Pages, running

__all__ = ["http_kind"]

ROOT = Path(openers.__file__).parents[2]
KEY = "abcdefgh-12345678"

MODULE = """
from rubriclab.judges.kinds import PackagedKind
from rubriclab.model.judgment import Reply


class Judge:
    async def ask(self, call):
        {ask}

    async def close(self):
        raise RuntimeError("closing fails too")


async def opened(settings, opening):
    {open}
    return Judge()


KIND = PackagedKind(name="{name}", label="a test", open=opened, {more})
"""


def module(name: str, ask: str = "return Reply('1')", open: str = "pass", more: str = "") -> str:
    return MODULE.format(name=name, ask=ask, open=open, more=more)


class ScoreServer(Pages):
    """``POST /judge`` returns ``{"score": 4}``; it keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.keys.append(request.headers.get("Authorization"))
        return web.json_response({"score": 4})


# ---------------------------------------------------------------- the lab's own
def test_every_own_kind_has_a_record_and_an_opener() -> None:
    assert list(OWN_KINDS) == ["embedded", "vllm", "openai", "decisions", "python", "simulated"]
    assert OWN_KINDS.keys() == openers.OPENERS.keys()
    assert kind_names()[: len(OWN_KINDS)] == list(OWN_KINDS)


@pytest.mark.parametrize(
    ("kind", "long_answer", "expected"),
    [
        ("embedded", False, 3.2),  # smollm2-135m, measured
        ("embedded", True, 0.32),  # a tenth of it
        ("openai", False, 8.0),  # 8 calls at once, each takes 1 s
        ("openai", True, 1.0),  # each takes 8 s
        ("simulated", True, 1_000.0),
    ],
)
def test_a_first_guess_of_the_speed(kind: str, long_answer: bool, expected: float) -> None:
    judge = JudgeSettings(name="j", kind=kind, concurrency=8)
    assert calls_per_second(judge, None, long_answer=long_answer) == pytest.approx(expected)


def test_an_unknown_kind_is_refused_with_what_to_do() -> None:
    body = {"data": [{"sample": True}], "judges": [{"name": "j", "kind": "bedrock"}]}
    with pytest.raises(LabError, match="kind is 'bedrock'; there is no judge kind") as fault:
        validated(Study, body)
    assert "install the package that brings it." in str(fault.value)


# ---------------------------------------------------------------- a package that works
@pytest.mark.usefixtures("http_kind")
def test_a_packaged_kind_is_known_by_its_record() -> None:
    judge = JudgeSettings(name="mine", kind="http", base_urls=("http://127.0.0.1:1/judge",))
    about = judge.about
    assert (about.package, about.label) == ("http-judge 1.0", "plain HTTP endpoint")
    assert judge.model == "http"  # not the lab's small model
    assert judge.identity()["version"] == "1"
    # 8 calls at once, 5 a second each.
    assert calls_per_second(judge, None, long_answer=False) == 40.0
    assert not judge.simulated
    assert "http" in [kind.name for kind in all_kinds()[0]]
    with pytest.raises(LabError, match="packing has no effect on the http judge “mine”"):
        check_factors(VaryPart(packing=("packed", "alone")), ("options",), [judge])


@pytest.mark.usefixtures("http_kind")
def test_a_constraint_that_a_kind_cannot_keep_is_refused() -> None:
    with pytest.raises(ValueError, match="is nothing to a judge of the kind http"):
        JudgeSettings(name="mine", kind="http", constrain="choice")


@pytest.mark.usefixtures("http_kind")
def test_the_command_line_names_a_packaged_kind() -> None:
    judge = judge_named("http:mine@http://127.0.0.1:1/judge")
    assert (judge.kind, judge.model, judge.base_urls) == (
        "http",
        "mine",
        ("http://127.0.0.1:1/judge",),
    )
    # A URL, and a model whose name has a colon, are no kind.
    assert judge_named("http://127.0.0.1:1/v1").kind == "openai"
    assert judge_named("qwen2.5:7b@http://127.0.0.1:1/v1").model == "qwen2.5:7b"


@pytest.mark.usefixtures("http_kind")
def test_a_packaged_judge_is_tested_like_any_other() -> None:
    with running(ScoreServer()) as server:
        report = tested(judge_named(f"http:mine@{server.url}/judge"))
    assert (report.ok, report.score) == (True, 4.0)
    assert server.bodies[0]["rounds"] == 1


@pytest.mark.usefixtures("http_kind")
def test_a_key_goes_to_a_packaged_judge_only_with_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_API_KEY", KEY)
    with running(ScoreServer()) as server:
        judge = judge_named(f"http:mine@{server.url}/judge", "MINE_API_KEY")
        assert [consent.address for consent in sent_by(judge)] == [server.url]
        with pytest.raises(NoConsent):
            tested(judge, NO_CONSENTS)
        assert server.bodies == []
        assert tested(judge, frozenset(sent_by(judge))).ok
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.usefixtures("http_kind")
def test_a_served_lab_asks_no_inner_address_through_a_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    with running(ScoreServer()) as server:
        report = tested(judge_named(f"http:mine@{server.url}/judge"))
    assert "is an address of this machine or of its inner network" in report.error
    assert server.bodies == []


@pytest.mark.usefixtures("http_kind")
def test_a_wrong_option_of_a_packaged_kind_is_refused() -> None:
    judge = judge_named("http:mine@http://127.0.0.1:1/judge")
    wrong = judge.model_copy(update={"options": {"rounds": 12}})
    with pytest.raises(LabError, match="Option “rounds” of the http judge “mine” is 12"):
        asyncio.run(open_judge(wrong))


# ---------------------------------------------------------------- packages that fail
def test_nothing_is_imported_before_a_kind_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "imported"
    text = f"open({str(mark)!r}, 'w').close()\n" + module("lazy")
    monkeypatch.syspath_prepend(
        str(install(tmp_path / "site", "lazy", {"lazy": "lazy_kind:KIND"}, {"lazy_kind": text}))
    )
    assert "lazy" in kind_names()
    JudgeSettings(name="j", kind="openai")
    judge_named("qwen2.5:7b@http://127.0.0.1:1/v1")
    assert not mark.exists()
    assert JudgeSettings(name="j", kind="lazy").about.package == "lazy 1.0"
    assert mark.exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent", "import no_such_module", "could not be loaded (ModuleNotFoundError"),
        ("exits", "raise SystemExit(3)", "could not be loaded (SystemExit"),
        ("wrong", "KIND = 3", "int is not a PackagedKind"),
        ("other", module("another"), "it calls itself “another”"),
        ("Capital", module("Capital"), "a name has small letters"),
        ("options", module("options", more="options=dict"), "not a pydantic model"),
        ("typed", module("typed", more="typed_questions=True"), "must extend DecisionOptions"),
    ],
)
def test_a_package_that_cannot_be_used_is_named(
    name: str, text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {f"broken_{name}": text}
    monkeypatch.syspath_prepend(
        str(install(tmp_path / "site", "bad-kinds", {name: f"broken_{name}:KIND"}, modules))
    )
    with pytest.raises(LabError) as fault:
        kind_named(name)
    assert "bad-kinds 1.0" in str(fault.value)
    assert said in str(fault.value)
    assert "install it" in str(fault.value)  # uninstall it, or reinstall it
    kinds, faults = all_kinds()
    assert [kind.name for kind in kinds] == list(OWN_KINDS)
    assert faults == [str(fault.value)]


def test_an_own_kind_stays_the_labs_and_two_packages_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"openai": "theirs_kind:KIND", "twice": "theirs_kind:KIND"}
    modules = {"theirs_kind": module("twice")}
    monkeypatch.syspath_prepend(str(install(tmp_path / "a", "first-kinds", own, modules)))
    second = {"twice": "second_kind:KIND"}
    modules = {"second_kind": module("twice")}
    monkeypatch.syspath_prepend(str(install(tmp_path / "b", "second-kinds", second, modules)))
    assert kind_named("openai") is OWN_KINDS["openai"]
    with pytest.raises(LabError, match=r"first-kinds 1\.0 and second-kinds 1\.0\. Uninstall all"):
        kind_named("twice")
    _, faults = all_kinds()
    assert "first-kinds 1.0 brings a judge kind “openai”, which is one of the lab's" in faults[0]
    assert len(faults) == 2


@pytest.mark.usefixtures("http_kind")
def test_a_damaged_package_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "damaged"
    (folder / "damaged-1.0.dist-info").mkdir(parents=True)
    (folder / "damaged-1.0.dist-info" / "entry_points.txt").write_bytes(
        b"[rubriclab.judges]\nhttp\n= \xff\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    assert kind_named("http").package == "http-judge 1.0"


@pytest.mark.parametrize(
    ("ask", "kind", "said"),
    [
        ("raise KeyError('score')", "package_error", "bad-kinds 1.0 failed (KeyError: 'score')"),
        ("return 4", "package_error", "bad-kinds 1.0 returned [4]"),
        ("return Reply('5' * 1_000_001)", "too_large", "the limit is 1,000,000"),
        ("import asyncio; await asyncio.sleep(9)", "timeout", "No reply within 0.1 s"),
    ],
)
async def test_a_package_that_fails_in_a_call_is_a_fault_of_the_call(
    ask: str,
    kind: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openers, "PATIENCE_SECONDS", 0.0)
    name = f"failing_{kind}_{abs(hash(ask)) % 10_000}"
    modules = {name: module("failing", ask)}
    monkeypatch.syspath_prepend(
        str(install(tmp_path / "site", "bad-kinds", {"failing": f"{name}:KIND"}, modules))
    )
    asker = await open_judge(JudgeSettings(name="j", kind="failing", timeout=0.1))
    reply = await asker.ask(option_call())
    assert (reply.kind, reply.finish) == (kind, "error")
    assert said in reply.error
    await asker.close()  # which fails too, and is not heard of


async def test_a_package_that_repeats_its_key_does_not_get_it_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKING_API_KEY", KEY)
    ask = "import os; return Reply('1', error='', model=os.environ['LEAKING_API_KEY'])"
    modules = {"leaking_kind": module("leaking", ask, more="takes_key=True")}
    monkeypatch.syspath_prepend(
        str(install(tmp_path / "site", "leak", {"leaking": "leaking_kind:KIND"}, modules))
    )
    judge = JudgeSettings(name="j", kind="leaking", key_env="LEAKING_API_KEY")
    # It names no address, so the yes is to the package.
    assert [consent.address for consent in sent_by(judge)] == ["package leak 1.0"]
    with pytest.raises(NoConsent):
        await open_judge(judge)
    asker = await open_judge(judge, consents=frozenset(sent_by(judge)))
    reply = await asker.ask(option_call())
    assert reply.model == "***"


async def test_a_judge_that_cannot_be_opened_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {"shut_kind": module("shut", open="1 / 0")}
    monkeypatch.syspath_prepend(
        str(install(tmp_path / "site", "bad-kinds", {"shut": "shut_kind:KIND"}, modules))
    )
    with pytest.raises(LabError, match=r"bad-kinds 1\.0 failed \(ZeroDivisionError"):
        await open_judge(JudgeSettings(name="j", kind="shut"))


# ---------------------------------------------------------------- what docs/adding.md shows
def command(*words: str, cwd: Path, path: str) -> str:
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "rubriclab", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def change(path: Path, pattern: str, made: Callable[[re.Match[str]], str]) -> None:
    """Change the one place of a file that a pattern finds."""
    text, number = re.subn(pattern, made, path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert number == 1, (path.name, pattern)
    path.write_text(text, "utf-8")


RUBRIC = """name: Quality
criteria:
  - name: Quality
    options:
""" + "".join(f"      - {{score: {k}, description: level {k}}}\n" for k in range(1, 6))


@pytest.mark.thorough
def test_the_documented_package_runs_its_study(http_kind: Path, tmp_path: Path) -> None:
    with running(ScoreServer()) as server:
        text = documented("file")["study.toml"].replace("http://127.0.0.1:8791", server.url)
        (tmp_path / "study.toml").write_text(text, "utf-8")
        (tmp_path / "rubric.yaml").write_text(RUBRIC, "utf-8")
        path = f"{http_kind}{os.pathsep}{ROOT}"
        made = json.loads(command("run", "study.toml", "--json", cwd=tmp_path, path=path))
        kinds = command("judges", cwd=tmp_path, path=path)
    assert (made["state"], made["done"]) == ("finished", 120)  # 6 answers, 10 orders, asked twice
    assert {body["rounds"] for body in server.bodies} == {2}
    assert "kind http: plain HTTP endpoint, from the package http-judge 1.0" in kinds


@pytest.mark.thorough
def test_the_documented_kind_is_added_to_the_lab(tmp_path: Path) -> None:
    for folder in ("rubriclab", "data"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (asker,) = (name for name in documented("file") if name.startswith("rubriclab/"))
    (tmp_path / asker).write_text(documented("file")[asker], "utf-8")
    for place, block in documented("before").items():
        name, file = place.split(" of ")
        change(tmp_path / file, rf"^{name}: ", lambda match, block=block: block + match[0])
    for place, block in documented("in").items():
        name, file = place.split(" of ")
        opened = rf"^{name}\b[^\n]*[{{(]\n"
        change(tmp_path / file, opened, lambda match, block=block: match[0] + block)
    study = documented("file")["study.toml"].partition("[[judges]]")[0]
    (tmp_path / "study.toml").write_text(
        study + '[[judges]]\nname = "rule"\nkind = "shortest"\n', "utf-8"
    )
    (tmp_path / "rubric.yaml").write_text(RUBRIC, "utf-8")
    path = str(tmp_path)
    made = json.loads(command("run", "study.toml", "--json", cwd=tmp_path, path=path))
    assert (made["state"], made["done"]) == ("finished", 120)
    said = command("judges", "--test", "shortest:rule", cwd=tmp_path, path=path)
    assert "Score read: 5" in said


def test_the_name_of_a_kind_alone_is_explained() -> None:
    with pytest.raises(LabError, match="“simulated” is a judge kind"):
        judge_named("simulated")
