"""Try it: one text, rubric and judge in; two cards of the same words in two orders, and what asking
again changes, out.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from rubriclab.app import state
from rubriclab.app.call_browser import show_card
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
WHENS = "when the list is reversed", "when the first order is asked again"
FIRST = "kettle-refund"
"""The sample answer that the page begins with."""
MOST_SIGNS, MOST_RUNS, MOST_KEPT = 20_000, 20, 30
LOOK_SECONDS = 0.4
SIMULATED = JudgeSettings(
    name="simulated", kind="simulated", model="simulated", options={"first": 1.0}
)


def page() -> None:
    st.title("Try it: one answer, two orders", anchor=False)
    st.markdown("Same judge, same answer, same words. Only the order of the list changes.")
    planned = _asked()
    if planned is None:
        return
    trials: dict[str, Trial] = st.session_state.setdefault("try trials", {})
    trial = trials.get(planned.identity)
    if st.session_state.pop("try ask", False) and not (trial and trial.active):
        with faults():
            started = Trial(planned, state.store().consents())
            trial = trials[planned.identity] = started.start()
        for old in [key for key, kept in trials.items() if not kept.active][
            : max(0, len(trials) - MOST_KEPT)
        ]:
            del trials[old]
    judgments = [] if trial else recorded(planned, state.examples())
    watched = bool(trial and trial.active)
    st.fragment(run_every=LOOK_SECONDS if watched else None)(_result)(
        planned, trial, judgments, watched
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if trial is not None and watched:
            st.button("Stop", icon=":material/stop:", on_click=trial.pause, key="try-stop")
        else:
            (judge,) = planned.study.judges
            weights = CATALOGUE.get(judge.model if judge.about.small_model else "")
            size = (
                ""
                if weights is None or weights.present()
                else f" (downloads {weights.megabytes} MB)"
            )
            asking: Any = {
                "on_click": st.session_state.update,
                "args": ({"try ask": True},),
                "key": "try-ask",
            }
            st.button(
                f"Ask the judge{size}",
                icon=":material/play_arrow:",
                type="primary",
                shortcut="J",
                **asking,
            )
        more: Any = {"disabled": watched, "on_click": _next, "key": "try-next"}
        st.button("Next answer", icon=":material/skip_next:", shortcut="N", **more)
        if st.button(
            "Measure this on my texts", icon=":material/tune:", type="tertiary", key="try-measure"
        ):
            _measure(planned)
    if not watched:
        _orders(planned, list(trial.judgments.values()) if trial else judgments)


def _asked() -> Plan | None:
    """The plan of what the folded form says; None where it says none, and why stands there."""
    first = _examples("texts")[0][0].item_id, sample_rubrics()[0].name, next(iter(CATALOGUE))
    label = st.session_state.setdefault("try label", _label(first))
    with st.expander(label, icon=":material/edit:", key="try-form"), faults():
        axis: Any = segments(
            "What changes order?", AXES, key="try-axis", start="options", hidden=False
        )
        answers, judge = _answers("pairs" if axis == "pairs" else "texts"), _judge()
        planned = plan_of_text(axis, answers, _rubric(axis), judge)
        names = [
            ", ".join(item.item_id for item in answers),
            *[planned.rubric.name] * (axis != "pairs"),
            judge.name,
        ]
        headline = _label(names, judge.simulated)
        if headline != label:  # it stands above what it says
            st.session_state["try label"] = headline
            st.rerun()
        return planned
    return None


def _label(names: Sequence[str], simulated: bool = False) -> str:
    said = " · ".join(f"**{safe(name, 60)}**" for name in names)
    return f"Answer, rubric and judge: {said}{labelled('', simulated)}"


def _examples(kind: str) -> list[tuple[Item, ...]]:
    """The sample's texts that one call is about: an answer, or two drafts to one instruction;
    begins with FIRST.
    """
    items = sample(drafts=kind == "pairs").items
    groups = (
        list(zip(items[::2], items[1::2], strict=False))
        if kind == "pairs"
        else [(item,) for item in items]
    )
    return sorted(groups, key=lambda group: not group[0].item_id.startswith(FIRST))


def _answers(kind: str) -> tuple[Item, ...]:
    """The texts in the fields: items of the sample as long as nobody changes them. Raises LabError
    for an empty one.
    """
    groups = _examples(kind)
    titles = [", ".join(item.item_id for item in group) for group in groups]
    group = groups[
        _choice("Example", titles, f"try-{kind}", on_change=forget, args=(f"try-{kind}-",))
    ]
    labels = [
        "Instruction (optional)",
        *(("Answer A", "Answer B") if kind == "pairs" else ("Answer to score",)),
    ]
    texts = [group[0].instruction, *(item.response for item in group)]
    typed = [
        ask(
            st.text_area,
            label,
            key=f"try-{kind}-{label}",
            start=text,
            height=110,
            max_chars=MOST_SIGNS,
        )
        or ""
        for label, text in zip(labels, texts, strict=True)
    ]
    for label, text in zip(labels[1:], typed[1:], strict=True):
        if not text.strip():
            raise LabError(
                f"“{label}” is empty: write or paste the text that the judge is asked about."
            )
    if typed == texts:
        return group
    names = zip("AB" if kind == "pairs" else ["your answer"], typed[1:], strict=True)
    return tuple(Item(name, text, typed[0], prompt="yours", candidate=name) for name, text in names)


def _rubric(axis: str) -> Rubric:
    """A ready-made rubric, or the one of Set up, as it stands in the fields; of one criterion for
    score options.
    """
    ready = [*sample_rubrics()]
    with suppress(LabError):  # the one that is being set up may wait for its file
        ready += [rubric for rubric in [draft().rubric(None)] if rubric not in ready]
    ready = [rubric for rubric in ready if axis != "criteria" or len(rubric.criteria) > 1]
    if axis == "pairs":
        return ready[0]  # nothing of it is shown
    rubric = ready[_choice("Rubric", [rubric.name for rubric in ready], f"try-rubric-{axis}")]
    rubric = typed_rubric(rubric, f"try-rubric-{rubric.id[:8]}")
    if axis == "criteria" or len(rubric.criteria) == 1:
        return rubric
    chosen = _choice(
        "Criterion", [criterion.name for criterion in rubric.criteria], "try-criterion"
    )
    return Rubric(rubric.name, rubric.criteria[chosen : chosen + 1])


def _choice(label: str, names: Sequence[str], key: str, **more: Any) -> int:
    """The number of one of several names; the first where the one that was chosen is gone."""
    titles = [shorten(name, 60) for name in names]
    if st.session_state.get(key, 0) >= len(titles):
        del st.session_state[key]
    return int(
        ask(
            st.selectbox,
            label,
            range(len(titles)),
            key=key,
            start=0,
            format_func=titles.__getitem__,
            **more,
        )
    )


def _judge() -> JudgeSettings:
    """The small models, the judges of Set up and of own runs, or a simulated one.

    None that came with an import, whose server nobody has agreed to, and no own code but what Set
    up has shown.
    """
    judges = [*(JudgeSettings(name=name, model=name) for name in CATALOGUE), *draft().study.judges]
    store = state.store()
    for info in store.runs()[:MOST_RUNS]:
        kept = [] if store.imported(info.id) else store.study(info.id).get("judges", [])
        # A judge whose kind is no longer installed is left out.
        known_judges = [judge for body in kept for judge in judges_of({"judges": [body]})]
        judges += [judge for judge in known_judges if not judge.about.runs_code]
    known: dict[str, JudgeSettings] = {}
    for judge in (*judges, SIMULATED):
        known.setdefault(digest(judge.identity()), judge)
    judges = list(known.values())
    names = [f"{judge.name} · {_where(judge)}" for judge in judges]
    chosen = judges[_choice("Judge", names, "try-judge")]
    if chosen.simulated:
        st.caption("No model: its answers are made up, with a lean to the option listed first.")
    elif chosen.model in CATALOGUE:
        st.caption(safe(CATALOGUE[chosen.model].about))
    return chosen


def _where(judge: JudgeSettings) -> str:
    """Where a judge runs, in a few words."""
    if not judge.about.served:
        return judge.about.label
    return ", ".join(judge.base_urls) or judge.kind


def _next() -> None:
    """The next example; once the judge was asked it is asked about that one too."""
    kind = "pairs" if st.session_state["try-axis"] == "pairs" else "texts"
    st.session_state[f"try-{kind}"] = (st.session_state[f"try-{kind}"] + 1) % len(_examples(kind))
    forget(f"try-{kind}-")
    st.session_state["try ask"] = bool(st.session_state["try trials"])


def _measure(planned: Plan) -> None:
    """Open Set up with rubric, judge and what is reordered filled in; the data that stand there
    stay.
    """
    held, axis = draft(), planned.study.design.reorder
    if axis != "pairs":
        held.set_rubric(written(planned.rubric))
    held.change(
        judges=planned.study.judges, design=held.study.design.model_copy(update={"reorder": axis})
    )
    forget("rubric-", "orders-")
    open_row("judge", 0)
    open_step(1)
    go("setup")


def _result(planned: Plan, trial: Trial | None, known: Sequence[Judgment], watched: bool) -> None:
    """Two cards and the difference; while the judge is asked they fill one after the other."""
    if trial is not None and watched and not trial.active:
        st.rerun()
    made = {
        judgment.call.key: judgment for judgment in (trial.judgments.values() if trial else known)
    }
    arm = Judgments(trial_table(planned, list(made.values()))).arms[0]
    calls, axis = trial_calls(planned), str(planned.study.design.reorder)
    options = planned.rubric.criteria[0].options if axis == "options" else ()
    texts = {option.score: option.description for option in options}
    with st.container(key="try-cards"):
        *cards, beside = st.columns([1.1, 1.1, 0.9])
    for number, column in enumerate(cards):
        judgment = made.get(calls[number].key)
        blank = blank_card(
            axis, calls[number].ordering.shown, texts, "…" if watched else "Not asked"
        )
        card = card_of(arm, number, texts) or blank
        with column:
            show_card(card, partial(_failure, judgment) if judgment else None)
    with beside, st.container(border=True):
        st.header("Difference", anchor=False)
        changes = [change_of(arm, 0, number) for number in (1, 2)]
        for change, call, when in zip(changes, calls[1:], WHENS, strict=False):
            size = escape(
                change[0]
                if change
                else "not known"
                if call.key in made
                else "…"
                if watched
                else "not asked"
            )
            st.html(
                f'<div class="figures"><div><strong>{size}</strong><span>{when}</span></div></div>'
            )
        if trial is not None and (now := trial.snapshot()).state != "finished":
            stage = f" · {safe(now.stage, 200)}" if now.stage else ""
            st.markdown(f"{now.done} of {count(now.planned, 'call')}{stage}")
            if now.reason:
                st.markdown(f":orange[{safe(now.reason, 400)}]")
        key = "_".join(
            ["change", *("changed" if change[1] else "same" for change in changes if change)]
        )
        st.markdown(say(key if all(changes) else "example", ("trial",), what=WHAT[axis]))
    if trial is not None:
        st.caption("Asked here as an example: it is no run, and no result counts it.")
    else:
        st.caption(
            f"{'Recorded' if made else 'Not asked yet'}. Press Ask the judge for a live answer."
        )


def _failure(made: Judgment) -> None:
    """Why there is no score: the judge's fault, or the reply that none could be read from."""
    if made.reply.error:
        st.markdown(f":orange[The judge did not answer: {safe(made.reply.error, 300)}]")
    elif made.status != Status.OK:
        st.markdown("No score could be read from this reply:")
        verbatim(made.reply.text, height=120 if len(made.reply.text) > 300 else None)


def _orders(planned: Plan, judgments: Sequence[Judgment]) -> None:
    """The same text in every balanced order that was asked."""
    drawn = text_orders(Judgments(trial_table(planned, judgments)).arms[0])
    if drawn is None:
        return
    points = sorted(drawn.points, key=lambda point: point.value)
    numbers = {
        "low": points[0].text,
        "high": points[-1].text,
        "first": sum(point.decided for point in points),
    }
    st.header(say("title", ("trial",), orders=len(points)), anchor=False)
    chart(drawn, key="try-orders")
    st.caption(safe(say("orders", ("trial",), orders=len(points), **numbers)))
