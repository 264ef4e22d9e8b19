"""Draw step 3 of Set up: where each judge runs and how it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from rubriclab.app import setup_vllm, state
from rubriclab.app.draft import Draft, changed, draft
from rubriclab.app.forms import SETUP, ask, field, form, listed, open_row, segments
from rubriclab.app.frame import faults, safe, verbatim
from rubriclab.app.session_keys import STAYS, paste_field, session_keys
from rubriclab.judges.keys import read_key, require_consents
from rubriclab.judges.probe import JudgeReport, decision_forms, models_of, test_judge
from rubriclab.judges.python import code_folder, with_code
from rubriclab.judges.weights import CATALOGUE
from rubriclab.model.consent import Consents, is_pasted
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.judge_kind import JudgeKind, all_kinds
from rubriclab.model.judge_options import Effects
from rubriclab.model.study import DEFAULT_JUDGE, validated
from rubriclab.model.text import LabError, shorten

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

WORDS = SETUP["judge"]
"""Labels and help of this step."""
PROVIDERS, FIELDS = WORDS["providers"], WORDS["fields"]
"""(Address, name of the key's variable) by provider, and the fields that every kind has."""
KEY_HELP = "The variable's name, never the key itself. It is read where the lab runs."
WHERE = {
    "embedded": "machine",
    "vllm": "machine",
    "server": "api",
    "code": "python",
    "simulated": "simulated",
}
"""The answer to "Where does the judge run?" that leads to each form."""


def summary(held: Draft) -> str:
    """Return what the closed step shows: the judges' names."""
    judges = held.study.judges
    if len(judges) == 1:
        return f"{shorten(judges[0].name, 50)} · {judges[0].about.label}"
    return ", ".join(shorten(judge.name, 30) for judge in judges)


def body(held: Draft) -> None:
    """Draw the open step: the list of judges, and the form of the one that is open."""
    judges = held.study.judges
    rows = [f"**{safe(judge.name, 60)}** :gray[{safe(judge.model, 60)}]" for judge in judges]
    number = listed(rows, "judge", _remove)
    if number is not None:
        names = {judge.name for k, judge in enumerate(judges) if k != number}
        try:
            judges = (*judges[:number], _form(judges[number], names), *judges[number + 1 :])
            held.change(judges=judges)
        except LabError as fault:  # may be temporary, for example while a server loads
            held.problems[3] = str(fault)
            st.markdown(f":orange[{safe(str(fault))}]")
    fine = 3 not in held.problems
    with st.container(horizontal=True):
        tested = _tested(judges[number]) if number is not None and fine else None
        st.button(
            "Add another judge",
            icon=":material/add:",
            type="tertiary",
            disabled=not fine,
            on_click=_add,
        )
    if tested is not None:
        _report(tested)


def _add() -> None:
    """Add a judge. It starts as the next small model that no judge uses."""
    held = draft()
    judges = held.study.judges
    model = next(
        (name for name in CATALOGUE if name not in {judge.model for judge in judges}),
        DEFAULT_JUDGE.model,
    )
    name = _other_name(model, {judge.name for judge in judges})
    held.change(judges=(*judges, JudgeSettings(name=name, model=model)))
    open_row("judge", len(judges))


def _remove(number: int) -> None:
    """Remove a judge. A study needs one, so the default judge replaces the last."""
    held = draft()
    kept = held.study.judges[:number] + held.study.judges[number + 1 :]
    held.change(judges=kept or (DEFAULT_JUDGE,))


def _other_name(model: str, names: set[str]) -> str:
    """Return a name for the results that no other judge has."""
    name = shorten(model.rsplit("/", 1)[-1], 80)
    while name in names:
        name = f"{name} (2)"
    return name


def _form(judge: JudgeSettings, names: set[str]) -> JudgeSettings:
    """Draw the form of one judge and return its settings.

    ``names``: names of the other judges. Raises LabError for settings that cannot be used.
    """
    values = _values(judge)
    if not values.get("model", judge.model):
        raise LabError("First choose the judge's model in step 3.")
    if values.get("kind", judge.kind) != judge.kind:
        # Drop the address, key and options: they belong to the other kind.
        kept = {
            "name",
            "temperature",
            "max_tokens",
            "reasoning_effort",
            "price_input",
            "price_output",
        }
        judge = JudgeSettings(**judge.model_dump(include=kept))
    settings = changed(judge, **values)
    about = settings.about
    if not about.form:
        read_options(about.options, settings)
    if about.constraints:
        words = {"format_func": WORDS["constraints"].__getitem__, **WORDS["constrain"]}
        words["options"] = ("free", *about.constraints)
        settings = changed(settings, constrain=field(settings, "constrain", key="judge", **words))
    settings = changed(settings, **_fold(settings, names))
    return settings.in_folder(code_folder() or "") if about.runs_code else settings


def _values(judge: JudgeSettings) -> dict[str, Any]:
    """Ask where the judge runs, draw the form for that, and return the chosen settings."""
    kinds, faults_of_packages = all_kinds()
    # A kind without a form is one more choice. "kind:" tells it apart from the lab's choices.
    drawn = {f"kind:{kind.name}": kind for kind in kinds if not kind.form}
    offered = dict(WORDS["where"]) | {key: kind.label for key, kind in drawn.items()}
    where = WHERE.get(judge.about.form, f"kind:{judge.kind}")
    if where != "python" and code_folder() is None:
        del offered["python"]
    chosen = segments("Where does the judge run?", offered, key="judge-where", start=where)
    for fault in faults_of_packages:
        st.caption(f":orange[{safe(fault, 400)}]")
    if chosen in drawn:
        return _from_model(judge, drawn[chosen])
    if chosen == "machine":
        here = "vllm" if judge.about.vllm else "embedded"
        chosen = segments("Which model?", WORDS["here"], key="judge-here", start=here)
    return FORMS[chosen](judge)


def _from_model(judge: JudgeSettings, about: JudgeKind) -> dict[str, Any]:
    """Draw a kind without a form of its own, from its record and options; return the settings."""
    same = judge.kind == about.name
    if about.help:
        st.caption(safe(about.help, 400))
    if about.package:
        st.caption(f"This kind of judge comes with the package {safe(about.package, 100)}.")
    own = [judge.model] if same else []
    models = list(dict.fromkeys([*own, *about.models])) or [about.name]
    values: dict[str, Any] = {"kind": about.name}
    left, right = st.columns(2)
    values["model"] = ask(
        left.selectbox,
        "Model",
        models,
        key=f"judge-{about.name}-model",
        start=models[0],
        accept_new_options=True,
    )
    if about.served:
        addresses = judge.addresses if same else (about.default_address,)
        address = ask(
            right.text_input,
            "Base URL",
            key=f"judge-{about.name}-url",
            start=addresses[0] if addresses else "",
            max_chars=500,
        )
        if not address:
            raise LabError("Enter the address of the judge.")
        values["base_urls"] = (address, *addresses[1:])
    if about.takes_key:
        variable = ask(
            left.text_input,
            "Environment variable with the key (optional)",
            key=f"judge-{about.name}-key",
            start=(judge.key_env or "") if same else "",
            max_chars=100,
            help=KEY_HELP,
        )
        values["key_env"] = variable or None
        _require_key(values["key_env"])
    values["options"] = _options_from_model(judge.options if same else {}, about)
    return values


def _require_key(variable: str | None) -> None:
    """Raise LabError where the variable is not set, or is not meant for judges' keys."""
    settings = validated(JudgeSettings, {"name": "this judge", "key_env": variable})
    read_key(settings, session_keys().keys)


def _consents() -> Consents:
    """Return where keys may be sent: by what the store keeps, and by this visit."""
    return state.store().consents() | session_keys().consents


DRAWN_TYPES = frozenset({"boolean", "string", "integer", "number"})
"""JSON schema types that have a widget. Only a study file can set other options."""
EMPTY = {"boolean": False, "string": "", "integer": 0, "number": 0.0}
"""First value of a widget, by JSON schema type, for an option without a default or a minimum."""


def _options_from_model(given: Mapping[str, Any], about: JudgeKind) -> dict[str, Any]:
    """Draw the options of a kind from their pydantic model, and return those to keep.

    These are values that differ from the default, values that were ``given``, and options that no
    widget can ask for.
    """
    fields, starts, undrawn = dict[str, Any](), dict[str, Any](), list[str]()
    properties = about.options.model_json_schema().get("properties", {})
    for name, schema in properties.items():
        kinds = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
        type_of = kinds[0].get("type") if len(kinds) == 1 else None
        if type_of not in DRAWN_TYPES:
            undrawn.append(name)
            continue
        field_info = about.options.model_fields[name]
        starts[name] = given.get(name, schema.get("default"))
        if starts[name] is None and "anyOf" not in schema:  # a required option
            starts[name] = _first_value(kinds[0])
        fields[name] = {
            "label": field_info.title or name.replace("_", " ").capitalize(),
            "help": field_info.description,
        }
    part = about.options.model_construct(**starts)
    chosen = form(part, fields, columns=2, key=f"judge-{about.name}-option")
    if undrawn:
        st.caption(f"Only a study file can set: {safe(', '.join(undrawn), 300)}.")
    kept = {name: value for name, value in given.items() if name not in fields}
    for name, value in chosen.items():
        default = properties[name].get("default")
        if value is not None and (value != default or name in given):
            kept[name] = value
    return kept


def _embedded(judge: JudgeSettings) -> dict[str, Any]:
    """Draw the form of a small model on this machine, and return the settings."""
    own = [judge.model] if judge.about.small_model else []
    models = list(dict.fromkeys([*CATALOGUE, *own]))
    about = "No key, no server, no graphics card."
    model = ask(
        st.selectbox, "Model", models, key="judge-embedded", start=[*own, models[0]][0], help=about
    )
    if weights := CATALOGUE.get(model):
        ready = (
            "It is on this machine already."
            if weights.present()
            else "It is downloaded once, on the first call."
        )
        st.caption(f"{safe(weights.about)} {ready}")
    return {"model": model} | ({} if own else {"kind": "embedded", "concurrency": 1})


def _server(judge: JudgeSettings) -> dict[str, Any]:
    """Draw the form of an API or a server, and return the settings."""
    addresses = _addresses(judge)
    left, right = st.columns(2)
    with right:
        pasted = paste_field(addresses[0], judge.ca_file, key="judge-paste")
    variable = _key_name(judge, pasted)
    if len(addresses) > 1:
        st.caption(f"It also asks {safe(', '.join(addresses[1:]), 400)}.")
    try:
        _require_key(variable or None)
    except LabError as fault:
        raise LabError(f"{fault} Or paste a key for this session.") from None
    # Whoever has pasted a key has agreed to its address by a click.
    offered = _offered_models(judge, addresses, variable, at_once=pasted is not None)
    values = {
        "model": _model(judge, offered, left),
        "base_urls": addresses,
        "key_env": variable or None,
    }
    return values | _manner(judge, offered)


def _addresses(judge: JudgeSettings) -> tuple[str, ...]:
    """Ask for the provider and its address. Further addresses come from a study file."""
    left, right = st.columns(2)
    provider = next(iter(PROVIDERS))
    ask(
        left.selectbox,
        "Provider",
        list(PROVIDERS),
        key="judge-provider",
        start=provider,
        on_change=_provider_chosen,
    )
    start = judge.base_urls[0] if judge.base_urls else PROVIDERS[provider][0]
    address = ask(right.text_input, "Base URL", key="judge-url", start=start, max_chars=500)
    return (address, *judge.base_urls[1:])


def _key_name(judge: JudgeSettings, pasted: str | None) -> str:
    """Return the name of the pasted key or of the variable that holds one; empty for none."""
    was_pasted = is_pasted(judge.key_env)
    with st.expander("Use a key from the environment instead", icon=":material/key:"):
        variable = ask(
            st.text_input,
            "Environment variable with the key (optional)",
            key="judge-key",
            start="" if was_pasted else judge.key_env or "",
            max_chars=100,
            placeholder="OPENAI_API_KEY",
            help=KEY_HELP,
        )
    if pasted is not None:
        st.caption(STAYS)
        return pasted
    if not variable and was_pasted:
        st.caption("A key was pasted here before. It is not kept over a reload: paste it again.")
    return str(variable)


def _offered_models(
    judge: JudgeSettings, addresses: tuple[str, ...], variable: str, *, at_once: bool
) -> Offered:
    """Return what the server said that it offers.

    Nothing is sent before a click, because the address may come from a study that somebody else
    wrote. ``at_once``: the user has agreed to the address already.
    """
    answers: dict[tuple[str, str], Offered] = st.session_state.setdefault("setup offers", {})
    known = answers.get((addresses[0], variable))
    with faults():
        typed = {"name": "this judge", "kind": "openai", "base_urls": addresses}
        more = {"key_env": variable or None, "ca_file": judge.ca_file}
        settings = validated(JudgeSettings, typed | more)
        require_consents([settings], session_keys().keys, _consents())
        wanted = st.button("Ask for its models", icon=":material/search:", key="judge-models")
        if wanted or (at_once and known is None):
            with st.spinner("Asking the server for its models …"):
                known = answers[addresses[0], variable] = _offered(settings)
            if len(known.models) == 1 and not st.session_state.get("judge-model"):
                st.session_state["judge-model"] = known.models[0]
    return known or Offered()


def _model(judge: JudgeSettings, offered: Offered, place: DeltaGenerator) -> str:
    """Ask for the model: one that the server offers, or a typed name. Say why none is offered."""
    known = offered.models
    own = judge.model if judge.about.form == "server" else known[0] if len(known) == 1 else None
    model = ask(
        place.selectbox,
        "Model",
        list(dict.fromkeys([*known, *([own] if own else [])])),
        key="judge-model",
        start=own,
        index=None,
        accept_new_options=True,
        placeholder="Choose or type a model",
        help="Read from the server."
        if known
        else "Type the name, or ask the server for its models.",
    )
    if offered.why:
        st.caption(safe(offered.why, 300))
    return model or ""


def _manner(judge: JudgeSettings, offered: Offered) -> dict[str, Any]:
    """Ask whether the server is sent chats or typed questions; return the settings of that."""
    decides = judge.about.typed_questions
    decided = judge.options if decides else {}
    own_form = [decided.get("form", "systemone")] if decides else []
    forms = list(dict.fromkeys([*own_form, *offered.forms]))
    asked = "chat"
    if forms:
        start = "decisions" if decides else "chat"
        asked = segments(
            "How is it asked?", WORDS["asked"], key="judge-asked", start=start, hidden=False
        )
    if asked == "chat":
        chat: dict[str, Any] = {"kind": "openai"}
        return chat | {"options": {}} if decides else chat
    listed_as = segments(
        "How are the options listed?",
        WORDS["questions"],
        key="judge-question",
        start=decided.get("question", "choice"),
        hidden=False,
    )
    options = decided | {"form": forms[0], "question": listed_as}
    return {"kind": "decisions", "options": options}


def _provider_chosen() -> None:
    """Fill in the chosen provider's address and the name of its key's variable."""
    address, variable = PROVIDERS[st.session_state["judge-provider"]]
    st.session_state["judge-url"], st.session_state["judge-key"] = address, variable


@dataclass(frozen=True)
class Offered:
    """What a server offers.

    models: names of its models.
    forms: forms of typed questions that it accepts.
    why: the reason why it named no models.
    """

    models: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    why: str = ""


def _offered(settings: JudgeSettings) -> Offered:
    """Ask the judge's first address what it offers, with the key if the user has consented."""
    asking: dict[str, Any] = {
        "key_env": settings.key_env,
        "consents": _consents(),
        "secrets": session_keys().keys,
    }
    (address, *_) = settings.base_urls
    models, forms, why = list[str](), list[str](), ""
    try:
        models = models_of(address, **asking)
    except LabError as fault:
        why = str(fault)
    with suppress(LabError):
        forms = decision_forms(address, **asking)
    return Offered(tuple(models), tuple(forms), why)


def _own(judge: JudgeSettings) -> dict[str, Any]:
    """Draw the form of a function in the lab's code folder, and return the settings.

    Raises LabError until the user has confirmed that they looked at the file.
    """
    folder = code_folder()
    if folder is None:
        raise LabError(
            "A function judges where the lab was started with --code FOLDER, the folder of its "
            "file."
        )
    options = judge.options if judge.about.runs_code else {}
    files = [
        *filter(None, [options.get("path")]),
        *sorted(path.name for path in folder.glob("*.py")),
    ]
    left, right = st.columns(2)
    file = ask(
        left.selectbox,
        "File",
        list(dict.fromkeys(files)),
        key="judge-file",
        start=next(iter(files), None),
    )
    entry = ask(
        right.text_input,
        "Function",
        key="judge-entry",
        start=options.get("entry", "judge"),
        max_chars=100,
    )
    options = {
        **(options if file == options.get("path") else {}),
        "path": file or "",
        "entry": entry,
    }
    made = with_code(
        JudgeSettings(name=judge.name, kind="python", options=options), folder, trust=True
    )
    verbatim((folder / made.options["path"]).read_text("utf-8", "replace"), height=260)
    yes = f"judge-yes-{made.options['sha256']}-{entry}"
    if not ask(
        st.checkbox, "I have looked at this file: it may run on this machine", key=yes, start=False
    ):
        raise LabError("First look at the function's file, and say yes to it.")
    return {"kind": "python", "model": made.model, "options": made.options}


def _simulated(judge: JudgeSettings) -> dict[str, Any]:
    """Draw the effects of a simulated judge, and return the settings."""
    st.caption(
        "No model: answers are made up with the effects that you plant. Every result of it is "
        "labelled."
    )
    if not judge.simulated:  # a new one has position bias, so that there is something to see
        judge = JudgeSettings(
            name="simulated", kind="simulated", model="simulated", options={"first": 1.0}
        )
    effects = read_options(Effects, judge)
    fields = {name: {"step": 0.1, **about} for name, about in WORDS["planted"].items()}
    planted = form(effects, fields, columns=3, key="judge-planted")
    chosen = {name: value for name, value in planted.items() if value != getattr(effects, name)}
    return {"kind": "simulated", "model": judge.model, "options": dict(judge.options) | chosen}


def _first_value(schema: Mapping[str, Any]) -> Any:
    """Return the first value of the widget for an option without a default."""
    if "enum" in schema:
        return schema["enum"][0]
    return schema.get("minimum", EMPTY[schema["type"]])


FORMS: Mapping[str, Callable[[JudgeSettings], dict[str, Any]]] = {
    "embedded": _embedded,
    "vllm": setup_vllm.draw,
    "api": _server,
    "python": _own,
    "simulated": _simulated,
}
"""The forms that were written for a kind, by the answer to "Where does the judge run?"."""


def _fold(judge: JudgeSettings, names: set[str]) -> dict[str, Any]:
    """Draw the settings that every kind has, in a folded part, and return them.

    An empty field leaves the choice to the server. A caption lists settings of the study file that
    no field shows.
    """
    name = _other_name(judge.model, names)
    start = "" if judge.name == name else judge.name
    folded = st.expander(
        "Temperature, length, reasoning, pace and prices",
        icon=":material/tune:",
        key="judge-more",
        on_change="rerun",
    )
    if not folded.open:  # what its fields hold still counts
        kept = st.session_state
        typed = kept.setdefault("judge-name", start)
        values = {part: kept[f"judge-{part}"] for part in FIELDS if f"judge-{part}" in kept}
        return values | {"name": (typed or "").strip() or name}
    with folded:
        typed = ask(
            st.text_input,
            "Name in results",
            key="judge-name",
            start=start,
            max_chars=100,
            placeholder=name,
        )
        values = form(judge, FIELDS, columns=2, key="judge")
        values["name"] = (typed or "").strip() or name
        unshown = {"top_p", "seed", "extra", "ca_file"}
        if judge.about.small_model or judge.about.chat:  # their forms show no options
            unshown.add("options")
        study_only = judge.model_dump(include=unshown, exclude_defaults=True)
        options = {name: value for name, value in judge.options.items() if name != "serve"}
        if "options" in study_only:  # what vLLM was started with is shown beside its address
            study_only["options"] = options
        study_only = {name: value for name, value in study_only.items() if value}
        if study_only:
            st.caption(f"Kept from the study file: {safe(str(study_only), 300)}")
    return values


def _tested(judge: JudgeSettings) -> JudgeReport | None:
    """Draw the button for a test, and return the report of this judge's last test.

    Return None if the judge was not tested with exactly these settings.
    """
    if st.button("Test the judge", icon=":material/bolt:", key="judge-test", help=WORDS["test"]):
        with st.spinner("Asking …"), faults():
            report = test_judge(judge, _consents(), session_keys().keys)
            st.session_state["setup test"] = judge, report
    tested, report = st.session_state.get("setup test", (None, None))
    return report if tested == judge else None


def _report(report: JudgeReport) -> None:
    """Show the report of a test: the reply, its score, and whether there are probabilities."""
    said = safe(report.sentence(), 1_200)
    if report.error:
        st.error(said, icon=":material/error:")
    elif report.score is None:
        st.warning(
            f"{said} Change the answer format, or choose another model.", icon=":material/warning:"
        )
    else:
        st.success(said, icon=":material/check:")
