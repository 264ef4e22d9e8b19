"""What a paper takes from a run: every number is the run's own, every work cited is listed, nothing is dropped."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rubriclab import __main__ as command
from rubriclab.findings.topics import TOPICS, document
from rubriclab.model import STATUSES, Dataset, Design, Item, Judge, Strategy, Study
from rubriclab.model.places import EXAMPLE
from rubriclab.report import results
from rubriclab.report.estimands import ESTIMANDS
from rubriclab.report.latex import latex, markdown
from rubriclab.report.paper import Paper, paper, zipped
from rubriclab.report.paper_data import LONG, ratings_long, wide
from rubriclab.report.paper_tables import MEASURES, frame_table, table_latex, table_markdown
from rubriclab.report.paper_text import cited, name, to_latex, to_markdown
from rubriclab.report.references import REFERENCES, bibtex
from rubriclab.report.source import source
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from tests.simulated_runs import HOSTILE, rubric, run_into

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


@cache
def paper_of(kind: str) -> Paper:
    with Store(":memory:") as store:
        if kind == "example":
            return paper(store, read_archive(store, EXAMPLE.read_bytes())[0])
        return paper(store, run_into(store, kind)[kind])


def every_number(value: Any) -> Iterator[float]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from every_number(part)


def printed_numbers(text: str) -> list[str]:
    return NUMBER.findall(text.replace("−", "-"))


# ---------------------------------------------------------------- methods


def test_the_methods_of_the_recorded_example_are_its_own() -> None:
    text = paper_of("example").methods_markdown()
    for told in (
        "24 items of the data set “Sample”",
        "9 prompts and 4 tasks",
        "None of them has a human rating",
        "temperature 0.0",
        "smollm2-135m\\@b179c9523d0e",
        "each item was read 10 times, in 10 orders",
        "In all 960 calls were made",
        "960 of 960 judgments could be read",
        "0.1 steps of the scale (0.1 points)",
        "the same words in every order",
    ):
        assert told in text, told
    for not_so in ("Wilson", "Pearson", "not finished", "imulated", "imported", "were drawn with the seed"):
        assert not_so not in text, not_so


@pytest.mark.slow
def test_methods_say_what_a_run_has_and_nothing_else() -> None:
    options, pairs = paper_of("options").methods_markdown(), paper_of("pairs").methods_markdown()
    assert "Simulated judges are no language models" in options
    assert "People rated 60 of them" in options
    assert "Pearson's correlation" in options
    assert "[@efron1993]" in options
    assert "Orders of “random” were drawn with the seed 0" in options
    assert "Position consistency" in pairs
    assert "the two answers that are compared" in pairs
    assert "score options" not in pairs
    assert "Pearson" not in pairs
    assert "Position consistency" not in options


@pytest.mark.slow
def test_an_unfinished_run_says_so_and_has_no_verdict() -> None:
    whole = paper_of("example")
    data = replace(whole.source.data, planned=tuple(n + 10 for n in whole.source.data.planned))
    part = Paper(replace(whole.source, data=data, planned=1000))
    text = part.methods_markdown()
    assert "The run is not finished: 960 of 1,000 calls have an answer." in text
    assert "no verdict is given" in text
    tables = part.tables_markdown()
    assert not re.search(r"\| (effect|equivalent|undecided) \|", tables)
    assert "| none given |" in tables
    assert re.search(r"\| effect \|", whole.tables_markdown())


@pytest.mark.slow
def test_an_imported_run_says_where_its_order_came_from() -> None:
    whole = paper_of("example")
    imported = replace(whole.source, study=None, state="imported", provenance={"file": "a_b%.csv"})
    text = Paper(imported).methods_markdown()
    assert "were imported" in text
    assert "a\\_b%.csv" in text
    assert "The lab did not set it" in text
    assert "the same words in every order" not in text


def test_every_sentence_on_statistics_asks_for_what_a_table_or_a_fact_has() -> None:
    asked = {one.removeprefix("not ").removeprefix("interval ") for e in ESTIMANDS for s in e.paper for one in s.when}
    for one in asked:
        assert one.partition(" ")[0] in {*TOPICS, "fact", "test"}, one
    for topic, measures in MEASURES.items():
        assert any(f"{topic} {measure}" in asked for measure in measures), f"{topic} has no sentence on its method"


# ---------------------------------------------------------------- references


def test_a_table_of_a_page_is_one_of_a_paper() -> None:
    frame = pd.DataFrame({"judge_a": ["50% & more", None], "mean": [1.23456, float("nan")], "n": [7, 0]})
    made = frame_table("key", "Means_1", frame)
    assert made.rows[1][1:] == (name("–"), name("0"))
    assert table_markdown(made).splitlines()[2:] == [
        r"| judge\_a | mean | n |",
        "| --- | ---: | ---: |",
        r"| 50% \& more | 1.235 | 7 |",
        "| – | – | 0 |",
    ]
    assert r"{50\% \& more} & {1.235} & {7}" in table_latex(made, "key")


@pytest.mark.parametrize("kind", ["example", pytest.param("options", marks=pytest.mark.slow)])
def test_every_work_cited_is_in_the_bibliography_and_no_other(kind: str) -> None:
    made = paper_of(kind)
    in_latex = {key for found in re.findall(r"\\cite\{([^}]*)\}", made.methods_latex()) for key in found.split(",")}
    entries = re.findall(r"^@\w+\{([^,]+),$", made.bibtex(), re.M)
    assert sorted(entries) == sorted(in_latex)
    assert len(set(entries)) == len(entries) > 10
    assert set(re.findall(r"@([a-z]+\d+[a-z]?)\b", made.methods_markdown())) >= in_latex


def test_every_key_that_a_sentence_cites_is_a_work() -> None:
    for estimand in ESTIMANDS:
        for statement in estimand.paper:
            assert set(cited(statement.text)) <= set(REFERENCES)
    with pytest.raises(KeyError):
        bibtex(["nobody1900"])


@pytest.mark.parametrize("key", REFERENCES)
def test_an_entry_is_whole(key: str) -> None:
    one = REFERENCES[key]
    wanted = {
        "article": {"journal", "volume", "pages"},
        "book": {"publisher"},
        "inproceedings": {"booktitle"},
        "incollection": {"booktitle", "publisher", "pages"},
        "techreport": {"institution"},
        "misc": set(),
    }[one.type]
    assert {"author", "title", "year", *wanted} <= set(one.fields)
    assert all(", " in author for author in one.fields["author"].split(" and "))
    assert one.fields["year"] in "".join(one.cited)
    assert one.bibtex.count("{") == one.bibtex.count("}")


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize(
    "kind", ["example", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("options", "criteria", "pairs"))]
)
def test_every_number_of_the_tables_is_one_of_the_results(kind: str) -> None:
    made = paper_of(kind)
    body = document(made.findings) if kind == "example" else results(made.source.data)
    known = list(every_number(json.loads(json.dumps(body))))
    estimates = made.findings.estimates()
    for column in ("value", "low", "high", "n"):
        known += estimates[column].dropna().tolist()
    known += [1 / arm["n_options"] for arm in body["arms"] if "n_options" in arm]
    ready = {form: {format(value, form) for value in known} for form in (".3f", ".2f", ".1f", ".0f", ",.0f", "g")}
    shares = {form: {format(100 * value, form) for value in known if abs(value) <= 1} for form in (".0f", ".1f", ".4g")}
    for table in made.tables:
        for row in table.rows:
            for at in table.numeric:
                for number in printed_numbers(row[at]):
                    bare = number.removeprefix("+")
                    assert any(bare in some for some in (*ready.values(), *shares.values())), (table.key, row[at])


def test_the_verdicts_are_those_of_the_results() -> None:
    made = paper_of("example")
    body = document(made.findings)
    table = next(one for one in made.tables if one.key == "verdicts")
    assert [row[-1] for row in table.rows] == [line["verdict"] for line in body["advice"]]
    assert table.rows[0][2:4] == ("+1.079", "[+0.943, +1.232]")
    assert all(row[6] == "24" for row in table.rows)


def test_tables_have_as_many_cells_as_columns_in_both_forms() -> None:
    made = paper_of("example")
    assert len(made.tables) > 5
    for part in re.findall(r"\\toprule\n(.*?)\\bottomrule", made.tables_latex(), re.S):
        lines = [line for line in part.split("\n") if line.endswith("\\\\")]
        assert len({line.count(" & ") for line in lines}) == 1
    for block in made.tables_markdown().split("\n\n"):
        lines = [line for line in block.split("\n") if line.startswith("| ")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) <= 1


# ---------------------------------------------------------------- names from anywhere


HOSTILE_NAMES = (
    r"\input{/etc/passwd}",
    r"%$&#_{}^~\end{document}",
    HOSTILE,
    "[@key](http://x.y)",
    "日本\x1b[31m\ue000b\ue001",
)


@pytest.mark.parametrize("text", HOSTILE_NAMES)
def test_a_name_commands_nothing(text: str) -> None:
    made = to_latex(f"Judge “{name(text)}” judged [@holm1979].")
    assert made.endswith(r"judged~\cite{holm1979}.")
    inner = made.removeprefix("Judge ``").partition("'' judged")[0]
    commands = set(re.findall(r"\\([a-zA-Z]+)", inner))
    assert not commands - {"textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar"}
    assert not re.search(r"(?<!\\)[%$&#_^~]", inner)
    assert cited(f"“{name(text)}”") == []
    plain = to_markdown(name(text))
    assert not re.search(r"(?<!\\)[`*_\[\]<>|@$]", plain)


def test_every_letter_that_latex_keeps_is_latin() -> None:
    kept = "".join(chr(n) for n in range(0xA1, 0x3000) if latex(chr(n)) == chr(n))
    assert kept.isalpha()
    assert set("éő") < set(kept)
    assert not set("Ω日ħſ") & set(kept)
    assert latex("日") == "U+65E5"
    assert markdown("0.5 a-b") == "0.5 a-b"


@pytest.mark.slow
def test_a_hostile_run_writes_harmless_files() -> None:
    item = Item("=1+1", "i", "r", criterion="Quality", prompt=r"\write18{ls}", candidate="=cmd()", human=(3.0,))
    items = tuple(replace(item, item_id=f"=1+{n}", prompt=f"p{n % 8}") for n in range(16))
    judge = Judge(r"\input{x} | =2", "simulated", "simulated", options={"position": {"first": 1.5}})
    study = Study(
        "=S", Dataset(r"\end{document}", items), (judge,), Design(strategies=(Strategy("balanced"),)), rubric("Quality")
    )
    with Store(":memory:") as store:
        from rubriclab.runs.manager import RunManager

        run = RunManager(store).start(study)
        run.wait(60)
        made = dict(paper(store, run.info.run).files())
    for path in ("methods.tex", "tables.tex"):
        text = made[path].decode()
        assert r"\input{x}" not in text
        assert r"\end{document}" not in text
        assert r"\textbackslash{}input" in text
    assert not re.search(rb"(?m)(^|,)[=+@]", made["data/ratings_long.csv"])


# ---------------------------------------------------------------- data


def test_every_judgment_and_every_rating_is_a_row() -> None:
    data = paper_of("criteria").source.data
    status = data.judgments["status"].to_numpy().copy()
    score = data.judgments["score"].to_numpy().copy()
    status[:5], score[:5] = STATUSES.index("refused"), np.nan
    holes = replace(data, judgments=data.judgments.assign(status=status, score=score))
    waiting = pd.DataFrame([(0, 1, "a b", "", 0, 0)], columns=["arm", "item", "order", "labels", "read", "repeat"])
    long = ratings_long(holes, waiting)
    assert tuple(long.columns) == LONG
    assert len(long) == len(data.judgments) + 1 + sum(map(len, data.items["raters"]))
    assert (long["status"] == "refused").sum() == 5
    assert long.loc[long["status"].isin(["refused", "unasked"]), "score"].isna().all()
    judged = long[long["status"] == "ok"]
    assert judged["score"].notna().all()
    first = data.judgments.iloc[10]
    assert long.iloc[10]["order"] == str(data.orderings[int(first["ordering"])])
    assert long.iloc[10]["score"] == first["score"]
    table, what = wide(long)
    assert table.notna().sum().sum() - len(table) == judged.shape[0]
    assert len(table) == 12  # texts
    assert set(table.columns) == {"person", *what["column"]}
    assert table.drop(columns="person").min().min() == 0


@pytest.mark.slow
def test_comparisons_name_the_winner() -> None:
    data = paper_of("pairs").source.data
    long = ratings_long(data)
    row = long.iloc[0]
    assert row["chosen"] == ["tie", *row["order"].split()][row["place"]]
    assert long["score"].isna().all()
    files = dict(paper_of("pairs").files())
    assert "data/persons_wide.csv" not in files
    assert b"no scores" in files["data/README.txt"]


@pytest.mark.slow
def test_a_hundred_thousand_judgments_take_seconds() -> None:
    import time

    data = paper_of("options").source.data
    times = 28
    more = pd.concat([data.judgments.assign(read=data.judgments["read"] + 100 * n) for n in range(times)])
    began = time.perf_counter()
    long = ratings_long(replace(data, judgments=more.reset_index(drop=True)))
    wide(long)
    assert len(long) > 100_000
    assert time.perf_counter() - began < 20


# ---------------------------------------------------------------- files


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes() -> None:
    one = paper_of("example")
    again = Paper(one.source)
    first, second = dict(one.files()), dict(again.files())
    assert first == second
    assert zipped(first) == zipped(second)
    assert {"methods.md", "methods.tex", "tables.tex", "references.bib", "paper.tex", "estimates.csv"} <= set(first)
    assert len(pd.read_parquet(io.BytesIO(first["data/ratings_long.parquet"]))) == 960
    columns = pd.read_csv(io.BytesIO(first["data/dictionary.csv"]))
    assert set(columns.loc[columns["file"] == "ratings_long", "column"]) == set(LONG)


@pytest.mark.slow
def test_the_command_writes_a_folder_or_a_zip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "lab.duckdb"
    with Store(store) as kept:
        (run,) = read_archive(kept, EXAMPLE.read_bytes())
    out = tmp_path / "out"
    told = ["paper", run, "--store", str(store), "--json", "--out"]
    assert command.main([*told, str(out)]) == 0
    sizes = json.loads(capsys.readouterr().out)["files"]
    assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} == set(sizes)
    assert command.main([*told, str(out)]) == 1
    assert "already" in capsys.readouterr().err
    assert command.main([*told, str(tmp_path / "p.zip")]) == 0
    assert set(zipfile.ZipFile(tmp_path / "p.zip").namelist()) == set(sizes)


def test_a_source_knows_the_models_that_answered() -> None:
    with Store(":memory:") as store:
        of = source(store, read_archive(store, EXAMPLE.read_bytes())[0])
    assert of.models["smollm2-135m"] == ("smollm2-135m@b179c9523d0e",)
    assert of.study is not None
