"""The page Runs: one list that is searched and filtered by its address, and what can be done with each run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.ui import listing
from rubriclab.model import Design, Judge, Strategy, Study
from rubriclab.runs.listed import local
from rubriclab.store import RunWriter
from tests.e2e.lab import healthy
from tests.labkit import study
from tests.simulated_runs import studies

ROOT = Path(__file__).resolve().parents[2]
PLANTED = (Judge("planted", "simulated", "simulated"),)
MARKUP = "<script>alert(1)</script> **bold** [a](https://example.org) $x$ :red[d]"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "lab.duckdb"
    monkeypatch.setenv(ui.STORE_VARIABLE, str(path))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    yield path
    ui.manager().store.close()
    st.cache_resource.clear()


def made(about: Study) -> str:
    ended = ui.manager().start(about).wait(60.0)
    assert ended.state == "finished"
    return ended.run


def two() -> tuple[str, str]:
    return made(study(3, judges=PLANTED, name="Drafts")), made(study(2, judges=PLANTED, name="Replies"))


def opened(page: str = "runs", **address: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for part, value in address.items():
        app.query_params[part] = value
    app.switch_page(f"pages/{page}.py").run()
    return healthy(app)


def texts(app: AppTest) -> str:
    return "\n".join(str(part.value) for kind in (app.markdown, app.caption, app.warning, app.info) for part in kind)


def keyed(widgets: Any, start: str, end: str = "") -> Any:
    return next(one for one in widgets if str(one.key).startswith(start) and str(one.key).endswith(end))


def listed(app: AppTest) -> set[str]:
    return {button.key.removeprefix("runs-open-") for button in app.button if button.key.startswith("runs-open-")}


def saved(app: AppTest, run: str, *, title: str | None = None, tags: list[str] | None = None) -> AppTest:
    if title is not None:
        keyed(app.text_input, f"runs-{run}", "-title").set_value(title)
    if tags is not None:
        keyed(app.multiselect, f"runs-{run}", "-tags").set_value(tags)
    keyed(app.button, f"FormSubmitter:runs-{run}").click()
    return app.run()


def test_a_title_is_shown_wherever_the_run_is_named_and_its_links_stay() -> None:
    drafts, _ = two()
    app = healthy(saved(opened(), drafts, title=f" {MARKUP} "))
    assert ui.store().run(drafts).name == MARKUP
    assert f"**{ui.plain(MARKUP)}**" in texts(app)
    found = opened("position", run=drafts)
    assert found.selectbox(key="position-run").value == drafts
    assert any(option.startswith(MARKUP) for option in found.selectbox(key="position-run").options)
    assert f"**{ui.plain(MARKUP)}**" in texts(opened("home"))
    healthy(saved(app, drafts, title=""))
    assert ui.store().run(drafts).name == "Drafts"


def test_a_title_that_cannot_be_is_refused_in_its_place() -> None:
    drafts, _ = two()
    app = saved(opened(), drafts, title="x" * 50_000)
    assert "50,000 characters; 120 at most" in app.error[0].value
    assert ui.store().run(drafts).name == "Drafts"


def test_tags_are_saved_beside_those_that_somebody_else_put_on_meanwhile() -> None:
    drafts, replies = two()
    mine, theirs = opened(), opened()
    healthy(saved(mine, drafts, tags=["pilot"]))
    healthy(saved(theirs, drafts, tags=["for the paper"]))
    assert ui.store().run(drafts).tags == ("for the paper", "pilot")
    healthy(saved(mine.run(), drafts, tags=["pilot"]))
    assert ui.store().run(drafts).tags == ("pilot",)
    assert listed(opened(tag="pilot")) == {drafts}
    assert listed(opened()) == {drafts, replies}


def test_the_list_is_searched_and_filtered_by_its_address() -> None:
    drafts, replies = two()
    assert listed(opened(search="drafts planted")) == {drafts}
    assert listed(opened(kind="options", state="finished", made="1")) == {drafts, replies}
    app = opened(state="paused")
    assert listed(app) == set()
    assert "No run is found." in texts(app)
    app.button(key="runs-all").click().run()
    assert listed(healthy(app)) == {drafts, replies}
    assert "state" not in app.query_params
    app.text_input(key="runs-search").set_value("replies").run()
    assert app.query_params["search"] == "replies"
    assert listed(app) == {replies}


def test_the_list_is_filtered_by_days_that_the_address_carries() -> None:
    drafts, replies = two()
    today = local(ui.store().run(drafts).created).date()
    tomorrow = today + timedelta(days=1)
    assert listed(opened(since=f"{today}", until=f"{tomorrow}")) == {drafts, replies}
    app = opened(until=f"{today - timedelta(days=1)}")
    assert listed(app) == set()
    app.date_input(key="runs-until").set_value(tomorrow).run()
    assert app.query_params["until"] == f"{tomorrow}"
    assert listed(healthy(app)) == {drafts, replies}
    app.date_input(key="runs-since").set_value(tomorrow).run()
    assert app.query_params["since"] == f"{tomorrow}"
    assert listed(healthy(app)) == set()
    app.button(key="runs-all").click().run()
    assert listed(healthy(app)) == {drafts, replies}
    assert not {"since", "until"} & set(app.query_params)
    assert app.date_input(key="runs-since").value is None


def test_a_link_with_what_is_no_day_says_so_and_shows_all() -> None:
    drafts, replies = two()
    app = opened(since="31.12.2026")
    assert "“31.12.2026”, which is no day" in texts(app)
    assert listed(app) == {drafts, replies}
    app = opened(since="2026-03-02", until="2026-03-01")
    assert "2026-03-02 comes after 2026-03-01" in texts(app)


def test_more_runs_than_are_drawn_at_once_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.app.ui.listing.AT_ONCE", 1)
    drafts, replies = two()
    app = opened()
    assert listed(app) == {replies}
    app.button(key="runs-more").click().run()
    assert listed(healthy(app)) == {drafts, replies}
    assert app.query_params["shown"] == "2"


def test_an_archived_run_is_out_of_the_lists_and_its_links_open_it() -> None:
    drafts, replies = two()
    app = opened()
    app.button(key=f"runs-archive-{drafts}").click().run()
    assert listed(healthy(app)) == {replies}
    assert "**Drafts** is archived." in texts(app)
    chooser = opened("position").selectbox(key="position-run")
    assert [option.split(" · ")[0] for option in chooser.options] == ["Replies"]
    linked = opened("position", run=drafts)
    assert linked.selectbox(key="position-run").value == drafts
    assert "This run is **archived**" in texts(linked)
    assert listed(opened(shelf="archived")) == {drafts}
    app.button(key="runs-undo").click().run()
    assert listed(healthy(app)) == {drafts, replies}


def test_a_deleted_run_is_taken_back_by_undo_and_from_the_deleted_ones() -> None:
    drafts, replies = two()
    app = opened()
    app.button(key=f"runs-delete-{drafts}").click().run()
    assert listed(healthy(app)) == {replies}
    assert "**Drafts** is deleted." in texts(app)
    app.button(key="runs-undo").click().run()
    assert listed(healthy(app)) == {drafts, replies}
    app.button(key=f"runs-delete-{drafts}").click().run()
    linked = opened("position", run=drafts)
    assert "This run is **deleted**, and kept until it is deleted for good" in texts(linked)
    assert linked.selectbox(key="position-run").value == drafts
    app = opened(shelf="deleted")
    app.button(key=f"runs-restore-{drafts}").click().run()
    healthy(app)
    assert ui.store().run(drafts).deleted is None


def test_deleted_for_good_is_gone_one_or_all() -> None:
    drafts, replies = two()
    for run in (drafts, replies):
        ui.store().discard_run(run)
    app = opened(shelf="deleted")
    app.button(key=f"runs-gone-{drafts}").click().run()
    healthy(app)
    assert [info.run for info in ui.store().runs(deleted=True)] == [replies]
    opened(shelf="deleted").button(key="runs-empty").click().run()
    assert ui.store().runs(deleted=True) == ()


def test_a_run_that_is_going_cannot_be_deleted_and_the_page_says_why() -> None:
    drafts, _ = two()
    app = opened()
    with RunWriter(ui.store(), drafts):
        app.button(key=f"runs-delete-{drafts}").click().run()
    assert "being judged right now; pause or cancel it first" in app.error[0].value
    assert ui.store().run(drafts).deleted is None


# ---------------------------------------------------------------- its study as a form


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(studies()))
def test_the_study_of_any_run_opens_as_the_same_study(kind: str) -> None:
    run = made(studies()[kind])
    app = opened("study", **{"from": run})
    assert "The study of" in texts(app)
    assert "no field" not in texts(app)
    assert "It is finished; nothing will be asked again." in texts(app)


def test_a_duplicate_is_launched_as_a_new_run() -> None:
    drafts, _ = two()
    app = opened()
    app.button(key=f"runs-copy-{drafts}").click().run()
    app = opened("study", copy=drafts)
    assert app.text_input(key="study/name").value == "Drafts (copy)"
    assert "A duplicate of the study of **Drafts**" in texts(app)
    assert "This study has a run" not in texts(app)
    app.number_input(key="study/repeats").set_value(2).run()
    app.button(key="study-launch").click().run()
    healthy(app)
    (new,) = [info for info in ui.store().runs() if info.made_as == "Drafts (copy)"]
    assert new.planned == 2 * ui.store().run(drafts).planned
    assert new.run.startswith("drafts-copy-")


def test_the_form_says_what_it_has_no_field_for() -> None:
    about = study(2, judges=PLANTED, name="Rich")
    design = Design(
        strategies=(
            Strategy("random", "one draw", reads=2),
            Strategy("random", "another", reads=3),
            Strategy("min-bias", reads=2, orderings=((5, 3, 4, 2, 1),)),
        ),
        factors={"temperature": (0.0, 0.5), "top_p": (1.0, 0.5), "ids": (("a", "b", "c", "d", "e"), "roman")},
        show_reference=False,
    )
    run = made(replace(about, design=design))
    app = opened("study", **{"from": run})
    said = next(one.value for one in app.warning if "no field" in one.value).replace("\\", "")
    for part in ("one draw", "another", "min-bias", "top_p (1.0, 0.5)", "factor ids", "reference answers"):
        assert part in said, part
    assert app.text_input(key="study/temperatures").value == "0.0, 0.5"


def test_a_judge_and_a_rubric_that_are_others_by_now_are_those_of_the_run() -> None:
    run = made(study(2, judges=PLANTED, name="Old"))
    ui.store().save_judge(replace(PLANTED[0], options={"position": {"first": 3.0}}))
    app = opened("study", **{"from": run})
    assert "It is finished; nothing will be asked again." in texts(app)
    assert any(option.endswith("as in the run") for option in app.multiselect(key="study/judges").options)
    app.button(key="study-afresh").click().run()
    healthy(app)
    assert "from" not in app.query_params
    assert "The study of" not in texts(app)


def test_a_run_without_a_study_and_one_that_is_not_there_are_said() -> None:
    run = made(study(2, judges=PLANTED, name="Old"))
    imported = ui.store().import_run(ui.store().frame(run), provenance={}, run="from-elsewhere")
    for name, why in ((imported, "no study"), ("nobody", "no run")):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.query_params["from"] = name
        app.switch_page("pages/study.py").run()
        assert why in app.error[0].value


@pytest.mark.slow
def test_a_link_to_a_run_of_another_kind_is_said_once_and_by_its_title() -> None:
    drafts, _ = two()
    made(studies()["pairs"])
    for run, why in (
        (drafts, "the run “Drafts”, which is of another kind"),
        ("gone", "which this store does not have"),
    ):
        app = opened("comparison", run=run)
        (said,) = [one.value for one in app.warning if "The link" in one.value]
        assert why in said
        assert app.query_params["run"] != run


def test_a_run_called_after_its_data_is_offered_with_one_name_of_them() -> None:
    info = ui.store().run(two()[0])
    assert ui.run_label(info).startswith(f"Drafts · {info.dataset} · ")
    named = ui.run_label(replace(info, name=f"{info.dataset}, score options"))
    assert named.startswith(f"{info.dataset}, score options · ")
    assert f" · {info.dataset} · " not in named


def test_a_run_that_goes_on_shows_no_count_that_is_old_at_once() -> None:
    from rubriclab.app.ui.listing import _about

    info = ui.store().run(two()[0])
    assert f"{info.planned} calls" in _about(replace(info, state="running", done=0), whole=False)
    assert "0 of" not in _about(replace(info, state="running", done=0), whole=False)
    assert "1 of" in _about(replace(info, state="paused", done=1), whole=False)


def test_a_list_that_another_tab_has_overtaken_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tab says “paused”; in another somebody goes on with the run."""
    drafts, _ = two()
    looks: list[str] = []
    monkeypatch.setattr("rubriclab.app.ui.listing._look", looks.append)
    assert not looks
    opened()
    assert not looks, "nothing is unfinished: nothing to look after"
    with ui.store()._transaction() as db:
        db.execute("UPDATE runs SET state = 'paused' WHERE run = ?", [drafts])
    app = opened()
    assert looks == ["runs"]
    assert any(button.key == f"runs-on-{drafts}" for button in app.button)
    shown = dict(app.session_state["runs-drawn"])
    assert listing._states() == shown
    ui.manager().go_on(drafts).wait(60.0)
    assert listing._states() != shown


def test_going_on_from_a_page_that_is_behind_does_no_harm() -> None:
    drafts, _ = two()
    with ui.store()._transaction() as db:
        db.execute("UPDATE runs SET state = 'paused' WHERE run = ?", [drafts])
    behind, ahead = opened(), opened()
    healthy(ahead.button(key=f"runs-on-{drafts}").click().run())
    ui.manager().get(drafts).wait(60.0)
    before = ui.store().run(drafts).done
    healthy(behind.button(key=f"runs-on-{drafts}").click().run())
    assert (ui.store().run(drafts).done, ui.store().run(drafts).state) == (before, "finished")
    assert not any(button.key == f"runs-on-{drafts}" for button in behind.button)
