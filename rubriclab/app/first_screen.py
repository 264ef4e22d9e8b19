"""Draw the first screen of Results: the verdict, its picture, an example, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from rubriclab.app import answer_tabs
from rubriclab.app.frame import labelled, safe, verbatim
from rubriclab.core.topic import Findings
from rubriclab.figures.evidence import (
    Evidence,
    OrderOrNoise,
    Passes,
    RuledOut,
    Stack,
    SwingExample,
    evidence_of,
)
from rubriclab.figures.pictures import Shown
from rubriclab.model.text import shorten
from rubriclab.words.answer import Answer, Question
from rubriclab.words.subject import Subject

LOOKS = {
    "Biased": "biased",
    "Bias too small to matter": "fine",
    "No bias that matters": "fine",
    "No bias seen yet": "unseen",
    "Can't tell yet": "open",
}
"""How the badge of each word of the ladder looks, as ``style.css`` names it.

The colour says what the word means for you. A hollow badge is not proven.
"""
QUESTION_LOOKS = {
    "Yes": "biased",
    "Yes, size unclear": "biased",
    "No": "fine",
    "Too small to matter": "fine",
    "Not seen yet": "unseen",
    "Can't tell yet": "open",
}
COLOURS = {"biased": "orange", "fine": "green", "unseen": "green", "open": "gray"}
MOST_REPLY = 600
"""Characters of a reply that could not be parsed."""


def badge(word: str) -> str:
    """Return the badge of a word of the ladder as markdown; empty without a word."""
    return f":{COLOURS[LOOKS[word]]}-badge[{word}]" if word else ""


def draw(
    answer: Answer,
    findings: Findings,
    subject: Subject,
    shown: Shown,
    *,
    key: str,
    on_click: Callable[[], None],
    text_of: Callable[[int], str],
    read_orders: Callable[[str], None],
    instead: Callable[[], None] | None = None,
    below: Callable[[], None] | None = None,
) -> None:
    """Draw headline, badge and line; then the picture, and beside it the example and the questions.

    ``on_click``: called after a click on a cell. ``text_of``: the text that a call judged.
    ``read_orders``: opens all orders of an answer, by its ID. ``instead``: drawn in place of the
    picture, where there is none. ``below``: drawn under the advice.
    """
    heading(answer)
    left, right = st.columns([1.18, 1], gap="large")
    with left:
        if instead is not None:
            instead()
        elif shown.picture is not None:
            with st.container(key="pictures-bias"):
                _picture(shown, key, on_click)
    with right:
        _evidence(evidence_of(findings, subject, text_of), read_orders)
        if answer.questions:
            _questions(answer.questions)
        if answer.advice:
            with st.container(key="advice"):
                st.markdown(f"**What to do.** {safe(answer.advice)}")
        answer_tabs.show_cautions(answer.cautions[: answer_tabs.MOST_CAUTIONS])
        if below is not None:
            below()


def heading(answer: Answer) -> None:
    """Draw the answer as the title of the page, with its badge, and the line below it."""
    word = answer.word or ""
    if answer.early:
        st.markdown(f":gray[:material/hourglass_top: {safe(answer.early)}]")
    look = LOOKS.get(word, "none")
    with st.container(key=f"word-{look}"):
        title = labelled(answer.headline, answer.simulated)
        st.title(f"{title} {badge(word)}".strip(), anchor=False)
        st.markdown(answer_tabs.emphasised(answer.line, answer.strong))
    if answer.looked:
        st.markdown(f":gray[:material/flag: {safe(answer.looked)}]")


def verdict_rows(
    title: str, answers: Sequence[Answer], open_judge: Callable[[Answer], None]
) -> None:
    """Draw one line for each judge: its name, its badge, and its answer in a sentence."""
    with st.container(key="word-none"):
        st.title(safe(title), anchor=False)
    with st.container(key="verdict-rows"):
        for number, answer in enumerate(answers):
            word = answer.word or ""
            with st.container(key=f"verdict-row-{number}-{LOOKS.get(word, 'none')}"):
                name, label, sentence = st.columns([1.2, 1, 3], vertical_alignment="center")
                about = f" · {answer.about}" if answer.about else ""
                name.button(
                    safe(shorten(f"{answer.judge}{about}", 60)),
                    key=f"verdict-open-{number}",
                    type="tertiary",
                    on_click=open_judge,
                    args=(answer,),
                )
                label.markdown(badge(word) or ":gray-badge[No verdict yet]")
                said = labelled(answer.headline, answer.simulated)
                sentence.markdown(said)


def _picture(shown: Shown, key: str, on_click: Callable[[], None]) -> None:
    """Draw the picture with its title and, where its cells lead to calls, a hint."""
    clickable = shown.picture is not None and answer_tabs.leads_to_calls(shown.picture)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(shown.title, anchor=False)
        if clickable:
            st.caption("Click a cell to read its calls", width="content")
    answer_tabs.show_picture(shown, key, on_click)


def _questions(questions: Sequence[Question]) -> None:
    with st.container(key="questions-bias"):
        for number, asked in enumerate(questions):
            look = QUESTION_LOOKS.get(asked.badge, "open")
            key = f"question-bias{number}-{look}"
            answer_tabs.show_question(asked, COLOURS[look], key=key)


# ---------------------------------------------------------------- what the verdict looks like
def _example(example: SwingExample, read_orders: Callable[[str], None]) -> None:
    """Draw one answer in the two orders that differ most, and lead to its other orders."""

    def all_orders() -> None:
        st.button(
            "All its orders",
            key="example-orders",
            type="tertiary",
            on_click=read_orders,
            args=(example.item,),
        )

    swing(example, all_orders)


def swing(example: SwingExample, beside: Callable[[], None] | None = None) -> None:
    """Draw one answer in the two orders that differ most. ``beside``: draws next to its title."""
    with st.container(horizontal=True, vertical_alignment="center", key="example-title"):
        st.markdown(f"**{safe(example.title)}**")
        if beside is not None:
            beside()
    quoted = f"“{example.text}” " if example.text else ""
    st.caption(safe(f"{quoted}{example.sentence}"))
    st.html(f'<div class="stacks">{_stack(example.low)}{_stack(example.high)}</div>')


def _stack(stack: Stack) -> str:
    """Return one order as HTML. Nothing from outside is markup."""
    lines = "".join(
        f'<li class="{line.kind}"><span>{escape(line.label)}</span>'
        f"{f'<b>{escape(line.score)}</b>' if line.score else ''}</li>"
        for line in stack.lines
    )
    result = ""
    if stack.result:
        size = "" if len(stack.result) <= 4 else ' class="words"'
        result = f"<div><strong{size}>{escape(stack.result)}</strong>"
        result += f"<span>{escape(stack.foot)}</span></div>"
    return f'<div class="stack"><ol>{lines}</ol>{result}</div>'


def _evidence(shown: Evidence, read_orders: Callable[[str], None]) -> None:
    """Draw what shows the verdict in one look."""
    if shown.swing is not None:
        _example(shown.swing, read_orders)
    elif shown.passes is not None:
        _passes(shown.passes)
    elif shown.ruled_out is not None:
        _ruled_out(shown.ruled_out)
    elif shown.noise is not None:
        _noise(shown.noise)


def _ruled_out(limits: RuledOut) -> None:
    width, mark = min(limits.possible, 100.0), min(limits.matters, 100.0)
    st.html(
        f'<div class="evidence"><h3>{escape(limits.title)}</h3>'
        f'<div class="possible"><i style="width:{width:.1f}%"></i>'
        f'<u style="left:{mark:.1f}%"></u></div>'
        f"<p><span>{escape(limits.below)}</span><span>{escape(limits.above)}</span></p>"
        f"<small>{escape(limits.mark)}</small></div>"
    )


def _noise(compared: OrderOrNoise) -> None:
    other = _number(compared.other, compared.other_words)
    _two(compared.title, other, _number(compared.again, compared.again_words))


def _passes(counted: Passes) -> None:
    more, fewer = ("more", "") if counted.first_is_more else ("", "more")
    first = _number(counted.first, counted.first_words, more)
    _two(counted.title, first, _number(counted.last, counted.last_words, fewer))


def _number(large: str, words: str, look: str = "") -> str:
    """Return a large number with its words as HTML."""
    return f'<p><strong class="{look}">{escape(large)}</strong> {escape(words)}</p>'


def _two(title: str, left: str, right: str) -> None:
    """Draw two numbers next to each other."""
    st.html(
        f'<div class="evidence"><h3>{escape(title)}</h3><div class="two">{left}{right}</div></div>'
    )


def last_reply(reply: str, reason: str) -> None:
    """Draw the last reply of a judge of which no reply could be parsed, and why."""
    st.markdown("**The last reply**")
    verbatim(shorten(reply, MOST_REPLY) or "(empty)")
    if reason:
        st.caption(safe(reason))
