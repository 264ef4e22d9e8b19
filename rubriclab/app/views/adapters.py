"""A run's judge card in the evaluation tools that people have: the very files to copy, on the page Your pipeline."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import msg, tr
from rubriclab.store import RunInfo, Store

LEAD = msg(
    "The card and a folder with its code (no lab needed) go beside what you run. Each tool asks by "
    "the card, gets the scores that the lab would, and logs every order, prompt and reply; **Data** "
    "imports its log."
)


@dataclass(frozen=True)
class Tool:
    """``files``: name and text of each, as written for ``CARD`` and ``ADDRESS``; ``version``: tested with it."""

    key: str
    title: str
    version: str
    lead: str
    files: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Examples:
    """``card``: the name of the card in every file, ``address``: where its judge is asked, ``code``: what makes both."""

    card: str
    address: str
    code: str
    tools: tuple[Tool, ...]


@lru_cache(maxsize=1)
def examples() -> Examples:
    """adapters.toml: one text for the page, docs/adapters.md and the tests that run it."""
    value = tomllib.loads(resources.files("rubriclab.app").joinpath("adapters.toml").read_text(encoding="utf-8"))
    tools = tuple(
        Tool(
            **{name: tool[name] for name in ("key", "title", "version", "lead")},
            files=tuple((file["name"], file["text"]) for file in tool["files"]),
            commands=tuple(tool["commands"]),
        )
        for tool in value["tools"]
    )
    return Examples(value["card"], value["address"], value["code"], tools)


def section(store: Store, info: RunInfo) -> None:
    """What to copy, for each tool."""
    del store  # every run that has a card has the same files
    made = examples()
    card = f"{info.run}.card.json"
    with st.expander(
        tr("In your evaluation tool: inspect-ai, DeepEval, promptfoo, lm-eval"), icon=":material/extension:"
    ):
        st.markdown(tr(LEAD))
        ui.verbatim(made.code.replace("RUN", info.run).replace(made.card, card))
        st.caption(
            tr(
                "`answers.jsonl` has one answer a line, with `instruction` and `response`; `{address}` is where "
                "the card's judge is served. docs/adapters.md tells what else can be set, and how what could not "
                "be judged shows.",
                address=made.address,
            )
        )
        for tab, tool in zip(st.tabs([tool.title for tool in made.tools]), made.tools, strict=True):
            with tab:
                st.markdown(
                    tr(
                        "{lead} Tested with {title} {version}.",
                        lead=tr(tool.lead),
                        title=tool.title,
                        version=tool.version,
                    )
                )
                for name, text in tool.files:
                    st.caption(f"`{name}`")
                    ui.verbatim(text.replace(made.card, card))
                ui.verbatim("\n".join(tool.commands))
