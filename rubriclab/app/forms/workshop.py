"""The Workshop's forms: a new bench, and the rubric edited in place and tried."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import rubric as rubric_form
from rubriclab.app.forms.common import all_rubrics, judge_label, kept_dataset, known_judges
from rubriclab.app.forms.study_design import MODES
from rubriclab.datasets.rubric_diff import Change, Piece, rubric_diff
from rubriclab.datasets.rubrics import dump_rubric
from rubriclab.datasets.sample import DEFAULT_JUDGE, sample_dataset
from rubriclab.model import AnswerMode, Dataset, Rubric
from rubriclab.model.language import msg, tr
from rubriclab.runs.runner import Run
from rubriclab.runs.terms import Limits
from rubriclab.runs.workshop import ITEMS, ROOT, Bench, Version, new_bench, poke, same_version, try_version

SAMPLE, EVERY = "sample", msg("every criterion, one a call")
PAIRS = "comparisons"


def go_to(bench: str, version: str = "", *, keep: tuple[str, ...] = ()) -> None:
    """Put another bench or version into the address; what was compared before is let go but for ``keep``."""
    for part in ("bench", "version", "against", "criterion"):
        if part not in keep:
            st.query_params.pop(part, None)
    st.query_params["bench"] = bench
    if version:
        st.query_params["version"] = version


# ---------------------------------------------------------------- a new bench


def new() -> None:
    """Data, rubric, judge, how many items; a press makes the bench and asks its first version."""
    left, right = st.columns(2, gap="large")
    with left:
        dataset = _data()
        rubric, criterion = _rubric()
    with right:
        known = known_judges()
        default = list(known).index(DEFAULT_JUDGE) if DEFAULT_JUDGE in known else 0
        judge = known[
            st.selectbox(
                tr("Judge"), list(known), default, key="bench-judge", format_func=lambda n: judge_label(known[n])
            )
        ]
        with st.container(horizontal=True):
            items = int(st.number_input(tr("Items"), 2, 500, min(ITEMS, len(dataset)), key="bench-items", width=120))
            seed = int(st.number_input(tr("Seed"), 0, 10**6, 0, key="bench-seed", width=120))
            answer: AnswerMode = st.segmented_control(
                tr("Answer"),
                list(MODES),
                default="score",
                key="bench-answer",
                required=True,
                format_func=lambda mode: tr(MODES[mode]),
            )
    st.caption(
        tr(
            "Few items, drawn so that they tell most: spread over the scores that people or an earlier run "
            "gave, then those whose score moved most with the order. How they were drawn is said on the "
            "bench."
        )
    )
    if st.button(tr("Set up the bench"), type="primary", icon=":material/handyman:", key="bench-new"):
        with ui.faults():
            bench = new_bench(
                ui.store(), dataset, rubric, judge, criterion=criterion, items=items, seed=seed, answer=answer
            )
            first = bench.versions[0]
            ui.start_or_ask(ui.manager(), first.name, lambda: _start_first(bench, first))


def _start_first(bench: Bench, first: Version) -> Run:
    run = try_version(ui.manager(), bench, first.rubric, name=ROOT, parent=None, secrets=ui.secrets())
    go_to(bench.id, first.name)
    return run


def _data() -> Dataset:
    kept = {row["dataset"]: row for row in ui.store().datasets().to_dict("records") if row["kind"] != PAIRS}
    names = {
        SAMPLE: tr("Sample · comes with the lab"),
        **{code: tr("{name} · {n:,} items", name=row["name"], n=row["n_items"]) for code, row in kept.items()},
    }
    order = [*kept, SAMPLE]
    chosen = st.selectbox(tr("Data"), order, key="bench-data", format_func=lambda code: names[code])
    return sample_dataset() if chosen == SAMPLE else kept_dataset(chosen)


def _rubric() -> tuple[Rubric, str | None]:
    known = all_rubrics()
    name = st.selectbox(tr("Rubric"), list(known), key="bench-rubric", format_func=lambda n: f"{n} · {tr(known[n][1])}")
    rubric = known[name][0]
    if len(rubric.criteria) == 1:
        return rubric, rubric.criteria[0].name
    names = [criterion.name for criterion in rubric.criteria]
    chosen = st.selectbox(tr("Criterion"), [*names, EVERY], key=f"bench-criterion-{name}", format_func=_criterion_words)
    return rubric, None if chosen == EVERY else chosen


def _criterion_words(name: str) -> str:
    return tr(EVERY) if name == EVERY else name


# ---------------------------------------------------------------- the rubric, edited in place


def edit(bench: Bench, version: Version) -> None:
    """The rubric of a version as tables; what is changed, what trying it takes, and the button."""
    tag = f"bench-{version.run}"
    with ui.faults():
        rubric = rubric_form.edit(version.rubric, tag, narrow=True)
        changes = rubric_diff(version.rubric, rubric)
        if changes:
            with st.container(border=True):
                st.markdown(tr("**Your edit**, against “{name}”", name=ui.plain(version.name)))
                show_changes(changes)
        _try(bench, version, rubric, tag, edited=bool(changes))


def _try(bench: Bench, version: Version, rubric: Rubric, tag: str, *, edited: bool) -> None:
    known = same_version(bench, rubric)
    takes = poke(ui.store(), bench, rubric)
    left = known is not None and takes.asked > 0
    name = version.name
    if edited and known is None:
        name = ui.name_input(
            tr("Name of this version"), _free_name(bench), key=f"{tag}-version", persist_state="session", most=40
        )
    elif edited and known is not None:
        st.caption(
            tr(
                "This is the rubric of version “{name}”: going back to it asks nothing twice.",
                name=ui.plain(known.name),
            )
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        limits = _limits(bench)
        label = tr("Try it") if edited and known is None else tr("Ask what is left") if left else tr("Open it")
        pressed = st.button(
            label,
            type="primary",
            icon=":material/bolt:",
            key=f"{tag}-try",
            disabled=not edited and not left,
            help=tr("Saves this state as a version and asks what has changed.") if edited else None,
        )
    st.caption(takes.sentence() if edited or left else tr("Change something above to try it."))
    if pressed:
        ui.start_or_ask(ui.manager(), name, lambda: _start(bench, version, rubric, name, limits, tag))


def _limits(bench: Bench) -> Limits:
    """What a poke may cost: in calls, and in money where the judge has a price."""
    most = st.number_input(
        tr("Calls, at most"),
        1,
        None,
        None,
        key="bench-budget",
        persist_state="session",
        width=130,
        placeholder=tr("no limit"),
    )
    money = None
    if bench.judge.price_input or bench.judge.price_output:
        money = st.number_input(
            tr("Money, at most"),
            0.0,
            None,
            None,
            key="bench-money",
            persist_state="session",
            width=130,
            placeholder=tr("no limit"),
        )
    return Limits(max_calls=None if most is None else int(most), max_money=money or None)


def _start(bench: Bench, version: Version, rubric: Rubric, name: str, limits: Limits, tag: str) -> Run:
    """Ask the version, open it, and let the edited tables of the one it came from be as they were."""
    known = same_version(bench, rubric)
    run = try_version(ui.manager(), bench, rubric, name=name, parent=version.run, limits=limits, secrets=ui.secrets())
    ui.discard(tag)
    go_to(bench.id, known.name if known else name)
    return run


def _free_name(bench: Bench) -> str:
    taken = {version.name for version in bench.versions}
    return next(f"version {n}" for n in range(len(taken) + 1, 10**6) if f"version {n}" not in taken)


def keep(version: Version) -> None:
    """The version's rubric into the list of rubrics, under a name of its own, and as a file."""
    rubric = replace(version.rubric, name=f"{version.rubric.name}, {version.name}")
    same = [known for known in ui.store().rubrics() if known.criteria == rubric.criteria]
    kept = any(known.name.startswith(rubric.name) for known in same)  # a number was added to a name that was taken
    with st.container(horizontal=True):
        if st.button(
            tr("Kept among the rubrics") if kept else tr("Keep among the rubrics"),
            key=f"bench-keep-{version.run}",
            icon=":material/save:",
            disabled=kept,
            help=tr("As “{name}”, to be used in a study.", name=ui.plain(rubric.name)),
        ):
            made = ui.store().add_rubric(rubric)
            ui.announce(tr("Kept “{name}”.", name=ui.plain(made.name)))
            st.rerun()
        st.download_button(
            "YAML",
            dump_rubric(rubric),
            f"{version.run}.yaml",
            key=f"bench-yaml-{version.run}",
            on_click="ignore",
            icon=":material/download:",
        )


# ---------------------------------------------------------------- what changed


def show_changes(changes: tuple[Change, ...]) -> None:
    """Removed words struck out behind a minus, added ones bold behind a plus; colour only helps."""
    for change in changes:
        st.markdown(f":gray[{ui.plain(change.where)}]  \n{' '.join(_marked(piece) for piece in change.pieces)}")


def _marked(piece: Piece) -> str:
    text = ui.plain(piece.text)
    if piece.kind == "removed":
        return f":red-background[− ~~{text}~~]"
    return f":green-background[\\+ **{text}**]" if piece.kind == "added" else text
