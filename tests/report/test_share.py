"""A shared folder: whole or not there, the same twice, without what was not asked for, and linked throughout."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest

from rubriclab.__main__ import main
from rubriclab.datasets.outfolder import whole_folder
from rubriclab.model import Dataset, Design, Item, Judge, LabError, Reply, Strategy, Study
from rubriclab.report.share import MANIFEST, Sharing, share
from rubriclab.report.share_judgments import ROWS
from rubriclab.report.withheld import ADDRESS, PATH, Scrub
from rubriclab.store import Store
from rubriclab.store.provenance import provenance
from rubriclab.store.writer import RunWriter
from rubriclab.study.plan import plan
from tests.simulated_runs import rubric, run_into

WORDS = ("Geheimtext", "Geheimfrage", "Geheimantwort", "Adelheid", "Zacharias")
"""What was judged, asked and replied, and the names of two raters."""
PLACES = ("gpu7.example.org", ":8443", "/home/erika", "weights-of-erika", "MY_PRIVATE_API_KEY", "10.9.8.7")


def private_study() -> Study:
    items = tuple(
        Item(f"i{k}", f"Geheimfrage {k}", f"Geheimtext {k}", human=(3.0, 4.0), raters=("Adelheid", "Zacharias"))
        for k in range(6)
    )
    judges = (
        Judge(
            "served",
            "openai",
            "/home/erika/weights-of-erika/tiny.gguf",
            base_urls=("https://gpu7.example.org:8443/v1",),
            key_env="MY_PRIVATE_API_KEY",
        ),
    )
    return Study(
        "Private", Dataset("letters", items), judges, Design(strategies=(Strategy("balanced"),)), rubric("Tone")
    )


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store(":memory:") as made:
        prepared = plan(private_study())
        info = made.open_run(prepared, provenance(prepared))
        with RunWriter(made, info.run) as writer:
            for at, call in enumerate(prepared.calls()):
                error = "no answer from http://10.9.8.7:8000/v1 (/home/erika/x)"
                text = "3 because Geheimantwort" if at % 2 else "2"
                reply = Reply(error=error, kind="timeout") if at == 5 else Reply(text=text, model="/home/erika/m")
                writer.put(prepared.read(call, reply))
        run_into(made, "plain", "pairs")
        yield made


def written(store: Store, names: list[str], tmp_path: Path, **sharing: object) -> Path:
    out = tmp_path / "shared"
    with whole_folder(out, MANIFEST) as sink:
        share(store, names, sink, Sharing(**sharing))  # type: ignore[arg-type]
    return out


def everything(folder: Path) -> str:
    """All that a reader of the folder can find in it; of Parquet its cells."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            parts.append(pd.read_parquet(path).to_csv())
        elif path.is_file():
            parts.append(path.read_text(encoding="utf-8"))
    return "\n".join(parts)


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.asked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.found.append(str(given["href"]))
        if given.get("src") or (tag == "link" and given.get("href")):
            self.asked.append(tag)


@pytest.mark.slow
def test_nothing_private_is_shared_unless_asked(store: Store, tmp_path: Path) -> None:
    text = everything(written(store, ["private"], tmp_path))
    for secret in (*WORDS, *PLACES):
        assert secret not in text, text[max(0, text.index(secret) - 200) :][:400]
    assert "person 2" in text
    assert "Tone 3" in text, "the rubric is shared"
    assert "timeout" in text, "what kind of fault it was is shared, its words are not"


@pytest.mark.slow
def test_texts_and_names_are_shared_when_asked_and_places_never(store: Store, tmp_path: Path) -> None:
    text = everything(written(store, ["private"], tmp_path, texts=True))
    for asked in WORDS:
        assert asked in text
    for secret in PLACES:
        assert secret not in text, text[max(0, text.index(secret) - 200) :][:400]


@pytest.mark.slow
def test_the_same_run_twice_is_the_same_bytes_in_a_folder_and_in_a_zip(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "copy.duckdb"
    store.backup(path)
    for out in ("one.zip", "two.zip", "folder"):
        assert main(["share", "plain", "--store", str(path), "--out", str(tmp_path / out)]) == 0
    assert "without texts and names of people" in capsys.readouterr().err
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    folder = tmp_path / "folder"
    assert packed == {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_every_link_leads_somewhere_and_no_page_asks_another_host(store: Store, tmp_path: Path) -> None:
    folder = written(store, ["plain", "pairs", "private"], tmp_path)
    pages = sorted(folder.rglob("*.html"))
    reached = {folder / "index.html"}
    for page in pages:
        body = page.read_text(encoding="utf-8")
        links = Links()
        links.feed(body)
        assert not links.asked, (page, links.asked)
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', body)
        assert policy is not None
        assert "default-src 'none'" in policy[1]
        assert "connect-src" not in policy[1]
        scripts = len(re.findall(r"<script>", body))
        assert policy[1].count("'sha256-") == scripts
        for href in links.found:
            parts = urlsplit(href)
            if not parts.scheme and parts.path:
                target = (page.parent / unquote(parts.path)).resolve()
                assert target.is_file(), (page, href)
                reached.add(target)
    assert {p for p in folder.rglob("*") if p.is_file()} - reached == {folder / MANIFEST}


@pytest.mark.slow
def test_the_judgments_are_all_there_once(store: Store, tmp_path: Path) -> None:
    folder = written(store, ["plain"], tmp_path)
    run = store.run("plain").run
    frame = store.export_frame(run)
    csv, packed = (
        pd.read_csv(folder / run / "data" / "judgments.csv"),
        pd.read_parquet(folder / run / "data" / "judgments.parquet"),
    )
    assert len(csv) == len(packed) == len(frame)
    assert packed["score"].tolist() == csv["score"].tolist() == frame["score"].tolist()
    assert packed["item_id"].tolist() == frame["item_id"].tolist()
    rows = 0
    pages = sorted((folder / run / "judgments").glob("*.html"), key=lambda p: int(p.stem))
    for page in pages:
        rows += page.read_text(encoding="utf-8").count('<th scope="row">')
    assert rows == len(frame)
    assert len(pages) == -(-len(frame) // ROWS)


def test_a_folder_of_something_else_is_refused_and_left_as_it_was(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "shared"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(LabError, match=r"thesis\.txt.*Name a new folder"):
        written(store, ["plain"], tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["shared"]
    assert (out / "thesis.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_shared_folder_is_replaced_unless_somebody_added_to_it(store: Store, tmp_path: Path) -> None:
    out = written(store, ["plain"], tmp_path, title="before")
    assert "before" in (out / "index.html").read_text()
    written(store, ["plain"], tmp_path, title="after")
    assert "after" in (out / "index.html").read_text()
    (out / "CNAME").write_text("example.org")
    with pytest.raises(LabError, match="CNAME"):
        written(store, ["plain"], tmp_path)
    assert "after" in (out / "index.html").read_text()


@pytest.mark.slow
def test_a_fault_on_the_way_leaves_the_whole_folder_that_was_there(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = written(store, ["plain"], tmp_path)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rubriclab.report.share.write_parquet", full)
    with pytest.raises(LabError, match="No space left on device"):
        written(store, ["plain"], tmp_path)
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["shared"]


def test_what_is_scrubbed_and_what_is_not() -> None:
    scrub = Scrub((("gpu.example.org", ADDRESS),))
    assert scrub.text("at http://localhost:8000/v1, then https://gpu.example.org/v1") == (
        f"at {ADDRESS}, then https://{ADDRESS}/v1"
    )
    assert scrub.text("see /home/me/x.csv and C:\\Users\\me") == f"see {PATH} and {PATH}"
    kept = "https://doi.org/10.1145/3 and 3/4 of /r/all, <script>"
    assert scrub.text(kept) == kept
    page = "<p>/home/me</p><script>const x = '/home/me'</script><p>/tmp/y</p>"
    assert scrub.page(page) == f"<p>{PATH}</p><script>const x = '/home/me'</script><p>{PATH}</p>"
