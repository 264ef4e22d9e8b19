"""The lab's frame: who may come in, and the bar of pages. Start with ``streamlit run app.py``.

The server imports this file for ``app``, which the guard stands before; every visit runs it as the
script.
"""

import streamlit as st

from rubriclab.app import frame, guard

if __name__ == "__main__":
    frame.run()
else:
    frame.warm()
    app = st.App(__file__, middleware=guard.middleware(), lifespan=frame.serving)
