"""Part of step 2 of Set up: a pasted prompt or prompt files in; the study's own prompts out, looked
at and confirmed.
"""

import streamlit as st

from rubriclab.app.draft import Draft, written
from rubriclab.app.forms import ask, field, forget, upload
from rubriclab.app.frame import safe, verbatim
from rubriclab.data.limits import MAX_PLAIN
from rubriclab.model.study import PromptFile, PromptPart, read_prompt, validated
from rubriclab.model.text import LabError, shorten
from rubriclab.runs.loading import dataset_of, pasted_prompt
from rubriclab.study.proof import Proof


def body(held: Draft) -> None:
    """The prompts that the study has, with their proof; where it has none, the fields to paste one
    or to upload its file.
    """
    if held.study.prompt is not None and not held.study.prompt.templates:
        st.markdown(
            "The study names prompts that are on your machine. Paste the prompt, or upload its "
            "files, here."
        )
    if held.study.prompt is None or not held.study.prompt.templates:
        _pasted(held)
        files = upload(
            "Or prompt files: TOML with [[messages]] and [answer]",
            ["toml"],
            held,
            "prompt",
            accept_multiple_files=True,
            max_upload_size=2,
        )
        if files:
            texts = [
                (file.getvalue()[:MAX_PLAIN].decode("utf-8", "replace"), file.name)
                for file in files
            ]
            _use(held, [read_prompt(*text) for text in texts])
        return
    names = ", ".join(safe(prompt.name, 60) for prompt in held.study.prompt.templates)
    st.markdown(f"Judged by your own prompt: **{names}**")
    if st.button("Remove it", icon=":material/delete:", type="tertiary"):
        _use(held, [])
    if held.study.data:
        for proof in held.plan()[0].proofs[:1]:
            _side_by_side(proof)


def _pasted(held: Draft) -> None:
    """A prompt as it was sent for a row of the data: its list, in two orders, and the yes that
    makes it the study's.
    """
    text = ask(
        st.text_area,
        "Your prompt, as it was sent for one row of your data",
        key="own-text",
        start="",
        height=240,
    )
    if not text.strip():
        return
    if not held.study.data:
        raise LabError("First add your answers in step 1: they are looked for in the prompt.")
    start, axis = PromptPart(pasted="pasted"), held.study.design.axes[0]
    items = dataset_of(
        held.study.model_copy(update={"prompt": start}), 0, held.uploads, held.rubric()
    ).items
    with st.popover("If we get it wrong", icon=":material/tune:", type="tertiary"):
        row = field(start, "row", "Row of the data", key="own", placeholder="find it")
        own = ask(st.checkbox, "It lists my rubric, word for word", key="own-rubric", start=False)
        first, last = (
            ask(st.number_input, label, 1, key=f"own-{label}", start=None, value=None)
            for label in ("First line of the list", "Last line")
        )
        best = field(start, "best", "Its best entry", key="own")
        shown = ask(
            st.multiselect,
            "Columns that it shows",
            list(items[0].columns),
            key="own-columns",
            start=[],
        )
    lines = (first, last) if first and last else None
    values = {
        "pasted": "pasted",
        "row": row,
        "lines": lines,
        "best": best or "",
        "columns": shown or None,
    }
    part = validated(PromptPart, values)
    study = held.study.model_copy(
        update={"prompt": part} | ({} if own or axis == "criteria" else {"rubric": None})
    )
    try:
        pasted = pasted_prompt(study, text, held.uploads)
    except LabError as fault:
        raise LabError(str(fault).replace("in [prompt]", "under “If we get it wrong”")) from None
    if pasted.lines is None:
        several = axis in ("pairs", "lists")
        st.markdown(
            "It has no list of scores; the answers change places."
            if several
            else "It lists nothing."
        )
    else:
        st.markdown(
            f"**We found this list; its order will change** (lines {pasted.lines[0]} to "
            f"{pasted.lines[1]})."
        )
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
        placeholder="as your judge would answer",
    )
    if reply:
        read = trial.plan()[0].try_reply(reply)
        st.markdown(f"Read: **{safe(read['read'], 80)}** ({read['status']})")
    label = "Yes, this is the list" if pasted.lines else "Yes, ask it so"
    if st.button(label, icon=":material/check:", type="primary"):
        if pasted.rubric:
            held.set_rubric(rubric)
        _use(held, [pasted.prompt])


def _use(held: Draft, prompts: list[PromptFile]) -> None:
    """Put prompts into the study; several are a factor."""
    names = tuple(prompt.name for prompt in prompts)
    part = validated(PromptPart, {"templates": prompts}) if prompts else None
    design = held.study.design
    vary = design.vary.model_copy(update={"prompt": names if len(names) > 1 else ()})
    held.change(prompt=part, design=design.model_copy(update={"vary": vary}))
    held.uploads.version += 1
    forget("own-", "rubric-")
    st.rerun()


def _side_by_side(proof: Proof) -> None:
    """Two orders of one item beside each other, and what is proved of them."""
    for column, order, messages in zip(st.columns(2), proof.shown, proof.messages, strict=True):
        with column:
            st.caption(safe(" · ".join(order), 100))
            for message in messages:
                verbatim(message["content"], height=260)
    st.caption(safe(shorten(proof.sentence(), 300)))
    for note in proof.notes:
        st.caption(safe(note, 200))
