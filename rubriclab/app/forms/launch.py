"""Before a study is launched: what it will take, how balanced it is, what is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.study import SETTLES, Prepared, Setup
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.embedded import CONTEXT_TOKENS
from rubriclab.judges.weights import CATALOGUE, is_cached
from rubriclab.model import Comparison, Strategy, designs
from rubriclab.model.designs import Balance
from rubriclab.model.language import figure, tr
from rubriclab.model.option_sets import named_by_set
from rubriclab.model.wording import arm_name, many
from rubriclab.runs.cost import JudgeCost, answer_mode, estimate, measured, same_order_repeats
from rubriclab.runs.sequential import Mixed, StopAtWidth, StopWhenSettled
from rubriclab.study.plan import Plan
from rubriclab.study.protocols import PROTOCOLS
from rubriclab.study.writing import study_files

ITEMS_CHECKED = 200
SHADE = "rgba(58, 131, 181, {:.2f})"
"""A blue that reads under black and under white text; the share of the greatest count as alpha."""


def summary(prepared: Prepared) -> None:
    """Calls, tokens, time and price, in all and by judge; what of it is assumed."""
    costs = costs_of(prepared)
    calls, tokens = len(prepared.plan), sum(c.tokens_in + c.tokens_out for c in costs)
    seconds = max((c.seconds for c in costs), default=0.0)
    shown = (
        (tr("Calls"), figure(calls, ","), None),
        (tr("Tokens, about"), _short(tokens), tr("Input and output, an estimate: see what it rests on.")),
        (tr("Time, about"), _time(seconds), tr("Judges work side by side; the slowest counts.")),
        (
            tr("Price, about"),
            _money([c.money for c in costs]),
            tr(
                "At the prices set for each judge; one on this machine costs nothing. Unknown where a served "
                "judge has no prices."
            ),
        ),
    )
    with st.container(horizontal=True, gap="medium"):
        for label, amount, about in shown:
            st.metric(label, amount, help=about, width="content")
    rows = [(c.judge, c.calls, c.tokens_in, c.tokens_out, _time(c.seconds), _money([c.money]), c.basis) for c in costs]
    names = [
        tr("judge"),
        tr("calls"),
        tr("tokens in"),
        tr("tokens out"),
        tr("time"),
        tr("price"),
        tr("what this rests on"),
    ]
    with st.expander(tr("By judge, and what these numbers rest on"), icon=":material/calculate:"):
        st.dataframe(pd.DataFrame(rows, columns=names), hide_index=True, width="stretch")
    repeats = same_order_repeats(prepared.plan)[1]
    for note in (repeats, *prepared.plan.notes[:5], *_warnings(prepared, costs)):
        st.caption(f":material/info: {ui.plain(note)}")


def costs_of(prepared: Prepared) -> tuple[JudgeCost, ...]:
    """The estimate, from what earlier runs of the same judges took."""
    store, study = ui.store(), prepared.plan.study
    runs = store.runs()
    known = {
        judge.name: measured(
            store, runs, judge, dataset=study.dataset.name, axis=study.design.axis, answer=answer_mode(prepared.plan)
        )
        for judge in study.judges
    }
    return estimate(prepared.plan, known)


def _warnings(prepared: Prepared, costs: tuple[JudgeCost, ...]) -> list[str]:
    found = []
    for judge, taken in zip(prepared.study.judges, costs, strict=True):
        if not JUDGE_KINDS[judge.kind].own:
            continue
        room = int(judge.options.get("context", CONTEXT_TOKENS))
        if taken.longest_prompt > room:
            found.append(
                tr(
                    "The longest prompt has about {longest:,.0f} tokens; {name} has room for {room:,}: such "
                    "calls will end in an error.",
                    longest=taken.longest_prompt,
                    name=judge.name,
                    room=room,
                )
            )
        if judge.model in CATALOGUE and "path" not in judge.options and not is_cached(judge.model):
            weights = CATALOGUE[judge.model]
            found.append(
                tr(
                    "{name} fetches its weights first ({size:.0f} MB). {sources}",
                    name=judge.name,
                    size=weights.size / 1e6,
                    sources=weights.sources,
                )
            )
    return found


def _time(seconds: float) -> str:
    return ui.duration(seconds) if seconds >= 1 else tr("under 1 s")


def _money(parts: Sequence[float | None]) -> str:
    if None in parts:
        return tr("unknown")
    total = sum(part for part in parts if part is not None)
    if total >= 0.005:
        return figure(total, ",.2f")
    return tr("under {least:.2f}", least=0.01) if total else tr("free")


def _short(number: float) -> str:
    for size, mark in ((1e9, tr("bn")), (1e6, tr("M")), (1e3, tr("k"))):
        if number >= size:
            return f"{figure(number / size, '.3g')} {mark}"
    return figure(number, ".0f")


# ---------------------------------------------------------------- balance


def balance_checks(prepared: Prepared) -> None:
    """Each way of ordering: how often each option stands where, and after what."""
    strategies = prepared.study.design.strategies
    for strategy in strategies:
        found = _balance(prepared, strategy)
        with st.container(border=True):
            st.markdown(
                f"**{ui.plain(_called(strategy.name))}**: {many(found.reads, 'read')}, "
                f"{many(found.distinct, 'different order')}. {found.sentence()}"
            )
            left, right = st.columns(2, gap="medium")
            with left:
                st.caption(tr("How often each stands at each position"))
                _counts(found.exposure, found, "position")
            with right:
                st.caption(tr("How often each (row) follows each other (column)"))
                _counts(found.follows, found, "after")


def _called(strategy: str) -> str:
    """A way of ordering as the form above calls it; one that has a name of its own goes by that."""
    titles: dict[str, str] = {kind: scheme.title for kind, scheme in designs.STRATEGIES.items()}
    return tr(titles[strategy]) if strategy in titles else strategy


def _balance(prepared: Prepared, strategy: Strategy) -> Balance:
    """Over one unit; over the first units, as if of the same options, where each draws its own."""
    study = prepared.plan.study
    protocol = PROTOCOLS[study.design.axis]
    arm = next(arm for arm in prepared.plan.arms if arm.strategy == strategy.name)
    units = [unit for unit in protocol.units(study)[0] if protocol.fits(study, arm, unit)]
    first = units[0].options
    several = designs.STRATEGIES[strategy.kind].drawn and not strategy.shared
    shown = [
        line
        for unit in units[: ITEMS_CHECKED if several else 1]
        for line in protocol.lines(arm, strategy, replace(unit, options=first), seed=study.design.seed)
    ]
    return designs.balance(first if first and set(first) == set(shown[0]) else arm.scores, shown)


def _counts(counts: tuple[tuple[int, ...], ...], found: Balance, what: str) -> None:
    """A small table whose cells are shaded by their count."""
    names = [str(option) for option in found.options]
    columns = [str(p + 1) for p in range(len(names))] if what == "position" else names
    table = pd.DataFrame([list(row) for row in counts], index=names, columns=columns)
    most = max((c for row in counts for c in row), default=0) or 1
    shaded = table.style.map(lambda count: f"background-color: {SHADE.format(0.55 * count / most)}")
    st.dataframe(shaded, width="stretch", height=36 * len(names) + 38)


# ---------------------------------------------------------------- the prompt


def prompt_preview(prepared: Prepared) -> None:
    """Any call of the study, word for word as it will be sent."""
    planned = prepared.plan
    left, middle, right = st.columns([4, 2, 2], vertical_alignment="bottom")
    with left:
        arm = _arm(planned)
    items = planned.study.dataset.items
    number = middle.number_input(tr("Item"), 1, len(items), 1, key=f"study-item-shown-{len(items)}")
    calls = planned.calls_about(int(number) - 1, arm=arm)
    if not calls:
        st.info(tr("This item is not judged in this arm (another scale, or no reference answer)."))
        return
    read = right.number_input(tr("Read no."), 1, len(calls), 1, key=f"study-read-shown-{len(calls)}")
    call = calls[int(read) - 1]
    own = planned.study.prompt_of(planned.arms[arm].variant)
    sent = (
        tr("template {template}", template=call.template) if own is None else tr("your prompt “{name}”", name=own.name)
    )
    shown = call.ordering.labels
    labels = tr(" · labels {labels}", labels=" ".join(shown)) if shown else ""
    st.caption(
        ui.plain(
            tr(
                "Item {item_id} · shown order {ordering}{labels} · {sent} · call {key}",
                item_id=items[call.items[0]].item_id,
                ordering=call.ordering,
                labels=labels,
                sent=sent,
                key=call.key[:12],
            )
        )
    )
    for message in call.messages:
        ui.verbatim(message["content"], label=f"[{ui.plain(message['role'])}]")


def _arm(planned: Plan) -> int:
    """The arm whose calls are shown; a study's one data set is named only where arms differ by its scales."""
    arms = named_by_set(planned.arms)
    shown = [replace(arm, strategy=_called(arm.strategy)) for arm in arms]
    names = [arm_name(replace(arm, dataset="") if arms is planned.arms else arm) for arm in shown]
    # By another key once the arms are others: the browser would go on showing the name of one that is gone.
    key = f"study-arm-shown-{hash(tuple(names))}"
    return int(st.selectbox(tr("Arm"), range(len(names)), key=key, format_func=names.__getitem__))


# ---------------------------------------------------------------- launch


def launch(setup: Setup, prepared: Prepared) -> None:
    """The button, and what it will do where the run exists already."""
    known = next((info for info in ui.store().runs(deleted=True) if info.run == prepared.run), None)
    if known is not None:
        left = known.planned - known.done
        st.info(
            tr(
                "This study has a run: {done:,} of {calls} {calls:is|are} judged. ",
                done=known.done,
                calls=many(known.planned, "call"),
            )
            + (
                tr("It is finished; nothing will be asked again.")
                if left <= 0
                else tr("Launching goes on with the {left:,} that are left.", left=left)
            ),
            icon=":material/history:",
        )
    label = tr("Launch: {calls}", calls=many(len(prepared.plan), "call"))
    if st.button(label, type="primary", icon=":material/rocket_launch:", key="study-launch"):
        with ui.faults():
            ui.start_or_ask(ui.manager(), prepared.study.name, partial(_start, setup, prepared))
    if not isinstance(prepared.study.dataset.items[0], Comparison):
        st.download_button(
            tr("The same as a study file (zip)"),
            partial(study_files, prepared.study),
            f"{prepared.run}.zip",
            key="study-files",
            on_click="ignore",
            icon=":material/download:",
            help=tr("study.toml and its data, for `python -m rubriclab run study.toml --store …`."),
        )
    if pauses := list(_pauses(setup)):
        st.caption(tr("Pauses {pauses}; it can be gone on with.", pauses=tr(" or ").join(pauses)))


def _start(setup: Setup, prepared: Prepared) -> None:
    """Start the run with its rules of stopping, and go to where it is watched."""
    agenda = Mixed(prepared.plan) if setup.stop_settled or setup.stop_width is not None else None
    run = ui.manager().start(prepared.study, limits=setup.limits, secrets=ui.secrets(), agenda=agenda)
    if setup.stop_width is not None:
        StopAtWidth(run, ui.store(), width=setup.stop_width).start()
    if setup.stop_settled:
        StopWhenSettled(run, ui.store()).start()
    st.session_state["run"] = run.info.run
    st.switch_page("pages/runs.py")


def _pauses(setup: Setup) -> Iterator[str]:
    """When the run will pause by itself."""
    if setup.stop_settled:
        yield tr("once it is settled {what}", what=tr(SETTLES[setup.design.axis]))
    if setup.stop_width is not None:
        yield tr("when the interval on V is narrower than {width:g}", width=setup.stop_width)
    if setup.limits.max_calls is not None:
        yield tr("at {calls}", calls=many(setup.limits.max_calls, "call"))
    if setup.limits.max_money is not None:
        yield tr("at {money:g} of money", money=setup.limits.max_money)
