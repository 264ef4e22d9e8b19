"""The bench: the versions of a rubric and what each does, beside any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import workshop as forms
from rubriclab.app.ui.charts import behind_point, judgments_address
from rubriclab.app.views import common as uf
from rubriclab.datasets.rubric_diff import rubric_diff
from rubriclab.figures import contrast as draw
from rubriclab.figures import position as draw_position
from rubriclab.figures.style import Chart
from rubriclab.findings.contrast import contrast_words
from rubriclab.findings.position_results import PositionArm
from rubriclab.findings.shift import mean_words
from rubriclab.findings.versions import ALONE, VERSIONS, VersionAlone, VersionDifference, difference_sentence
from rubriclab.model.language import language, msg, tr
from rubriclab.model.wording import interval, known, many, number
from rubriclab.runs.runner import Run
from rubriclab.runs.workshop import Bench, Version, bench_runs, open_bench
from rubriclab.store import RunInfo

REDRAWN = 4.0
"""Seconds between two looks while a judge answers: each costs the processor that an embedded judge thinks on."""
NOBODY, EVERY = "nothing", msg("all criteria")


def choose() -> Bench | None:
    """The bench that the page is about: the address names it, else the one worked at last."""
    every = bench_runs(ui.store())
    if not every:
        st.markdown(tr("**A bench holds one rubric, one judge and a few items.** Everything you try on it is kept."))
        forms.new()
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        code = ui.choose(
            tr("Bench"),
            list(every),
            key="workshop-bench",
            address="bench",
            name=lambda one: _bench_name(one, every[one]),
        )
        with st.popover(tr("New bench"), icon=":material/add:"):
            forms.new()
    bench = open_bench(ui.store(), code)
    if bench.judge.simulated:
        st.warning(
            tr(
                "The judge of this bench is **simulated**: its numbers show how the method works, not how any "
                "model behaves."
            ),
            icon=":material/science:",
        )
    return bench


def _bench_name(code: str, runs: Sequence[RunInfo]) -> str:
    about = _begun_with(str(ui.store().path), runs[0].run, language()) if runs else tr("without a version")
    return f"{about} · {many(len(runs), 'version')} · {code}"


@st.cache_data(max_entries=512, show_spinner=False)
def _begun_with(store: str, run: str, spoken: str) -> str:
    """What a bench's oldest version is about: what a run asks never changes, so it is read once."""
    del store, spoken  # they tell apart runs of one name, and what is said of one
    study = ui.store().study(run)
    rubric, judge = (study.rubric.name if study.rubric else tr("no rubric")), study.judges[0].name
    return f"{rubric} · {judge} · {study.dataset.name}, {many(len(study.dataset), 'item')}"


def section(bench: Bench) -> None:
    """The section “Bench”: the rubric on the left, what it does on the right."""
    version = _opened(bench)
    left, right = st.columns(2, gap="large")
    with left:
        _tree(bench, version)
        st.markdown(tr("##### The rubric, edited in place  \n:small[from “{name}”]", name=ui.plain(version.name)))
        forms.edit(bench, version)
    with right:
        run = ui.manager().get(version.run)
        going = run is not None and run.snapshot().active
        draw_it: Callable[[Bench, Version], None] = st.fragment(_live, run_every=REDRAWN) if going else _right
        draw_it(bench, version)


def _opened(bench: Bench) -> Version:
    """The version that the address names, else the newest."""
    named = {version.name: version for version in bench.versions}
    if st.session_state.get("bench-shown", bench.id) != bench.id and st.query_params.get("version") not in named:
        forms.go_to(bench.id)  # another bench was chosen: the version in the address is of the one before
    st.session_state["bench-shown"] = bench.id
    wanted = st.query_params.get("version")
    if wanted is not None and wanted not in named:
        st.warning(
            tr("The link names version “{name}”, which this bench does not have.", name=ui.plain(wanted)),
            icon=":material/link_off:",
        )
    version = named.get(wanted or "", bench.versions[-1])
    st.query_params["version"] = version.name
    return version


# ---------------------------------------------------------------- where it came from


def _tree(bench: Bench, opened: Version) -> None:
    """Every version below the one it came from, with its difference to that; a press opens it."""
    with st.container(border=True, gap="small", key="bench-tree"):
        st.markdown(tr("**Versions**, each below the one it came from, with what it did to that one's mean score"))
        for depth, version in bench.tree():
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                if depth:
                    st.markdown(":gray[" + "\u00a0\u00a0\u00a0\u00a0" * (depth - 1) + "└]", width="content")
                st.button(
                    ui.plain(version.name),
                    key=f"bench-open-{version.run}",
                    type="primary" if version is opened else "secondary",
                    icon=":material/radio_button_checked:"
                    if version is opened
                    else ":material/radio_button_unchecked:",
                    on_click=forms.go_to,
                    args=(bench.id, version.name),
                    kwargs={"keep": ("criterion",)},
                )
                st.markdown(f":small[{_beside_parent(bench, version)}]", width="content")
        forms.keep(opened)


def _beside_parent(bench: Bench, version: Version) -> str:
    """How far a version is, and what it changed of the mean score of the one it came from."""
    info = ui.store().run(version.run)
    if info.done < info.planned:
        return tr("{done:,} of {planned:,} calls", done=info.done, planned=info.planned)
    if version.parent is None:
        return tr("the first")
    found = _difference(bench.version(version.run), bench.version(version.parent), None)
    effect = found.effect("score")
    if effect is None:
        return ui.plain(found.why_not)
    badge = uf.badge(effect.verdict) if not found.unfinished else ""
    return f"{number(effect.estimate, '+.2f')} {badge}"


def _difference(a: Version, b: Version, criterion: str | None) -> VersionDifference:
    one, other = ui.store().run(a.run), ui.store().run(b.run)
    return ui.finding(one, VERSIONS, b=other, criterion=criterion)


# ---------------------------------------------------------------- what it does


def _live(bench: Bench, version: Version) -> None:
    """The right side while the version is being asked; the whole page once it is not."""
    run = ui.manager().get(version.run)
    if run is None or not run.snapshot().active:
        st.rerun()
    _right(bench, version)


def _right(bench: Bench, version: Version) -> None:
    run = ui.manager().get(version.run)
    info = ui.store().run(version.run)
    _progress(run, info)
    criterion = _criterion(version)
    against = _against(bench, version)
    if not info.done:
        st.caption(tr("The first answers come within seconds.") if run else tr("This version has not been asked yet."))
    if against is not None:
        _set_against(version, against, criterion)
    alone = ui.finding(info, ALONE, criterion=criterion) if info.done else None
    if alone is not None:
        _alone(alone, version, info)
    with st.expander(tr("How these items were drawn"), icon=":material/filter_list:"):
        st.markdown(ui.plain(bench.sample))


def _progress(run: Run | None, info: RunInfo) -> None:
    """How far the version is, what it cost, and the way to stop it."""
    shown = run.snapshot() if run is not None else None
    reused = ui.store().reused(info.run)
    if run is not None and shown is not None and shown.active:
        with st.container(horizontal=True, vertical_alignment="center"):
            said = (
                ui.plain(tr(shown.stage))
                if shown.stage
                else tr("{done:,} of {planned:,} calls", done=shown.done, planned=shown.planned)
            )
            st.progress(min(1.0, shown.done / max(1, shown.planned)), text=said, width="stretch")
            if st.button(tr("Stop"), icon=":material/stop:", key="bench-stop"):
                run.cancel()
        return
    parts = [tr("{done:,} of {planned:,} calls answered", done=info.done, planned=info.planned)]
    parts += [tr("{reused:,} of them reused", reused=reused)] if reused else []
    parts += (
        [tr("{asked:,} asked in {duration}", asked=shown.asked, duration=ui.duration(shown.elapsed))]
        if shown is not None
        else []
    )
    parts += [tr("{money:.4g} in money", money=shown.money)] if shown is not None and shown.money else []
    st.caption(f"{' · '.join(parts)}.")
    if info.done < info.planned and info.reason:
        reason = tr(info.reason)
        why = reason[0].upper() + reason[1:].rstrip(".")
        st.warning(
            tr("{why}. Ask what is left to have the last intervals.", why=ui.plain(why)), icon=":material/pause_circle:"
        )


def _criterion(version: Version) -> str | None:
    names = [criterion.name for criterion in version.rubric.criteria]
    if len(names) == 1:
        return None
    chosen = ui.choose(
        tr("Criterion"),
        [EVERY, *names],
        key=f"bench-criterion-{version.run}",
        address="criterion",
        name=_criterion_name,
    )
    return None if chosen == EVERY else chosen


def _criterion_name(name: str) -> str:
    return tr(EVERY) if name == EVERY else name


def _against(bench: Bench, version: Version) -> Version | None:
    """The version that this one is set against: the one it came from unless another is chosen."""
    others = {other.name: other for other in bench.versions if other is not version}
    if not others:
        return None
    parent = next((name for name, other in others.items() if other.run == version.parent), None)
    name = ui.choose(
        tr("Set against"), list(others), key=f"bench-against-{version.run}", address="against", default=parent
    )
    return others[name]


def _set_against(version: Version, other: Version, criterion: str | None) -> None:
    found = _difference(version, other, criterion)
    if found.pair is None:
        st.info(ui.plain(found.why_not), icon=":material/info:")
    else:
        _answers(found, version, other)
    with st.expander(
        tr("What changed from “{name}”", name=ui.plain(other.name)), icon=":material/difference:", expanded=True
    ):
        changes = rubric_diff(other.rubric, version.rubric)
        forms.show_changes(changes)
        if not changes:
            st.caption(tr("Nothing: the two say the same."))
    if found.pair is not None and found.running is None:
        st.markdown(
            tr("**“{one}” less “{other}”**", one=ui.plain(version.name), other=ui.plain(other.name)),
            help=ui.about("arm_difference", also=("interval", "sesoi")),
        )
        _two_ways(
            draw.difference_forest(found.pair), version, other, criterion, key=f"bench-forest-{version.run}-{other.run}"
        )


def _answers(found: VersionDifference, version: Version, other: Version) -> None:
    """In a sentence, then both questions with their verdicts, then what places and rates say."""
    names = tr("“{name}”", name=version.name), tr("“{name}”", name=other.name)
    uf.answer(difference_sentence(found, *names))
    for title, kind, term in (
        (tr("Mean score"), "score", "mean_shift"),
        (tr("Ascending less descending"), "shift", "order_shift"),
    ):
        effect = found.effect(kind)
        if effect is not None:
            uf.verdict(effect, title, ui.about(term, also=("arm_difference", "sesoi")))
    if found.pair is None:
        return
    if found.running is not None:
        orders = (
            tr(
                "So far {orders} orders of {units}. ",
                orders=found.running.orders,
                units=many(found.running.units, "unit"),
            )
            if found.running.orders
            else ""
        )
        st.caption(
            tr(
                "{basis} {orders}It sharpens with each pair of orders. These intervals hold at every look at "
                "once: looking often does not make effects. When all is asked the last intervals follow.",
                basis=_basis(found),
                orders=orders,
            )
        )
        return
    for text in contrast_words(found.pair, *names)[:-1]:
        st.markdown(ui.plain(text))
    st.caption(tr("{basis} Intervals hold all at once.", basis=_basis(found)))
    uf.cautions(found.pair.warnings)


def _basis(found: VersionDifference) -> str:
    unread = (
        tr(" {pairs} left out where one could not be read.", pairs=many(found.unread, "pair")) if found.unread else ""
    )
    return tr(
        "Paired: {reads} of each on the same {items} in the same orders.{unread}",
        reads=many(found.reads, "read"),
        items=many(found.items, "item"),
        unread=unread,
    )


@st.fragment  # a click redraws the chart and its links, not the page
def _two_ways(shown: Chart, a: Version, b: Version, criterion: str | None, *, key: str) -> None:
    """A chart of two versions: a clicked point leads to the judgments of either."""
    event = ui.chart(shown, key=key, select=True)
    for point in event.selection.points[:3]:
        behind = behind_point(shown, point)
        if behind is None:
            continue
        st.caption(ui.plain(behind.name))
        for version in (a, b):
            mine = replace(behind, run=version.run, criterion=criterion)
            st.page_link(
                "pages/judgments.py",
                label=tr("Judgments of “{name}” behind this", name=ui.plain(version.name)),
                icon=":material/arrow_forward:",
                query_params=judgments_address(mine, version.run),
            )


def _alone(alone: VersionAlone, version: Version, info: RunInfo) -> None:
    """The version by itself: mean, order, agreement; where it picks, which scores it gives."""
    arm = alone.arm
    st.markdown(tr("##### “{name}” by itself", name=ui.plain(version.name)))
    shift = arm.shift
    cells: list[tuple[str, str, str, str]] = [
        (
            tr("Mean score"),
            number(arm.mean_score, ".2f"),
            tr("{reads} of {items}", reads=many(arm.n_used, "read"), items=many(arm.n_items, "item")),
            "",
        ),
        (
            tr("Ascending less descending"),
            number(shift.ascending, "+.2f"),
            interval(shift.ascending_ci, "+.2f"),
            ui.about("order_shift", also=("sesoi",)),
        ),
    ]
    uf.metrics(*cells)
    if alone.agreement is not None and known(alone.agreement.pearson.r):
        r, rho = alone.agreement.pearson, alone.agreement.spearman
        uf.metrics(
            (tr("r with people"), number(r.r, ".2f"), interval(r.ci, ".2f"), ui.about("pearson")),
            (tr("rho with people"), number(rho.r, ".2f"), interval(rho.ci, ".2f"), ui.about("spearman")),
        )
    if not shift.mean.why:
        st.markdown(
            tr(
                "Does the order move it? {verdict} {words}",
                verdict=uf.badge(shift.mean.verdict),
                words=ui.plain(mean_words(shift)),
            )
        )
    _where_it_picks(arm, version, info)


def _where_it_picks(arm: PositionArm, version: Version, info: RunInfo) -> None:
    """Its scores by their places, and the way to every reply."""
    st.markdown(tr("**Score × position**: of each score, where it was when it was picked"), help=ui.about("table"))
    ui.chart(draw_position.heatmap(arm), key=f"bench-heatmap-{version.run}", info=info)
    st.markdown(tr("**Scores given**"))
    ui.chart(draw_position.score_distribution([arm]), key=f"bench-scores-{version.run}", info=info)
    st.page_link(
        "pages/judgments.py",
        label=tr("Every reply, word for word"),
        icon=":material/manage_search:",
        query_params={"run": info.run},
    )
