"""Which language a visit is spoken to in: what was chosen, else what the address or the browser asks for."""

from __future__ import annotations

from datetime import datetime

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rubriclab.model.language import LANGUAGES, SOURCE, ask_first, language, speak, tr

CHOSEN = "lang"
"""The name of the choice in the session and in the address."""
SPOKEN = "language spoken"
"""The choice once more in the session: a page that leads to another one (st.switch_page) forgets the widget's."""


def language_now() -> str:
    """The language of this visit; nothing outside of one."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return ""
    known = (st.session_state.get(CHOSEN), st.session_state.get(SPOKEN), st.query_params.get(CHOSEN))
    return next((str(code) for code in known if code in LANGUAGES), _of_browser())


def _of_browser() -> str:
    code = (st.context.locale or "")[:2].lower()
    return code if code in LANGUAGES else SOURCE


_VOICE = st.components.v2.component(
    "rubriclab_voice",
    js="""
export default ({data}) => {
  const page = document.documentElement, before = page.lang;
  page.lang = data.code;
  return () => { page.lang = before; };
};
""",
)
"""The page's language for the browser, as which Streamlit's own names English: screen readers choose a voice by it."""


class Awaited(str):
    """What a cache says while it works, marked with ``msg``: written when a function is defined, said when it runs."""

    def __str__(self) -> str:
        return tr(super().__str__())


def inside(label: str) -> str:
    """A label within a sentence: English writes it small there; another language leaves its nouns as they are."""
    return label.lower() if language() == SOURCE else label


def dated(moment: datetime, form: str) -> str:
    """A moment as ``strftime`` writes it; ``form`` is marked with ``msg``, for each language writes days its way."""
    return moment.strftime(tr(form))


def speak_as_chosen() -> None:
    """Called by app.py before anything is said: a thread may have spoken another language before."""
    speak(language_now())


def language_chooser() -> None:
    """The languages side by side at the foot of the sidebar; one that is not the browser's stands in the address."""
    if CHOSEN not in st.session_state:
        st.session_state[CHOSEN] = language_now()
    with st.sidebar:
        chosen = st.segmented_control(
            tr("Language"),
            list(LANGUAGES),
            key=CHOSEN,
            format_func=LANGUAGES.__getitem__,
            required=True,
            label_visibility="collapsed",
            on_change=_choose_again,
        )
    st.session_state[SPOKEN] = chosen
    if chosen != SOURCE:
        with st.sidebar:
            _VOICE(data={"code": chosen}, key=f"voice-{chosen}")
    if chosen != _of_browser():
        st.query_params[CHOSEN] = str(chosen)
    elif CHOSEN in st.query_params:
        del st.query_params[CHOSEN]


def _choose_again() -> None:
    """Every choice is made again by its value: the browser knows it by its words, which the new language has not.

    Else it would show the old words, and send them with the next click: the choice would fall back to its default.
    What Streamlit lets nobody set (buttons, files, edits of tables) holds no value of these kinds.
    """
    for key, value in list(st.session_state.items()):
        if _is_choice(value) or (isinstance(value, list | tuple) and value and all(map(_is_choice, value))):
            st.session_state[key] = value


def _is_choice(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


ask_first(language_now)
