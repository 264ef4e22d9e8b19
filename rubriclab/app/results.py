"""Show whether the order biases this judge, by how much, and what to do about it.

The page reads from top to bottom: the header row chooses a run and one of its judges, the answer
comes with its picture, and tabs hold the rest. Every choice is kept in the address, so that a
link opens the same view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from rubriclab.app import (
    answer_tabs,
    call_browser,
    first_screen,
    judges_paper_table,
    judges_tab,
    present,
    rate,
    state,
)
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import ways_in
from rubriclab.app.frame import faults, fold, go, safe, tabs, verbatim
from rubriclab.app.judges_view import Several
from rubriclab.app.runs import again_with_changes, logged_button
from rubriclab.core.topic import DEFINITIONS, MEASURES, TOPICS, Findings
from rubriclab.exports.paper_table import PaperTable, paper_table
from rubriclab.exports.report import method_brief, method_lines
from rubriclab.figures import pictures
from rubriclab.figures.first_pictures import (
    OrderMeans,
    first_picture,
    mean_by_order,
    order_means,
    orders_captions,
    two_orders,
)
from rubriclab.figures.pictures import Shown
from rubriclab.model.judgment import step_of
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import count, printable, shorten
from rubriclab.words.answer import Answer, judged
from rubriclab.words.compact import cost_rows, cost_sentence
from rubriclab.words.pass_fail import WAYS_TO_CHOOSE
from rubriclab.words.phrases import MINUS, ci, ci_of, order_name, readable
from rubriclab.words.several import headline, over_one_of_many
from rubriclab.words.subject import (
    CHOICES,
    Subject,
    calls_in,
    settings,
    subjects_by_name,
    subjects_of_orders,
)
from rubriclab.words.what_helps import has_help
from rubriclab.words.with_people import has_people

if TYPE_CHECKING:
    from rubriclab.api import Run as Kept
    from rubriclab.store.read import RunInfo

VIEW = ("tab", "view", "baseline", "smallest", "share", "unit", "margin", "protocol")
"""What else a link to a view names. None of it holds for another run."""
UNSAID = "unsaid"
"""In the address: nobody says how the labelled answers were chosen, whatever the study says."""
NO_PEOPLE = "No human scores yet. Add some to see how well the judge agrees with people."
STATUS_SAID = {
    "unparsed": "No score was found in it.",
    "truncated": "It stops at the length limit, before a score.",
    "refused": "The judge refused to answer.",
    "error": "The call failed.",
}
"""Why a reply has no score."""
MOST_COSTS = 10
"""Orders whose Bias Cost is listed; the fold of all numbers has the others."""
DRAWN_ABOVE = ("position_share", "position_given_score", "position_shift", "first_minus_last")
"""Measures whose charts the tab Bias shows already; the fold with all numbers leaves them out."""


ONE_AND_SEVERAL = {
    "pairs": ("pair", "pairs"),
    "lists": ("list", "lists"),
    "criteria": ("text", "texts"),
    "responses": ("batch", "batches"),
}
"""What one call is about, by what changes order; otherwise it is an answer."""


@dataclass(frozen=True)
class Chosen:
    """What the header row chose: a run, how its results are computed, and one judge of it.

    codes: the codes of its conditions by ordering strategy. condition: the code of the condition
    whose pictures and judgments are shown. every_judge: all judges were chosen together.
    """

    info: RunInfo
    findings: Findings
    subject: Subject
    codes: dict[str, int]
    condition: int
    every_judge: bool = False


def page() -> None:
    """Draw the page, or the form to rate answers if the address has ``?rate=1``."""
    info = state.run_choice()
    if info is None:
        nothing()
        return
    if "rate" in st.query_params:
        rate.page(info)
        return
    if present.wanted():
        present.page(info)
        return
    chosen, menu = _header(info)
    findings, subject = chosen.findings, chosen.subject
    answer = judged(findings, subject)
    with menu, st.container(horizontal=True):
        present.button(subject)
        _menu(info, answer)
        logged_button(info, "results-logged")
    several = several_of(chosen)
    if chosen.every_judge:
        _verdict_rows(chosen)
        st.caption(f"Below, all tabs but Judges are about {safe(subject.judge, 60)} alone.")
    else:
        _first_screen(chosen, answer)
    parts: dict[str, Callable[[], None]] = {"Bias": lambda: _bias(chosen, answer)}
    arm = findings.judgments.arms[chosen.condition]
    measured = order_means(arm, findings.pass_rate(arm.code))
    if subject.variant or subject.reorder in (*CHOICES, "criteria") or measured is not None:
        parts["Orders"] = lambda: _orders(chosen, answer, measured)
    if judges_tab.is_shown(several):
        parts["Judges"] = lambda: judges_tab.draw(several)
    if subject.calls and has_people(findings, subject.condition):
        parts["With people"] = lambda: _people(chosen)
    if subject.calls and has_help(findings, subject):
        parts["What helps"] = lambda: answer_tabs.what_helps(
            findings, subject, partial(_to_card, chosen)
        )
    parts["Judgments"] = lambda: call_browser.tab(state.kept(info.id), arm)
    ways = {asked.reorder for asked in findings.conditions}
    # What several ways to ask have in common is their comparison, not the first one's answer.
    tabs(parts, "Judges" if len(ways) > 1 and "Judges" in parts else "Bias")


def _first_screen(chosen: Chosen, answer: Answer) -> None:
    """Draw the answer about the chosen judge, its picture, an example, and what to do."""
    subject = chosen.subject
    key = f"main-{subject.reorder}-{chosen.condition}-{subject.variant}"
    nothing_parsed = subject.asked and not subject.calls and not subject.before_first_look
    first_screen.draw(
        answer,
        chosen.findings,
        subject,
        first_picture(chosen.findings, subject, chosen.condition),
        key=key,
        on_click=partial(call_browser.open_calls, key),
        text_of=state.kept(chosen.info.id).judged_text,
        read_orders=_read_orders,
        instead=partial(_last_reply, chosen) if nothing_parsed else None,
        below=partial(_below_advice, chosen),
    )


def _read_orders(item: str) -> None:
    """Open the judgments of one answer, in all its orders."""
    call_browser.open_here({"tab": "Judgments", "find": item})


def _verdict_rows(chosen: Chosen) -> None:
    """Draw a line for each judge of the run; a click opens its answer."""
    findings, reorder = chosen.findings, chosen.subject.reorder
    every = [subject for subject in subjects_of_orders(findings) if subject.reorder == reorder]

    def open_judge(row: Answer) -> None:
        about = findings.conditions[row.condition]
        st.query_params["judge"] = about.judge
        st.query_params["dataset"] = about.dataset

    rows = [judged(findings, subject) for subject in every]
    first_screen.verdict_rows(headline(every), rows, open_judge)


def _last_reply(chosen: Chosen) -> None:
    """Draw the last reply of a judge of which none could be parsed, and the way to fix it."""
    info = chosen.info
    table = state.kept(info.id).judgments(condition=chosen.condition)
    if len(table) and "reply" in table:
        last = table.iloc[-1]
        first_screen.last_reply(str(last["reply"] or ""), STATUS_SAID.get(last["status"], ""))
    _ask_readable(chosen)


def _ask_readable(chosen: Chosen) -> None:
    """Draw the button that leads to a new run whose replies can be parsed.

    It limits the replies to the labels where the replies so far show that it helps.
    """
    info = chosen.info
    if state.kept(info.id).plan is None:
        return
    label, icon, fix = "Fix and ask again", "build", "judge"
    if chosen.subject.judge in state.helped_by_grammar(info.id):
        label, icon, fix = "Allow only labels, and ask again", "rule", "grammar"
    if st.button(label, icon=f":material/{icon}:", key="fix-unparsed"):
        go("setup", again=info.id, fix=fix)


def _below_advice(chosen: Chosen) -> None:
    """Draw the button that does what is advised, where one press can."""
    if chosen.subject.action == "parse":
        _ask_readable(chosen)
    else:
        _ask_rest(chosen)


def _ask_rest(chosen: Chosen) -> None:
    """Draw the button that asks the calls which a run did not need for its answer."""
    info = chosen.info
    calls = sum(look.needless for look in chosen.findings.last_looks if look.early)
    own = state.store_of(info.id) is state.store()
    if not calls or not own or info.id in {run.id for run in state.active()}:
        return
    pressed = st.button(
        f"Ask the rest ({count(calls, 'call')})",
        icon=":material/playlist_add:",
        key="ask-rest",
        help="Sizes get more exact. What was claimed stays.",
    )
    if pressed:
        with faults():
            state.manager().resume(info.id, ask_all=True, check="hold")
            go("runs", run=info.id)


def several_of(chosen: Chosen) -> Several:
    """Return every judge and data set of the run, for the views that compare them."""
    dataset = chosen.findings.conditions[chosen.condition].dataset
    kept = state.kept(chosen.info.id)

    def repeated() -> str:
        # The user's own prompt lists what it lists: it cannot be asked with another list.
        return chosen.info.id if kept.plan is not None and kept.plan.study.prompt is None else ""

    def questions() -> dict[str, str]:
        if kept.plan is None:
            return {}
        return {item.item_id: item.instruction for item in kept.plan.items}

    return Several(
        chosen.findings,
        dataset,
        papers=tuple(kept.papers),
        repeated=repeated,
        questions=questions,
    )


def nothing(title: str = "Results") -> None:
    """Show an empty state with the ways to a first run."""
    st.title(title, anchor=False)
    ways_in("No finished run yet.")


# ---------------------------------------------------------------- the header row


def choose_run(info: RunInfo, page: str) -> None:
    """Ask for a run. The choice is kept in the address, and ``page`` is opened again with it."""
    infos = {listed.id: listed for listed in state.listed()}
    key, named = f"{page}-run", st.query_params.get("run", "")
    if named and not info.id.startswith(named) and named != info.name:
        st.markdown(
            f":orange[The address names the run “{safe(named, 60)}”, which has no judgments. "
            "This is another run.]"
        )
    # Widgets bound to the address keep their values until the page is opened again.
    if wanted := st.session_state.pop(f"{key}-wanted", None):
        for name in (*call_browser.FILTERS, *VIEW):
            st.session_state.pop(name, None)
        go(page, run=wanted)
    st.session_state[key] = info.id

    def choose() -> None:
        st.session_state[f"{key}-wanted"] = st.session_state[key]

    st.selectbox(
        "Run",
        list(infos),
        format_func=lambda id: plain_name(infos[id].name),
        key=key,
        on_change=choose,
        width=330,
        help="Your runs that have judgments, newest first, then the recorded examples.",
    )


def plain_name(name: str) -> str:
    """Return a name for a list of choices, which shows text as it is: one visible line of 80
    characters.
    """
    return shorten(printable(name), 80)


def _menu(info: RunInfo, answer: Answer) -> None:
    """Draw the menu: the answer and the link to copy, and the way to a run with changes."""
    menu = st.popover("More", icon=":material/more_horiz:", key="results-menu", on_change="rerun")
    if not menu.open:
        return
    with menu:
        st.caption("The answer, to copy")
        lines = [answer.early, answer.headline, answer.line, answer.looked]
        for asked in answer.questions:
            lines.append(f"{asked.title} {asked.badge}. {asked.sentence}")
        lines.append(answer.note)
        if answer.advice:
            lines.append(f"What to do: {answer.advice}")
        verbatim("\n".join(line for line in lines if line))
        st.caption("Link to this view")
        view = {name: st.query_params.get_all(name) for name in st.query_params}
        view["run"] = [info.id]
        page_address = str(st.context.url).partition("?")[0]
        verbatim(f"{page_address}?{urlencode(view, doseq=True)}")
        if state.store_of(info.id) is state.store():  # commands do not know the examples
            st.caption("The same on the command line")
            verbatim(f"rubriclab results {info.id}")
        again_with_changes(info)


def _header(info: RunInfo) -> tuple[Chosen, Any]:
    """Draw the header row; return what it chose, and the container in which its menu goes.

    Widgets are created in another order than they are shown in: the condition is chosen from the
    findings, which depend on the options to its right.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key="results-header"):
        choose_run(info, "results")
        conditions = state.kept(info.id).table.conditions
        judge, every_judge = _judge([asked.judge for asked in conditions])
        datasets = [asked.dataset for asked in conditions if asked.judge == judge]
        dataset = choice("Data set", datasets, "dataset")
        named = settings(conditions, judge, dataset)
        condition_box = st.container(width="content")
        options = st.popover("Options", icon=":material/tune:")
        menu = st.container(width="content")
        with options:
            reading = _reading(info, conditions[next(iter(named.values()))].scores)
            strategy_box = st.container()
            _ways_to_human_scores(info)
        with st.spinner("Computing…", show_time=True, width="content"):
            findings = state.findings(info.id, reading)
        every = subjects_by_name(findings, judge, dataset)
        with condition_box:
            subject = every[choice("Condition", list(every), "setting")]
    codes = _strategy_codes(findings, subject)
    picked = findings.conditions[subject.condition].strategy
    if len(codes) > 1:
        with strategy_box:
            names = list(dict.fromkeys([picked, *codes]))
            picked = choice("Ordering strategy", names, "strategy")
            st.caption(
                "For the pictures and the single judgments. The three questions use all "
                "strategies together."
            )
    return Chosen(info, findings, subject, codes, codes[picked], every_judge), menu


def _judge(judges: Sequence[str]) -> tuple[str, bool]:
    """Ask for a judge; return it, and whether all of them were chosen.

    The last choice is all judges: a line for each, and the tab Judges.
    """
    judges = list(dict.fromkeys(judges))
    if len(judges) < 2:
        return judges[0], False
    every = "Both judges" if len(judges) == 2 else f"All {len(judges)} judges"

    def open_their_tab(chosen: str) -> None:
        # Only at the choice: set on every drawing, it would keep all other tabs closed.
        if chosen == every:
            st.session_state["tab"] = "Judges"

    chosen = choice("Judge", [*judges, every], "judge", open_their_tab)
    return (judges[0], True) if chosen == every else (chosen, False)


def _ways_to_human_scores(info: RunInfo) -> None:
    """Offer to add or give human scores to a run that has none."""
    if state.kept(info.id).table.items["ratings"].map(bool).any():
        return
    st.info(NO_PEOPLE, icon=":material/group_add:")
    if rate.can_be_rated(info) and st.button("Add human scores", key="add-scores"):
        rate.add_scores(info)
    rate.rate_button(info, "rate-none")


def _strategy_codes(findings: Findings, subject: Subject) -> dict[str, int]:
    """Return the codes of the conditions that differ only in their strategy, by strategy."""
    own = findings.conditions[subject.condition]
    if subject.variant:  # a variant is compared with the default only under one strategy
        return {own.strategy: subject.condition}
    return {
        other.strategy: code
        for code, other in enumerate(findings.conditions)
        if other.setting == own.setting
    }


def choice(
    label: str, options: list[str], name: str, then: Callable[[str], None] | None = None
) -> str:
    """Ask for one of a few names, kept in the address; draw nothing if there is only one.

    ``then``: called with the name that was chosen, before the page is drawn again.
    """
    wanted, options = st.query_params.get(name, ""), list(dict.fromkeys(options))
    if len(options) < 2:
        return options[0]
    key = f"results-{name}"
    st.session_state[key] = wanted if wanted in options else options[0]

    def choose() -> None:
        st.query_params[name] = st.session_state[key]
        if then is not None:
            then(str(st.session_state[key]))

    arguments: dict[str, Any] = {"key": key, "on_change": choose}
    if len(options) <= 4 and sum(map(len, options)) <= 60:
        st.segmented_control(
            label, options, required=True, format_func=lambda option: safe(option, 30), **arguments
        )
    else:
        st.selectbox(label, options, format_func=plain_name, width=260, **arguments)
    return str(st.session_state[key])


def _reading(info: RunInfo, scores: Sequence[float]) -> ReadingPart:
    """Ask what matters and what is independent; return the run's reading with these changes.

    ``scores``: the scale of the condition that is shown. A limit that nobody changes is passed on
    exactly, because the rounding of the field would make it another reading.
    """
    run = state.kept(info.id)
    own = run.reading
    step, default = step_of(scores), own.smallest.points(scores)
    points = st.number_input(
        "Smallest effect that matters, points",
        0.01,
        10.0 * step,
        default,
        0.05,
        "%.4g",
        key="smallest",
        bind="query-params",
        help="For mean scores. A change that is certainly smaller counts as none.",
    )
    share = st.number_input(
        "Smallest share that matters, percentage points",
        0.5,
        50.0,
        100 * own.smallest.share,
        0.5,
        key="share",
        bind="query-params",
        help="For the share of a position, and for the share of single scores that change.",
    )
    smallest: dict[str, float | None] = {
        "mean": points / step,
        "share": share / 100,
        "single": share / 100,
        "r": own.smallest.r,
    }
    if math.isclose(points, default):
        smallest["mean"] = own.smallest.mean
    if math.isclose(share, 100 * own.smallest.share):
        smallest["single"] = own.smallest.single
    changes = {
        "unit": _unit(run, own.unit),
        "smallest": smallest,
        "baseline": _baseline(run, own.baseline),
        "labels": _labels(own.labels),
    }
    return ReadingPart.model_validate(own.model_dump() | changes)


def _baseline(run: Kept, own: str) -> str:
    """Ask which judge of pairs or lists the others are compared with."""
    judges = list(dict.fromkeys(asked.judge for asked in run.table.conditions if asked.chooses))
    if len(judges) < 2:
        return own
    start = judges.index(own) if own in judges else 0
    chosen = st.selectbox(
        "Baseline judge",
        judges,
        index=start,
        format_func=plain_name,
        key="baseline",
        bind="query-params",
        help="For the view Baseline: every judge is compared with this one.",
    )
    return own if chosen == judges[0] and own not in judges else str(chosen)


def _unit(run: Kept, own: str) -> str:
    """Ask which unit is independent, if the run names more than its answers."""
    named = [kind for kind in ("prompt", "block") if run.table.items[kind].notna().any()]
    if not named:
        return own
    units = ["auto", "item", *named]
    return st.selectbox(
        "Independent units",
        units,
        index=units.index(own) if own in units else 0,
        key="unit",
        bind="query-params",
        help="auto: answers to the same prompt count as one unit.",
    )


# ------------------------------------------------------------ the answer's picture and the tab Bias


def _made_of(chosen: Chosen) -> str:
    """Say how many calls, answers, criteria, and orders the pictures show."""
    arm = chosen.findings.judgments.arms[chosen.condition]
    reorder = chosen.subject.reorder
    what, several = ONE_AND_SEVERAL.get(reorder, ("answer", "answers"))
    text = f"{count(calls_in(arm.call[arm.ok]), 'call')}: {count(arm.answers, what, several)}"
    if arm.answers < arm.texts:  # several items are the same answer under other criteria
        criteria = arm.run.items["criterion"].iloc[arm.item_code].nunique()
        text += f" under {count(criteria, 'criterion', 'criteria')}"
    if reorder != "bare":
        text += f" in {count(len(arm.shown), 'order')} ({safe(arm.condition.strategy, 40)})"
    return f"{text}."


def _bias(chosen: Chosen, answer: Answer) -> None:
    """Draw the tab Bias: the papers' terms, levels of factors, and the rest in folds."""
    if chosen.subject.before_first_look:
        st.caption("Numbers appear here after the first look.")
        return
    made_of = f"The picture shows {_made_of(chosen)}"
    if len(chosen.codes) > 1:
        made_of += " The questions use all of this judge's orders."
    if said := over_one_of_many(chosen.findings, chosen.subject):
        judge = safe(chosen.subject.judge, 60)
        made_of = f"{safe(said)}. All here is about {judge} alone. {made_of}"
    st.caption(made_of)
    known = {row.measure for row in chosen.findings.rows}
    printed = [measure for measure in ("pc", "pf", "rs", "error_rate") if measure in known]
    if printed:
        st.markdown("**In the terms of the papers**")
        show_table(paper_table(chosen.findings, printed))
    _costs(chosen)
    for factor in pictures.levelled_factors(chosen.findings):
        _by_level(chosen.findings, factor)
    fold("More numbers: strength, tests, order by order", lambda: _more(chosen, answer), key="more")
    if chosen.subject.calls:
        st.caption(safe(method_brief(chosen.findings, chosen.subject), 400))
    fold("How this was computed, and what it assumes", lambda: _how(chosen), icon="rule", key="how")


def _more_pictures(chosen: Chosen) -> None:
    """Draw the pictures of what the calls listed, beside each other where they fit."""
    drawn = [
        (shown, shown.picture.kind) for shown in _pictures(chosen) if shown.picture is not None
    ]
    wide = [kind for _, kind in drawn] == ["forest"]  # its labels need the whole width
    columns = st.columns(1 if wide else 2, gap="large")
    for (shown, kind), column in zip(drawn, columns, strict=False):
        with column:
            st.markdown(shown.title)
            key = f"{kind}-{chosen.condition}"
            answer_tabs.show_picture(shown, key, partial(call_browser.open_calls, key))


def _costs(chosen: Chosen) -> None:
    """Draw the Bias Cost of the orders that were asked, and name the least of all orders."""
    rows = cost_rows(chosen.findings, chosen.condition)
    if not rows:
        return
    st.markdown("**Bias Cost of each order** · percentage points, as in the paper")
    st.markdown(safe(cost_sentence(chosen.findings, chosen.condition)))
    # Ten lines of plain text: a data frame would load half a megabyte of code for them.
    lines = [
        f"| {safe(order_name(row.of['order'], row.rate))} | {row.value:.1f} |"
        for row in rows[:MOST_COSTS]
    ]
    st.markdown("\n".join(["| Order | Bias Cost |", "|:--|--:|", *lines]))


def _people(chosen: Chosen) -> None:
    """Draw the tab With people, and the way to rate more answers."""
    own = state.kept(chosen.info.id).reading.labels
    answer_tabs.with_people(chosen.findings, chosen.subject, partial(_choose_labels, own))
    rate.rate_button(chosen.info, "rate-more")


def _choose_labels(own: str, ways: Mapping[str, str], label: str, about: str) -> None:
    """Ask how the labelled answers were chosen. The choice is kept in the address.

    ``own``: what the study says. ``ways``: the name of each way.
    """
    key = "results-labels"
    st.session_state[key] = _labels(own)

    def choose() -> None:
        st.query_params["labels"] = st.session_state[key] or UNSAID

    st.selectbox(
        label,
        list(ways),
        format_func=ways.__getitem__,
        key=key,
        on_change=choose,
        help=about,
        width=420,
    )


def _labels(own: str) -> str:
    """Return how the labelled answers were chosen: by the address, else as the study says."""
    asked = st.query_params.get("labels", own)
    if asked == UNSAID:
        return ""
    return asked if asked in WAYS_TO_CHOOSE else own


def _to_card(chosen: Chosen) -> None:
    """Draw the way to a judge card. A card scores single answers, so choices have none."""
    subject = chosen.subject
    scores = subject.reorder in ("options", "criteria") and not subject.variant
    if not scores or not subject.finished:
        return
    if st.button("Export judge card", icon=":material/ios_share:", type="primary"):
        go("export", run=chosen.info.id, judge=subject.judge, **{"for": "Judge card"})


def _pictures(chosen: Chosen) -> Iterator[Shown]:
    """Yield the pictures below the answer, by what changed order.

    A picture that cannot be drawn is None.
    """
    findings, subject, code = chosen.findings, chosen.subject, chosen.condition
    if subject.variant:
        yield _every_variant(findings, code)
    elif subject.reorder in CHOICES:
        note = f"A tie counts as a share of a win for each. Lines on bars: {ci(subject.level)}."
        yield Shown("**How often each position won**", pictures.share_bars(findings, subject), note)
        stacks = pictures.winner_stacks(findings.judgments.arms[code])
        if stacks is not None and len(stacks.series) > 1:
            yield Shown("**By task**", stacks, "One call in each order, the first.")
    elif subject.reorder == "criteria":
        yield _every_criterion(findings, code)


def _every_variant(findings: Findings, code: int) -> Shown:
    """Return the mean change of every variant of this judge on this data set."""
    own, asked = findings.conditions[code], findings.conditions
    rows = [
        row
        for row in findings.select("variant_shift")
        if asked[row.condition].judge == own.judge and asked[row.condition].dataset == own.dataset
    ]
    smallest = findings.smallest_mean(code)
    return Shown(
        "**Every variant compared with the default** · green: too small to matter",
        pictures.row_forest(rows, f"Points, variant {MINUS} default", smallest, by="variant"),
        f"Change of the mean score, {ci_of(findings)}. Choose a variant above to see its "
        "verdict: it is about the size of the change, up or down, so its interval begins at 0.",
    )


def _every_criterion(findings: Findings, code: int) -> Shown:
    """Return how much each criterion gains by being listed first instead of last."""
    rows = findings.select("first_minus_last", condition=code)
    together = f"Lines: {ci(rows[0].level)}, so that all hold together. " if len(rows) > 1 else ""
    return Shown(
        "**First minus last, by criterion** · green: too small to matter",
        pictures.row_forest(
            rows,
            f"Points, listed first {MINUS} listed last",
            findings.smallest_mean(code),
            by="target",
        ),
        f"{together}Single criteria have no verdict. The three questions cover all of them.",
    )


def _orders(chosen: Chosen, answer: Answer, measured: OrderMeans | None) -> None:
    """Draw the tab Orders: what the orders did, order by order and answer by answer."""
    _more_pictures(chosen)
    if measured is not None and not chosen.subject.variant:
        _measured_orders(chosen, answer, measured)


def _measured_orders(chosen: Chosen, answer: Answer, measured: OrderMeans) -> None:
    """Draw the mean score in each order, and the scores of single answers in two of them."""
    means, answers = st.columns(2, gap="large")
    subject = chosen.subject
    of_all, of_two = orders_captions(subject, measured)
    with means:
        shown = mean_by_order(subject, measured)
        st.markdown(f"**{shown.title}**")
        if subject.reorder == "examples":
            of_all += " Examples are named by their labels, or numbered where two have the same."
        st.caption(of_all)
        answer_tabs.show_picture(shown, f"means-{chosen.condition}", None)
    with answers:
        left, right = _two_orders(chosen.condition, measured, of_two)
        shown = two_orders(subject, measured, left, right)
        answer_tabs.show_picture(shown, f"moves-{chosen.condition}", None)
    if answer.note:
        st.markdown(safe(answer.note))


def _two_orders(condition: int, measured: OrderMeans, caption: str) -> tuple[int, int]:
    """Ask for two orders; they start with the harshest and the kindest."""
    st.markdown("**Each answer in two orders**")
    st.caption(caption)
    names = list(measured.orders)
    keys = f"from-order-{condition}", f"to-order-{condition}"
    widest = measured.harshest, measured.kindest

    def choose(orders: tuple[int, int]) -> None:
        for key, order in zip(keys, orders, strict=True):
            st.session_state[key] = names[order]

    if keys[0] not in st.session_state:
        choose(widest)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left = st.selectbox("From", names, key=keys[0], width=130)
        right = st.selectbox("To", names, key=keys[1], width=130)
        if len(names) > 2 and min(measured.ascending, measured.descending) >= 0:
            listed = measured.orders[measured.ascending].split()
            low, high = listed[0], listed[-1]
            reverse = measured.ascending, measured.descending
            label = f"{low} to {high} and {high} to {low}"
            st.button(label, key=f"reversed-{condition}", on_click=choose, args=(reverse,))
        st.button("Widest", key=f"widest-{condition}", on_click=choose, args=(widest,))
    return names.index(str(left)), names.index(str(right))


def _by_level(findings: Findings, factor: str) -> None:
    """Draw how bias, mean, and spread change with the levels of a factor: the mean over data sets
    first, then a line of panels for each of them.
    """
    datasets = list(dict.fromkeys(asked.dataset for asked in findings.conditions))
    lines = {f"Mean over {len(datasets)} data sets": datasets} if len(datasets) > 1 else {}
    lines |= {dataset: [dataset] for dataset in datasets}
    drawn = {
        name: picture
        for name, own in lines.items()
        if (picture := pictures.level_panels(findings, factor, own)) is not None
    }
    if not drawn:
        return
    st.markdown(f"**By {safe(readable(factor).lower())}** · one line per judge")
    for name, picture in drawn.items():
        if len(datasets) > 1:
            st.caption(safe(name, 60))
        chart(picture, key=f"level-{factor}-{name}")
    note = f"Lines on points: {ci_of(findings)}."
    if len(datasets) > 1:
        note += " Means over data sets have none."
    st.caption(
        f"{note} Single levels have no verdict. The three questions are about one condition."
    )


# ---------------------------------------------------------------- the folds


def show_table(table: PaperTable) -> None:
    """Draw a table as papers print it, with its legend."""
    st.dataframe(table.frame(), hide_index=True, width="stretch")
    st.caption(safe(" ".join(table.legend)))


def _more(chosen: Chosen, answer: Answer) -> None:
    """Draw further cautions, the papers' table, and every row by topic with its charts."""
    answer_tabs.show_cautions(answer.cautions[answer_tabs.MOST_CAUTIONS :])
    several = several_of(chosen)
    if len(chosen.findings.conditions) > 1 and not judges_tab.is_shown(several):
        judges_paper_table.draw(several)
    rows = [row for row in chosen.findings.rows if row.condition in chosen.codes.values()]
    for topic in dict.fromkeys(row.topic for row in rows):
        st.markdown(f"**{readable(topic)}**")
        answer_tabs.number_table(chosen.findings, [row for row in rows if row.topic == topic])
        for drawn in TOPICS[topic].charts if topic in TOPICS else ():
            if drawn.measure in DRAWN_ABOVE:
                continue
            picture = pictures.generic(drawn, chosen.findings, chosen.condition)
            if picture is None or (picture.kind == "forest" and len(picture.points) < 2):
                continue  # one interval alone says no more than its row
            st.caption(MEASURES[drawn.measure].name)
            chart(picture, key=f"{topic}-{drawn.measure}-{chosen.condition}")


def _how(chosen: Chosen) -> None:
    """Describe the method, then define each term once under the name of its first measure."""
    for line in method_lines(chosen.findings, [chosen.subject]):
        st.markdown(f"- {safe(line)}")
    names: dict[str, str] = {}
    for row in chosen.findings.rows:
        if row.about.front:
            names.setdefault(row.about.term or row.measure, row.about.name)
    for term, name in names.items():
        entry = DEFINITIONS.get(term)
        if entry is not None:
            st.markdown(f"**{safe(name)}**  \n{safe(entry['sentence'])}")
            answer_tabs.show_definition(entry)
