"""Ask a judge about one answer in two orders, and show what changes.

The page keeps nothing: an example is not a run, and no result counts it. Calls that were recorded
with the lab are shown at once; others are made when the visitor asks for them.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from rubriclab.app import state
from rubriclab.app.call_browser import UNPARSED, show_card
from rubriclab.app.chart_view import chart
from rubriclab.app.draft import draft, written
from rubriclab.app.forms import ask, forget, open_row, open_step, segments
from rubriclab.app.frame import faults, go, labelled, safe, verbatim
from rubriclab.app.setup_rubric import typed_rubric
from rubriclab.core.judgments import Judgments
from rubriclab.data.sample import sample, sample_rubrics
from rubriclab.figures.cards import blank_card, card_of, change_of
from rubriclab.figures.pictures import text_orders
from rubriclab.judges.weights import CATALOGUE
from rubriclab.model.consent import judges_of
from rubriclab.model.data import Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Judgment, Status
from rubriclab.model.text import LabError, count, digest, shorten
from rubriclab.runs.trial import Trial, plan_of_text, recorded, trial_calls, trial_table
from rubriclab.study.plan import Plan
from rubriclab.words.phrases import say

AXES = {"options": "Score options", "pairs": "Two answers", "criteria": "Criteria"}
WHAT = {"options": "this score", "pairs": "the winner", "criteria": "scores"}
WHENS = ("when the list is reversed", "when the first order is repeated")
FIRST = "kettle-refund"
"""The sample answer that the page begins with."""
MOST_CHARACTERS = 20_000
"""Length of a text in the form. A small model's context holds no more."""
MOST_RUNS = 20
"""Latest runs whose judges are offered."""
MOST_KEPT = 30
"""Examples whose replies a visit keeps, so that going back to one costs no calls."""
REFRESH_SECONDS = 0.4
"""How often the cards are drawn again while the judge is asked."""
SIMULATED = JudgeSettings(
    name="simulated", kind="simulated", model="simulated", options={"first": 1.0}
)


def page() -> None:
    """Draw the form, the cards, the buttons, and the chart of all orders."""
    st.title("Try it: one answer, two orders", anchor=False)
    st.markdown("Same judge, same answer, same words. Only the order of the list changes.")
    planned = _form()
    if planned is None:
        return
    trial = _trial_of(planned)
    known = [] if trial else recorded(planned, state.examples())
    watched = bool(trial and trial.active)
    refreshed = st.fragment(run_every=REFRESH_SECONDS if watched else None)(_result)
    refreshed(planned, trial, known, watched)
    with st.container(horizontal=True, vertical_alignment="center"):
        if trial is not None and watched:
            st.button("Stop", icon=":material/stop:", on_click=trial.pause, key="try-stop")
        else:
            _ask_button(planned)
        more: Any = {"disabled": watched, "on_click": _next, "key": "try-next"}
        st.button("Next answer", icon=":material/skip_next:", shortcut="N", **more)
        if st.button(
            "Measure my answers", icon=":material/tune:", type="tertiary", key="try-measure"
        ):
            _measure(planned)
    if not watched:
        _orders(planned, list(trial.judgments.values()) if trial else known)


def _trial_of(planned: Plan) -> Trial | None:
    """Return what was asked in this visit for the plan; start it if the visitor pressed the button.

    Trials are kept by plan, so that the visitor can go back to an earlier example. Beyond
    MOST_KEPT, the oldest ones are forgotten.
    """
    trials: dict[str, Trial] = st.session_state.setdefault("try trials", {})
    trial = trials.get(planned.identity)
    wanted = st.session_state.pop("try ask", False)
    if not wanted or (trial and trial.active):
        return trial
    with faults():
        started = Trial(planned, state.store().consents())
        trial = trials[planned.identity] = started.start()
    ended = [key for key, kept in trials.items() if not kept.active]
    for key in ended[: max(0, len(trials) - MOST_KEPT)]:
        del trials[key]
    return trial


def _ask_button(planned: Plan) -> None:
    """Draw the button that asks the judge, with the size of a model that has to be downloaded."""
    (judge,) = planned.study.judges
    label = "Ask the judge"
    weights = CATALOGUE.get(judge.model) if judge.about.small_model else None
    if weights is not None and weights.download_megabytes:
        label += f" (downloads {weights.download_megabytes} MB)"
    st.button(
        label,
        icon=":material/play_arrow:",
        type="primary",
        shortcut="J",
        key="try-ask",
        on_click=st.session_state.update,
        args=({"try ask": True},),
    )


def _form() -> Plan | None:
    """Draw the folded form; return the plan of what it says, or None if it is not complete.

    The form's label says what is chosen in it, so it is known only after the form is drawn. If it
    has changed, the page runs again with the new label.
    """
    first = _examples("texts")[0][0].item_id, sample_rubrics()[0].name, next(iter(CATALOGUE))
    label = st.session_state.setdefault("try label", _label(first))
    with st.expander(label, icon=":material/edit:", key="try-form"), faults():
        axis: Any = segments(
            "What changes order?", AXES, key="try-axis", start="options", hidden=False
        )
        answers, judge = _answers("pairs" if axis == "pairs" else "texts"), _judge()
        planned = plan_of_text(axis, answers, _rubric(axis), judge)
        names = [", ".join(item.item_id for item in answers)]
        if axis != "pairs":
            names.append(planned.rubric.name)
        names.append(judge.name)
        chosen = _label(names, judge.simulated)
        if chosen != label:
            st.session_state["try label"] = chosen
            st.rerun()
        return planned
    return None


def _label(names: Sequence[str], simulated: bool = False) -> str:
    shown = " · ".join(f"**{safe(name, 60)}**" for name in names)
    return f"Answer, rubric and judge: {shown}{labelled('', simulated)}"


def _examples(kind: str) -> list[tuple[Item, ...]]:
    """Return the sample's texts for one call each, FIRST at the beginning.

    ``kind``: “pairs” gives two drafts for the same prompt, anything else a single answer.
    """
    items = sample(drafts=kind == "pairs").items
    if kind == "pairs":  # the two drafts for a prompt follow each other
        groups: list[tuple[Item, ...]] = list(zip(items[::2], items[1::2], strict=False))
    else:
        groups = [(item,) for item in items]
    return sorted(groups, key=lambda group: not group[0].item_id.startswith(FIRST))


def _answers(kind: str) -> tuple[Item, ...]:
    """Return the texts in the fields, as items of the sample as long as nobody changes them.

    Raises LabError for an empty answer.
    """
    groups = _examples(kind)
    titles = [", ".join(item.item_id for item in group) for group in groups]
    start_again: Any = {"on_change": forget, "args": (f"try-{kind}-",)}
    group = groups[_choice("Example", titles, f"try-{kind}", **start_again)]
    answer_labels = ["Answer A", "Answer B"] if kind == "pairs" else ["Answer to score"]
    labels = ["Prompt (optional)", *answer_labels]
    texts = [group[0].instruction, *(item.response for item in group)]
    typed = []
    for label, text in zip(labels, texts, strict=True):
        key = f"try-{kind}-{label}"
        limits = {"height": 110, "max_chars": MOST_CHARACTERS}
        typed.append(ask(st.text_area, label, key=key, start=text, **limits) or "")
    prompt, *answers = typed
    for label, text in zip(answer_labels, answers, strict=True):
        if not text.strip():
            raise LabError(f"“{label}” is empty. Write or paste the text to judge.")
    if typed == texts:
        return group
    names = ["A", "B"] if kind == "pairs" else ["your answer"]
    return tuple(
        Item(name, text, prompt, prompt="yours", candidate=name)
        for name, text in zip(names, answers, strict=True)
    )


def _rubric(axis: str) -> Rubric:
    """Return a ready-made rubric, or the one of Set up, as the fields say.

    If score options are reordered, it has only the chosen criterion.
    """
    ready = [*sample_rubrics()]
    with suppress(LabError):  # the rubric of Set up may wait for its file
        own = draft().rubric(None)
        if own not in ready:
            ready.append(own)
    if axis == "pairs":
        return ready[0]  # pairs show nothing of it
    if axis == "criteria":
        ready = [rubric for rubric in ready if len(rubric.criteria) > 1]
    rubric = ready[_choice("Rubric", [rubric.name for rubric in ready], f"try-rubric-{axis}")]
    rubric = typed_rubric(rubric, f"try-rubric-{rubric.id[:8]}")
    if axis == "criteria" or len(rubric.criteria) == 1:
        return rubric
    names = [criterion.name for criterion in rubric.criteria]
    chosen = _choice("Criterion", names, "try-criterion")
    return Rubric(rubric.name, rubric.criteria[chosen : chosen + 1])


def _choice(label: str, names: Sequence[str], key: str, **more: Any) -> int:
    """Ask for one of several names; return its number, or 0 if the chosen one is gone."""
    titles = [shorten(name, 60) for name in names]
    if st.session_state.get(key, 0) >= len(titles):
        del st.session_state[key]
    title_of = titles.__getitem__
    numbers = range(len(titles))
    return int(ask(st.selectbox, label, numbers, key=key, start=0, format_func=title_of, **more))


def _judge() -> JudgeSettings:
    """Ask for a judge: a small model, one of Set up or of an own run, or a simulated one.

    Judges of imported runs are left out, because nobody has agreed to ask their servers. Own code
    runs only if it was looked at in Set up, so the judges of earlier runs with own code are left
    out, too.
    """
    judges = [*(JudgeSettings(name=name, model=name) for name in CATALOGUE), *draft().study.judges]
    store = state.store()
    for info in store.runs()[:MOST_RUNS]:
        if store.imported(info.id):
            continue
        # A judge whose kind is no longer installed is left out.
        for body in store.study(info.id).get("judges", []):
            judges += [
                judge for judge in judges_of({"judges": [body]}) if not judge.about.runs_code
            ]
    known: dict[str, JudgeSettings] = {}
    for judge in (*judges, SIMULATED):
        known.setdefault(digest(judge.identity()), judge)
    judges = list(known.values())
    names = [f"{judge.name} · {_where(judge)}" for judge in judges]
    chosen = judges[_choice("Judge", names, "try-judge")]
    if chosen.simulated:
        st.caption("Not a model: it makes up replies that favour the option listed first.")
    elif chosen.model in CATALOGUE:
        st.caption(safe(CATALOGUE[chosen.model].about))
    return chosen


def _where(judge: JudgeSettings) -> str:
    """Return where a judge runs, in a few words."""
    if not judge.about.served:
        return judge.about.label
    return ", ".join(judge.base_urls) or judge.kind


def _next() -> None:
    """Choose the next example. If the judge was asked before, it is asked about this one too."""
    kind = "pairs" if st.session_state["try-axis"] == "pairs" else "texts"
    st.session_state[f"try-{kind}"] = (st.session_state[f"try-{kind}"] + 1) % len(_examples(kind))
    forget(f"try-{kind}-")
    st.session_state["try ask"] = bool(st.session_state["try trials"])


def _measure(planned: Plan) -> None:
    """Open Set up with rubric, judge, and order filled in. Data that were chosen there stay."""
    held, axis = draft(), planned.study.design.reorder
    if axis != "pairs":
        held.set_rubric(written(planned.rubric))
    design = held.study.design.model_copy(update={"reorder": axis})
    held.change(judges=planned.study.judges, design=design)
    forget("rubric-", "orders-")
    open_row("judge", 0)
    open_step(1)
    go("setup")


def _result(planned: Plan, trial: Trial | None, known: Sequence[Judgment], watched: bool) -> None:
    """Draw two cards and their difference. While the judge is asked, they fill one by one.

    ``watched``: whether the judge was still being asked when the page was drawn.
    """
    if trial is not None and watched and not trial.active:
        st.rerun()  # the whole page: the buttons and the chart change, too
    judgments = trial.judgments.values() if trial else known
    made = {judgment.call.key: judgment for judgment in judgments}
    arm = Judgments(trial_table(planned, list(made.values()))).arms[0]
    calls, axis = trial_calls(planned), str(planned.study.design.reorder)
    options = planned.rubric.criteria[0].options if axis == "options" else ()
    texts = {option.score: option.description for option in options}
    with st.container(key="try-cards"):
        *cards, last = st.columns([1.1, 1.1, 0.9])
    waiting = "…" if watched else "Not asked"
    for number, column in enumerate(cards):
        judgment = made.get(calls[number].key)
        card = card_of(arm, number, texts)
        if card is None:
            card = blank_card(axis, calls[number].ordering.shown, texts, waiting)
        with column:
            show_card(card, partial(_failure, judgment) if judgment else None)
    with last, st.container(border=True):
        st.header("Difference", anchor=False)
        changes = [change_of(arm, 0, number) for number in (1, 2)]
        for change, call, when in zip(changes, calls[1:], WHENS, strict=False):
            size = waiting.lower()
            if change:
                size = change[0]
            elif call.key in made:
                size = "unknown"
            figure = f"<div><strong>{escape(size)}</strong><span>{when}</span></div>"
            st.html(f'<div class="figures">{figure}</div>')
        if trial is not None:
            _progress(trial)
        st.markdown(say(_conclusion(changes), ("trial",), what=WHAT[axis]))
    if trial is not None:
        st.caption("An example, asked here. It is not a run, and no result counts it.")
    else:
        st.caption(
            f"{'Recorded' if made else 'Not asked yet'}. Press Ask the judge for a live reply."
        )


def _progress(trial: Trial) -> None:
    """Say how far an example is that has not finished, and what went wrong."""
    now = trial.snapshot()
    if now.state == "finished":
        return
    stage = f" · {safe(now.stage, 200)}" if now.stage else ""
    st.markdown(f"{now.done} of {count(now.planned, 'call')}{stage}")
    if now.reason:
        st.markdown(f":orange[{safe(now.reason, 400)}]")


def _conclusion(changes: Sequence[tuple[str, bool] | None]) -> str:
    """Return the key of the sentence about both changes: of the order, and of a repeat."""
    words = ["change"]
    for change in changes:
        if change is None:
            return "example"
        words.append("changed" if change[1] else "same")
    return "_".join(words)


def _failure(made: Judgment) -> None:
    """Say why there is no score: the judge failed, or its reply could not be parsed."""
    if made.reply.error:
        st.markdown(f":orange[The judge did not reply: {safe(made.reply.error, 300)}]")
    elif made.status != Status.OK:
        st.markdown(f"{UNPARSED}:")
        verbatim(made.reply.text, height=120 if len(made.reply.text) > 300 else None)


def _orders(planned: Plan, judgments: Sequence[Judgment]) -> None:
    """Draw the score of this answer in every balanced order that was asked."""
    picture = text_orders(Judgments(trial_table(planned, judgments)).arms[0])
    if picture is None:
        return
    points = sorted(picture.points, key=lambda point: point.value)
    numbers = {
        "low": points[0].text,
        "high": points[-1].text,
        "first": sum(point.decided for point in points),
    }
    st.header(say("title", ("trial",), orders=len(points)), anchor=False)
    chart(picture, key="try-orders")
    st.caption(safe(say("orders", ("trial",), orders=len(points), **numbers)))
