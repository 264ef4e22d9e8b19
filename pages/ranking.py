"""Ranking and advice: what to do about it, and whether the order decides who wins."""

from typing import NoReturn

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views import ranking as views
from rubriclab.figures.ranking import change_dots, flip_bars, tau_dots
from rubriclab.findings.ranking import RANKING
from rubriclab.findings.ranking_results import RankReversal
from rubriclab.findings.ranking_words import ranking_sentence
from rubriclab.findings.topic import setting
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number

LEAD = msg("What the numbers say to do, and whether the order of the rubric decides who comes first.")


def headline(pair: RankReversal) -> None:
    uf.answer(ranking_sentence(pair))
    noise = pair.noise
    uf.verdict(noise.excess, tr("More changes than by noise"), ui.about("winner_noise"))
    strict, tau, gain = pair.top1_flip_strict, pair.kendall_tau, pair.best_of.gain
    uf.metrics(
        (
            tr("Winner changes, all reads"),
            number(pair.top1_flip.value, ".0%"),
            tr("strict count {share}; noise included", share=number(strict.value, ".0%")),
            ui.about("flip"),
        ),
        (
            tr("Same ranking (tau-b)"),
            number(tau.value, ".2f"),
            f"{interval(tau.ci, '.2f')}; {many(tau.n, 'prompt')}",
            ui.about("tau"),
        ),
        (
            tr("Best of {candidates}: pick differs", candidates=pair.best_of.candidates),
            number(pair.best_of.pick_change.value, ".0%"),
            tr("ties go to the first listed"),
            ui.about("pick"),
        ),
        (
            tr("Worth to humans"),
            number(gain.value if gain else None, "+.2f"),
            tr("{interval} points", interval=interval(gain.ci, "+.2f")) if gain else tr("no prompt is rated in full"),
            ui.about("bestof"),
        ),
    )
    picks(pair)


def picks(pair: RankReversal) -> None:
    """What people say of the texts that are picked."""
    best = pair.best_of
    if best.human_a is not None and best.human_b is not None:
        st.caption(
            tr(
                "Mean human score of the pick: {first:.2f} under {a}, {second:.2f} under {b}; a blind pick "
                "would get {chance}, the best possible {best}.",
                first=best.human_a,
                a=pair.a,
                second=best.human_b,
                b=pair.b,
                chance=number(best.chance, ".2f"),
                best=number(best.best, ".2f"),
            )
        )


def nothing(title: str, text: str) -> NoReturn:
    ui.empty_state(title, text, "study", tr("Set up a study"))
    st.stop()


with ui.page("ranking", msg("Ranking and advice"), LEAD):
    info = ui.choose_run(axes=("options", "criteria"), key="ranking")
    if info is None:
        nothing(tr("No advice yet"), tr("Run a study that shows score options or criteria in several orders."))
    advice = ui.findings(info).advice()
    found = ui.finding(info, RANKING)
    settings = list(dict.fromkeys([*(a.of for a in advice), *(setting(p) for p in found.pairs)]))
    if not settings:
        nothing(
            tr("Nothing to advise on"), tr("This run has no readable judgment under reordered options or criteria.")
        )
    about = uf.pick(tr("Judge"), settings, key=f"ranking-judge-{info.run}", name=uf.setting_label, address="judge")
    if advised := [line for line in advice if line.of == about]:
        with uf.steady():
            st.subheader(tr("What to do"), anchor=False, help=ui.about("advice"))
            uf.advice(advised)
    st.subheader(tr("Who wins, under two strategies"), anchor=False, help=ui.about("strategy"))
    pair = views.chosen_pair(found, about)
    if pair is None:
        uf.cautions(found.warnings or (tr("This judge was run under one strategy only."),))
        st.stop()
    with uf.steady():
        headline(pair)
    uf.cautions(pair.warnings, found.warnings)
    mine = [p for p in found.pairs if setting(p)[1:] == about[1:]]
    changes, bars, dots = change_dots(mine), flip_bars(mine), tau_dots(mine)
    st.markdown(tr("**Between the two, and in the same order read twice**"), help=ui.about("winner_noise"))
    ui.chart(changes, key="ranking-changes", info=info)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(tr("**Over all reads, noise included**"), help=ui.about("strict_flip"))
        ui.chart(bars, key="ranking-flips", info=info)
    with right:
        st.markdown(tr("**How far the rankings agree**"), help=ui.about("tau"))
        ui.chart(dots, key="ranking-tau", info=info)
    views.flips(info, pair, uf.arms_of(info))
    ui.export_row(
        {msg("Winner changes"): bars, msg("Against noise"): changes, msg("Agreement of rankings"): dots},
        {msg("Flips"): views.flip_frame(pair)},
        info=info,
        key="ranking",
    )
