"""Judge cards: what they say, and which are refused, with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rubriclab.__main__ import main
from rubriclab.apply import CardError, dumped, load, sealed
from rubriclab.apply.card import card_schema, digest
from rubriclab.apply.schema import KEYWORDS, fault_of
from rubriclab.model import Judge, LabError, Strategy
from rubriclab.model.places import EXAMPLE
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from tests.cards import API, asked, card_of_study, example
from tests.labkit import study
from tests.servers import completion

Card = dict[str, Any]


def card() -> Card:
    return json.loads(_text())  # type: ignore[no-any-return]


@cache
def _text() -> str:
    return json.dumps(card_of_study(study(3, judges=(API,), strategies=(Strategy("balanced"),)), asked))


@pytest.mark.slow
def test_a_card_follows_its_published_schema_by_another_reader_too() -> None:
    schema = card_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(example()[0])
    jsonschema.Draft202012Validator(schema).validate(card())
    assert fault_of(card(), schema) == ""


def test_the_schema_uses_nothing_that_its_reader_does_not_know() -> None:
    def words(part: Any, *, names: bool = False) -> set[str]:
        if isinstance(part, list):
            return set().union(*map(words, part))
        if not isinstance(part, dict):
            return set()
        found = set() if names else set(part)
        for key, value in part.items():
            if key not in ("enum", "const", "required") or names:
                found |= words(value, names=not names and key in ("properties", "$defs"))
        return found

    assert words(card_schema()) <= KEYWORDS


@pytest.mark.slow
def test_a_card_says_what_was_measured_and_holds_no_text_of_the_data() -> None:
    made, about = example()
    text = dumped(made)
    assert made["judge"]["model"] == "smollm2-135m"
    assert made["judge"]["begun"] == "The score is "
    assert [cure["calls"] for cure in made["cures"]] == [1, 1, 1, 2, 3, 5, 10]
    assert made["cure"] == "all-10"
    assert "9 units are too few" in made["choice"]["sentence"]
    assert any(line["verdict"] == "effect" for line in made["bias"])
    for item in about.dataset.items:
        assert item.response not in text  # type: ignore[union-attr]
        assert item.instruction not in text  # type: ignore[union-attr]


@pytest.mark.slow
def test_money_is_by_the_prices_and_the_tokens_of_the_run() -> None:
    prices = {cure["calls"]: cure["money_per_1000"] for cure in card()["cures"]}
    assert prices[1] == pytest.approx(1000 * (100 * 1.0 + 2 * 4.0) / 1e6)
    assert prices[10] == pytest.approx(10 * prices[1])


# ---------------------------------------------------------------- refused


def changed(change: Callable[[Card], Any], *, seal: bool) -> Card:
    made = card()
    change(made)
    return made | {"digest": digest(made)} if seal else made


def drop(key: str) -> Callable[[Card], Any]:
    return lambda made: made.pop(key)


def put(*path: Any) -> Callable[[Card], Any]:
    *keys, last, value = path

    def change(made: Any) -> None:
        for key in keys:
            made = made[key]
        made[last] = value

    return change


def refused(source: Any, why: str, **how: Any) -> None:
    with pytest.raises(CardError, match=why):
        load(source, **({"client": lambda _: completion("3")} | how))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (put("rubric", "criteria", 0, "options", 0, "description", "Great."), "was changed after it was written"),
        (put("cure", "usual"), "was changed"),
        (put("judge", "base_urls", ["http://evil.example/v1"]), "was changed"),
        (put("digest", "sha256:" + "0" * 64), "was changed"),
        (put("digest", "nonsense"), "digest"),
        (put("version", 2), "of version 2; this code reads version 1"),
        (put("version", 0), "of version 0"),
        (put("version", True), "of version True"),
        (put("format", "promptfoo"), "no judge card"),
        (drop("format"), "no judge card"),
        (put("name", "half an emoji \ud800"), "half a character"),
    ],
)
def test_tampered_old_and_foreign_cards_are_refused(change: Callable[[Card], Any], why: str) -> None:
    refused(changed(change, seal=False), why)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (drop("cures"), "has no “cures”"),
        (put("cures", []), "at least 1"),
        (put("extra", 1), "unknown “extra”"),
        (put("judge", "key", "sk-secret"), "unknown “key”"),
        (put("cure", "other"), "no cure “other”"),
        (put("judge", "base_urls", ["file:///etc/passwd"]), "not of the form"),
        (put("judge", "base_urls", ["https://user:word@host/v1"]), "not of the form"),
        (put("judge", "sampling", "extra", {"messages": []}), "sets messages"),
        (put("judge", "timeout", 0), "more than 0"),
        (put("judge", "timeout", float("inf")), "expected number"),
        (put("judge", "kind", "python"), "expected one of"),
        (put("scores", [1, 2, 3]), "expected each of"),
        (put("cures", 0, "orders", [[1, 2, 3, 4, 4]]), "expected each of"),
        (put("cures", 0, "draw", 9), "draws 9 of 1"),
        (put("cures", 0, "disagree", "tie"), "pair alone"),
        (put("cures", 5, "correction", {"prior": [0.5, 0.5], "line": None}), "corrects 10 calls"),
        (put("cures", 0, "correction", {"prior": [0.5, 0.5], "line": None}), "prior of 2 places for 5"),
        (put("cures", 0, "correction", {"values": {"1": 1.0}}), "corrects the scores 1 alone"),
        (put("rubric", None), "needs a rubric"),
        (put("rubric", "criteria", 0, "options", 1, "score", 1), "more than once"),
        (
            put(
                "prompt", "own", {"name": "x", "messages": [{"role": "user", "text": "{{"}], "answer": {"read": "tag"}}
            ),
            "needs a tag",
        ),
        (
            put(
                "prompt",
                "own",
                {
                    "name": "x",
                    "messages": [{"role": "user", "text": "x"}],
                    "answer": {"read": "regex", "pattern": "(a+)+b"},
                },
            ),
            "repeats a repetition",
        ),
    ],
)
def test_a_card_with_a_digest_of_its_own_is_still_held_to_its_schema(change: Callable[[Card], Any], why: str) -> None:
    made = card()
    change(made)
    made["digest"] = "sha256:" + "0" * 64 if "inf" in str(made["judge"]["timeout"]) else digest(made)
    refused(made, why)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no JSON"),
        (b"[1, 2]", "no judge card"),
        (b"null", "no judge card"),
        (b"[" * 100_000, "no JSON"),
        (b'{"format": ' + b"9" * 5_000_000, "more than 4 MB"),
        (b"\xff\xfe\x00", "no JSON"),
    ],
)
def test_what_is_no_card_at_all(content: bytes, why: str, tmp_path: Path) -> None:
    refused(content, why)
    (tmp_path / "x.json").write_bytes(content)
    refused(tmp_path / "x.json", why)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    refused(tmp_path / "none.json", "cannot be read: No such file")
    refused("a\0b.json", "cannot be read: embedded null byte")


def keyed(url: str, name: str) -> Card:
    made = card()
    made["judge"] |= {"base_urls": [url], "key_env": name, "kind": "openai"}
    return sealed(made)


def test_a_key_goes_only_where_somebody_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("HOME_SECRET", "private")
    elsewhere = keyed("https://elsewhere.example/v1", "OPENAI_API_KEY")
    refused(elsewhere, "A key goes only where you say", client=None)
    load(elsewhere, trust=True)
    load(elsewhere, base_url="https://mine.example/v1")
    load(keyed("https://api.openai.com/v1", "OPENAI_API_KEY"))
    refused(
        keyed("https://x.example/v1", "HOME_SECRET"), "only variables that end in _API_KEY", client=None, trust=True
    )
    refused(keyed("https://x.example/v1", "OTHER_API_KEY"), "has no OTHER_API_KEY", client=None, trust=True)
    made = card()
    made["judge"] |= {"base_urls": [], "kind": "embedded"}
    refused(sealed(made), "has no address", client=None)
    for address in ("file:///etc/passwd", "http://127.0.0.1:9/v1\r\nX: y", "https://sk-0123456789@x.example/v1"):
        refused(card(), "is no base URL", client=None, base_url=address)
    refused(card(), "is no client", client=3)


def test_a_key_written_where_none_belongs_is_not_repeated() -> None:
    made = card()
    key = "sk-0123456789"
    for place, value in (("base_urls", [f"https://user:{key}@host/v1"]), ("key_env", key), ("headers", {"auth": key})):
        wrong = {**made, "judge": made["judge"] | {place: value}}
        with pytest.raises(CardError) as fault:
            load(wrong | {"digest": digest(wrong)})
        assert key not in str(fault.value)


# ---------------------------------------------------------------- runs without a card


@pytest.mark.slow
def test_judges_that_nobody_else_can_ask_have_no_card() -> None:
    simulated = study(3, judges=(Judge("sim", "simulated", "simulated"),), strategies=(Strategy("balanced"),))
    with pytest.raises(LabError, match="is simulated: there is no model"):
        card_of_study(simulated, asked)
    shuffled = study(3, judges=(API,), strategies=(Strategy("balanced"),), shuffle_ids=True)
    with pytest.raises(LabError, match="deals the labels out anew"):
        card_of_study(shuffled, asked)
    fixed = study(3, judges=(API,), strategies=(Strategy("fixed"),))
    with pytest.raises(LabError, match="no mean over orders"):
        card_of_study(fixed, asked)


# ---------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("card") / "lab.duckdb"
    with Store(path) as kept:
        read_archive(kept, EXAMPLE.read_bytes())
    return path


@pytest.mark.slow
def test_the_command_writes_a_card_and_the_code(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, code = tmp_path / "judge.card.json", tmp_path / "taken"
    given = ["card", "recorded", "--store", str(store), "--out", str(out)]
    assert main(given) == 1
    assert "say which with an arm's number" in capsys.readouterr().err
    assert main([*given, "--arm", "0", "--margin", "0.5", "--code", str(code), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(out.read_text(encoding="utf-8"))
    assert printed["choice"]["margin"] == 0.5
    assert (code / "apply" / "judge.py").is_file()
    assert main([*given, "--arm", "0", "--code", str(code)]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main([*given, "--arm", "2"]) == 0
    told = capsys.readouterr().out
    assert "* All orders of the design averaged" in told
    assert main([*given, "--arm", "9"]) == 1
    with pytest.raises(SystemExit):
        main([*given, "--margin", "0"])
