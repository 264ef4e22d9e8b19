"""Draw the fields of what ``vllm serve`` is started with. Most models need nothing of it."""

from collections.abc import Sequence

import streamlit as st

from rubriclab.app.forms import ask, forget
from rubriclab.judges.vllm import CARDS_OFFERED, ServeFlags, has_graphics_card

LENGTHS = {"8192": "8,192 tokens", "32768": "32,768 (thinking judges)", "auto": "all that fits"}
CPU_LENGTHS = {"2048": "2,048 tokens", "8192": "8,192 tokens", "auto": "all that fits"}
"""Without a graphics card memory is the machine's own, and prompts are read slowly."""
DTYPES = ("", "float32", "bfloat16", "float16")
USUAL_SHARE = 0.9
"""Share of a card's memory that vLLM takes by itself."""
PARSERS = {
    "qwen3": "qwen3",
    "deepseek-r1": "deepseek_r1",
    "deepseek_r1": "deepseek_r1",
    "gpt-oss": "openai_gptoss",
    "magistral": "mistral",
}
"""Part of a model's name -> the parser that takes its thoughts out of its answers."""
FILLED = "setup vllm flags"
"""Key of the session: the flags that the fields start with, if there are any."""


def fill(model: str, flags: ServeFlags) -> None:
    """Let the form start from a server that ran before, so that it can be started again."""
    forget("judge-vllm-")
    st.session_state["judge-vllm-model"] = model
    st.session_state[FILLED] = flags


def draw(model: str) -> ServeFlags:
    """Draw the fields, and return what they hold. ``model``: the name in the form."""
    before: ServeFlags | None = st.session_state.get(FILLED)
    start = before or ServeFlags(context_length=next(iter(_lengths())))
    parser = start.reasoning_parser if before else _suggested_parser(model)
    with st.expander("Context length, memory, cards, and further arguments"):
        left, right = st.columns(2)
        with left:
            context_length = _context_length(start.context_length)
            memory = _memory(start.memory)
            dtype = _number_type(start.dtype)
        with right:
            cards = _cards(start.cards)
            reasoning_parser = _reasoning_parser(parser)
            quantization = _quantization(start.quantization)
        more = _further_arguments(start.more)
    return ServeFlags(
        context_length=context_length,
        dtype=dtype,
        memory=memory,
        cards=cards,
        quantization=quantization,
        reasoning_parser=reasoning_parser,
        more=more,
    )


def _lengths() -> dict[str, str]:
    """Return the context lengths to choose from on this machine, with their labels."""
    return LENGTHS if has_graphics_card() else CPU_LENGTHS


def _suggested_parser(model: str) -> str:
    """Return the reasoning parser that a model of this name needs; empty for none."""
    for part, parser in PARSERS.items():
        if part in model.casefold():
            return parser
    return ""


def _choice(
    label: str, options: Sequence[str], labels: dict[str, str], *, key: str, start: str, help: str
) -> str:
    """Draw a list of choices and return the chosen one.

    ``start`` becomes a choice of its own if it is none of ``options``. ``labels``: what is shown
    of those that do not speak for themselves.
    """
    chosen = ask(
        st.selectbox,
        label,
        list(dict.fromkeys([*options, start])),
        key=key,
        start=start,
        format_func=lambda option: labels.get(option, option),
        help=help,
    )
    return str(chosen or "")


def _context_length(start: str) -> str:
    lengths = _lengths()
    return _choice(
        "Context length",
        list(lengths),
        lengths | {"": "the model's own"},
        key="judge-vllm-length",
        start=start,
        help="Tokens of prompt and reply together. A longer one takes more memory.",
    )


def _memory(start: float | None) -> float | None:
    """Return the share of the card's memory; None leaves it to vLLM."""
    on_card = has_graphics_card()
    share = ask(
        st.number_input,
        "Share of the card's memory",
        0.1,
        1.0,
        key="judge-vllm-memory",
        start=start or USUAL_SHARE,
        step=0.05,
        disabled=not on_card,
    )
    if not on_card or share in (None, USUAL_SHARE):
        return None
    return float(share)


def _number_type(start: str) -> str:
    return _choice(
        "Number type",
        DTYPES,
        {"": "automatic"},
        key="judge-vllm-dtype",
        start=start,
        help="Automatic is the model's own type, and float32 without a graphics card. bfloat16 "
        "gives some labels exactly the same probability. float32 takes twice the memory.",
    )


def _cards(start: int) -> int:
    """Return on how many graphics cards the model is spread; 1 where there is no card."""
    on_card = has_graphics_card()
    chosen = ask(
        st.selectbox,
        "Graphics cards",
        list(CARDS_OFFERED),
        key="judge-vllm-cards",
        start=start,
        disabled=not on_card,
        help="On how many cards the model is spread (tensor parallel).",
    )
    return int(chosen) if on_card and chosen else 1


def _reasoning_parser(start: str) -> str:
    # The key holds the start, so that another model's suggestion replaces the last one.
    return _choice(
        "Reasoning parser",
        ["", *dict.fromkeys(PARSERS.values())],
        {"": "none"},
        key=f"judge-vllm-parser-{start}",
        start=start,
        help="Takes a thinking judge's thoughts out of its answer.",
    )


def _quantization(start: str) -> str:
    return _typed("Quantisation", "quantization", start, shown="read from the model", most=40)


def _further_arguments(start: str) -> str:
    label = "Further arguments of vllm serve"
    return _typed(label, "more", start, shown="--seed 1", most=500)


def _typed(label: str, key: str, start: str, *, shown: str, most: int) -> str:
    """Ask for a text of at most ``most`` characters. ``shown``: in the empty field."""
    typed = ask(
        st.text_input,
        label,
        key=f"judge-vllm-{key}",
        start=start,
        placeholder=shown,
        max_chars=most,
    )
    return str(typed or "")
