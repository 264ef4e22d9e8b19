"""Know whether the visitor's window is narrow, so that pictures put their panels in one column.

The server does not see windows. A component without a face reports the width from the browser: the
first time after it is drawn, and whenever the window crosses the limit.
"""

import streamlit as st

NARROW = 640
"""Pixels: up to this width Streamlit puts columns below each other."""
SCRIPT = f"""
export default function (component) {{
  const query = window.matchMedia('(max-width: {NARROW}px)');
  const tell = () => {{
    if (query.matches !== component.data.narrow) component.setStateValue('narrow', query.matches);
  }};
  tell();
  query.addEventListener('change', tell);
  return () => query.removeEventListener('change', tell);
}}
"""


def is_narrow(key: str) -> bool:
    """Draw the component, and return what it last said: False until it has said anything.

    ``key``: of the component; one for each page.
    """
    known = bool(st.session_state.get(key, {}).get("narrow", False))
    draw = st.components.v2.component("rubriclab_viewport", js=SCRIPT)
    said = draw(
        key=key,
        data={"narrow": known},
        default={"narrow": known},
        on_narrow_change=lambda: None,
        height="content",
    )
    return bool(said.narrow)
