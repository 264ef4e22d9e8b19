"""Test a kind of judge that a package brings in Set up, and a broken package."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.app.draft import study_toml
from rubriclab.model.study import study_from_toml
from tests.app.conftest import Lab, healthy, pressed, texts
from tests.app.test_setup import confirmed, held, step
from tests.judges.kinds_kit import http_kind, install
from tests.judges.test_kinds import ScoreServer
from tests.servers import running

__all__ = ["http_kind"]


@pytest.mark.thorough
@pytest.mark.usefixtures("http_kind")
def test_set_up_draws_a_packaged_kind_from_its_options(lab: Lab) -> None:
    with running(ScoreServer()) as server:
        app = step(confirmed(lab("setup")), 3)
        app.button_group(key="judge-where").set_value("kind:http").run()
        said = texts(app)
        assert "Posts the prompt to an address and reads the score in the answer." in said
        assert "This kind of judge comes with the package http-judge 1.0." in said
        assert "Enter the address of the judge." in said
        app.text_input(key="judge-http-url").set_value(f"{server.url}/judge").run()
        rounds = app.number_input(key="judge-http-option-rounds")
        assert (rounds.label, rounds.min, rounds.max) == ("Rounds", 1, 9)
        assert rounds.help == "How often the endpoint thinks."
        rounds.set_value(3).run()
        (judge,) = held(healthy(app)).study.judges
        assert (judge.kind, judge.model, judge.options) == ("http", "http", {"rounds": 3})
        assert judge.base_urls == (f"{server.url}/judge",)
        pressed(app, "Test the judge")
        assert "Score read: 4." in app.success[0].value.replace("\\", "")
    assert server.bodies[0]["rounds"] == 3
    assert study_from_toml(study_toml(held(app).checked()), "s").judges[0] == judge
    # Closed, the step says where the judge runs; opened again, it shows what was chosen.
    app = step(app, 4)
    assert "plain HTTP endpoint" in texts(app)
    app = step(app, 3)
    assert app.number_input(key="judge-http-option-rounds").value == 3
    # The other kind's address and options are dropped.
    app.button_group(key="judge-where").set_value("machine").run()
    (judge,) = held(healthy(app)).study.judges
    assert (judge.kind, judge.options, judge.base_urls) == ("embedded", {}, ())


def test_a_broken_package_is_named_in_set_up_and_breaks_nothing(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {"broken_in_set_up": "import no_such_module"}
    kinds = {"broken": "broken_in_set_up:KIND"}
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", "bad-kinds", kinds, modules)))
    app = step(confirmed(lab("setup")), 3)
    assert "of the package bad-kinds 1.0 could not be loaded" in texts(healthy(app))
    assert "kind:broken" not in app.button_group(key="judge-where").options
    assert held(app).study.judges[0].kind == "embedded"
