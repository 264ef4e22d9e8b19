"""A notebook is a door too: the same documents as the command line, cheap to import, safe to show."""

from __future__ import annotations

import doctest
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

import rubriclab as rl
from rubriclab.__main__ import main
from rubriclab.datasets.imports import READERS
from rubriclab.findings.estimates import COLUMNS
from rubriclab.model import LabError
from rubriclab.model.places import EXAMPLE
from rubriclab.notebook import doors, lab
from rubriclab.notebook.shown import MOST_ROWS, table_html
from rubriclab.runs.terms import Snapshot
from rubriclab.store import Store
from rubriclab.store.archive import read_archive

TABLES = {
    "scores": "judge,dataset,item_id,ordering,score\nj,d,a,1 2 3,1\nj,d,a,3 2 1,3\nj,d,b,1 2 3,2\n",
    "criteria": "judge,dataset,text_id,ordering,criterion,score\n"
    "j,d,t,tone|be clear,tone,3\nj,d,t,tone|be clear,be clear,4\n"
    "j,d,t,be clear|tone,tone,2\nj,d,t,be clear|tone,be clear,4\n",
    "batches": "judge,dataset,item_id,batch,order,place,score\n"
    "j,d,a,b1,x,1,2\nj,d,b,b1,x,2,3\nj,d,b,b1,y,1,3\nj,d,a,b1,y,2,1\nj,d,a,,,,2\nj,d,b,,,,3\n",
    "pairs": "judge,question_id,task,first,second,choice\nj,q,t,x,y,A\nj,q,t,y,x,A\n",
}
STUDY = """
name = "small"
[data]
file = "data.csv"
[rubric]
file = "rubric.json"
[design]
strategies = ["balanced"]
[[judges]]
name = "sim"
kind = "simulated"
model = "simulated"
options = {{ latency_ms = {latency} }}
"""


@pytest.fixture(scope="module")
def example() -> rl.Run:
    return rl.read(EXAMPLE, kind="run")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return written_study(tmp_path)


def written_study(folder: Path, latency: float = 0, items: int = 3) -> Path:
    rows = "".join(f"i{k},do {k},done {k}\n" for k in range(items))
    (folder / "data.csv").write_text("item_id,instruction,response\n" + rows)
    options = [{"score": s, "description": f"level {s}"} for s in (1, 2, 3)]
    rubric = {"name": "r", "criteria": [{"name": "quality", "options": options}]}
    (folder / "rubric.json").write_text(json.dumps(rubric))
    (folder / "study.toml").write_text(STUDY.format(latency=latency))
    return folder / "study.toml"


# ---------------------------------------------------------------- the import


def test_importing_is_cheap_and_brings_no_library() -> None:
    code = (
        "import sys, time; began = time.process_time(); import rubriclab as rl; rl.__version__; "
        "print(time.process_time() - began); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, modules = done.stdout.splitlines()
    heavy = {"streamlit", "pandas", "numpy", "plotly", "duckdb", "openai", "rubriclab.model"}
    assert not heavy & set(modules.split())
    assert float(seconds) < 0.3


def test_the_help_of_the_command_line_brings_no_library() -> None:
    code = "import sys, rubriclab.__main__ as door; door._parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"streamlit", "pandas", "numpy", "duckdb", "openai", "pydantic", "asyncio"} & set(done.stdout.split())


@pytest.mark.slow
def test_the_results_of_the_recorded_example_bring_no_library_that_they_do_not_need(tmp_path: Path) -> None:
    with Store(tmp_path / "lab.duckdb") as store:
        read_archive(store, EXAMPLE.read_bytes())
        run = store.runs()[0].run
    code = "import sys, rubriclab.__main__ as door; door.main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    asked = ["results", run, "--store", str(tmp_path / "lab.duckdb")]
    done = subprocess.run([sys.executable, "-c", code, *asked], capture_output=True, text=True, check=True)
    heavy = {"scipy.stats", "statsmodels", "plotly", "pydantic", "jinja2", "yaml", "rubriclab.study"}
    assert not heavy & set(done.stderr.split())


@pytest.mark.slow
def test_using_it_brings_no_streamlit() -> None:
    code = "import sys, rubriclab as rl; rl.read; rl.open; rl.run; print('streamlit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_names_are_offered_and_others_refused() -> None:
    assert {"read", "open", "run", "Lab", "Run", "__version__"} <= set(dir(rl))
    with pytest.raises(AttributeError, match="no “raed”; a notebook has Lab, Run, open, read, run"):
        rl.raed  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("module", [doors, lab], ids=lambda m: m.__name__)
def test_the_examples_of_the_docstrings_are_true(module: object) -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    told = doctest.testmod(module, optionflags=options)  # type: ignore[arg-type]
    assert told.attempted >= 3
    assert told.failed == 0


# ---------------------------------------------------------------- read


@pytest.mark.parametrize("kind", READERS)
def test_a_file_and_its_table_are_the_document_of_the_command(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "table.csv"
    file.write_text(TABLES[kind])
    store = tmp_path / "a.duckdb"
    assert main(["import", str(file), "--kind", kind, "--store", str(store), "--json"]) == 0
    told = capsys.readouterr().out
    assert as_told(rl.read(file, kind=kind)) == told
    assert as_told(rl.read(pd.read_csv(file), kind=kind)) == told


@pytest.mark.slow
def test_an_archive_is_the_document_of_the_command(
    example: rl.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "a.duckdb"
    main(["import", str(EXAMPLE), "--kind", "run", "--store", str(store)])
    capsys.readouterr()
    assert main(["results", "recorded", "--store", str(store), "--json"]) == 0
    told = capsys.readouterr().out
    assert as_told(example) == told
    with rl.open(store) as here:
        assert as_told(here.run("recorded")) == told


def as_told(run: rl.Run) -> str:
    return json.dumps(run.results(), ensure_ascii=False, indent=1) + "\n"


def test_cells_may_hold_lists_and_categories() -> None:
    table = pd.DataFrame(
        {
            "judge": pd.Categorical(["j", "j"]),
            "dataset": "d",
            "item_id": [7, 7],
            "ordering": [[1, 2, 3], (3, 2, 1)],
            "score": [1, None],
        },
        index=[5, 5],
    )
    judged = rl.read(table, kind="scores").judgments()
    assert judged["shown"].tolist() == ["[1, 2, 3]", "[3, 2, 1]"]
    assert judged["status"].tolist() == ["ok", "unparsed"]
    two = {"judge": "j", "dataset": "d", "text_id": "t", "ordering": [["tone", "be clear"]] * 2}
    order = rl.read(pd.DataFrame({**two, "criterion": ["tone", "be clear"], "score": [3, 4]}), kind="criteria")
    assert order.judgments()["position"].tolist() == [1, 2]


def test_a_store_keeps_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(TABLES["scores"])
    with rl.read(file, kind="scores", name="Kept", store=tmp_path / "a.duckdb") as first:
        name = first.name
    with rl.open(tmp_path / "a.duckdb") as again:
        assert again.runs()["run"].tolist() == [name]
        assert again.run("kept").info.name == "Kept"


@pytest.mark.parametrize(
    ("source", "kind", "told"),
    [
        (pd.DataFrame({"a": [1]}), "score", "“score” is no kind .* scores, criteria, batches, pairs, .*run"),
        (pd.DataFrame({"a": [1]}), "run", "read from an archive"),
        (pd.DataFrame({"a": []}), "scores", "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "scores", "“a” twice"),
        (pd.DataFrame({"a": [1]}), "scores", "judge"),
        ("/nowhere/x.csv", "scores", "/nowhere/x.csv"),
    ],
)
def test_what_cannot_be_read_is_said(source: pd.DataFrame | str, kind: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=told):
        rl.read(source, kind=kind, store=tmp_path / "a.duckdb")
    assert not (tmp_path / "a.duckdb").exists(), "a faulty file made a store"


@pytest.mark.slow
def test_of_several_runs_in_a_file_one_is_named(tmp_path: Path) -> None:
    for kind in ("scores", "pairs"):
        (tmp_path / f"{kind}.csv").write_text(TABLES[kind])
        rl.read(tmp_path / f"{kind}.csv", kind=kind, store=tmp_path / "a.duckdb").close()
    both = tmp_path / "both.zip"
    main(["report", "scores", "pairs", "--store", str(tmp_path / "a.duckdb"), "--out", str(both)])
    with pytest.raises(LabError, match=r"holds 2 runs.*name=…: .*scores-"):
        rl.read(both, kind="run")
    with pytest.raises(LabError, match="“nobody” names 0"):
        rl.read(both, kind="run", name="nobody")
    with rl.read(both, kind="run", name="pairs") as chosen:
        assert chosen.info.axis == "pairwise"
        assert len(chosen.lab.runs()) == 2


# ---------------------------------------------------------------- open


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="There is no store"):
        rl.open(tmp_path / "none.duckdb")
    assert not list(tmp_path.iterdir())


def test_a_cell_that_opens_a_store_can_be_run_again(tmp_path: Path) -> None:
    lab.opened(tmp_path / "a.duckdb").close()
    first = rl.open(tmp_path / "a.duckdb")
    assert rl.open(tmp_path / "a.duckdb") is first
    first.close()
    first.close()
    assert repr(first).endswith("a.duckdb: closed>")
    with rl.open(tmp_path / "a.duckdb") as again:
        assert again is not first
        assert len(again.runs()) == 0
        with pytest.raises(LabError, match=r"no run “x”\. Runs here: none"):
            again.run("x")


def test_a_lab_that_is_dropped_lets_go_of_its_file(tmp_path: Path) -> None:
    dropped = lab.opened(tmp_path / "a.duckdb")
    store = dropped.store
    del dropped
    assert store._closed


# ---------------------------------------------------------------- run


def test_a_study_is_run_and_kept(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = rl.run(study, store=tmp_path / "a.duckdb")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "18/18" in shown.err
    assert done.info.state == "finished"
    assert "simulated" in repr(done)
    again = rl.run(study, store=tmp_path / "a.duckdb")
    assert again.lab is done.lab
    assert again.results() == done.results()
    done.close()


def test_a_limit_ends_it_and_says_how_to_go_on(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = rl.run(study, max_calls=5)
    assert part.info.done < 18
    assert "The same cell goes on." in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_pauses_and_keeps_the_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = written_study(tmp_path, latency=50, items=200)
    shown = doors.show_progress

    def stop_at_once(snapshot: Snapshot) -> None:
        shown(snapshot)
        if snapshot.done and not signals:
            signals.append(snapshot.done)
            signal.raise_signal(signal.SIGINT)

    signals: list[int] = []
    monkeypatch.setattr(doors, "show_progress", stop_at_once)
    paused = rl.run(study, store=tmp_path / "a.duckdb")
    assert signals
    info = paused.info
    assert info.state == "paused"
    assert 0 < info.done < info.planned
    assert len(paused.judgments()) == info.done
    assert "calls in flight" in capsys.readouterr().err
    paused.close()


# ---------------------------------------------------------------- what a run gives


def test_estimates_are_one_tidy_table(example: rl.Run) -> None:
    table = example.estimates()
    assert tuple(table.columns) == COLUMNS
    assert set(table["topic"]) <= set(example.topics)
    assert (table["low"].dropna() <= table["high"].dropna()).all()
    first = example.results()["arms"][0]["shift"]["extremes"]
    shown = table[(table["measure"] == "shift.extremes") & (table["arm"] == 0)]
    assert shown["value"].tolist() == pytest.approx([first], abs=1e-9)


@pytest.mark.slow
def test_every_topic_with_charts_has_figures(example: rl.Run) -> None:
    for topic in ("position", "choice", "debiasing", "ranking"):
        drawn = example.figures(topic)
        assert drawn
        assert all(isinstance(figure, go.Figure) for figure in drawn.values())
        assert example.figure(topic).to_json() == next(iter(drawn.values())).to_json()


def test_unknown_figures_name_those_that_are_there(example: rl.Run) -> None:
    with pytest.raises(LabError, match=r"“recommendation”\. It has: position, choice"):
        example.figure("recommendation")
    with pytest.raises(LabError, match="no figure on “criteria”"):
        example.figures("criteria")
    with pytest.raises(LabError, match=r"No figure on position begins “Sores”.*“Scores given”"):
        example.figure("position", "Sores")


def test_findings_follow_the_judgments(study: Path, tmp_path: Path) -> None:
    some = rl.run(study, store=tmp_path / "a.duckdb", max_calls=6)
    few = sum(some.results()["arms"][0]["judgments"].values())
    rl.run(study, store=tmp_path / "a.duckdb")
    assert sum(some.results()["arms"][0]["judgments"].values()) > few
    some.close()


# ---------------------------------------------------------------- how it shows itself


def test_hostile_names_are_shown_as_text() -> None:
    evil = "<script>alert(1)</script>"
    table = pd.DataFrame(
        {
            "judge": evil,
            "dataset": "<img src=x onerror=alert(2)>",
            "item_id": ["a", "b"],
            "ordering": "1 2 3",
            "score": [1, 2],
        }
    )
    run = rl.read(table, kind="scores", name=evil)
    for html in (run._repr_html_(), run.lab._repr_html_()):
        assert "<script" not in html
        assert "<img" not in html
        assert "&lt;script&gt;" in html
    assert "&amp;lt;" not in run._repr_html_(), "escaped twice"


def test_a_table_reads_the_same_in_every_notebook() -> None:
    rows = pd.DataFrame(
        {
            "name": ["a", None],
            "none": ["", None],
            "empty": [None, float("nan")],
            "n": [1, 2],
            "sure": [True, False],
            "at": pd.to_datetime(["2026-01-02 03:04:05.678901", None]),
        }
    )
    html = table_html("T", rows)
    head, first, second = re.findall("<tr>(.*?)</tr>", html)
    assert re.findall(r"<th [^>]*>(.*?)</th>", head) == ["name", "n", "sure", "at"]
    sides = re.findall(r'<td style="text-align: (\w+)">(.*?)</td>', first)
    assert sides == [("left", "a"), ("right", "1"), ("left", "True"), ("left", "2026-01-02 03:04:05")]
    assert re.findall(r"<td [^>]*>(.*?)</td>", second) == ["", "2", "False", ""]
    assert "and 5 more" in table_html("T", pd.DataFrame({"n": range(MOST_ROWS + 5)}))


def test_a_run_shows_its_arms_and_topics(example: rl.Run) -> None:
    html = example._repr_html_()
    assert "smollm2-135m" in html
    assert "Findings on: position, alignment" in html
    assert html.count("<table") == 1


def test_a_closed_run_still_shows_itself() -> None:
    run = rl.read(
        pd.read_csv(EXAMPLE.parent / "sample.csv").iloc[:1].assign(judge="j", dataset="d", ordering="1 2", score=1),
        kind="scores",
    )
    run.close()
    assert repr(run).endswith("its lab is closed>")
    assert "Its lab is closed." in run._repr_html_()
    assert "closed" in run.lab._repr_html_()
