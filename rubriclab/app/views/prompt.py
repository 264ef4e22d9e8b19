"""What the page “Your prompt” shows: what was found, two orders beside each other, real replies."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views.marked import Lit, legend, marked
from rubriclab.model import Call, Study, StudyError
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.workbench import Asked, Offer, Read
from rubriclab.study.plan import plan
from rubriclab.study.prompts.found_prompt import FoundPrompt, Mark

AROUND = 3
"""Lines that are shown before and behind what differs."""
LISTS = {"options": msg("the options"), "criteria": msg("the criteria"), "candidates": msg("the answers compared")}


def found(one: FoundPrompt) -> None:
    """The prompt with what was found lit, the proof of the way back, and what to know of it."""
    st.subheader(tr("What was found"), anchor=False)
    lists = dict.fromkeys(mark.kind for mark in one.marks if mark.kind in LISTS)
    kinds = [("list", tr("changes places: {what}", what=tr(LISTS[kind]))) for kind in lists]
    kinds += [("label", tr("its labels"))] if lists else []
    names = dict.fromkeys(mark.name for mark in one.marks if mark.kind == "item")
    kinds += [("item", tr("the item: {names}", names=", ".join(names)))] if names else []
    if kinds:
        legend(kinds)
    for number, (role, text) in enumerate(one.messages):
        several = tr("Message {number}: {role}", number=number + 1, role=role) if len(one.messages) > 1 else ""
        marked(text, [_lit(mark) for mark in one.marks if mark.message == number], height="36rem", label=several)
    if one.template is not None:
        _proof(one)
    for note in one.notes:
        st.caption(f":material/info: {ui.plain(note)}")


def _lit(mark: Mark) -> Lit:
    kind = "item" if mark.kind == "item" else "label" if mark.kind in ("label", "score") else "list"
    return Lit(mark.start, mark.end, kind, mark.name)


def _proof(one: FoundPrompt) -> None:
    if one.proof.exact:
        st.success(
            tr("Proved: with this item in this order, the template gives your prompt again, byte for byte."),
            icon=":material/verified:",
        )
    else:
        st.warning(
            ui.plain(tr("The template does not give the prompt again. {difference}", difference=one.proof.difference))
        )


# ---------------------------------------------------------------- two orders


def two_orders(study: Study) -> bool:
    """The same item in two orders, side by side, and the proof that nothing else moves; False where it fails."""
    st.subheader(tr("The same item in two orders"), anchor=False)
    (template,) = study.prompts
    checked = list(plan(replace(study, prompts=())).proofs(template))
    if not checked:
        raise StudyError(tr("The data has nothing that this prompt could be about."))
    proof = next((one.proof for one in checked if one.proof.faults), checked[0].proof)
    for fault in proof.faults:
        st.error(
            ui.plain(tr("This prompt would measure something else than the order: {fault}", fault=fault)),
            icon=":material/block:",
        )
    if not proof.faults:
        moves = "; ".join(map(str, proof.blocks))
        st.success(tr("Proved: only {lines} changes with the order.", lines=moves), icon=":material/verified:")
    for warning in dict.fromkeys(text for one in checked for text in one.proof.warnings):
        st.warning(ui.plain(warning), icon=":material/warning:")
    pairs = [(a, b) for a, b in zip(proof.one, proof.other, strict=True) if a["content"] != b["content"]]
    for one, other in pairs or [(proof.one[-1], proof.other[-1])]:
        places = st.columns(2, gap="medium")
        sides = excerpts(one["content"], other["content"])
        for place, (text, lit), ordering in zip(places, sides, proof.shown, strict=True):
            with place:
                marked(text, lit, height="24rem", label=tr("Order {ordering}", ordering=ordering))
    legend([("moved", tr("all that differs"))])
    return not proof.faults


def excerpts(one: str, other: str) -> tuple[tuple[str, list[Lit]], tuple[str, list[Lit]]]:
    """Both texts round what differs, which is lit; what stands before and behind is the same and left out."""
    lit = moved(one, other)
    cut = []
    for text, spans in zip((one, other), lit, strict=True):
        first, last = (spans[0].start, spans[-1].end) if spans else (0, 0)
        start = _line_edge(text, first, -AROUND)
        end = _line_edge(text, last, AROUND)
        before, after = ("⋯\n" if start else ""), ("⋯" if end < len(text) else "")
        shift = len(before) - start
        kept = [span._replace(start=span.start + shift, end=span.end + shift) for span in spans]
        cut.append((f"{before}{text[start:end]}{after}", kept))
    return cut[0], cut[1]


def _line_edge(text: str, at: int, lines: int) -> int:
    """The start of the line so many lines before ``at``, or behind it."""
    edges = [0, *(place + 1 for place, sign in enumerate(text) if sign == "\n"), len(text)]
    inside = bisect_right(edges, at) - 1 if lines < 0 else bisect_left(edges, at)
    return edges[max(0, min(len(edges) - 1, inside + lines))]


def moved(one: str, other: str) -> tuple[list[Lit], list[Lit]]:
    """The lines of each text that do not stand at the same place in the other.

    Place by place from the first line that differs to the last; all between them where one text has more.
    """
    lines = one.splitlines(keepends=True), other.splitlines(keepends=True)
    least = min(map(len, lines))
    first = next((i for i in range(least) if lines[0][i] != lines[1][i]), least)
    behind = next((i for i in range(least - first) if lines[0][-1 - i] != lines[1][-1 - i]), least - first)
    spans: tuple[list[Lit], list[Lit]] = ([], [])
    for side, (mine, theirs) in enumerate((lines, lines[::-1])):
        at = sum(map(len, mine[:first]))
        for place in range(first, len(mine) - behind):
            if len(mine) != len(theirs) or mine[place] != theirs[place]:
                spans[side].append(Lit(at, at + len(mine[place].rstrip("\r\n")), "moved", tr("differs")))
            at += len(mine[place])
    return spans


# ---------------------------------------------------------------- replies


def replies(asked: Sequence[Asked], told: Sequence[Read]) -> None:
    """Each reply with what was read of it lit, and how many could be read."""
    good = sum(read.label is not None for read in told)
    for place, (number, (one, read)) in zip(
        (p for _ in range(0, len(asked), 2) for p in st.columns(2, gap="medium")),
        enumerate(zip(asked, told, strict=True), 1),
        strict=False,
    ):
        with place.container(border=True):
            _reply(number, one.call, one.reply.error or one.reply.text, read)
    guessed = sum(read.guessed for read in told)
    if guessed:
        st.warning(
            tr(
                "The words of {replies} of {of} are no answer: the score is the likeliest label by the judge's "
                "token probabilities. A study counts that as read; say in the prompt how to answer, or take "
                "another way above.",
                replies=many(guessed, "reply"),
                of=len(told),
            ),
            icon=":material/casino:",
        )
    if good < len(told):
        unread = len(told) - good
        st.warning(
            tr(
                "{replies} of {of} could not be read ({share:.0%}). Try another way of reading: it asks nothing again.",
                replies=many(unread, "reply"),
                of=len(told),
                share=unread / len(told),
            ),
            icon=":material/visibility_off:",
        )
    elif not guessed:
        st.success(tr("All {replies} could be read.", replies=many(len(told), "reply")), icon=":material/visibility:")


def _reply(number: int, call: Call, text: str, read: Read) -> None:
    if read.label is None:
        badge = tr(":orange-badge[not read]")
    else:
        color = "orange" if read.guessed else "green"
        badge = tr(":{color}-badge[read: {label}]", color=color, label=ui.plain(read.label))
    why = f" :small[{ui.plain(tr(read.why))}]" if read.why else ""
    st.markdown(
        tr(
            "**Reply {number}** {badge}{why}  \n:small[order {ordering}]",
            number=number,
            badge=badge,
            why=why,
            ordering=ui.plain(str(call.ordering)),
        )
    )
    kind = "answer" if read.label is not None and not read.guessed else "unread"
    lit = [Lit(read.spot.start, read.spot.end, kind, tr("what was read"))] if read.spot else []
    marked(text or tr("(empty)"), lit, height="12rem")


def offer_words(offer: Offer, of: int) -> str:
    return tr("{way} · reads {reads} of {of}", way=tr(offer.name), reads=offer.reads, of=of) if of else tr(offer.name)
