"""The files of public data sets as tables: how each set's own format becomes items."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from rubriclab.datasets.flask import read_flask
from rubriclab.datasets.items import build_dataset
from rubriclab.datasets.mapping import ColumnMapping, guess_mapping
from rubriclab.datasets.prometheus import is_prompt
from rubriclab.datasets.published import drift, own_rubric, table_with
from rubriclab.datasets.summeval import read_summeval
from rubriclab.datasets.tables import place
from rubriclab.model import DataError, Dataset, Item
from rubriclab.model.language import tr
from rubriclab.model.wording import many

_HANNA_CODES = {
    "RE": "Relevance",
    "CH": "Coherence",
    "EM": "Empathy",
    "SU": "Surprise",
    "EG": "Engagement",
    "CX": "Complexity",
}


def _read_hanna(_title: str, frames: Sequence[pd.DataFrame], _gold: str | None) -> Dataset:
    """96 human-written stories x 6 criteria, three raters: 576 items.

    ``hanna_llm_stories.csv`` repeats the prompts and human stories for each model;
    ``hanna_metric_scores_llm.csv`` has a row a writer, its cells lists over the stories in
    the same order. ``Human 1 RE`` is rating 1 of Relevance.
    """
    stories = table_with(frames, ("Prompt", "Human", "Model"), tr("HANNA's stories"))
    columns = [f"Human {rater} {code}" for rater in (1, 2, 3) for code in _HANNA_CODES]
    scores = table_with(frames, ("Model", *columns), tr("HANNA's ratings"))
    first = stories["Model"].iloc[0]
    texts = stories[stories["Model"] == first]
    rows = [row for row, writer in enumerate(scores["Model"]) if writer == "Human"]
    if len(rows) != 1:
        raise drift(scores, tr("expected one row with Model “Human”, found {count}", count=len(rows)))
    ratings = {c: _rating_list(scores, rows[0], c, len(texts)) for c in columns}
    items = []
    pairs = zip(texts["Prompt"].tolist(), texts["Human"].tolist(), strict=True)
    for story, (prompt, response) in enumerate(pairs):
        for code, criterion in _HANNA_CODES.items():
            human = tuple(ratings[f"Human {rater} {code}"][story] for rater in (1, 2, 3))
            items.append(
                Item(
                    item_id=f"{story}:{criterion}",
                    instruction=prompt,
                    response=response,
                    criterion=criterion,
                    block=str(story),
                    human=human,
                )
            )
    return Dataset("HANNA", tuple(items), own_rubric("stories"))


def _rating_list(frame: pd.DataFrame, row: int, column: str, n: int) -> list[float]:
    where = place(frame, row, column)
    try:
        values = json.loads(frame[column].iloc[row])
        numbers = [float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise DataError(tr("{where}: expected a list of ratings; the format has changed.", where=where)) from error
    if len(numbers) != n:
        raise DataError(
            tr(
                "{where}: {ratings} for {n} stories; the two files do not belong together.",
                where=where,
                ratings=many(len(numbers), "rating"),
                n=n,
            )
        )
    return numbers


def _read_hanna_jsonl(_title: str, frames: Sequence[pd.DataFrame], _gold: str | None) -> Dataset:
    """One story a line: story_id, prompt, story, ratings {criterion: [r1, r2, r3]}."""
    frame = table_with(frames, ("story_id", "prompt", "story", "ratings"), tr("HANNA as JSONL"))
    mapping = ColumnMapping(item_id="story_id", instruction="prompt", response="story", human=("ratings",))
    dataset = build_dataset(frame, mapping, name="HANNA")
    return replace(dataset, rubric=own_rubric("stories"), origin="")


def _read_prometheus(title: str, frames: Sequence[pd.DataFrame], gold: str | None) -> Dataset:
    """Records with whole judge prompts; each brings its own rubric, none a human rating."""
    frame = table_with(frames, ("idx", "response_source", "instruction"), title)
    if not is_prompt(frame["instruction"].iloc[0]):
        raise drift(frame, tr("“instruction” is no longer a whole judge prompt"))
    mapping = replace(guess_mapping(frame), human=(gold,) if gold else ())
    return replace(build_dataset(frame, mapping, name=title), origin="")


def _read_biggen(_title: str, frames: Sequence[pd.DataFrame], _gold: str | None) -> Dataset:
    """Responses in BiGGen-Bench's format, human scores where the file has them."""
    frame = table_with(frames, ("id", "input", "response", "score_rubric"), tr("BiGGen-Bench responses"))
    present = frame.columns.tolist()
    candidate = next((c for c in ("response_model_name", "model_name") if c in present), None)
    mapping = ColumnMapping(
        item_id="id",
        instruction="input",
        response="response",
        reference="reference_answer" if "reference_answer" in present else None,
        system="system_prompt" if "system_prompt" in present else None,
        candidate=candidate,
        prompt="id",
        task="capability" if "capability" in present else None,
        human=("human_score",) if "human_score" in present else (),
        score_rubric="score_rubric",
    )
    return replace(build_dataset(frame, mapping, name="BiGGen-Bench"), origin="")


Reader = Callable[[str, Sequence[pd.DataFrame], str | None], Dataset]
READERS: Mapping[str, Reader] = {
    "hanna": _read_hanna,
    "hanna-jsonl": _read_hanna_jsonl,
    "summeval": read_summeval,
    "prometheus": _read_prometheus,
    "biggen": _read_biggen,
    "flask": read_flask,
}
"""By the names that recipes.toml uses: (title, tables of the files, gold) -> the data set."""
