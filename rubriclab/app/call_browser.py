"""Browse the single judgments of a run: filter them, choose one, and read prompt and reply.

Prompts are not stored with every call. They are made again from the plan, and shown only if they
are the ones that were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from rubriclab.app.frame import bring_tabs, conversation, fold, safe, verbatim
from rubriclab.core.judgments import Arm
from rubriclab.figures.cards import Card, pair_of
from rubriclab.measures.judges import counterpart, rows_apart
from rubriclab.model.judgment import Ordering, order_text
from rubriclab.model.passing import PassRate
from rubriclab.model.text import count, digest, printable, shorten
from rubriclab.study.from_text import messages_of
from rubriclab.words.fragile import FragileList, fragile_list
from rubriclab.words.phrases import capital, number, order_name, order_title, score_name

if TYPE_CHECKING:
    from rubriclab.api import Run
    from rubriclab.study.plan import Plan

FILTERS = ("score", "position", "criterion", "status", "find", "call", "differ")
"""What a click on a cell sets in the tab Judgments; also the names in the address."""
PARTS = {
    "judge": "judge",
    "dataset": "dataset",
    "score": "score",
    "position": "position",
    "criterion": "target",
    "differ": "differ",
}
"""What a click on a cell says of its calls: the name in the address, and that in ``Row.of``."""
ANY = "any"
UNPARSED = "No score could be parsed from this reply"
STATUSES = ("ok", "failed", "unparsed", "refused", "truncated", "error")
COLUMNS = {
    "item_id": "Answer",
    "ordering": "Order",
    "answer": "This judge",
    "other_answer": "The other",
}
VIEWS = ("Reply", "Prompt as sent", "Probabilities", "Same answer, other orders")
LIMIT = 200
"""Judgments in the list. More make the table slow; filters reach the others."""
LONG_REPLY = 400
"""Characters of a reply that get a box that scrolls where two are shown side by side."""
NAME_CHARACTERS = 60
"""Characters of a text behind its name; those that do not fit are shown on a click."""
NAME_WIDTH = 150
"""Width of the column of names, in pixels. A long name would push all others out of sight."""


def tab(run: Run, arm: Arm) -> None:
    """Draw filters and list on the left, the chosen call on the right.

    ``arm``: the condition whose judgments are shown.
    """
    _fragile(run, arm)
    rate = run.findings.pass_rate(arm.code)
    left, right = st.columns([1, 1.2], gap="large")
    with left:
        frame, other = _filtered(run, arm, rate)
        chosen = _list(_with_texts(run, frame), arm, rate)
    if chosen is not None:
        with right:
            if other is not None:
                _both(run, arm, other, frame, chosen)
            _call(run, arm, chosen, rate)


def _fragile(run: Run, arm: Arm) -> None:
    """Draw the scores to look at again, in a fold. A click on one filters the list below."""
    made = fragile_list(run.findings, arm.code)
    if made is None:
        return
    if not made.items:
        for line in made.lines:
            st.caption(safe(line))
        return
    fold(made.title, partial(_fragile_items, made), icon="balance", key="fragile")


def _fragile_items(made: FragileList) -> None:
    left, right = st.columns([1, 1.2], gap="large")
    table = pd.DataFrame(
        {
            "Answer": [item.item_id for item in made.items],
            "Criterion": [item.criterion for item in made.items],
            "Changes in another order": [100 * item.chance for item in made.items],
            "First round": [item.given for item in made.items],
        }
    )
    if table["Criterion"].isna().all():
        table = table.drop(columns="Criterion")

    def find_item() -> None:
        rows = st.session_state["fragile-items"].selection.rows
        if not rows:
            return
        item = made.items[rows[0]]
        # The filters are drawn already, so the address follows their state.
        for name in ("score", "position", "criterion", "status", "differ"):
            if name in st.session_state:
                st.session_state[name] = ANY
        if item.criterion is not None and "criterion" in st.session_state:
            st.session_state["criterion"] = item.criterion
        st.session_state["find"] = item.item_id

    with left:
        st.dataframe(
            table,
            hide_index=True,
            width="stretch",
            height=300,
            key="fragile-items",
            on_select=find_item,
            selection_mode="single-row",
            column_config={
                "Answer": st.column_config.Column(width=NAME_WIDTH),
                "Changes in another order": st.column_config.NumberColumn(format="%.0f%%"),
            },
        )
    with right:
        for line in made.lines:
            st.markdown(safe(line, 400))
        for number_of, line in enumerate(made.zones):
            st.markdown(safe(line, 400) if number_of == 0 else f"- {safe(line, 400)}")


def _filtered(run: Run, arm: Arm, rate: PassRate | None) -> tuple[pd.DataFrame, Arm | None]:
    """Draw the filters, all kept in the address; return the judgments that match them.

    Of two judges that differ, the other one's arm comes too, and its calls and answers are columns.
    ``rate``: of two scores, which are named by their labels.
    """
    judges = dict.fromkeys(each.condition.judge for each in arm.run.arms)
    others = {
        judge: theirs
        for judge in judges
        if judge != arm.condition.judge and (theirs := counterpart(arm, judge)) is not None
    }
    criteria = _criteria(arm)
    scores = [f"{score:g}" for score in arm.condition.scores]
    positions = [str(position) for position in range(1, arm.positions + 1)]
    if arm.condition.chooses:
        positions.insert(0, "0")  # a tie
    with st.container(horizontal=True, vertical_alignment="bottom"):
        named = str if rate is None else partial(_score_option, rate=rate)
        score = _filter("score", scores, named=named) if scores else None
        listed = arm.condition.reorder != "examples"  # no score is one of what they list
        position = _filter("position", positions) if listed else None
        status = _filter("status", list(STATUSES))
        criterion = _filter("criterion", criteria, 160) if criteria else None
        differ = _filter("differ", list(others), 160, "Differs from") if others else None
        text = st.text_input(
            "Find in texts", key="find", bind="query-params", placeholder="word", width=110
        )
    other = None if differ is None else others[differ]
    apart = None if other is None else _apart(arm, other, rate)
    frame = run.judgments(
        calls=None if apart is None else apart["call"].tolist(),
        condition=arm.code,
        score=None if score is None else float(score),
        position=None if position is None else int(position),
        status=status,
        criterion=criterion,
        text=text or None,
        limit=LIMIT,
    )
    return (frame if apart is None else frame.merge(apart, on=["call", "item"])), other


def _apart(arm: Arm, other: Arm, rate: PassRate | None) -> pd.DataFrame:
    """Return the judgments on which two judges differ: call, item, other_call, and the answers."""
    mine, theirs = rows_apart(arm, other)
    return pd.DataFrame(
        {
            "call": arm.call[mine],
            "item": arm.item_code[arm.item[mine]],
            "other_call": other.call[theirs],
            "answer": [_answer(arm, row, rate) for row in mine],
            "other_answer": [_answer(other, row, rate) for row in theirs],
        }
    )


def _answer(arm: Arm, row: int, rate: PassRate | None) -> str:
    """Return what a judge answered: a score, or the position that won."""
    if rate is not None:
        return score_name(arm.value[row], rate)
    if not arm.condition.chooses:
        return f"{arm.value[row]:g}"
    return "a tie" if arm.position[row] < 0 else f"position {arm.position[row] + 1}"


def _both(run: Run, arm: Arm, other: Arm, frame: pd.DataFrame, call: int) -> None:
    """Draw what two judges answered to the same question, side by side, with their replies."""
    assert run.store is not None
    assert run.id is not None
    row = frame[frame["call"] == call].iloc[0]
    answers = ((arm, call, row["answer"]), (other, int(row["other_call"]), row["other_answer"]))
    for column, (each, number_of, answer) in zip(st.columns(2), answers, strict=True):
        with column, st.container(border=True):
            st.markdown(f"{safe(each.condition.judge, 60)}: **{safe(answer)}**")
            reply = run.store.call(run.id, number_of).get("reply")
            if reply:
                verbatim(reply, height=140 if len(reply) > LONG_REPLY else None)


def _criteria(arm: Arm) -> list[str]:
    """Return the names of the criteria, or nothing if there is only one."""
    if arm.condition.reorder == "criteria":
        return [str(name) for name in arm.names]
    named = arm.run.items["criterion"].iloc[arm.item_code].dropna().unique()
    return [str(name) for name in named] if len(named) > 1 else []


def _score_option(option: str, rate: PassRate) -> str:
    """Return what the filter calls a score. ``option``: the score as text, or ANY."""
    return option if option == ANY else capital(score_name(float(option), rate))


def _filter(
    key: str,
    options: list[str],
    width: int = 84,
    label: str = "",
    named: Callable[[str], str] = str,
) -> str | None:
    """Ask for one of a few values, kept in the address; None means any.

    ``named``: what each option is called on the page.
    """
    options = [ANY, *options]
    if st.session_state.get(key, ANY) not in options:
        st.session_state.pop(key)
    label = label or key.capitalize()
    chosen = st.selectbox(
        label, options, key=key, bind="query-params", width=width, format_func=named
    )
    return None if chosen == ANY else chosen


def _list(frame: pd.DataFrame, arm: Arm, rate: PassRate | None) -> int | None:
    """Draw the list; return the call of the chosen row, at first that of the address or the first.

    The keys J and K choose the next and the previous row.
    """
    if frame.empty:
        st.caption("No judgment matches these filters.")
        return None
    # The key names the list: a row that was chosen in another list means nothing here.
    listed = digest(frame["call"].tolist(), frame["item"].tolist())[:12]
    calls = frame["call"].astype(str).tolist()
    wanted = st.query_params.get("call", "")
    start = calls.index(wanted) if wanted in calls else 0
    chosen_row = min(st.session_state.get(f"row-{listed}", start), len(frame) - 1)
    event = st.dataframe(
        _columns(frame, arm, rate),
        hide_index=True,
        width="stretch",
        height=360,
        on_select="rerun",
        selection_mode="single-row",
        # A new key for every move: a table that is drawn already ignores another default.
        key=f"judgments-{listed}-{st.session_state.get(f'moved-{listed}', 0)}",
        selection_default={"selection": {"rows": [chosen_row]}},
        column_config={"Answer": st.column_config.Column(width=NAME_WIDTH)},
    )
    rows = event.selection.rows
    if rows:
        chosen_row = rows[0]
        st.session_state[f"row-{listed}"] = chosen_row
    st.query_params["call"] = calls[chosen_row]

    def move(by: int) -> None:
        st.session_state[f"row-{listed}"] = max(0, min(len(frame) - 1, chosen_row + by))
        st.session_state[f"moved-{listed}"] = st.session_state.get(f"moved-{listed}", 0) + 1

    with st.container(horizontal=True, vertical_alignment="center"):
        for label, by, key in (("Next", 1, "J"), ("Previous", -1, "K")):
            name = f"{label.lower()}-call"
            st.button(label, on_click=move, args=(by,), shortcut=key, key=name, type="tertiary")
        first = f"The first {LIMIT:,}" if len(frame) == LIMIT else f"{len(frame):,}"
        st.caption(f"{first} of {count(len(arm.call), 'judgment')}")
    return int(frame["call"].iloc[chosen_row])


def _with_texts(run: Run, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the list with the beginning of its text behind a name that is only a number."""
    first = frame.drop_duplicates("item")
    names = {}
    for item, call, name in zip(first["item"], first["call"], first["item_id"], strict=True):
        text = shorten(run.judged_text(int(call)), NAME_CHARACTERS) if name.isdigit() else ""
        names[item] = f"{name} · {text}" if text else name
    return frame.assign(item_id=frame["item"].map(names))


def _columns(frame: pd.DataFrame, arm: Arm, rate: PassRate | None) -> pd.DataFrame:
    """Return the columns of the list: those that differ under this condition, with their titles.

    ``rate``: of two scores, which are named by their labels.
    """
    columns = ["item_id", "ordering", "score", "position"]
    if arm.condition.reorder == "criteria":
        columns = ["item_id", "criterion", "score", "position", "ordering"]  # long orders last
    elif arm.condition.chooses:
        columns = ["item_id", "position", "ordering"]
    elif arm.condition.reorder == "examples":
        columns = ["item_id", "ordering", "score"]
    elif _criteria(arm):
        columns.insert(1, "criterion")
    if set(frame["status"]) != {"ok"}:
        columns.append("status")
    if "other_answer" in frame:
        columns = [name for name in columns if name not in ("score", "position")]
        columns[1:1] = ["answer", "other_answer"]
    if rate is not None:
        frame = frame.assign(
            ordering=frame["ordering"].map(partial(order_name, rate=rate)),
            score=frame["score"].map(partial(score_name, rate=rate), na_action="ignore"),
        )
    shown = frame[columns].rename(columns=lambda name: COLUMNS.get(name, name.capitalize()))
    if "Position" not in shown:
        return shown
    # Position 0 is a tie where the judge chooses, and nothing was chosen otherwise.
    tied = arm.condition.chooses & (frame["status"] == "ok")
    shown["Position"] = shown["Position"].where((shown["Position"] > 0) | tied)
    return shown


def _call(run: Run, arm: Arm, call: int, rate: PassRate | None) -> None:
    """Draw one call: what was chosen, the view that the visitor picked, and the judged answer."""
    assert run.store is not None
    assert run.id is not None
    facts = run.store.call(run.id, call)
    st.markdown(_call_title(arm, facts, rate))
    view = st.segmented_control(
        "View",
        VIEWS,
        default=VIEWS[-1],
        key="view",
        bind="query-params",
        label_visibility="collapsed",
        required=True,
        wrap=True,
    )
    if view == "Reply":
        _reply(facts)
    elif view == "Prompt as sent":
        _prompt(run.plan, facts)
    elif view == "Probabilities":
        _probabilities(facts)
    else:
        descriptions = run.descriptions(facts["item"].get("criterion"), facts["condition"])
        cards = pair_of(arm, call, descriptions, rate)
        show_cards(cards)
        if len(cards) == 1:
            st.caption("This answer was not judged in another order.")
    response = facts["item"].get("response")
    if response and view != "Prompt as sent":
        with st.expander("The answer that was judged"):
            verbatim(response)


def _call_title(arm: Arm, facts: dict[str, Any], rate: PassRate | None) -> str:
    """Return as markdown which answer was judged in which order, and what the judge chose.

    ``rate``: of two scores, which are named by their labels.
    """
    outcome = facts["outcomes"][0]
    title = f"**{safe(str(facts['item']['item_id']), 60)}** · "
    if arm.condition.reorder != "criteria" and _criteria(arm):
        title += f"{safe(str(facts['item']['criterion']), 60)} · "
    if rate is None or arm.condition.reorder != "options":
        title += f"order {safe(order_title(facts['shown']), 80)}"
    else:
        title += safe(order_name(order_text(facts["shown"]), rate), 80)
    if arm.condition.reorder == "options" and outcome["score"] is not None:
        score = outcome["score"]
        score = f"{score:g}" if rate is None else score_name(score, rate)
        return f"{title} · chose **{safe(score)}**, at position {outcome['position']}"
    if facts["status"] != "ok":
        return f"{title} · {facts['status']}"
    if arm.condition.reorder == "examples":
        return f"{title} · score **{outcome['score']:g}**"
    if not arm.condition.chooses:
        return title
    if outcome["position"]:
        return f"{title} · chose position **{outcome['position']}**"
    return f"{title} · a tie"


def _reply(facts: dict[str, Any]) -> None:
    """Show the reply as text, with its fault if there was one, and what the call took."""
    if facts.get("error"):
        st.markdown(f":orange[{safe(str(facts['error']), 300)}]")
    if facts["status"] == "unparsed":
        reasons = [part["why"] for part in facts["outcomes"] if part.get("why")]
        why = f" ({safe(reasons[0], 120)})" if reasons else ""
        st.markdown(f"{UNPARSED}{why}:")
    reply = facts.get("reply")
    if reply:
        verbatim(reply)
    elif reply is None:
        st.caption("This run's judgments came from a file without the replies.")
    else:
        st.caption("The reply is empty.")
    parts = []
    if facts.get("tokens_in") is not None:
        tokens = count(int(facts["tokens_in"]), "token")
        parts.append(f"{tokens} in, {facts['tokens_out'] or 0:,} out")
    if facts.get("seconds") is not None:
        parts.append(f"{facts['seconds']:.2f} s")
    parts += [safe(str(facts[name]), 80) for name in ("model", "note") if facts.get(name)]
    st.caption(" · ".join(parts))


def _prompt(plan: Plan | None, facts: dict[str, Any]) -> None:
    """Show the messages, made again from the plan, if they are the ones that were sent."""
    if facts.get("prompt"):
        conversation(messages_of(facts["prompt"]))
        return
    if plan is None:
        st.caption("This run's judgments came from a file without the prompts.")
        return
    ordering = Ordering(tuple(facts["shown"]), tuple(facts["labels"]))
    messages = plan.messages(facts["condition"], facts["outcomes"][0]["item"], ordering)
    if facts.get("sent") and facts["sent"] != digest([dict(message) for message in messages]):
        st.caption(
            "This version of the lab words the judge prompt differently, so it cannot show "
            "what was sent."
        )
        return
    conversation(messages)


def _probabilities(facts: dict[str, Any]) -> None:
    """Show the probability of each label, and the score weighted with them."""
    outcome = facts["outcomes"][0]
    given = outcome.get("p")
    if not given:
        st.caption("The judge gave no probabilities for this call.")
        return
    rows = zip(facts["shown"], facts["labels"], given, strict=False)
    table = [
        (position, str(score), str(label), 100 * p)
        for position, (score, label, p) in enumerate(rows, 1)
    ]
    frame = pd.DataFrame(table, columns=["Position", "Score", "Label", "Probability"])
    column = st.column_config.ProgressColumn(
        "Probability", format="%.0f%%", min_value=0, max_value=100
    )
    st.dataframe(frame, hide_index=True, width="stretch", column_config={"Probability": column})
    parts = []
    if outcome.get("expected") is not None:
        parts.append(f"Probability-weighted score {number(outcome['expected'])}.")
    if outcome.get("mass") is not None:
        parts.append(f"{number(outcome['mass'], '.0%')} of the probability was on the labels.")
    st.caption(" ".join(parts))


def show_cards(cards: tuple[Card, ...]) -> None:
    """Draw cards side by side."""
    if not cards:
        return
    for column, card in zip(st.columns(len(cards), gap="small"), cards, strict=True):
        with column:
            show_card(card)


def show_card(card: Card) -> None:
    """Draw a card: positions grey, scores bold, the chosen line tinted."""

    def plain(text: str, most: int) -> str:
        return escape(printable(shorten(text, most)))

    rows = [
        f"<li{' class=chosen' if line.chosen else ''}>"
        f"<span>{line.position}</span><strong>{plain(line.label, 60)}</strong>"
        f"<div>{plain(line.text, 200)}</div></li>"
        for line in card.lines
    ]
    foot = (
        f"<footer><span>{plain(card.foot, 80)}</span>"
        f"<strong>{plain(card.score, 60)}</strong></footer>"
    )
    with st.container(border=True):
        st.html(
            f'<div class="card"><strong>{plain(card.title, 120)}</strong>'
            f"<ol>{''.join(rows)}</ol>{foot}</div>"
        )


def open_calls(key: str) -> None:
    """Open the tab Judgments, filtered to what the clicked cell is about. This is a callback."""
    if place := clicked_calls(key):
        open_here(place)


def clicked_calls(key: str) -> dict[str, str]:
    """Return where the calls of the clicked cell are, as parts of an address; empty for no cell.

    A cell of several judges also says whose it is, and of which data set.
    """
    points = st.session_state[key].selection.points
    if not points:
        return {}
    of = points[0].get("customdata") or {}
    if isinstance(of, list):
        of = of[0]
    place = {"tab": "Judgments"}
    for name, part in PARTS.items():
        if part in of:
            value = of[part]
            place[name] = f"{value:g}" if isinstance(value, int | float) else str(value)
    return place


def open_here(place: Mapping[str, str]) -> None:
    """Open a place of this page: a judge, a tab, and filters of its judgments.

    This is a callback. Where the filters are not drawn yet, both their state and the address must
    say what they start with. Where they are, the address follows their state, and Streamlit refuses
    to have it changed.
    """
    bring_tabs()
    for name in FILTERS:
        try:
            st.query_params.pop(name, None)
            st.session_state.pop(name, None)
        except StreamlitAPIException:  # drawn; without a state it would start from the address
            st.session_state[name] = "" if name == "find" else ANY
    for name, value in place.items():
        if name not in ("judge", "dataset"):  # these are read from the address alone
            st.session_state[name] = value
        if name != "tab":  # its tabs are always drawn
            with suppress(StreamlitAPIException):
                st.query_params[name] = value
