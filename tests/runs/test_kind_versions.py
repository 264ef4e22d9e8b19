"""Test that a run is not resumed with another version of its judge's kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError
from rubriclab.runs.manager import refuse_other_versions
from rubriclab.runs.runner import keep_run
from rubriclab.store.store import Store
from tests.judges.kinds_kit import install
from tests.judges.test_kinds import module
from tests.study.kit import small_plan


def test_another_version_of_a_kind_is_another_judge(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(version: str) -> JudgeSettings:
        name = f"versioned_{version}"
        text = module("versioned", more=f"version='{version}'")
        folder = install(
            tmp_path / version, "versioned", {"versioned": f"{name}:KIND"}, {name: text}, version
        )
        monkeypatch.syspath_prepend(str(folder))  # before the older one, as an upgrade would be
        return JudgeSettings(name="j", kind="versioned")

    first = small_plan(1, judges=(installed("1"),))
    keys = {call.key for call in first.calls()}
    run = keep_run(store, first)
    made = store.made_with(run)
    assert (made["judge kind versioned"], made["package of judge kind versioned"]) == (
        "1",
        "versioned 1",
    )
    refuse_other_versions(store, run, first)
    second = small_plan(1, judges=(installed("2"),))
    with pytest.raises(LabError, match=r"with version 1 of its kind “versioned”; version 2 is"):
        refuse_other_versions(store, run, second)
    assert second.identity != first.identity
    assert not {call.key for call in second.calls()} & keys
