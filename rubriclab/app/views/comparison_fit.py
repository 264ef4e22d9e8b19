"""View of one stepwise regression: what it kept, what it explains, and the table by which variables went."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import number
from rubriclab.stats.stepwise import Stepwise


def regression(title: str, fit: Stepwise, *, key: str) -> None:
    """What goes with one number of a judge."""
    st.markdown(f"**{title}**")
    if not fit.table:
        st.caption(tr("No model could be fitted to these cells."))
        return
    kept = ", ".join(map(tr, fit.selected)) or tr("nothing")
    st.caption(
        tr(
            "Kept: {kept}. Share explained (R²) {share} over {cells:,} cells. A row is the model without that "
            "variable; the further its loss (AIC) rises, the more it is needed.",
            kept=ui.plain(kept),
            share=number(fit.r2, ".2f"),
            cells=fit.n,
        )
    )
    rows = [
        (
            tr(row.variable) if row.df else tr("nothing (the final model)"),
            row.df,
            row.sum_sq,
            row.rss,
            row.aic,
            row.aic_change,
        )
        for row in fit.table
    ]
    frame = pd.DataFrame(rows, columns=[msg("without"), "df", msg("sum of sq"), "RSS", "AIC", msg("AIC rises by")])
    uf.table(frame, key=key, forms={"%.3f": ["sum of sq", "RSS"], "%.1f": ["AIC"], "%+.1f": ["AIC rises by"]})
