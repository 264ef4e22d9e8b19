"""The workbench of the page “Your prompt”: some real replies, how they are read, and the launch."""

from __future__ import annotations

from typing import cast, get_args

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.prompt import Draft, calls_each, study_of, texts_of
from rubriclab.app.views import prompt as views
from rubriclab.model import Judge, LabError, StudyError
from rubriclab.model.answers import answer_words, check_rule
from rubriclab.model.hashing import fingerprint
from rubriclab.model.language import msg, tr
from rubriclab.model.prompt import AnswerReading, AnswerRule
from rubriclab.model.wording import many
from rubriclab.runs.workbench import REPLIES, Asked, failed, first_replies, offers, outcome

OTHERWISE = msg("Otherwise …")
SECONDS, TEXTS, FEWEST = 45.0, 12, 8
"""What a first measurement should take; its texts at most, and at least: fewer prompts have no interval."""
PARTS = {"json": msg("Path"), "regex": msg("Pattern"), "tag": msg("Tag")}
LOOK = 1.0
"""Seconds between two looks at a run that is going."""


def workbench(draft: Draft, judge: Judge) -> AnswerRule:
    """The replies, asked once a button is pressed, and how they are to be read."""
    st.subheader(tr("What it answers"), anchor=False)
    own = draft.template.answer
    study = study_of(draft, judge, texts=REPLIES)
    key = fingerprint([study.id, draft.template.id])
    kept: dict[str, tuple[Asked, ...]] = st.session_state.setdefault("prompt-replies", {})
    if st.button(tr("Ask for {n} real replies", n=REPLIES), icon=":material/forum:", key="prompt-ask"):
        with ui.faults():
            kept.clear()
            kept[key] = _ask(draft, judge)
    asked = kept.get(key, ())
    if not asked:
        st.caption(
            tr(
                "{n} calls to {name}; nothing is stored. Its answers are read by {words}.",
                n=REPLIES,
                name=ui.plain(judge.name),
                words=_words(own),
            )
        )
        return own
    for fault in failed(asked):
        st.error(ui.plain(fault), icon=":material/error:")
    rule = _rule(own, asked)
    views.replies(asked, [outcome(study, one, rule) for one in asked])
    return rule


def _words(rule: AnswerRule) -> str:
    return ui.plain(answer_words(rule))


def _ask(draft: Draft, judge: Judge) -> tuple[Asked, ...]:
    """Asked now, with a word on how far it is."""
    bar = st.progress(0.0, text=tr("Starting the judge …"))
    done: list[Asked] = []

    def fetched(got: int, total: int, source: str) -> None:
        amount = tr("{got:.0f} of {total:.0f} MB", got=got / 1e6, total=total / 1e6)
        bar.progress(
            min(1.0, got / total) if total else 0.0,
            tr("Fetching weights: {amount} from {source}", amount=amount, source=ui.plain(source)),
        )

    def heard(one: Asked) -> None:
        done.append(one)
        bar.progress(
            min(1.0, len(done) / REPLIES), text=tr("{replies} of {n}", replies=many(len(done), "reply"), n=REPLIES)
        )

    study = study_of(draft, judge, texts=REPLIES)
    found = first_replies(study, ui.store(), secrets=ui.secrets(), progress=fetched, heard=heard)
    bar.empty()
    return found


def _rule(own: AnswerRule, asked: tuple[Asked, ...]) -> AnswerRule:
    """How the answer is read: as the prompt says, simpler, or in words of the user's own."""
    reading = asked[0].call.reading
    labels = reading.labels if reading else asked[0].call.ordering.labels
    texts = [one.reply.text for one in asked if one.reply.error is None]
    names = {views.offer_words(one, len(texts)): one.rule for one in offers(own, texts, labels)}
    chosen = st.selectbox(
        tr("How the answer is read"),
        [*names, OTHERWISE],
        key=f"prompt-rule-{fingerprint(own.read)}",
        format_func=_rule_words,
    )
    if chosen != OTHERWISE:
        return names[str(chosen)]
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    kinds = [kind for kind in get_args(AnswerReading) if kind in PARTS]
    kind = cast(AnswerReading, left.selectbox(tr("It stands in"), kinds, key="prompt-rule-kind"))
    part = right.text_input(tr(PARTS[kind]), key=f"prompt-rule-{kind}", placeholder=_EXAMPLES[kind])
    if not part.strip():
        return own
    said = part.strip()
    rule = AnswerRule(
        kind,
        path=said if kind == "json" else "",
        pattern=said if kind == "regex" else "",
        tag=said if kind == "tag" else "",
    )
    try:
        check_rule(rule)
    except ValueError as fault:
        raise StudyError(str(fault)) from fault
    return rule


def _rule_words(name: str) -> str:
    return tr(OTHERWISE) if name == OTHERWISE else name


_EXAMPLES = {"json": "verdict.score", "regex": r"Score: (\S+)", "tag": "score"}


# ---------------------------------------------------------------- the run


def launch(draft: Draft, judge: Judge) -> None:
    """How many texts, what that takes, and the button."""
    st.subheader(tr("Measure it"), anchor=False)
    one = study_of(draft, judge, texts=1)
    calls, groups = calls_each(one), texts_of(draft)
    pace = _pace()
    usual = TEXTS if pace is None else round(SECONDS / max(pace * calls, 0.01))
    texts = st.slider(tr("Texts"), 1, groups, min(groups, max(FEWEST, min(TEXTS, usual)))) if groups > 1 else 1
    study = study_of(draft, judge, texts=int(texts))
    planned = round(calls * len(study.dataset))
    time = tr(", about {time}", time=ui.duration(planned * pace)) if pace is not None else ""
    st.caption(
        tr(
            "{calls}{time}: each option at each place equally often, and one order twice, which shows the "
            "judge's own noise.",
            calls=many(planned, "call"),
            time=time,
        )
    )
    if st.button(
        tr("Measure {name}", name=judge.name), type="primary", icon=":material/rocket_launch:", key="prompt-launch"
    ):
        with ui.faults():
            run = ui.manager().start(study, secrets=ui.secrets())
            st.session_state["prompt-run"] = st.session_state["run"] = run.info.run
            st.rerun()


def _pace() -> float | None:
    """Seconds a call, of the replies that were asked for; the first one, which warms up, apart."""
    kept: dict[str, tuple[Asked, ...]] = st.session_state.get("prompt-replies", {})
    seconds = [one.reply.latency for asked in kept.values() for one in asked[1:] if one.reply.error is None]
    return sum(seconds) / len(seconds) if seconds else None


def going() -> bool:
    """Show the run that this page started while it goes, then lead to its heatmap; False where there is none."""
    run = ui.manager().get(str(st.session_state.get("prompt-run", "")))
    if run is None:
        return False
    if run.snapshot().active:
        st.fragment(_watch, run_every=LOOK)(run.info.run)
        return True
    st.session_state.pop("prompt-run")
    shown = run.snapshot()
    if shown.state == "finished":
        ui.open_findings(run.info)
    raise LabError(
        tr("The run stopped: {why}. It can be gone on with on the Runs page.", why=shown.reason or shown.state)
    )


def _watch(name: str) -> None:
    run = ui.manager().get(name)
    if run is None or not run.snapshot().active:
        st.rerun()
    st.subheader(tr("Measuring"), anchor=False)
    ui.run_progress(run)
    st.caption(tr("The heatmap opens by itself when the last answer is there."))
