"""A run's name is readable in any Latin spelling, and a run with the name of an earlier version is found again."""

from __future__ import annotations

import pytest

from rubriclab.model import Judge
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store, run_name
from rubriclab.store.objects import run_name_before, slug
from rubriclab.study.plan import plan
from tests.labkit import study


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Bürgeramt, Größe 3", "buergeramt-groesse-3"),
        ("Bu\u0308rgeramt", "buergeramt"),
        ("Évaluation – été", "evaluation-ete"),
        ("Żółw/Łódź", "zolw-lodz"),
        ("Helpfulness of our drafts", "helpfulness-of-our-drafts"),
        ("評価", "run"),
    ],
)
def test_names_are_spelt_in_letters_for_files_and_addresses(name: str, short: str) -> None:
    assert slug(name) == short


def test_a_run_with_the_name_of_an_earlier_version_is_gone_on_with() -> None:
    about = study(3, name="Bürgeramt", judges=(Judge("planted", "simulated", "simulated"),))
    judged = plan(about).study
    assert (run_name(judged)[:10], run_name_before(judged)[:10]) == ("buergeramt", "b-rgeramt-")
    with Store(":memory:") as store:
        first = RunManager(store).start(about).wait(60.0)
        with store._transaction() as db:
            db.execute("UPDATE runs SET run = ?", [run_name_before(judged)])
        again = RunManager(store).start(about).wait(60.0)
        assert (first.asked, again.asked, again.state) == (60, 0, "finished")
        assert [info.run for info in store.runs()] == [run_name_before(judged)]
