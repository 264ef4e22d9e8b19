"""A run goes into one file and comes out of it in another lab, judgment for judgment."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pandas as pd
import pytest

from rubriclab.model import Call, Reply, Strategy, Study
from rubriclab.store import RunWriter, Store
from rubriclab.store.archive import keep, read_archive
from rubriclab.store.archive_checks import ArchiveError
from rubriclab.store.archive_writing import write_archive
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import plan
from tests.labkit import answered, criteria_study, pairs_study, study


def stored(about: Study, text: Callable[[Call], str], *, upto: int | None = None) -> tuple[Store, str]:
    store = Store(":memory:")
    prepared = plan(about)
    run = store.open_run(prepared, provenance(prepared)).run
    with RunWriter(store, run) as writer:
        for judgment in answered(prepared, text)[:upto]:
            writer.put(judgment)
    store.set_state(run, "finished" if upto is None else "paused")
    return store, run


def three(_: Call) -> str:
    return "3"


STUDIES = {
    "options": (study(3, factors={"temperature": (0.0, 1.0)}), three),
    "criteria": (criteria_study(), lambda _: "[a] 1\n[b] 5"),
    "pairs": (pairs_study(), lambda call: "[[A]]" if call.read else "[[C]]"),
    "unread": (study(2), lambda _: "no score here"),
}


@pytest.mark.parametrize("name", STUDIES)
def test_round_trip(name: str) -> None:
    about, text = STUDIES[name]
    store, run = stored(about, text)
    with store, Store(":memory:") as other:
        (again,) = read_archive(other, write_archive(store, run))
        assert again == run
        assert other.run(run).state == "finished"
        assert other.run(run).provenance == store.run(run).provenance
        assert other.study(run) == store.study(run)
        before, after = store.archive_frame(run), other.archive_frame(run)
        pd.testing.assert_frame_equal(before.drop(columns="asked"), after.drop(columns="asked"), check_dtype=False)
        one, two = store.frame(run), other.frame(run)
        pd.testing.assert_frame_equal(one.judgments, two.judgments)
        assert (one.arms, one.orderings, one.planned) == (two.arms, two.orderings, two.planned)


def test_probabilities_and_failures_travel() -> None:
    about = study(1, strategies=(Strategy("balanced"),))
    prepared = plan(about)
    replies = [
        Reply(text="2", top_tokens=(("2", -0.1), ("3", -2.5)), tokens_in=7, cached_tokens=5, latency=0.5),
        Reply(error="HTTP 500: ouch", kind="server_error", finish="error", attempts=5),
    ]
    with Store(":memory:") as store, Store(":memory:") as other:
        run = store.open_run(prepared, {}).run
        with RunWriter(store, run) as writer:
            for call, reply in zip(prepared.calls(), replies, strict=False):
                writer.put(prepared.read(call, reply))
        read_archive(other, write_archive(store, run))
        one, two = store.archive_frame(run), other.archive_frame(run)
        pd.testing.assert_frame_equal(one.drop(columns="asked"), two.drop(columns="asked"), check_dtype=False)
        assert two["p2"].notna().sum() == 1
        assert other.failed_keys(run) == store.failed_keys(run) != set()
        assert other.run(run).state == "paused"
        assert "2 answers read in; 8 calls are left" in other.run(run).reason


def test_reading_twice_adds_nothing_and_half_is_completed() -> None:
    about = study(3)
    full, run = stored(about, three)
    half, _ = stored(about, lambda _: "5", upto=10)
    with full, half:
        content = write_archive(full, run)
        for _ in range(2):
            read_archive(half, content)
            scores = half.frame(run).judgments["score"]
            assert (len(scores), scores.eq(5).sum()) == (60, 10)  # what was there stays
        assert half.run(run).state == "finished"


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + b"\0" * 18])
def test_a_broken_file_is_said(content: bytes) -> None:
    with Store(":memory:") as store:
        with pytest.raises(ArchiveError, match="not a run's archive"):
            read_archive(store, content)
        assert store.runs() == ()


def changed(content: bytes, change: Callable[[pd.DataFrame], pd.DataFrame]) -> bytes:
    """The archive with other judgments in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".parquet"):
                table = io.BytesIO()
                change(pd.read_parquet(io.BytesIO(data))).to_parquet(table)
                data = table.getvalue()
            new.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.assign(key="nothing"), "None of the"),
        (lambda f: f.assign(item=99), "beyond the study's 2"),
        (lambda f: f.assign(status=9), "column “status”: “9” is not"),
    ],
)
def test_rows_that_do_not_belong_leave_nothing_behind(
    change: Callable[[pd.DataFrame], pd.DataFrame], said: str
) -> None:
    store, run = stored(study(2), three)
    with store, Store(":memory:") as other:
        with pytest.raises(ArchiveError, match=said):
            read_archive(other, changed(write_archive(store, run), change))
        assert other.runs() == ()


def test_some_unknown_answers_are_counted() -> None:
    prepared = plan(study(1))
    answers = {call.key: lambda c: prepared.read(c, Reply(text="1")) for call in prepared.calls()}
    answers["unknown"] = next(iter(answers.values()))
    with Store(":memory:") as store:
        run = keep(store, prepared, answers)
        assert store.run(run).state == "finished"
        assert store.run(run).reason == "1 answer belongs to no call of this study"
