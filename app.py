"""The lab's frame: its door and its navigation. Start with ``streamlit run app.py``.

The server imports this file for ``app``, which the guard stands before; every visit runs it as
the script.
"""

import streamlit as st

from rubriclab.app import ui
from rubriclab.model import places
from rubriclab.model.language import tr


def frame() -> None:
    ui.speak_as_chosen()
    st.set_page_config(page_title=ui.tab_title(), page_icon=str(places.MARK), layout="wide")
    st.logo(str(places.LOGO), icon_image=str(places.MARK), size="large")
    pages = {
        tr(section): [
            st.Page(
                f"pages/{entry.file}.py",
                title=tr(entry.title),
                icon=entry.icon,
                url_path=entry.file,
                default=entry.file == "home",
                visibility="visible" if entry.listed else "hidden",
            )
            for entry in entries
        ]
        for section, entries in ui.NAVIGATION.items()
    }
    page = st.navigation(pages, position="sidebar", expanded=True)
    ui.enter(page)
    ui.follow_store()
    ui.store_chooser()
    ui.language_chooser()
    ui.watch_runs()
    try:
        page.run()
    finally:  # a page may stop, or lead to another
        ui.soon_at_hand()


if __name__ == "__main__":
    frame()
else:
    app = st.App(__file__, middleware=ui.door(), routes=ui.forwarding())
