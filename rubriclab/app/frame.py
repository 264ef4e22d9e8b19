"""Draw what all pages share: notices, errors, other people's text, tabs, and folded parts.

Text of unknown origin reaches a page only through ``safe`` or ``verbatim``. An error never costs
more than the part of the page in which it happens.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import NoReturn, ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rubriclab.app import state
from rubriclab.app.session_keys import session_keys
from rubriclab.data.lab_folder import lab_folder
from rubriclab.judges.served import served
from rubriclab.model.consent import Consent, NoConsent, is_pasted
from rubriclab.model.text import LabError, digest, shorten, without_invisible

log = logging.getLogger("rubriclab")

P = ParamSpec("P")
HERE = Path(__file__).parent
PAGES = lab_folder() / "pages"
BROUGHT = "tabs brought up"
"""In the session's state: a tab was opened, by a click on it or from elsewhere on the page."""
ARRIVED = "arrived on a page"
"""In the session's state: a button led to this page. The window would keep its place else."""
PAGE_TOP = """
export default function () {
  const page = document.querySelector('[data-testid="stMain"]');
  if (page) page.scrollTo(0, 0);
}
"""
TIMES = "times a script was run"
TABS_UP = """
export default function () {
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  const tabs = document.querySelector('.st-key-tab');
  const top = tabs ? tabs.getBoundingClientRect().top : 0;
  const hidden = top < 0 || top > 0.4 * window.innerHeight;
  if (tabs && hidden) {
    tabs.scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'start' });
  }
}
"""
"""Moves the tabs to the top of the window, unless enough of the open one is in sight."""
LONG_MESSAGE = 320
"""Height in pixels of the box around a long message: enough for some fifteen lines."""


def page_file(name: str) -> Path:
    """Return the file in ``pages/`` of the page with this name."""
    return PAGES / f"{name}.py"


def show(name: str, draw: Callable[[], None]) -> None:
    """Draw a page, and report what goes wrong in plain words, without code or paths.

    When the first visitor of a server opens a deep link, Streamlit runs the page's file without
    ``app.py``. The page then goes to ``app.py``, which leads back to it with its query kept.
    """
    if not st.session_state.get("frame entered"):
        query = {key: st.query_params.get_all(key) for key in st.query_params}
        st.session_state["frame wanted"] = (name, query)
        st.switch_page(PAGES.parent / "app.py")
    arrived = st.session_state.pop(ARRIVED, False)
    for text in st.session_state.pop("frame announced", ()):
        st.toast(text, icon=":material/check:")
    try:
        with faults():
            draw()
        if arrived:
            _run_once("page_top", PAGE_TOP)
    except Exception as fault:
        if _steers_streamlit(fault):
            raise
        log.exception("page %s failed", name)
        st.title("Something went wrong in the lab itself", anchor=False)
        st.error(
            "Your data and runs are unchanged. The terminal in which the lab runs shows the "
            "details."
        )


def _steers_streamlit(fault: Exception) -> bool:
    """Return whether Streamlit raised this to rerun, to stop, or to change the page."""
    return type(fault).__module__.startswith("streamlit.runtime.scriptrunner")


@contextmanager
def faults() -> Iterator[None]:
    """Show an error of the user in the place where it happened, and go on with the page."""
    try:
        yield
    except NoConsent as fault:
        ask_consent(fault)
    except LabError as fault:
        st.error(safe(str(fault)), icon=":material/error:")


@contextmanager
def contained(name: str) -> Iterator[None]:
    """Show a run's part of a page, so that no fault in it can cost the rest of the page.

    ``name``: the run's name, for the message.
    """
    try:
        with faults():
            yield
    except Exception as fault:
        if _steers_streamlit(fault):
            raise
        log.exception("a part of a page failed")
        st.error(
            f"Could not show “{safe(name, 60)}”: the lab cannot compute with something in it "
            f"({type(fault).__name__}). Nothing else is affected. You can delete the run in its "
            f"menu on Runs.",
            icon=":material/error:",
        )


def ask_consent(missing: NoConsent) -> None:
    """Show which key would be sent where, with the button that allows it.

    Nothing is repeated by itself: the visitor presses again what needed the consent. On a served
    lab, visitors do not own the keys, so only the owner can agree, when starting the lab.
    """
    own = [consent for consent in missing.wanted if is_pasted(consent.variable)]
    for _, address in own:
        st.warning(
            f"Nothing was sent. The key that you pasted would be sent to **{safe(address, 300)}**. "
            "Say yes only if you trust this address with it.",
            icon=":material/key:",
        )
    owners = [consent for consent in missing.wanted if consent not in own]
    for variable, address in owners:
        st.warning(
            f"Nothing was sent. The key in **{safe(variable, 100)}** would be sent to "
            f"**{safe(address, 300)}**, and nobody has agreed to that on this machine.",
            icon=":material/key:",
        )
    if served() and owners:
        listed = ",".join(f"{variable}@{address}" for variable, address in owners)
        st.markdown(
            f"The owner of this lab can agree by starting it with "
            f"RUBRICLAB\\_KEYS={safe(listed, 600)}."
        )
        return
    named = "-".join(f"{variable}-{address}" for variable, address in missing.wanted)
    st.button(
        "Send the key" if len(missing.wanted) == 1 else "Send the keys",
        icon=":material/check:",
        key=f"agree-{digest(named)[:12]}",
        on_click=_agree,
        args=(missing.wanted,),
    )


def _agree(wanted: Sequence[Consent]) -> None:
    # A pasted key is the visitor's own and is gone with the visit, and so is the yes to it.
    session_keys().agreed |= {consent for consent in wanted if is_pasted(consent.variable)}
    kept = [consent for consent in wanted if not is_pasted(consent.variable)]
    if not kept:
        announce("Agreed, for this visit.")
        return
    try:
        state.store().agree(kept)
    except LabError as fault:
        announce(safe(str(fault), 300))
        return
    announce("Agreed, for this machine. Now repeat what you were doing.")


def go(name: str, **query: str | list[str]) -> NoReturn:
    """Open another page at its top, with this query in its address."""
    drop_fragments()
    st.session_state[ARRIVED] = True
    st.switch_page(page_file(name), query_params=query)


def drop_fragments() -> None:
    """Forget the fragments of the page that is being left.

    A slow browser may still ask for one of them, by its timer, while the server already draws the
    next page. Streamlit would then turn back to the old page only for that fragment, find it gone,
    and leave the visitor with a blank page. It drops such a request only if it has forgotten the
    fragment, which it does by itself no earlier than at the end of the next page.
    """
    context = get_script_run_ctx()
    if context is not None:
        context.fragment_storage.clear()


def refreshed(draw: Callable[P, None], *, every: float) -> Callable[P, None]:
    """Return the function as a fragment of the present page that is drawn again by a timer.

    Streamlit names a fragment after its function. Under one name on two pages, a late request of
    the page before would not be dropped (see ``drop_fragments``), so the page is in the name.
    ``every``: seconds.
    """

    @wraps(draw)
    def of_this_page(*args: P.args, **more: P.kwargs) -> None:
        draw(*args, **more)

    context = get_script_run_ctx()
    page = context.page_script_hash if context is not None else ""
    of_this_page.__qualname__ = f"{draw.__qualname__} {page}"
    return st.fragment(of_this_page, run_every=every)


def enter_page() -> None:
    """Drop the fragments of the page before, if this run draws another page than the last one.

    Links of the bar change the page without ``go``.
    """
    context = get_script_run_ctx()
    drawn = context.page_script_hash if context is not None else ""
    if st.session_state.get("frame page") != drawn:
        drop_fragments()
        st.session_state["frame page"] = drawn


@cache
def source(name: str) -> str:
    """Return the text of a file next to the pages: the HTML, CSS or script of a component."""
    return (HERE / name).read_text("utf-8")


def announce(text: str) -> None:
    """Show this text as a toast on the next page that is drawn, so that it survives a rerun.

    ``text`` is markdown: names in it must go through ``safe`` first.
    """
    st.session_state["frame announced"] = [*st.session_state.get("frame announced", ()), text]


def safe(text: str, most: int | None = None) -> str:
    """Return text of unknown origin as markdown that shows it literally.

    Nothing in it acts as markup or as a link, and nothing in it is invisible. Streamlit makes links
    of addresses even if they are escaped; a word joiner inside an address prevents that. ``most``:
    the number of characters to show.
    """
    if most is not None:
        text = shorten(text, most)
    text = re.sub(r"[\n\t\u2028\u2029]+", " ", without_invisible(text))
    text = re.sub(r"(://|@|www(?=\.))", "\\1\u2060", text)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>$~:^&=])", r"\\\1", text)


def labelled(text: str, simulated: bool, most: int | None = None) -> str:
    """Return a name or headline as markdown, with a badge if its judge is simulated."""
    return safe(text, most) + (" :gray-badge[simulated]" if simulated else "")


def verbatim(text: str, *, height: int | None = None) -> None:
    """Show a prompt, reply, or upload exactly as it is, never as markdown."""
    st.code(text, language=None, wrap_lines=True, height=height or "content")


def conversation(messages: Iterable[Mapping[str, str]], most: int | None = None) -> None:
    """Show the messages of a call exactly as they are sent.

    ``most``: a message with more characters gets a box that scrolls. None shows all in full.
    """
    for message in messages:
        is_long = most is not None and len(message["content"]) > most
        st.caption(safe(message["role"]))
        verbatim(message["content"], height=LONG_MESSAGE if is_long else None)


def tabs(parts: Mapping[str, Callable[[], None]], first: str | None = None) -> None:
    """Draw tabs by title. The open tab is kept in the address, and only that tab is drawn.

    ``first``: the tab that is open where the address names none. Default: the leftmost.

    Whoever opens a tab below the first screen would see little of it, so the tabs then move up.
    """
    drawn = st.tabs(
        list(parts), default=first, key="tab", on_change=bring_tabs, bind="query-params"
    )
    for tab, draw in zip(drawn, parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()
    if st.session_state.pop(BROUGHT, False):
        _run_once("tabs_up", TABS_UP)


def _run_once(name: str, script: str) -> None:
    """Run a script in the browser.

    Its component has another key each time: one that is drawn already would not run again.
    """
    times = st.session_state[TIMES] = st.session_state.get(TIMES, 0) + 1
    st.components.v2.component(f"rubriclab_{name}", js=script)(key=f"{name}-{times}")


def bring_tabs() -> None:
    """Let the tabs move to the top of the window when the page is drawn again."""
    st.session_state[BROUGHT] = True


def off_scale(given: Sequence[float], scores: Sequence[float], whose: str, what: str) -> None:
    """Say when people's scores lie outside a scale, and what follows from that.

    ``whose``: whose scale ``scores`` is; ``what``: the consequence, as a sentence.
    """
    if not given or not scores:
        return
    if min(given) >= min(scores) and max(given) <= max(scores):
        return
    people = f"{min(given):g} to {max(given):g}"
    scale = f"{min(scores):g} to {max(scores):g}"
    st.markdown(f":orange[Human scores run from {people}, {whose} from {scale}. {what}]")


def fold(
    label: str, draw: Callable[[], None], *, icon: str = "table_rows", key: str | None = None
) -> None:
    """Draw an expander whose content is computed only when it is open."""
    folded = st.expander(label, icon=f":material/{icon}:", key=key or label, on_change="rerun")
    if folded.open:
        with folded, faults():
            draw()
