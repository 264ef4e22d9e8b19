"""The two cards on a page, and the ways to take them along: copied, as a picture, presented."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import tr
from rubriclab.report.cards import cards_html, picture
from rubriclab.report.showing import Showing

_PNG = st.components.v2.component(
    "rubriclab_picture",
    html='<button type="button" class="copy"></button> '
    '<button type="button" class="save"></button> <span role="status"></span>',
    css="button { font: inherit; font-size: .9rem; color: var(--st-text-color); background: transparent; "
    "border: 1px solid var(--st-border-color); border-radius: .5rem; padding: .35rem .8rem; cursor: pointer; } "
    "button:hover { border-color: var(--st-primary-color); } span { font-size: .85rem; color: var(--st-text-color); }",
    js="""
export default ({data, parentElement}) => {
  const drawn = async () => {
    const image = new Image();
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(data.svg);
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width; canvas.height = 2 * image.height;
    const pen = canvas.getContext("2d"); pen.scale(2, 2); pen.drawImage(image, 0, 0);
    return new Promise(done => canvas.toBlob(done, "image/png"));
  };
  parentElement.querySelector(".copy").textContent = data.copy;
  parentElement.querySelector(".save").textContent = data.save;
  const say = text => { parentElement.querySelector("span").textContent = text; };
  parentElement.querySelector(".copy").onclick = async () => {
    try { await navigator.clipboard.write([new ClipboardItem({"image/png": drawn()})]); say(data.copied); }
    catch { say(data.refused); }
  };
  parentElement.querySelector(".save").onclick = async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await drawn()); link.download = data.name + ".png"; link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
};
""",
)
"""Draws the SVG on a canvas in the browser: as an image nothing in it can run."""


def two_cards(shown: Showing) -> None:
    """The same text under two orders, with the most different answers; one card where nothing moves."""
    title = shown.title if shown.moved else tr("Every order gave the same answer")
    st.markdown(f"**{ui.plain(title)}**")
    st.html(cards_html(shown))


def copy(shown: Showing | None, sentence: str, *, address: Mapping[str, str], key: str) -> None:
    """What was found to paste elsewhere: the sentence, the link, and the cards as a picture."""
    with st.popover(tr("Copy"), icon=":material/content_copy:"):
        st.caption(tr("What was found, and a link to it in this lab."))
        st.code(sentence, language=None, wrap_lines=True)
        asked = "&".join(f"{name}={value}" for name, value in address.items())
        st.code(f"{st.context.url or ''}?{asked}", language=None, wrap_lines=True)
        if shown is not None:
            drawn = picture(shown, sentence)
            st.caption(tr("The cards as a picture"))
            _PNG(key=f"{key}-png", data={"svg": drawn, "name": shown.run, **_said()})
            st.download_button(
                tr("Save it as SVG"),
                drawn,
                file_name=f"{shown.run}.svg",
                mime="image/svg+xml",
                key=f"{key}-svg",
                on_click="ignore",
            )


def _said() -> dict[str, str]:
    """What the component's buttons say, and what they answer."""
    return {
        "copy": tr("Copy the picture"),
        "save": tr("Save it as PNG"),
        "copied": tr("Copied."),
        "refused": tr("This browser does not let a page copy pictures: save it."),
    }


def present_link(run: str, judge: str | None = None) -> None:
    """The way to the presentation of a run or a trial."""
    st.page_link(
        "pages/presentation.py",
        label=tr("Present"),
        icon=":material/slideshow:",
        query_params={"run": run} | ({"judge": judge} if judge else {}),
    )
