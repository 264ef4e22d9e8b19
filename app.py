"""Start the lab: ``streamlit run app.py``.

The server imports this file once for ``app``, which lets the guard look at every request first.
Streamlit then runs the file as a script on every visit.
"""

import streamlit as st

from rubriclab.app import guard, navigation

if __name__ == "__main__":
    navigation.run()
else:
    navigation.warm()
    app = st.App(__file__, middleware=guard.middleware(), lifespan=navigation.serving)
