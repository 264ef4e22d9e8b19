"""Draw the part of step 2 that takes the user's own judge prompt, pasted or in files.

A pasted prompt is for one row of the data. The lab finds what it lists, shows it in two orders, and
uses it only after the user has confirmed that.
"""

from typing import Any

import streamlit as st

from rubriclab.app.draft import Draft, written
from rubriclab.app.forms import ask, field, forget, upload
from rubriclab.app.frame import safe, verbatim
from rubriclab.app.waiting_paste import restart_rubric
from rubriclab.data.limits import MAX_PLAIN
from rubriclab.model.study import PromptFile, PromptPart, read_prompt, validated
from rubriclab.model.text import LabError, shorten
from rubriclab.runs.loading import dataset_of, pasted_prompt
from rubriclab.study.from_text import Pasted
from rubriclab.study.proof import Proof


def body(held: Draft) -> None:
    """Draw the study's own judge prompts with their proof, or the fields to add one."""
    prompt = held.study.prompt
    if prompt is None or not prompt.templates:
        if prompt is not None:
            st.markdown(
                "The study names judge prompts that are not here. Paste the prompt, or upload "
                "its files."
            )
        _pasted(held)
        _uploaded(held)
        return
    names = ", ".join(safe(template.name, 60) for template in prompt.templates)
    st.markdown(f"Your own judge prompt: **{names}**")
    if st.button("Remove judge prompt", icon=":material/delete:", type="tertiary"):
        _use(held, [])
    if held.study.data:
        for proof in held.plan()[0].proofs[:1]:
            _side_by_side(proof)


def _uploaded(held: Draft) -> None:
    """Draw the uploader of prompt files, and put them into the study."""
    files = upload(
        "Or prompt files: TOML with [[messages]] and [answer]",
        ["toml"],
        held,
        "prompt",
        accept_multiple_files=True,
        max_upload_size=2,
    )
    if files:
        prompts = []
        for file in files:
            text = file.getvalue()[:MAX_PLAIN].decode("utf-8", "replace")
            prompts.append(read_prompt(text, file.name))
        _use(held, prompts)


def _pasted(held: Draft) -> None:
    """Draw the field for a prompt as it was sent for one row, then what the lab found in it."""
    text = ask(
        st.text_area,
        "Your judge prompt, as sent for one row of your data",
        key="own-text",
        start="",
        height=240,
    )
    if not text.strip():
        return
    if not held.study.data:
        raise LabError("Add your answers in step 1 first. The lab looks for them in the prompt.")
    axis = held.study.design.axes[0]
    pasted = _found(held, text, axis)
    if pasted.lines is not None:
        first, last = pasted.lines
        st.markdown(f"**We found this list; its order will change** (lines {first} to {last}).")
    elif axis in ("pairs", "lists"):
        st.markdown("It has no list of scores. The answers change places.")
    else:
        st.markdown("It lists nothing.")
    rubric = written(pasted.rubric) if pasted.rubric else held.study.rubric
    tried = {"prompt": PromptPart(templates=(pasted.prompt,)), "rubric": rubric}
    trial = Draft(held.study.model_copy(update=tried), held.uploads)
    for proof in trial.plan()[0].proofs[:1]:
        _side_by_side(proof)
    reply = ask(
        st.text_input,
        "Try a reply",
        key="own-reply",
        start="",
        placeholder="what your judge would reply",
    )
    if reply:
        parsed = trial.plan()[0].try_reply(reply)
        st.markdown(f"Parsed as **{safe(parsed['read'], 80)}** ({parsed['status']})")
    label = "Use this list" if pasted.lines else "Use this prompt"
    if st.button(label, icon=":material/check:", type="primary"):
        if pasted.rubric:
            held.set_rubric(rubric)
        _use(held, [pasted.prompt])


def _found(held: Draft, text: str, axis: str) -> Pasted:
    """Return what the lab finds in a pasted prompt, with the user's corrections.

    Raises LabError that says which correction may help.
    """
    start = PromptPart(pasted="pasted")
    with_prompt = held.study.model_copy(update={"prompt": start})
    items = dataset_of(with_prompt, 0, held.uploads, held.rubric()).items
    with st.popover("If we get it wrong", icon=":material/tune:", type="tertiary"):
        row = field(start, "row", "Row of the data", key="own", placeholder="find it")
        own = ask(st.checkbox, "It lists my rubric, word for word", key="own-rubric", start=False)
        first, last = (
            ask(st.number_input, label, 1, key=f"own-{label}", start=None, value=None)
            for label in ("First line of the list", "Last line")
        )
        best = field(start, "best", "Best entry of the list", key="own")
        shown = ask(
            st.multiselect,
            "Columns that it shows",
            list(items[0].columns),
            key="own-columns",
            start=[],
        )
    values = {
        "pasted": "pasted",
        "row": row,
        "lines": (first, last) if first and last else None,
        "best": best or "",
        "columns": shown or None,
    }
    update: dict[str, Any] = {"prompt": validated(PromptPart, values)}
    if not own and axis not in ("criteria", "examples"):  # the rubric is what the prompt lists
        update["rubric"] = None
    try:
        return pasted_prompt(held.study.model_copy(update=update), text, held.uploads)
    except LabError as fault:
        raise LabError(str(fault).replace("in [prompt]", "under “If we get it wrong”")) from None


def _use(held: Draft, prompts: list[PromptFile]) -> None:
    """Put judge prompts into the study. Several of them are a factor."""
    names = tuple(prompt.name for prompt in prompts)
    part = validated(PromptPart, {"templates": prompts}) if prompts else None
    design = held.study.design
    vary = design.vary.model_copy(update={"prompt": names if len(names) > 1 else ()})
    held.change(prompt=part, design=design.model_copy(update={"vary": vary}))
    held.uploads.version += 1
    forget("own-")
    restart_rubric()
    st.rerun()


def _side_by_side(proof: Proof) -> None:
    """Draw two orders of one item side by side, and what is proved about them."""
    for column, order, messages in zip(st.columns(2), proof.shown, proof.messages, strict=True):
        with column:
            st.caption(safe(" · ".join(order), 100))
            for message in messages:
                verbatim(message["content"], height=260)
    st.caption(safe(shorten(proof.sentence(), 300)))
    for note in proof.notes:
        st.caption(safe(note, 200))
