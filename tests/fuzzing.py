"""Valid files of every kind, ways to spoil them, and the readers they are given to."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from rubriclab.datasets.imports import read_judgments
from rubriclab.datasets.items import build_dataset
from rubriclab.datasets.mapping import guess_mapping
from rubriclab.datasets.recipes import read_files, recipe
from rubriclab.datasets.rubrics import dump_rubric, read_rubric, rubric_to_value
from rubriclab.datasets.tables import read_table
from rubriclab.model import Item, Judge, Reply, Study
from rubriclab.runs.answer_files import answer_row, answer_table, write_answers
from rubriclab.runs.answers import import_answers
from rubriclab.store import RunWriter, Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive
from rubriclab.study.plan import Plan, plan
from rubriclab.study.prompts.comparison import parse_verdict
from rubriclab.study.prompts.parse import looks_refused, parse_label
from rubriclab.study.prompts.parse_criteria import parse_criteria
from rubriclab.study.prompts.probabilities import label_probabilities
from rubriclab.study.reading import load_study
from rubriclab.study.writing import study_parts
from tests.labkit import answered, study

TOKENS = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\xbd",
    b'"',
    b"'",
    b",",
    b";",
    b"\t",
    b"\r",
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[" * 2000,
    b'{"a":' * 300,
    b"null",
    b"true",
    b"NaN",
    b"Infinity",
    b"-1",
    b"1e999",
    b"9" * 400,
    b"9" * 5000,
    b"4294967296",
    b"1099511627776",
    b"\\ud83d",
    b"\\u0000",
    b"&a ",
    b"*a",
    b"<<: *a",
    b"!!python/object:os.system",
    b"---",
    b"? ",
    b"- ",
    b": ",
    b"|",
    b"a." * 80,
    b"3 1 2 5 4",
    b"0.5",
    b"-0",
    b"1e308",
    b"=1+1",
    b"'=1",
    "é😀\u2028".encode(),
    b"Score 3: ",
    b"[RESULT] ",
    b"<think>",
    b"###Response to evaluate:\n",
    b"{}",
    b"[]",
    b'""',
    b" " * 300,
]
VALUES = [
    None,
    True,
    -1,
    0,
    2**31,
    2**40,
    2**70,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "x" * 5000,
    "\ud83d",
    "\0",
    [],
    {},
    [[1]],
    {"a": {"b": []}},
    "3",
    3.5,
    "=1",
]


def spoiled(content: bytes, rng: random.Random) -> bytes:
    """``content`` after one to four changes: bytes flipped, cut, doubled, moved, put in."""
    body = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        a = rng.randrange(len(body) + 1)
        b = min(len(body), a + rng.choice((1, 2, 8, 64, 1000)))
        match rng.randrange(7):
            case 0:
                for _ in range(rng.choice((1, 3, 20))):
                    if body:
                        body[rng.randrange(len(body))] = rng.randrange(256)
            case 1:
                del body[a:]
            case 2:
                del body[a:b]
            case 3:
                body[a:a] = body[a:b] * rng.choice((1, 2, 50))
            case 4:
                c = rng.randrange(len(body) + 1)
                body[c:c] = body[a:b]
            case _:
                body[a : b if rng.random() < 0.5 else a] = rng.choice(TOKENS)
    return bytes(body)


def swapped(value: object, rng: random.Random) -> object:
    """A JSON value with one part of it, somewhere, replaced by a part of another type."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.08:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: swapped(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        return [*value[:at], swapped(value[at], rng), *value[at + 1 :]]
    return rng.choice(VALUES)


def spoiled_cells(content: bytes, rng: random.Random) -> bytes:
    """CSV with a cell, or one column's cells, of another kind; sometimes two rows in one order."""
    rows = list(csv.reader(io.StringIO(content.decode())))
    at, column, value = rng.randrange(len(rows)), rng.randrange(len(rows[0])), rng.choice(VALUES)
    cell = rng.choice((rows[rng.randrange(len(rows))][column], "" if value is None else str(value)))
    match rng.randrange(4):
        case 0:
            rows += [list(rows[rng.randrange(len(rows))]) for _ in range(rng.randrange(1, 9))]
        case 1:
            rows = [rows[0], *([*row[:column], cell, *row[column + 1 :]] for row in rows[1:])]
        case _:
            rows[at][column] = cell
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def spoiled_line(content: bytes, rng: random.Random) -> bytes:
    """JSON Lines with one record of another shape."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(swapped(json.loads(lines[at] or b"{}"), rng)).encode()
    return b"\n".join(lines)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps("" if value is None else value, ensure_ascii=False)


def retyped_toml(content: bytes, rng: random.Random) -> bytes:
    value = swapped(tomllib.loads(content.decode()), rng)
    tables = value if isinstance(value, dict) else {"name": value}
    lines = [f"{json.dumps(key)} = {_toml(part)}" for key, part in tables.items()]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def retyped_yaml(content: bytes, rng: random.Random) -> bytes:
    return str(yaml.safe_dump(swapped(yaml.safe_load(content), rng))).encode()


def retyped_json(content: bytes, rng: random.Random) -> bytes:
    return json.dumps(swapped(json.loads(content), rng)).encode()


def spoiled_gzip(content: bytes, rng: random.Random) -> bytes:
    return gzip.compress(spoiled(gzip.decompress(content), rng), mtime=0)


Spoil = Callable[[bytes, random.Random], bytes]


def either(*ways: Spoil) -> Spoil:
    """Bytes alone mostly spoil a file before its reader proper sees it; so values are too."""
    return lambda content, rng: rng.choice(ways)(content, rng)


def spoiled_table(content: bytes, rng: random.Random) -> bytes:
    """A Parquet file with one column of other values or types, or without it."""
    frame = pd.read_parquet(io.BytesIO(content))
    column = rng.choice(list(frame.columns))
    match rng.randrange(4):
        case 0:
            frame = frame.drop(columns=column)
        case 1:
            frame = pd.concat([frame, frame.head(rng.randrange(1, 5))])
        case 2:
            frame[column] = rng.choice([-1, 2**40, 1e308, float("inf"), float("nan"), True, "x", "3"])
        case _:
            cells = frame[column].astype(object).to_list()
            cells[rng.randrange(len(cells))] = rng.choice([None, -1, 0, 7, 2**31, 2**40, float("inf")])
            texts = any(isinstance(cell, str) for cell in cells)
            frame[column] = pd.Series([str(c) for c in cells] if texts else cells, index=frame.index)
    out = io.BytesIO()
    try:
        frame.to_parquet(out)
    except (ValueError, TypeError, OverflowError):  # no Parquet holds such a mixture
        return spoiled(content, rng)
    return out.getvalue()


def spoiled_zip(content: bytes, rng: random.Random) -> bytes:
    """A zip with one member spoiled as its kind can be; sometimes the zip itself."""
    if rng.random() < 0.2:
        return spoiled(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    read = [name for name in parts if name.endswith((".json", ".parquet", ".xml", ".rels"))]
    name = rng.choice(read)
    body = parts[name]
    if name.endswith(".json") and rng.random() < 0.7:
        body = json.dumps(swapped(json.loads(body), rng)).encode()
    elif name.endswith(".parquet") and rng.random() < 0.7:
        body = spoiled_table(body, rng)
    else:
        body = spoiled(body, rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for other, part in {**parts, name: body}.items():
            new.writestr(other, part)
    return out.getvalue()


# ---------------------------------------------------------------- valid files

_SCORES = (
    "judge,dataset,item_id,ordering,score,human_1,human_2\n"
    "j,d,1,3 1 2 5 4,3,4,2\nj,d,1,1 2 3 4 5,2,4,2\nj,d,2,5 4 3 2 1,,,\n"
)
_CRITERIA = (
    "judge,dataset,text_id,ordering,criterion,score,repeat\n"
    "j,d,1,A|B,A,3,0\nj,d,1,A|B,B,1,0\nj,d,1,B|A,A,2,0\nj,d,1,B|A,B,1,0\n"
)
_PAIRS = (
    "judge,question_id,task,first,second,choice,rep,prompt_length\n"
    "j,1,t,a,b,A,0,10\nj,1,t,b,a,B,0,10\nj,2,t,a,b,C,1,20\n"
)
_ROWS = 'id,instruction,response,criterion,human_1,human_2\n1,do,é done,a,3,4\n2,do,"x, y",b,,5\n'
_LONG = "id,response,annotator_id,rating\n1,é done,w1,3\n2,so,w1,4\n1,é done,w2,5\n2,so,w2,\n"
_RECORDS = [
    {"id": 1, "instruction": "do", "response": "done", "human": [3, 4], "raters": ["w1", "é"], "reference_5": "r"},
    {"id": 2, "instruction": "do", "response": "so", "human": {"a": [1], "b": [2]}},
]
_STORIES = (
    '{"story_id": 1, "prompt": "p", "story": "s", "ratings": {"Relevance": [1, 2, 3]}}\n'
    '{"story_id": 2, "prompt": "p", "story": "t", "ratings": {"Relevance": [3, 2, 3]}}\n'
)
_LABELS = "Well. Score: 3\n[RESULT] 4\n**I would give it a 4 out of 5**, not a 3-4. As an AI\n[a] 2\n| b | 4/5 |"


@cache
def _prepared() -> Plan:
    judge = Judge("api", "openai", "m", base_urls=("http://127.0.0.1:1/v1",))
    return plan(study(2, judges=(judge,), name="fuzzed"))


@cache
def _study() -> Study:
    made = study(2, name="fuzzed")
    named = tuple(replace(item, raters=("w1",)) for item in made.dataset.items if isinstance(item, Item))
    return replace(made, dataset=replace(made.dataset, items=named))


@cache
def archives() -> tuple[bytes, ...]:
    """A run of a study, and an imported one."""
    with Store(":memory:") as store:
        prepared = plan(_study())
        run = store.open_run(prepared, {}).run
        with RunWriter(store, run) as writer:
            for judgment in answered(prepared, lambda _: "3"):
                writer.put(judgment)
        other = store.import_run(read_judgments("scores", "a.csv", _SCORES.encode(), name="imported"), provenance={})
        return write_archive(store, run), write_archive(store, other)


def _parquet() -> bytes:
    out = io.BytesIO()
    pd.DataFrame([{**_RECORDS[0], "id": i} for i in range(3)]).to_parquet(out)
    return out.getvalue()


def _excel() -> bytes:
    out = io.BytesIO()
    pd.read_csv(io.StringIO(_ROWS)).to_excel(out, index=False)
    return out.getvalue()


def _answers(folder: Path, suffix: str) -> bytes:
    keys = [call.key for call in _prepared().calls()][:6]
    if suffix == ".parquet":
        rows = [answer_row(key, Reply(text="3", top_tokens=(("3", -0.1),))) for key in keys]
        write_answers(folder / "a.parquet", answer_table(rows))
        return (folder / "a.parquet").read_bytes()
    body = {
        "model": "m",
        "choices": [{"message": {"content": "3"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    lines = [{"custom_id": key, "response": {"status_code": 200, "body": body}} for key in keys]
    return "\n".join(map(json.dumps, lines)).encode()


# ---------------------------------------------------------------- readers


def _data(name: str) -> Callable[[Path, bytes], None]:
    def read(_: Path, content: bytes) -> None:
        frame = read_table(name, content)
        build_dataset(frame, guess_mapping(frame), name="d", skip_empty=True)

    return read


def _rubric(name: str) -> Callable[[Path, bytes], None]:
    return lambda _, content: void(read_rubric(name, content))


@cache
def _store() -> Store:
    return Store(":memory:")


@contextmanager
def emptied() -> Iterator[Store]:
    """A store with nothing in it, before and after; making one takes longer than most readers."""
    store = _store()
    try:
        yield store
    finally:
        for info in store.runs():
            store.delete_run(info.run)


def _judgments(kind: str) -> Callable[[Path, bytes], None]:
    def read(_: Path, content: bytes) -> None:
        data = read_judgments(kind, "a.csv", content, name="n")
        with emptied() as store:
            store.import_run(data, provenance={})

    return read


def _study_file(folder: Path, content: bytes) -> None:
    (folder / "data.jsonl").write_text(study_parts(_study())["data.jsonl"], encoding="utf-8")
    (folder / "study.toml").write_bytes(content)
    plan(load_study(folder / "study.toml"))


def _archive(_: Path, content: bytes) -> None:
    with emptied() as store:
        try:
            read_archive(store, content)
        except Exception:
            assert store.runs() == (), "half an archive was kept"
            raise
        for info in store.runs():
            write_archive(store, info.run)  # what was kept can be handed on


def _answer_file(name: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / name).write_bytes(content)
        with emptied() as store:
            import_answers(store, _prepared(), [folder / name])

    return read


def _reply(_: Path, content: bytes) -> None:
    text = content.decode("utf-8", "surrogateescape" if content[:1] == b"\xed" else "replace")
    for labels in (("1", "2", "3", "4", "5"), ("A", "B", "C"), ("i", "ii", "iii"), ("★", "+", "good")):
        for answer in ("score", "feedback"):
            parse_label(text, labels, answer=answer)  # type: ignore[arg-type]
        label_probabilities(((text[:5], -0.1), ("3", -1e308)), labels)
    parse_criteria(text, ("a", "b", "Part 2"), (1, 2, 3, 4, 5))
    parse_verdict(text, ("A", "B"), "C", brief=bool(len(text) % 2))
    looks_refused(text)


def void(_: object) -> None:
    """Nothing is asked of the value: that it came is enough."""


Reader = tuple[Callable[[Path, bytes], None], Callable[[Path], bytes], Spoil]
CELLS, LINES = either(spoiled, spoiled_cells), either(spoiled, spoiled_line)
READERS: Mapping[str, Reader] = {
    "csv": (_data("a.csv"), lambda _: _ROWS.encode(), CELLS),
    "csv of raters": (_data("a.csv"), lambda _: _LONG.encode(), CELLS),
    "tsv": (_data("a.tsv"), lambda _: _ROWS.replace(",", "\t").encode(), spoiled),
    "csv.gz": (_data("a.csv.gz"), lambda _: gzip.compress(_ROWS.encode()), either(spoiled, spoiled_gzip)),
    "jsonl": (_data("a.jsonl"), lambda _: "\n".join(map(json.dumps, _RECORDS)).encode(), LINES),
    "json": (_data("a.json"), lambda _: json.dumps(_RECORDS).encode(), spoiled),
    "json-types": (_data("a.json"), lambda _: json.dumps(_RECORDS).encode(), retyped_json),
    "parquet": (_data("a.parquet"), lambda _: _parquet(), spoiled),
    "parquet-types": (_data("a.parquet"), lambda _: _parquet(), spoiled_table),
    "xlsx": (_data("a.xlsx"), lambda _: _excel(), spoiled_zip),
    "rubric.yaml": (
        _rubric("r.yaml"),
        lambda _: dump_rubric(_study().rubric).encode(),  # type: ignore[arg-type]
        either(spoiled, retyped_yaml),
    ),
    "rubric.json": (
        _rubric("r.json"),
        lambda _: json.dumps(rubric_to_value(_study().rubric)).encode(),  # type: ignore[arg-type]
        either(spoiled, retyped_json),
    ),
    "rubric.csv": (_rubric("r.csv"), lambda _: b"criterion,score,description\na,1,x\na,2,y\nb,1,z\nb,3,w\n", CELLS),
    "study.toml": (_study_file, lambda _: study_parts(_study())["study.toml"].encode(), either(spoiled, retyped_toml)),
    "scores": (_judgments("scores"), lambda _: _SCORES.encode(), CELLS),
    "criteria": (_judgments("criteria"), lambda _: _CRITERIA.encode(), CELLS),
    "pairs": (_judgments("pairs"), lambda _: _PAIRS.encode(), CELLS),
    "recipe": (
        lambda _, content: void(read_files(recipe("hanna-jsonl"), [("h.jsonl", content)])),
        lambda _: _STORIES.strip().encode(),
        LINES,
    ),
    "answers.jsonl": (_answer_file("a.jsonl"), lambda folder: _answers(folder, ".jsonl"), LINES),
    "answers.parquet": (
        _answer_file("a.parquet"),
        lambda folder: _answers(folder, ".parquet"),
        either(spoiled, spoiled_table),
    ),
    "archive": (_archive, lambda _: archives()[0], spoiled_zip),
    "archive-imported": (_archive, lambda _: archives()[1], spoiled_zip),
    "reply": (_reply, lambda _: _LABELS.encode(), spoiled),
}
"""For each reader: how a file is given to it, a valid one, and how that is spoiled."""
