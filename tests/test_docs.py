"""Check that documents say what the code does: papers.md, architecture.md, glossary.md, README."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import counted, method, published  # registers the topics
from rubriclab import api as notebook
from rubriclab.cli.main import command_line
from rubriclab.core.topic import MEASURES, TOPICS
from rubriclab.runs.loading import plan_of_file
from rubriclab.store.store import Store
from tests.test_house import MAY_IMPORT

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rubriclab"
LINES = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in (ROOT / "docs" / "papers.md").read_text("utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]


def test_every_row_of_the_papers_is_listed_once() -> None:
    assert [int(line[0]) for line in LINES] == list(range(1, 76))


def test_the_papers_name_measures_and_topics_that_exist() -> None:
    text = "\n".join(" | ".join(line) for line in LINES)
    measures = {name for line in LINES if len(line) > 5 for name in re.findall(r"`(\w+)`", line[5])}
    measures |= set(re.findall(r"--table (\w+)", text)) - {"MEASURE"}
    assert measures <= set(MEASURES), sorted(measures - set(MEASURES))
    assert set(re.findall(r"--topic (\w+)", text)) <= set(TOPICS)


@pytest.mark.thorough
def test_every_row_has_a_test_that_names_it() -> None:
    named: set[int] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.papers":
                named |= {int(ast.literal_eval(number)) for number in node.args}
    assert named == set(range(1, 76)), f"no test names {sorted(set(range(1, 76)) - named)}"


README = (ROOT / "README.md").read_text("utf-8")
MAP = (ROOT / "docs" / "architecture.md").read_text("utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")


def block(language: str, start: str) -> str:
    """Return the README's code block of a language that has ``start`` in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (found,) = [text for text in blocks if start in text]
    return str(found)


def test_every_command_of_the_readme_has_its_options() -> None:
    app = command_line()
    for line in block("bash", "rubriclab run demo").splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "rubriclab"
        _, bound, _ = app.parse_args(words[1:], exit_on_error=False, print_error=False)
        assert bound.arguments, line


def test_the_study_of_the_readme_can_be_planned(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(block("toml", "Helpfulness of our drafts"), "utf-8")
    (tmp_path / "responses.csv").write_text("answer\nYes.\nNo.\n", "utf-8")
    (tmp_path / "rubric.yaml").write_text(
        "name: Help\ncriteria:\n- name: Help\n  options:\n"
        "  - {score: 1, description: none}\n  - {score: 2, description: much}\n",
        "utf-8",
    )
    plan = plan_of_file(tmp_path / "study.toml")
    assert plan.study.name == "Helpfulness of our drafts"
    # 2 answers in both orders, each twice, by default and in five variants.
    assert len(plan) == 2 * 2 * 2 * 6


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"j,a{k},{scored}" for k in range(12) for scored in ("1 2 3,3", "3 2 1,2")]
    judgments = tmp_path / "judgments.csv"
    judgments.write_text("\n".join(["judge,item_id,ordering,score", *rows]), "utf-8")
    monkeypatch.chdir(tmp_path)
    run = notebook.read("judgments.csv", name="Helpfulness of our drafts")
    with Store.open(tmp_path / "lab.duckdb") as store:
        store.add_table(run.table)
    exec(block("python", 'rl.read("judgments.csv")'), {})
    assert (tmp_path / "report.html").stat().st_size > 10_000


def names_in(path: Path) -> set[str]:
    """Return the functions and classes of a module, and methods as Class.method."""
    names: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods}
    return names


@pytest.mark.thorough
def test_the_map_names_what_exists() -> None:
    named = re.findall(r"`([\w/]+\.py):([\w.]+)`", MAP)
    assert len(named) > 20
    missing = [f"{path}:{name}" for path, name in named if name not in names_in(PACKAGE / path)]
    assert not missing
    before_old_paths = MAP.partition("## Old paths")[0]
    files = re.findall(r"`([\w/]+\.(?:py|toml|sql))`", before_old_paths)
    assert not [path for path in files if not any((at / path).is_file() for at in (ROOT, PACKAGE))]


def test_the_map_shows_the_rooms_as_they_may_import_each_other() -> None:
    (picture,) = re.findall(r"```mermaid\n(.*?)```", MAP, re.DOTALL)
    arrows = re.findall(r"(\w+)(?:\[.*?\])? --> (\w+)", picture)
    assert {room for arrow in arrows for room in arrow} == MAY_IMPORT.keys()
    assert not [f"{a} --> {b}" for a, b in arrows if a not in MAY_IMPORT[b]]


def test_old_paths_are_gone_and_new_ones_exist() -> None:
    table = MAP.partition("## Old paths")[2]
    pairs: list[tuple[str, str]] = []
    for line in table.splitlines():
        if not line.startswith("| `"):
            continue
        old, new = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("| ").split(" | "))
        if new[0].endswith("/"):  # the same names in another folder
            new = [new[0] + Path(path).name for path in old]
        pairs += zip(old, new, strict=True)
    assert len(pairs) > 30
    for old_path, new_path in pairs:
        if "NAME" in old_path:
            old_path, new_path = str(Path(old_path).parent), str(Path(new_path).parent)
        assert not any((PACKAGE / old_path).glob("*.py")), old_path
        assert not (PACKAGE / old_path).is_file(), old_path
        assert (PACKAGE / new_path).exists(), new_path


def test_every_term_of_the_glossary_is_used() -> None:
    terms = [
        term.strip("` ")
        for line in GLOSSARY.splitlines()
        if line.startswith("| ") and not line.startswith("| use ")
        for term in line.strip("| ").split(" | ")[0].split(", ")
    ]
    assert len(terms) > 30
    documents = [path for path in (ROOT / "docs").glob("*.md") if path.name != "glossary.md"]
    files = [ROOT / "README.md", *documents, *PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml")]
    text = " ".join(path.read_text("utf-8") for path in files)
    words = re.sub(r"\s+", " ", text).lower()
    assert not [term for term in terms if not re.search(rf"\b{term.lower()}", words)]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks").glob("[!_]*.py")), ids=lambda path: path.stem
)
def test_a_benchmark_imports_what_there_is(path: Path) -> None:
    assert import_module(f"benchmarks.{path.stem}").__doc__


def test_the_published_method_check_is_what_was_counted() -> None:
    text, summary = published.document(counted.load()), published.summary(counted.load())
    assert (published.DOCUMENT.read_text("utf-8"), published.SUMMARY.read_text("utf-8")) == (
        text,
        summary,
    )
    assert len(text.splitlines()) <= 410


@pytest.mark.thorough
def test_a_stopped_check_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    path, name, other = tmp_path / "counts.jsonl", *[*method._cells()][:2]
    first, third = (
        counted.record_of(name, counted.Counted([k], 1.0, {"false": [3, 20]})) for k in (0, 2)
    )
    path.write_text(first + third + first + third.replace(name, other)[:-30], "utf-8")
    results = counted.load(path)
    assert {k: (v.sums, counted.alarms(v)) for k, v in results.items()} == {
        (name, 0): ({"false": [6, 40]}, ["false"])
    }
    order = method.wanted(results, [name, other])
    assert [next(order) for _ in range(5)] == [
        (other, 0),
        (name, 1),
        (name, 3),
        (name, 4),
        (other, 1),
    ]


@pytest.mark.thorough
def test_the_notebook_was_executed_and_its_cells_still_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (ROOT / "docs" / "notebook.ipynb").read_text("utf-8")
    cells = [cell for cell in json.loads(content)["cells"] if cell["cell_type"] == "code"]
    assert len(content) < 60_000
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert not [out for cell in cells for out in cell["outputs"] if out["output_type"] == "error"]
    ask = notebook.run  # the same calls, answered by a simulated judge

    def simulated(study: str, store: str, items: int) -> notebook.Run:
        return ask(plan_of_file(study, items=items, judged_by=("simulated:planted",)), store)

    monkeypatch.setattr(notebook, "run", simulated)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(SVG=str))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert names["scored"].value is not None
    assert {path.name for path in tmp_path.iterdir()} >= {
        "report.html",
        "judgments.csv",
        "judge.card.json",
    }
