"""On the page Report: the chosen runs as a folder of pages for any web server, in a ZIP."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views.report import LIBRARY_MB, SECONDS, SECONDS_A_JUDGMENT, file_name
from rubriclab.datasets.outfolder import Zip
from rubriclab.model.language import language, speaking, tr
from rubriclab.report.share import LEFT_OUT, Sharing, share
from rubriclab.store import RunInfo, Store

SECONDS_TO_SHARE = 1.6e-4
"""For every judgment, besides what the report takes: its rows in tables and pages, measured on 100,000."""
MB_A_JUDGMENT = 4.5e-4


def section(store: Store, runs: Sequence[RunInfo], title: str) -> None:
    """What is in it, whether texts are, and the file."""
    with st.expander(tr("To share on the web"), icon=":material/public:"):
        st.markdown(
            tr(
                "A folder of plain pages with an index: each run's report, presentation, judgments, tables and "
                "charts. Unpack it where any web server shows files, or open `index.html`; no page asks another "
                "host."
            )
        )
        texts = st.checkbox(
            tr("With texts, replies and names of raters"),
            key="share-texts",
            help=tr(
                "Whoever sees the pages can then read, word for word, what was judged. Addresses of servers, "
                "keys and places of files are never in them."
            ),
        )
        if not texts:
            st.caption(
                tr(
                    "{what} are left out. Names of items, judges and data sets are as they were given.",
                    what=tr(LEFT_OUT),
                )
            )
        st.download_button(
            tr("Pages (zip)"),
            _zipped_later(store, runs, Sharing(title, texts)),
            file_name=f"{file_name(title, runs, '.zip').removesuffix('.zip')}-pages.zip",
            mime="application/zip",
            key="share-zip",
            icon=":material/folder_zip:",
            on_click="ignore",
        )
        _cost(runs)
        st.caption(tr("In a terminal: `python -m rubriclab share RUN --out FOLDER`"))


def _cost(runs: Sequence[RunInfo]) -> None:
    """How large the folder will be, and how long it takes."""
    judged = sum(info.done for info in runs)
    seconds = (SECONDS + 1) * len(runs) + (SECONDS_A_JUDGMENT + SECONDS_TO_SHARE) * judged
    size = LIBRARY_MB * len(runs) + MB_A_JUDGMENT * judged
    st.caption(
        tr(
            "About {size:.0f} MB when unpacked, ready in about {duration}.",
            size=size,
            duration=ui.duration(max(seconds, 2)),
        )
    )


def _zipped_later(store: Store, runs: Sequence[RunInfo], sharing: Sharing) -> Callable[[], bytes]:
    """What writes the folder when its button is pressed, in the language of now: it runs outside of the visit."""
    spoken = language()

    def made() -> bytes:
        with speaking(spoken):
            return zipped_share(store, [info.run for info in runs], sharing)

    return made


def zipped_share(store: Store, runs: Sequence[str], sharing: Sharing) -> bytes:
    """The folder as a ZIP. Raises LabError for a run that is being judged."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        share(store, runs, Zip(archive), sharing)
    return buffer.getvalue()
