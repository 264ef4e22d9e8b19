"""Draw what goes along with consistency and with preference, as tables of stepwise AIC."""

import pandas as pd
import streamlit as st

from rubriclab.app.forms import download
from rubriclab.app.judges_view import Several, View
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.table import latex_table
from rubriclab.model.text import file_name

OUTCOMES = {"PC": "Position consistency (PC)", "PF": "Preference fairness (PF)"}
NONE = "none"


def has(several: Several) -> bool:
    """Return whether the stepwise regression was computed."""
    return bool(several.findings.select("aic_removed"))


def draw(several: Several) -> None:
    """Draw the table of each outcome, as Shi et al. print them in Tables 3 to 8."""
    st.markdown("**What goes along with consistency and with preference?** · stepwise by AIC")
    columns = st.columns(2, gap="large")
    for column, (outcome, name) in zip(columns, OUTCOMES.items(), strict=True):
        table = _table(several, outcome)
        if table is None:
            continue
        with column:
            st.markdown(name)
            st.dataframe(
                table,
                hide_index=True,
                width="stretch",
                key=f"{several.key}-factors-{outcome}",
                column_config={
                    name: st.column_config.NumberColumn(format="%.2f")
                    for name in ("Sum of squares", "RSS", "AIC")
                },
            )
            with st.container(horizontal=True):
                title = f"stepwise {outcome}"
                key = f"{several.key}-factors-{outcome}"
                download("CSV", csv_text(table), file_name(title, ".csv"), key=f"{key}-csv")
                latex = latex_table(table.round(2))
                download("LaTeX", latex, file_name(title, ".tex"), key=f"{key}-tex")
    st.caption(
        "Each line: the kept model without this term. A term is kept while leaving it out raises "
        "AIC. Cells share judges and tasks, so AIC overstates certainty."
    )


def _table(several: Several, outcome: str) -> pd.DataFrame | None:
    """Return a line for each term that was kept, lowest AIC first; None where there is none."""
    lines = []
    for row in several.findings.select("aic_removed"):
        if row.of["outcome"] != outcome or "aic" not in row.counts:
            continue
        term = str(row.of["term"])
        counts = row.counts
        lines.append(
            {
                "Left out": "(nothing)" if term == NONE else term.replace("_", " "),
                "DF": counts["df"],
                "Sum of squares": counts["sum_sq"],
                "RSS": counts["rss"],
                "AIC": counts["aic"],
            }
        )
    if not lines:
        return None
    return pd.DataFrame(lines).sort_values("AIC", ignore_index=True)


VIEW = View("factors", "Factors", has, draw)
