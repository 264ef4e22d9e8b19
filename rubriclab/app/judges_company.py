"""Draw all criteria in one call next to each by itself, for one judge."""

import streamlit as st

from rubriclab.app.answer_tabs import number_table
from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View, show
from rubriclab.core.judgments import widest
from rubriclab.figures.company_pictures import company_of, together_against_alone
from rubriclab.model.text import printable, shorten
from rubriclab.words.company import WORDS, company_answer
from rubriclab.words.phrases import say

MEASURES = (
    "company",
    "company_criterion",
    "company_single",
    "company_gate",
    "company_noise",
    "company_noise_difference",
    "company_kappa",
    "company_kappa_difference",
    "company_tokens",
)
"""The rows of the table, in the order of the sentences."""


def has(several: Several) -> bool:
    """Return whether a judge was asked for its criteria in both ways."""
    asked = several.findings.conditions
    return any(about.criterion_alone and about.dataset == several.dataset for about in asked)


def draw(several: Several) -> None:
    """Draw the sentences about one judge, the picture, and the numbers of both."""
    findings = several.findings
    every = {found.alone.condition.judge: found for found in company_of(findings, several.dataset)}
    if not every:
        st.caption(say("unfinished", WORDS))
        return
    judge = next(iter(every))
    if len(every) > 1:
        judge = str(
            st.selectbox(
                "Judge",
                list(every),
                format_func=lambda name: shorten(printable(name), 60),
                key=f"{several.key}-company-judge",
                width=330,
            )
        )
    found = every[judge]
    answer = company_answer(findings, found)
    st.markdown(f"**{safe(answer.headline, 400)}**")
    st.markdown(safe(answer.line, 1_000))
    for question in answer.questions:
        badge = f"**{safe(question.badge)}** · " if question.badge else ""
        colon = "" if question.title.endswith("?") else ":"
        said = safe(question.sentence, 2_000)
        st.markdown(f"- {badge}{safe(question.title)}{colon} {said}")
    st.markdown(f"**What to do.** {safe(answer.advice, 400)}")
    for caution in answer.cautions:
        st.warning(safe(caution, 1_000))
    show(several, together_against_alone(findings, found), f"company-{judge}")
    code = widest(found.together).code
    rows = [row for name in MEASURES for row in findings.select(name, condition=code)]
    with st.expander("Numbers", icon=":material/table:"):
        number_table(findings, rows)


VIEW = View("company", "Together or alone", has, draw)
