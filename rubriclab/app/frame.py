"""The frame of every page: navigation and deep links in, a page without markup of strangers and
without traces out.
"""

import asyncio
import gc
import logging
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import streamlit as st

from rubriclab.app import guard, state
from rubriclab.judges.keys import hide_environment
from rubriclab.judges.served import served
from rubriclab.model.consent import Consent, NoConsent
from rubriclab.model.text import LabError, digest, printable, shorten, without_invisible

log = logging.getLogger("rubriclab")

HERE = Path(__file__).parent
PAGES = HERE.parents[1] / "pages"

ENTRIES = {
    "home": ("Home", ":material/home:"),
    "try": ("Try it", ":material/bolt:"),
    "setup": ("Set up", ":material/tune:"),
    "runs": ("Runs", ":material/play_circle:"),
    "results": ("Results", ":material/grid_on:"),
    "compare": ("Compare", ":material/difference:"),
    "export": ("Export", ":material/ios_share:"),
    "learn": ("Learn", ":material/school:"),
}
"""The bar: a page's file in ``pages/``, module here and address in one -> its title and icon."""
MODULES = {"try": "try_it"}
"""Of the page whose name no module can have."""
ENDED = {"failed": "Nothing could be read", "interrupted": "Stopped"}
"""How a run ended, as toast and tab say it; other states by their own word."""


def run() -> None:
    """Called by app.py on every visit: the bar, then the page that the address names."""
    # First, or the browser would fetch the icon of the page from a server of fonts.
    st.set_page_config(page_icon=str(HERE / "mark.svg"), layout="wide")
    st.logo(str(HERE / "logo.svg"), size="medium")
    st.html(HERE / "style.css")
    if st.context.theme.type == "dark":
        st.html(HERE / "dark.css")
    page = st.navigation(
        [
            st.Page(
                PAGES / f"{name}.py", title=title, icon=icon, url_path=name, default=name == "home"
            )
            for name, (title, icon) in ENTRIES.items()
        ],
        position="top",
    )
    with suppress(LabError):  # a store that cannot be opened is said by the page
        if _ended(page.title):
            _watch(page.title)
    if reason := guard.open_to_others():
        st.warning(reason, icon=":material/lock_open:")
    st.session_state["frame entered"] = True
    if wanted := st.session_state.pop("frame wanted", None):
        name, query = wanted
        if name != page.url_path:
            st.switch_page(PAGES / f"{name}.py", query_params=query)
    page.run()


def warm() -> None:
    """Called once, before the server listens: what every page needs is loaded, and no longer looked
    through for garbage.

    Streamlit collects garbage at the end of each run of the script: a tenth of a second over all
    that modules hold.
    """
    hide_environment()
    import_module("rubriclab.app.home")
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def serving(_app: object) -> AsyncIterator[None]:
    """While the server is up. However it is ended, runs are paused first and answers under way are
    kept.

    The server dies of SIGTERM without Python's exit handlers, so this is where runs are paused; a
    closed terminal (SIGHUP) is taken for SIGTERM.
    """
    hangup = getattr(signal, "SIGHUP", None)
    in_main = threading.current_thread() is threading.main_thread()
    if hangup is not None and in_main and signal.getsignal(hangup) is signal.SIG_DFL:
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    yield
    if "rubriclab.runs.manager" in sys.modules:
        from rubriclab.runs.manager import stop_everything

        await asyncio.to_thread(stop_everything)


def _ended(title: str) -> bool:
    """Says in a toast and in the tab's title which runs have ended since this visit's last look;
    whether any is going.
    """
    st.set_page_config(page_title=f"{title} · rubriclab")
    running = {run.id for run in state.active()}
    before = st.session_state.get("frame running", set())
    st.session_state["frame running"] = running
    for run_id in before - running:
        with suppress(LabError):  # deleted since
            info = state.run_info(run_id)
            word = ENDED.get(info.state, info.state.capitalize())
            st.toast(f"{word}: {safe(info.name, 60)}", icon=":material/flag:", duration="long")
            st.set_page_config(
                page_title=f"{word}: {printable(shorten(info.name, 60))} · rubriclab"
            )
    return bool(running)


@st.fragment(run_every=2.0)
def _watch(title: str) -> None:
    """While runs are going: how far they are stands in the tab's title, on every page; the page is
    drawn anew at an end.
    """
    active = state.active()
    if {run.id for run in active} != st.session_state.get("frame running"):
        st.rerun()
    done, planned = (
        sum(getattr(run.snapshot(), part) for run in active) for part in ("done", "planned")
    )
    st.set_page_config(page_title=f"{done / max(planned, 1):.0%} · {title} · rubriclab")


def show(name: str) -> None:
    """One page: ``page()`` of the module of that name. What goes wrong is said in words, without
    code or paths.

    A server whose first visitor opens a deep link runs the page's file without app.py; the page
    then goes through app.py and comes back to itself, its query kept.
    """
    if not st.session_state.get("frame entered"):
        st.session_state["frame wanted"] = (
            name,
            {key: st.query_params.get_all(key) for key in st.query_params},
        )
        st.switch_page(PAGES.parent / "app.py")
    for text in st.session_state.pop("frame announced", ()):
        st.toast(text, icon=":material/check:")
    try:
        import_module(f"rubriclab.app.{MODULES.get(name, name)}").page()
    except NoConsent as fault:
        agreement(fault)
    except LabError as fault:
        st.error(safe(str(fault)), icon=":material/error:")
    except Exception as fault:
        if type(fault).__module__.startswith("streamlit.runtime.scriptrunner"):
            raise  # reruns, stops and changes of page travel as exceptions
        log.exception("page %s failed", name)
        st.title("Something in the lab itself failed", anchor=False)
        st.error(
            "Your data and runs are untouched; the terminal where the lab runs shows the details."
        )


@contextmanager
def faults() -> Iterator[None]:
    """A part of a page that may meet the user's mistakes: said where it happened, and the rest goes
    on.
    """
    try:
        yield
    except NoConsent as fault:
        agreement(fault)
    except LabError as fault:
        st.error(safe(str(fault)), icon=":material/error:")


@contextmanager
def contained(what: str) -> Iterator[None]:
    """A part of a page about one run: what fails in it costs this part, never the page. ``what``:
    the run's name.
    """
    try:
        yield
    except NoConsent as fault:
        agreement(fault)
    except LabError as fault:
        st.error(safe(str(fault)), icon=":material/error:")
    except Exception as fault:
        if type(fault).__module__.startswith("streamlit.runtime.scriptrunner"):
            raise
        log.exception("a part of a page failed")
        st.error(
            f"“{safe(what, 60)}” cannot be shown: it holds something that the lab cannot compute "
            f"with "
            f"({type(fault).__name__}). Nothing else is touched. Its menu deletes it.",
            icon=":material/error:",
        )


def agreement(asked: NoConsent) -> None:
    """Say which key would go where, with the button that says yes; then the visitor tries again
    what needed it.

    On a served lab a visitor is not the one whose keys these are: only its owner says yes, before
    the start.
    """
    for variable, address in asked.wanted:
        st.warning(
            f"Nothing was sent. The key in **{safe(variable, 100)}** would be sent to "
            f"**{safe(address, 300)}**, and "
            "nobody has agreed to that on this machine.",
            icon=":material/key:",
        )
    if served():
        listed = ",".join(f"{variable}@{address}" for variable, address in asked.wanted)
        st.markdown(
            f"The owner of this lab can agree by starting it with "
            f"RUBRICLAB\\_KEYS={safe(listed, 600)}."
        )
        return
    named = "-".join(f"{variable}-{address}" for variable, address in asked.wanted)
    st.button(
        "Yes, send it there" if len(asked.wanted) == 1 else "Yes, send them there",
        icon=":material/check:",
        key=f"agree-{digest(named)[:12]}",
        on_click=_agree,
        args=(asked.wanted,),
    )


def _agree(wanted: Sequence[Consent]) -> None:
    try:
        state.store().agree(wanted)
    except LabError as fault:
        announce(safe(str(fault), 300))
        return
    announce("Agreed, on this machine. Now do again what you were doing.")


def go(name: str, **query: str | list[str]) -> NoReturn:
    """Lead to another page, with what its address shall say."""
    st.switch_page(PAGES / f"{name}.py", query_params=query)


def announce(text: str) -> None:
    """Say what was done once the page is drawn anew. ``text`` is markdown: names in it go through
    ``safe``.
    """
    st.session_state["frame announced"] = [*st.session_state.get("frame announced", ()), text]


def safe(text: str, most: int | None = None) -> str:
    """Text of unknown origin for a markdown widget: nothing in it is markup or a link, and none of
    it is invisible.

    Addresses become links escaped or not: a word joiner in them keeps them text. ``most``: signs
    shown.
    """
    if most is not None:
        text = shorten(text, most)
    text = re.sub(r"[\n\t\u2028\u2029]+", " ", without_invisible(text))
    text = re.sub(r"(://|@|www(?=\.))", "\\1\u2060", text)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>$~:^&=])", r"\\\1", text)


def labelled(text: str, simulated: bool, most: int | None = None) -> str:
    """A name or headline as markdown; of a simulated judge with the badge that says so."""
    return safe(text, most) + (" :gray-badge[simulated]" if simulated else "")


def verbatim(text: str, *, height: int | None = None) -> None:
    """A prompt, reply or upload shown exactly as it is: never markdown."""
    st.code(text, language=None, wrap_lines=True, height=height or "content")


def conversation(messages: Iterable[Mapping[str, str]], most: int | None = None) -> None:
    """The messages of a call exactly as they are sent; ``most``: signs of one that is shown whole,
    not to be scrolled.
    """
    for message in messages:
        st.caption(safe(message["role"]))
        verbatim(
            message["content"], height=320 if most and len(message["content"]) > most else None
        )


def tabs(parts: Mapping[str, Callable[[], None]]) -> None:
    """Tabs by their titles, kept in the address; only the one that is open is drawn."""
    drawn = st.tabs(list(parts), key="tab", on_change="rerun", bind="query-params")
    for tab, draw in zip(drawn, parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def off_scale(given: Sequence[float], scores: Sequence[float], whose: str, what: str) -> None:
    """Says where people's scores lie outside those that a judge may give."""
    if given and scores and (min(given) < min(scores) or max(given) > max(scores)):
        run, other = (f"{min(part):g} to {max(part):g}" for part in (given, scores))
        st.markdown(f":orange[Human scores run from {run}, {whose} from {other}: {what}]")


def fold(
    label: str, draw: Callable[[], None], *, icon: str = "table_rows", key: str | None = None
) -> None:
    """A part of a page that is computed only when it is opened."""
    folded = st.expander(label, icon=f":material/{icon}:", key=key or label, on_change="rerun")
    if folded.open:
        with folded, faults():
            draw()
