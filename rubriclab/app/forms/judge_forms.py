"""The forms of judges that no server answers for: weights, own code, planted effects, a kind without a form."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.judge_fields import json_object, key_field, name_field
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.code_entry import CODE_VARIABLE, code_folder, entries
from rubriclab.judges.effects import FAILURES, Effects, read_effects
from rubriclab.judges.embedded import CONTEXT_TOKENS
from rubriclab.judges.hub_models import PREFIX
from rubriclab.judges.serving import served, why_missing
from rubriclab.judges.weights import CATALOGUE
from rubriclab.model import Judge
from rubriclab.model.language import tr


def embedded_form(kind: str, judge: Judge | None, tag: str) -> dict[str, Any]:
    """A model of the catalogue with own settings, or an own GGUF file."""
    options = dict(judge.options) if judge else {}
    hub = judge.model if judge and judge.model.startswith(PREFIX) else ""
    path = _path(str(options.get("path", "")) or hub, tag)
    model = PurePath(path).stem if path else ""
    if path.startswith(PREFIX):
        model = path
    elif not path:
        model = _of_catalogue(judge, tag)
    left, right = st.columns(2)
    context = left.number_input(
        tr("Context, tokens"),
        256,
        131_072,
        int(options.get("context", CONTEXT_TOKENS)),
        step=256,
        key=f"{tag}-context",
        help=tr("Room for prompt and answer; more takes more memory."),
    )
    temperature = right.number_input(
        tr("Temperature"), 0.0, 2.0, judge.sampling.temperature if judge else 0.0, step=0.1, key=f"{tag}-temperature"
    )
    own: dict[str, Any] = {"path": path} if path and not path.startswith(PREFIX) else {}
    if context != CONTEXT_TOKENS:
        own["context"] = int(context)
    name = name_field(judge, tag, f"{model}-own" if model in CATALOGUE else PurePath(model).stem if path else model)
    return {
        "name": name,
        "kind": kind,
        "model": model,
        "options": own,
        "temperature": "default" if temperature is None else temperature,
    }


def _of_catalogue(judge: Judge | None, tag: str) -> str:
    """A model of the catalogue by its name, with what there is to know of it."""
    names = list(CATALOGUE)
    held = names.index(judge.model) if judge and judge.model in names else 0
    model = st.selectbox(tr("Model"), names, index=held, key=f"{tag}-model")
    known = CATALOGUE[model]
    st.caption(
        ui.plain(tr("{about} Made by {upstream}. ", about=tr(known.about), upstream=known.upstream))
        + ui.plain(known.sources)
    )
    return model


def _path(held: str, tag: str) -> str:
    """Where the own GGUF file is; in a served lab nobody can name one."""
    if served():
        st.info(why_missing(tr("A GGUF file by its path")), icon=":material/lock:")
        return held
    return st.text_input(
        tr("GGUF file: its path, or its name on Hugging Face"),
        held,
        key=f"{tag}-path",
        placeholder=tr("{path} or {name}", path="/models/my-judge.Q4_K_M.gguf", name="hf:owner/repo/file.gguf"),
        help=tr(
            "Any model that llama.cpp reads, instruction-tuned. Left empty: a model of the list. From "
            "Hugging Face it is fetched at the first test or run, into the lab's cache, and used only with "
            "the hash the hub names."
        ),
    ).strip()


# ---------------------------------------------------------------- own code


def code_form(kind: str, judge: Judge | None, tag: str) -> dict[str, Any] | None:
    """A function of the folder that was named before the start; chosen, since nothing typed here is run."""
    folder = code_folder()
    if served() or folder is None:
        _why_no_code()
        return None
    known = entries(folder)
    held = [judge.model] if judge and judge.model not in known else []
    names = [*held, *known]
    entry = st.selectbox(
        tr("Function"),
        names,
        index=names.index(judge.model) if judge else 0 if names else None,
        key=f"{tag}-entry",
        placeholder=tr("no function in this folder"),
        help=tr("It is called with the messages and the item, in a process of its own."),
    )
    st.caption(
        tr(
            "The functions of {folder}. One that you change is another judge: its answers are new.",
            folder=ui.plain(str(folder)),
        )
    )
    key_env = key_field(judge, tag)
    name = name_field(judge, tag, (entry or "").partition(":")[0])
    value: dict[str, Any] = {"name": name, "kind": kind, "entry": entry, "key_env": key_env}
    return value | _code_pace(kind, judge, tag)


def _why_no_code() -> None:
    if served():
        st.info(why_missing(tr("A judge of own code")), icon=":material/lock:")
        return
    st.info(
        tr(
            "A judge may be a function of yours, in Python: it gets the messages and the item and returns "
            "text or a score. Nothing that is typed into a page is ever run, so name its folder when you "
            "start the lab: `rubriclab lab --code FOLDER`, or `{variable}=FOLDER`.",
            variable=CODE_VARIABLE,
        ),
        icon=":material/folder_code:",
    )


def _code_pace(kind: str, judge: Judge | None, tag: str) -> dict[str, Any]:
    left, right = st.columns(2)
    most = left.number_input(
        tr("Calls at once, at most"),
        1,
        256,
        judge.concurrency if judge else None,
        key=f"{tag}-concurrency",
        placeholder=f"{JUDGE_KINDS[kind].concurrency}",
        help=tr("A plain function runs in so many processes; an async one in one process."),
    )
    timeout = right.number_input(
        tr("Seconds to wait for an answer"),
        0.1,
        86_400.0,
        float(judge.timeout) if judge else None,
        key=f"{tag}-timeout",
        placeholder="120",
    )
    return {"concurrency": most, "timeout": timeout}


def plain_form(kind: str, judge: Judge | None, tag: str) -> dict[str, Any]:
    """The form of a kind that has none of its own: name, model, options."""
    model = st.text_input(tr("Model"), judge.model if judge else JUDGE_KINDS[kind].model, key=f"{tag}-model").strip()
    options = st.text_area(
        tr("Options, as JSON"), json.dumps(dict(judge.options)) if judge and judge.options else "", key=f"{tag}-options"
    )
    name = name_field(judge, tag, model)
    return {"name": name, "kind": kind, "model": model, "options": json_object(options, tr("Options"))}


# ---------------------------------------------------------------- the simulated judge


def simulated_form(kind: str, judge: Judge | None, tag: str) -> dict[str, Any]:
    """Planted effects in log-odds: the oracle that findings are tested against."""
    st.caption(
        tr(
            "No model is asked: answers are drawn from a choice model with the effects you plant, so that "
            "you can see whether the lab finds them. Effects are log-odds: 0 is none, 1 multiplies "
            "the odds of a place by 2.7. Marked as simulated wherever its numbers appear."
        )
    )
    held = read_effects(judge.options) if judge else Effects(position={"first": 0.8})
    planted = _planted(held, tag)
    plain = ("position", "quality_weight", "noise", "seed")
    rest = {k: v for k, v in (judge.options if judge else {}).items() if k not in plain}
    more = st.text_area(
        tr("More effects, as JSON"),
        json.dumps(rest) if rest else "",
        key=f"{tag}-more",
        height=68,
        placeholder='{"label": {"A": 0.5}, "score": {"5": 1.0}, "primacy": 0.4}',
        help=tr(
            "Any of: {effects}. Failures: {failures}.",
            effects=", ".join(Effects.model_fields),
            failures=", ".join(FAILURES),
        ),
    )
    unparsed = planted.pop("unparsed")
    options = {**planted, **json_object(more, tr("More effects"))}
    rates = {**dict(options.get("failures", {})), "unparsed": unparsed}
    options["failures"] = {status: rate for status, rate in rates.items() if rate}
    options = {k: v for k, v in options.items() if v != {} and v != getattr(Effects(), k, None)}
    return {"name": name_field(judge, tag, "simulated"), "kind": kind, "model": "simulated", "options": options}


def _planted(held: Effects, tag: str) -> dict[str, Any]:
    """The effects that have a field of their own, and the share ``unparsed``."""
    left, right = st.columns(2)
    first = left.number_input(
        tr("Pull of the first position"), -10.0, 10.0, held.position.get("first", 0.0), step=0.1, key=f"{tag}-first"
    )
    last = right.number_input(
        tr("Pull of the last position"), -10.0, 10.0, held.position.get("last", 0.0), step=0.1, key=f"{tag}-last"
    )
    quality = left.number_input(
        tr("Sight of quality"),
        0.0,
        20.0,
        held.quality_weight,
        step=0.1,
        key=f"{tag}-quality",
        help=tr("0: it does not see quality at all."),
    )
    noise = right.number_input(
        tr("Noise of the draw"),
        0.0,
        10.0,
        held.noise if isinstance(held.noise, float | int) else 1.0,
        step=0.1,
        key=f"{tag}-noise",
        help=tr("0: always the likeliest answer."),
    )
    unparsed = left.number_input(
        tr("Share of unreadable answers"),
        0.0,
        1.0,
        held.failures.get("unparsed", 0.0),
        step=0.05,
        key=f"{tag}-unparsed",
    )
    seed = right.number_input(tr("Seed"), 0, 2**31 - 1, held.seed, key=f"{tag}-seed")
    places = {k: v for k, v in held.position.items() if k not in ("first", "last")}
    places |= {k: v for k, v in (("first", first), ("last", last)) if v}
    return {"position": places, "quality_weight": quality, "noise": noise, "seed": int(seed), "unparsed": unparsed}
