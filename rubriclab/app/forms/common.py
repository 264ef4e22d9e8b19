"""What several set-up pages need: kept data sets, previews, counts in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.datasets.sample import embedded_judge, sample_rubrics
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.weights import CATALOGUE
from rubriclab.model import Comparison, Dataset, Item, Judge, Rubric
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many

PREVIEW_ROWS = 200
COLUMNS: Mapping[str, str] = {
    "id": msg("id"),
    "criterion": msg("criterion"),
    "instruction": msg("instruction"),
    "response": msg("response"),
    "human": msg("human"),
    "candidate": msg("candidate"),
    "task": msg("task"),
    "block": msg("block"),
    "prompt": msg("prompt"),
    "references": msg("references"),
    "candidates": msg("candidates"),
    "first answer": msg("first answer"),
}
"""What the columns of a preview are called."""


@st.cache_resource(show_spinner=ui.Awaited(msg("Reading the data set …")), max_entries=6)
def _kept(path: str, code: str) -> Dataset:  # noqa: ARG001  (a key of the cache)
    return ui.store().dataset(code)


def kept_dataset(code: str) -> Dataset:
    """A data set of the store, read once. Raises StoreError where there is none (any more)."""
    return _kept(ui.store().path, code)


def keep_dataset(dataset: Dataset) -> str:
    """Keep a data set in the store; returns its id. It may have named the raters of one that is kept."""
    _kept.clear()
    return ui.store().save_dataset(dataset)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a data set has, counted. ``rated``: items with a human rating; ``raters``: the most of one.

    ``people``: raters that the data name.
    """

    items: int
    comparisons: bool
    criteria: tuple[str, ...]
    texts: int
    prompts: int
    candidates: int
    rated: int
    raters: int
    people: int
    referenced: int

    def sentence(self) -> str:
        """One line, largest facts first."""
        if self.comparisons:
            return tr(
                "{comparisons} of {candidates} candidates",
                comparisons=many(self.items, "comparison"),
                candidates=self.candidates,
            )
        parts: list[str] = [many(self.items, "item")]
        if self.criteria:
            parts.append(
                tr(
                    "{texts} under {criteria}",
                    texts=many(self.texts, "text"),
                    criteria=many(len(self.criteria), "criterion"),
                )
            )
        if self.candidates > 1:
            parts.append(
                tr(
                    "{candidates} candidates on {prompts}",
                    candidates=self.candidates,
                    prompts=many(self.prompts, "prompt"),
                )
            )
        whose = tr("up to {raters}", raters=many(self.raters, "rater"))
        if self.people:
            whose = tr("{raters} an item, {people:,} by name", raters=whose, people=self.people)
        parts.append(
            tr("{rated:,} with human ratings ({whose})", rated=self.rated, whose=whose)
            if self.rated
            else tr("no human ratings")
        )
        if self.referenced:
            parts.append(tr("{referenced:,} with a reference answer", referenced=self.referenced))
        return " · ".join(parts)


def facts(dataset: Dataset) -> Facts:
    """Counts over all items; texts are told apart by block, else by what is judged."""
    singles = [item for item in dataset.items if isinstance(item, Item)]
    compared = [item for item in dataset.items if isinstance(item, Comparison)]
    names = {c for item in compared for c in item.candidates}
    names |= {item.candidate for item in singles if item.candidate}
    return Facts(
        items=len(dataset),
        comparisons=bool(compared),
        criteria=tuple(dict.fromkeys(i.criterion for i in singles if i.criterion)),
        texts=len({i.block or (i.instruction, i.response) for i in singles}),
        prompts=len({i.prompt or i.instruction for i in singles}),
        candidates=len(names),
        rated=sum(bool(i.human) for i in singles),
        raters=max((len(i.human) for i in singles), default=0),
        people=len({name for i in singles for name in i.raters}),
        referenced=sum(bool(i.references) for i in singles),
    )


def preview(dataset: Dataset, *, rows: int = PREVIEW_ROWS) -> pd.DataFrame:
    """The first items as a table; columns in which nothing stands are left out."""
    shown = dataset.items[:rows]
    table = pd.DataFrame(_row(item) for item in shown)
    filled = [column for column in table if any(cell not in ("", None) for cell in table[column])]
    return table[filled]


def _row(item: Item | Comparison) -> dict[str, str | None]:
    if isinstance(item, Comparison):
        return {
            "id": item.item_id,
            "prompt": item.turns[0],
            "candidates": " · ".join(item.candidates),
            "task": item.task,
            "first answer": item.responses[0][0],
        }
    return {
        "id": item.item_id,
        "criterion": item.criterion,
        "instruction": item.instruction,
        "response": item.response,
        "human": ", ".join(_ratings(item)),
        "candidate": item.candidate,
        "task": item.task,
        "block": item.block,
        "prompt": item.prompt,
        "references": ", ".join(str(score) for score in sorted(item.references)),
    }


def _ratings(item: Item) -> Iterator[str]:
    for number, rating in enumerate(item.human):
        yield f"{item.raters[number]} {rating:g}" if item.raters else f"{rating:g}"


def show_preview(dataset: Dataset, *, key: str) -> None:
    """The first items, and any one of them to read in full."""
    table = preview(dataset)
    if len(dataset) > len(table):
        st.caption(
            tr("The first {shown} of {items:,}. Choose a row to read it in full.", shown=len(table), items=len(dataset))
        )
    else:
        st.caption(tr("Choose a row to read it in full."))
    event = st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        key=f"{key}-table",
        column_config={name: tr(label) for name, label in COLUMNS.items() if name in table},
        on_select="rerun",
        selection_mode="single-row",
        height=min(36 * len(table) + 38, 290),
    )
    rows = event.selection.rows
    if not rows:
        return
    item = dataset.items[rows[0]]
    if isinstance(item, Comparison):
        ui.verbatim("\n\n".join(item.turns), label=tr("Prompt"))
        for name, turns in zip(item.candidates, item.responses, strict=True):
            ui.verbatim("\n\n".join(turns), label=ui.plain(name))
        return
    if item.instruction:
        ui.verbatim(item.instruction, label=tr("Instruction"))
    ui.verbatim(item.response, label=tr("Response"))
    for score, text in sorted(item.references.items()):
        ui.verbatim(text, label=tr("Reference answer of score {score}", score=score))


def all_rubrics() -> dict[str, tuple[Rubric, str]]:
    """Rubrics by name with where they come from: kept ones first; they win over shipped ones."""
    found = {rubric.name: (rubric, tr("yours")) for rubric in ui.store().rubrics()}
    for rubric in sample_rubrics():
        found.setdefault(rubric.name, (rubric, tr("comes with the lab")))
    return found


def rubric_sentence(rubric: Rubric) -> str:
    """As “2 criteria · 5 score options”, or the range where criteria differ."""
    sizes = sorted({len(criterion.options) for criterion in rubric.criteria})
    span = f"{sizes[0]}" if len(sizes) == 1 else tr("{low} to {high}", low=sizes[0], high=sizes[-1])
    return tr("{criteria} · {span} score options", criteria=many(len(rubric.criteria), "criterion"), span=span)


def listing(names: Sequence[str], *, most: int = 6) -> str:
    """Names in a row, the rest counted; plain text for a markdown widget."""
    shown = ", ".join(ui.plain(name) for name in names[:most])
    return tr("{names} and {left:,} more", names=shown, left=len(names) - most) if len(names) > most else shown


def known_judges() -> dict[str, Judge]:
    """Judges by name: the store's own, the embedded ones that need no set-up, simulated ones."""
    kept = {judge.name: judge for judge in ui.store().judges()}
    found = {name: judge for name, judge in kept.items() if not judge.simulated}
    for name in CATALOGUE:
        if name not in kept:
            found[name] = embedded_judge(name)
    return {**found, **{name: judge for name, judge in kept.items() if judge.simulated}}


def judge_label(judge: Judge) -> str:
    """The judge's name with what it is; a simulated one always says so."""
    return f"{judge.name} · {tr(JUDGE_KINDS[judge.kind].label)}"
