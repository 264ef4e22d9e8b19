"""A run in; Results out: is this judge biased by order, by how much, and what to do, with its
picture and every number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from rubriclab.app import answer_tabs as answers
from rubriclab.app import call_browser as judgments
from rubriclab.app import rate, state
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import download, ways_in
from rubriclab.app.frame import faults, fold, go, safe, tabs, verbatim
from rubriclab.app.runs import again_with_changes, logged_button
from rubriclab.core.topic import DEFINITIONS, MEASURES, TOPICS, Findings
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.paper_table import PaperTable, paper_table
from rubriclab.exports.report import method_lines
from rubriclab.figures import pictures
from rubriclab.figures.pictures import Shown
from rubriclab.model.judgment import step_of
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import count, file_name, printable, shorten
from rubriclab.words.answer import Answer, judged
from rubriclab.words.paper_grid import axes_of, numbers_of
from rubriclab.words.phrases import MINUS, ci, readable
from rubriclab.words.subject import CHOICES, Subject, calls_in, settings, subjects_by_name
from rubriclab.words.what_helps import has_help
from rubriclab.words.with_people import has_people

if TYPE_CHECKING:
    from rubriclab.store.read import RunInfo

FILTERS = ("score", "position", "criterion", "status", "find", "call")
MISSING = "No human scores, so nothing is said of agreement with people."


@dataclass(frozen=True)
class Chosen:
    """What the header row says: a run, read in one way, and one judge of it.

    ``codes``: its conditions by ordering strategy; ``condition``: the one whose pictures and
    judgments are shown.
    """

    info: RunInfo
    findings: Findings
    subject: Subject
    codes: dict[str, int]
    condition: int


def page() -> None:
    info = state.run_choice()
    if info is None:
        nothing()
        return
    if "rate" in st.query_params:
        rate.page(info)
        return
    chosen, menu = _header(info)
    answer = judged(chosen.findings, chosen.subject)
    with menu, st.container(horizontal=True):
        _menu(info, answer)
        logged_button(info, "results-logged")
    findings, subject = chosen.findings, chosen.subject
    key = f"main-{subject.reorder}-{chosen.condition}-{subject.variant}"
    answers.beside(answer, "bias", _main(chosen), key, partial(_clicked, key))
    parts: dict[str, Callable[[], None]] = {"Bias": lambda: _bias(chosen, answer)}
    if subject.calls and has_people(findings, subject.condition):
        parts["With people"] = lambda: _people(chosen)
    if subject.calls and not subject.variant and has_help(findings, subject):
        parts["What helps"] = lambda: answers.what_helps(
            findings, subject, partial(_to_card, chosen)
        )
    parts["Judgments"] = lambda: judgments.tab(
        state.kept(info.id), findings.judgments.arms[chosen.condition]
    )
    tabs(parts)


def nothing(title: str = "Results") -> None:
    """What the page shows where there is no run at all."""
    st.title(title, anchor=False)
    ways_in("No finished run yet.")


# ---------------------------------------------------------------- the header row


def choose_run(info: RunInfo, page: str) -> None:
    """The list of runs; the one that is chosen stands in the address, and with it ``page`` is drawn
    anew.
    """
    infos = {listed.id: listed for listed in state.listed()}
    key, named = f"{page}-run", st.query_params.get("run", "")
    if named and not info.id.startswith(named) and named != info.name:
        st.markdown(
            f":orange[The run “{safe(named, 60)}” of this address has no judgments: another one is "
            f"shown.]"
        )
    # What widgets have bound in the address can only be left behind by going to the page anew.
    if wanted := st.session_state.pop(f"{key}-wanted", None):
        for name in (*FILTERS, "tab", "smallest", "share", "unit", "margin", "protocol"):
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
        help="Runs with judgments, the newest first, then the recorded examples.",
    )


def plain_name(name: str) -> str:
    """A name in a list of choices, which shows text as it is: one line, at most 80 signs, all of
    them visible.
    """
    return shorten(printable(name), 80)


def _menu(info: RunInfo, answer: Answer) -> None:
    """The answer and the address of this very view to copy, and the way to a run with changes."""
    menu = st.popover("More", icon=":material/more_horiz:", key="results-menu", on_change="rerun")
    if not menu.open:
        return
    with menu:
        st.caption("The answer, to copy")
        asked = [
            f"{question.title} {question.badge}. {question.sentence}"
            for question in answer.questions
        ]
        advice = f"What to do: {answer.advice}" if answer.advice else ""
        verbatim(
            "\n".join(
                filter(
                    None, [answer.early, answer.headline, answer.line, *asked, answer.note, advice]
                )
            )
        )
        st.caption("Link to this view")
        view = {name: st.query_params.get_all(name) for name in st.query_params} | {
            "run": [info.id]
        }
        verbatim(f"{str(st.context.url).partition('?')[0]}?{urlencode(view, doseq=True)}")
        again_with_changes(info)


def _header(info: RunInfo) -> tuple[Chosen, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choose_run(info, "results")
        conditions = state.kept(info.id).table.conditions
        judge = choice("Judge", [asked.judge for asked in conditions], "judge")
        dataset = choice(
            "Data set", [asked.dataset for asked in conditions if asked.judge == judge], "dataset"
        )
        named = settings(conditions, judge, dataset)
        setting = st.container(width="content")
        with st.popover("Options", icon=":material/tune:"):
            reading = _reading(info, conditions[next(iter(named.values()))].scores)
            strategy = st.container()
            if not state.kept(info.id).table.items["ratings"].map(bool).any():
                st.info(MISSING, icon=":material/group_add:")
                if rate.can_be_rated(info) and st.button("Add human scores", key="add-scores"):
                    rate.add_scores(info)
                rate.rate_button(info, "rate-none")
        menu = st.container(width="content")
        with st.spinner("Computing …", show_time=True, width="content"):
            findings = state.findings(info.id, reading)
        every = subjects_by_name(findings, judge, dataset)
        with setting:
            subject = every[choice("Setting", list(every), "setting")]
    own = findings.conditions[subject.condition]
    alike = {
        other.strategy: code
        for code, other in enumerate(findings.conditions)
        if other.setting == own.setting
    }
    codes = (
        {own.strategy: subject.condition} if subject.variant else alike
    )  # a variant is held against the default alone
    picked = own.strategy
    if len(codes) > 1:
        with strategy:
            picked = choice("Ordering strategy", list(dict.fromkeys([picked, *codes])), "strategy")
            st.caption(
                "Of the pictures and single judgments; the three questions use all strategies "
                "together."
            )
    return Chosen(info, findings, subject, codes, codes[picked]), menu


def choice(label: str, options: list[str], name: str) -> str:
    """One of a few names, kept in the address; nothing is shown where there is only one."""
    wanted, options = st.query_params.get(name, ""), list(dict.fromkeys(options))
    if len(options) < 2:
        return options[0]
    key = f"results-{name}"
    st.session_state[key] = wanted if wanted in options else options[0]

    def choose() -> None:
        st.query_params[name] = st.session_state[key]

    arguments: dict[str, Any] = {"key": key, "on_change": choose}
    if len(options) <= 4 and sum(map(len, options)) <= 60:
        st.segmented_control(
            label, options, required=True, format_func=lambda option: safe(option, 30), **arguments
        )
    else:
        st.selectbox(label, options, format_func=plain_name, width=260, **arguments)
    return str(st.session_state[key])


def _reading(info: RunInfo, scores: Sequence[float]) -> ReadingPart:
    """The run's own reading, with what the options change in it; ``scores``: the scale of the
    setting that is shown.
    """
    run = state.kept(info.id)
    table, own = run.table, run.reading
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
        help="Of a mean score. A change that surely is smaller is said to be none.",
    )
    share = st.number_input(
        "Smallest share that matters, percentage points",
        0.5,
        50.0,
        100 * own.smallest.share,
        0.5,
        key="share",
        bind="query-params",
        help="Of a position's share, and of single scores that change.",
    )
    units = [
        "auto",
        "item",
        *(kind for kind in ("prompt", "block") if table.items[kind].notna().any()),
    ]
    unit: str = own.unit
    if len(units) > 2:
        unit = st.selectbox(
            "Independent groups",
            units,
            index=units.index(own.unit) if own.unit in units else 0,
            key="unit",
            bind="query-params",
            help="auto: answers to one instruction count as one group.",
        )
    single = own.smallest.single if math.isclose(share, 100 * own.smallest.share) else share / 100
    mean = own.smallest.mean if math.isclose(points, default) else points / step
    smallest = {"mean": mean, "share": share / 100, "single": single, "r": own.smallest.r}
    return ReadingPart.model_validate(own.model_dump() | {"unit": unit, "smallest": smallest})


# ------------------------------------------------------------ the answer's picture and the tab Bias


def _main(chosen: Chosen) -> Shown:
    """The picture beside the answer; what it is made of stands in its note."""
    subject, arm = chosen.subject, chosen.findings.judgments.arms[chosen.condition]
    shown = pictures.main_picture(chosen.findings, subject, chosen.condition)
    what, several = {
        "pairs": ("pair", ""),
        "lists": ("list", ""),
        "criteria": ("text", ""),
        "responses": ("batch", "batches"),
    }.get(subject.reorder, ("answer", ""))
    strategy = safe(arm.condition.strategy, 40)
    orders = (
        f" in {count(len(arm.shown), 'order')} ({strategy})" if subject.reorder != "bare" else ""
    )
    criteria = (
        arm.run.items["criterion"].iloc[arm.item_code].nunique() if arm.answers < arm.texts else 0
    )
    under = f" under {count(criteria, 'criterion', 'criteria')}" if criteria else ""
    calls = calls_in(arm.call[arm.ok])
    made = f"{count(calls, 'call')}: {count(arm.answers, what, several)}{under}{orders}."
    return shown._replace(note=f"{shown.note} {made}")


def _bias(chosen: Chosen, answer: Answer) -> None:
    if len(chosen.codes) > 1:
        strategy = chosen.findings.conditions[chosen.condition].strategy
        st.caption(
            f"Pictures: {safe(strategy, 40)} orders alone. The three questions use all of this "
            f"judge's orders."
        )
    drawn = [
        (shown, shown.picture.kind) for shown in _pictures(chosen) if shown.picture is not None
    ]
    wide = [kind for _, kind in drawn] == ["forest"]
    for (shown, kind), column in zip(
        drawn, st.columns(1 if wide else 2, gap="large"), strict=False
    ):
        with column:
            st.markdown(shown.title)
            key = f"{kind}-{chosen.condition}"
            answers.show_picture(shown, key, partial(_clicked, key))
    if answer.note:  # what single orders showed, below the pictures of all of them
        st.markdown(safe(answer.note))
    known = {row.measure for row in chosen.findings.rows}
    printed = [measure for measure in ("pc", "pf", "rs", "error_rate") if measure in known]
    if printed:
        st.markdown("**In the terms of the papers**")
        show_table(paper_table(chosen.findings, printed))
    for factor in pictures.levelled_factors(chosen.findings):
        _by_level(chosen.findings, factor)
    fold("More numbers: strength, tests, order by order", lambda: _more(chosen, answer), key="more")
    fold("How this was computed, and what it assumes", lambda: _how(chosen), icon="rule", key="how")


def _people(chosen: Chosen) -> None:
    answers.with_people(chosen.findings, chosen.subject)
    rate.rate_button(chosen.info, "rate-more")


def _to_card(chosen: Chosen) -> None:
    """The way from what helps to the file that brings it into a pipeline; a card scores single
    answers alone.
    """
    if chosen.subject.reorder in ("options", "criteria") and chosen.subject.finished:
        label = "Export the recommended protocol"
        if st.button(label, icon=":material/ios_share:", type="primary"):
            go("export", run=chosen.info.id, judge=chosen.subject.judge, **{"for": "Judge card"})


def _pictures(chosen: Chosen) -> Iterator[Shown]:
    """What stands below the answer, by what changed order; without a picture where none can be
    drawn.
    """
    findings, subject, code = chosen.findings, chosen.subject, chosen.condition
    smallest = findings.smallest_mean(code)
    if subject.variant:
        own, asked = findings.conditions[code], findings.conditions
        rows = [
            row
            for row in findings.select("variant_shift")
            if asked[row.condition].judge == own.judge
        ]
        rows = [row for row in rows if asked[row.condition].dataset == own.dataset]
        yield Shown(
            "**Every form against the default** · green: too small to matter",
            pictures.row_forest(rows, f"Points, variant {MINUS} default", smallest, by="variant"),
            f"Change of the mean score, {ci()}. A verdict stands with each form: choose it above.",
        )
    elif subject.reorder in CHOICES:
        note = f"A tie counts as a share of a win for each. Lines on bars: {ci()}."
        yield Shown("**How often each position won**", pictures.share_bars(findings, subject), note)
    elif subject.reorder == "criteria":
        rows = findings.select("first_minus_last", condition=code)
        together = (
            f"Lines: {ci(rows[0].level)}, so that all hold at once. " if len(rows) > 1 else ""
        )
        yield Shown(
            "**First against last, each criterion** · green: too small to matter",
            pictures.row_forest(
                rows, f"Points, listed first {MINUS} listed last", smallest, by="target"
            ),
            f"{together}Single criteria have no verdict: the three questions take them together.",
        )
    elif subject.reorder == "options":
        cells, slopes = (
            pictures.score_cells(findings, code),
            pictures.score_slopes(findings, subject, code),
        )
        even = f"{100 / findings.conditions[code].positions:.0f}%"
        note = (
            f"Of the calls that gave a score, the share given at each position. No bias: "
            f"{even} "
            f"everywhere."
        )
        title = "**Score by position** · click a cell"
        yield Shown(title, cells, f"{note} Orange: more; blue: less.")
        if slopes is not None:
            title = f"**Each answer, {slopes.levels[0]} against {slopes.levels[1]}**"
            cut = f" {count(slopes.left_out, 'answer')} not drawn." if slopes.left_out else ""
            sized = (
                f", {ci()}"
                if slopes.difference.has_interval
                else "; too few groups for an interval"
            )
            band = "; green: too small to matter" if math.isfinite(slopes.smallest) else ""
            note = (
                f"Each line: an answer's scores over all its orders, as a straight line. Orange "
                f"falls, blue rises.{cut} "
                f"Right: mean difference{sized}{band}."
            )
            yield Shown(title, slopes, note)


def _by_level(findings: Findings, factor: str) -> None:
    """How strong, the change of the mean and the spread against the levels of a factor: a line a
    judge, a row a data set.
    """
    st.markdown(f"**Against {safe(readable(factor).lower())}** · a line for each judge")
    datasets = list(dict.fromkeys(asked.dataset for asked in findings.conditions))
    for dataset in datasets:
        drawn = {
            measure: pictures.level_curves(findings, measure, factor, dataset)
            for measure in pictures.LEVELLED
        }
        if drawn["variant_shift"] is not None:
            drawn.pop("line")
        kept = {measure: picture for measure, picture in drawn.items() if picture is not None}
        if len(datasets) > 1:
            st.caption(safe(dataset, 60))
        for column, (measure, picture) in zip(
            st.columns(max(1, len(kept))), kept.items(), strict=False
        ):
            with column:
                st.caption(MEASURES[measure].name)
                chart(picture, key=f"level-{factor}-{measure}-{dataset}")
    st.caption(
        f"Lines on points: {ci()}. Single levels have no verdict; the three questions are about "
        f"one setting."
    )


def _clicked(key: str) -> None:
    """A click on a cell: the tab Judgments, filtered to what the cell is about."""
    points = st.session_state[key].selection.points
    if not points:
        return
    of = points[0].get("customdata") or {}
    of = of[0] if isinstance(of, list) else of
    # The filters are not drawn yet: what they begin with has to stand in the address too.
    for name in FILTERS:
        st.session_state.pop(name, None)
        st.query_params.pop(name, None)
    for name, part in (("score", "score"), ("position", "position"), ("criterion", "target")):
        if part in of:
            value = f"{of[part]:g}" if isinstance(of[part], int | float) else str(of[part])
            st.session_state[name] = st.query_params[name] = value
    st.session_state["tab"] = "Judgments"


# ---------------------------------------------------------------- the folds


def choose_table(run_id: str, findings: Findings) -> PaperTable:
    """One measure of all judges, data sets or levels of a factor, as the papers print it; raises
    LabError where it cannot.
    """
    measures = {row.measure: row.about.name for row in findings.rows if row.measure != "gate"}
    axes = axes_of(findings)
    first = (
        "dataset"
        if len({asked.dataset for asked in findings.conditions}) > 1
        else axes[min(2, len(axes) - 1)]
    )
    varied = any(asked.variant for asked in findings.conditions)
    strategies = {asked.strategy for asked in findings.conditions}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        called = measures.__getitem__
        measure = str(
            st.selectbox("Measure", list(measures), format_func=called, key="measure", width=340)
        )
        start = axes.index(first) if varied else 0
        across = st.selectbox(
            "Columns", axes, start, format_func=readable, key="columns", width=180
        )
        which = numbers_of(findings, measure, across)
        read = lambda part: plain_name(part.replace("=", " ").replace(",", ", "))  # noqa: E731
        number = st.selectbox("Number", which, format_func=read, width=180) if which else ""
        by_strategy = len(strategies) > 1 and st.checkbox(
            "A line for each ordering strategy", key="by-strategy"
        )
    return paper_table(
        findings,
        f"{measure}:{number}" if number else measure,
        across=across,
        by_strategy=by_strategy,
        papers=state.kept(run_id).papers,
    )


def show_table(table: PaperTable) -> None:
    st.dataframe(table.frame(), hide_index=True, width="stretch")
    st.caption(safe(" ".join(table.legend)))


def _more(chosen: Chosen, answer: Answer) -> None:
    """Every row of the judge's setting by topic, and the charts that topics declare beside the
    pictures above.
    """
    answers.show_cautions(answer.cautions[answers.MOST_CAUTIONS :])
    if len(chosen.findings.conditions) > 1:
        with faults():
            table = choose_table(chosen.info.id, chosen.findings)
            show_table(table)
            with st.container(horizontal=True):
                download("CSV", csv_text(table.numbers()), file_name(table.title, ".csv"))
                download("LaTeX", table.latex(), file_name(table.title, ".tex"))
    rows = [row for row in chosen.findings.rows if row.condition in chosen.codes.values()]
    for topic in dict.fromkeys(row.topic for row in rows):
        st.markdown(f"**{readable(topic)}**")
        answers.number_table(chosen.findings, [row for row in rows if row.topic == topic])
        for drawn in TOPICS[topic].charts if topic in TOPICS else ():
            if drawn.measure in (
                "position_share",
                "position_given_score",
                "position_shift",
                "first_minus_last",
            ):
                continue  # drawn above
            picture = pictures.generic(drawn, chosen.findings, chosen.condition)
            if picture is not None and not (picture.kind == "forest" and len(picture.points) < 2):
                st.caption(MEASURES[drawn.measure].name)
                chart(picture, key=f"{topic}-{drawn.measure}-{chosen.condition}")


def _how(chosen: Chosen) -> None:
    """The method, then each definition once, under the name of its first measure."""
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
            answers.show_definition(entry)
