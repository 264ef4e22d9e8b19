"""Turn the tables of each published data set into items, and into a rubric if they have one.

A reader follows the files as their authors published them. If a file has changed, its reader stops
with the row and column instead of guessing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rubriclab.data.tables import Table, json_value, number
from rubriclab.model.data import Criterion, Item, Option, Rubric
from rubriclab.model.text import LabError, look_alike, shorten

Record = Mapping[str, str]
Made = tuple[list[Item], Rubric | None]
HANNA = {
    "RE": "Relevance",
    "CH": "Coherence",
    "EM": "Empathy",
    "SU": "Surprise",
    "EG": "Engagement",
    "CX": "Complexity",
}
"""Codes of the criteria in the columns of HANNA."""
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")
SUMMAC = ("cnndm_id", "model_name", "document", "claim", "annotations")
LLMBAR = ("input", "output_1", "output_2", "label")
SYSTEMS = "response_source"
"""Column of the Prometheus format with the model that wrote the answer."""
HEADINGS = {
    "instruction": r"^###\s*The instruction to evaluate:[ \t]*\n",
    "response": r"^###\s*Response to evaluate:[ \t]*\n",
    "reference": r"^###\s*Reference Answer[^\n]*:[ \t]*\n",
    "rubric": r"^###\s*Score Rubrics?:[ \t]*\n",
    "end": r"^###\s*Feedback:[ \t]*\s*\Z",
}
"""Headings of a Prometheus prompt, in their order."""
SCORE = re.compile(r"^[ \t]*Score (\d+):[ \t]*", re.M)
TWO_TURNS = re.compile(r"^User:(.*?)\n+Assistant:(.*)\n+User:(.*)\n+Assistant:\s*\Z", re.S | re.M)
MAX_NAME = 90
"""Characters of a criterion's name; the whole aspect is its description."""


def records(
    tables: Sequence[Table], columns: Sequence[str], what: str
) -> tuple[Table, list[Record]]:
    """Return (the table that has all of ``columns``, its rows by column).

    ``what``: subject of the error. Raises LabError with the columns that the closest table lacks.
    """
    best = max(tables, key=lambda table: len({*columns} & {*table.columns}))
    missing = [column for column in columns if column not in best.columns]
    if missing:
        raise LabError(
            f"{what} need the columns {', '.join(missing[:6])}; “{shorten(best.name)}” has "
            f"{best.listed}."
        )
    cells = [best.column(column) for column in best.columns]
    return best, [dict(zip(best.columns, row, strict=True)) for row in zip(*cells, strict=True)]


def listed(table: Table, row: int, column: str, text: str, kind: type = list) -> Any:
    """Return the JSON list (or object) in a cell. Raises LabError for anything else."""
    value = None
    if text[:1] in ("[", "{"):
        value = json_value(text, table.name, row + 1)
    if not isinstance(value, kind):
        expected = "a list" if kind is list else "an object"
        raise table.fault(row, column, f"expected {expected}; the format has changed.")
    return value


def rating(table: Table, row: int, column: str, value: Any) -> float:
    """Return a rating as a number. Raises LabError, with row and column, for anything else."""
    score = number(str(value))
    if score is None:
        raise table.fault(row, column, f"“{shorten(str(value))}” is not a rating.")
    return score


def hanna(tables: Sequence[Table], _gold: Sequence[str]) -> Made:
    """Return the human stories of HANNA (Chhun et al. 2022), each under six criteria.

    The table of stories repeats them for each model. The table of ratings has one row per writer,
    and each of its cells is a list over all stories.
    """
    columns = {(rater, code): f"Human {rater} {code}" for rater in (1, 2, 3) for code in HANNA}
    _, stories = records(tables, ("Prompt", "Human", "Model"), "The stories")
    scored, scores = records(tables, ("Model", *columns.values()), "The ratings")
    texts = [story for story in stories if story["Model"] == stories[0]["Model"]]
    rows = [row for row, record in enumerate(scores) if record["Model"] == "Human"]
    if len(rows) != 1:
        raise LabError(f"“{scored.name}” has {len(rows)} rows with Model “Human”; expected one.")
    given = {}
    for key, column in columns.items():
        values = listed(scored, rows[0], column, scores[rows[0]][column])
        if len(values) != len(texts):
            raise scored.fault(
                rows[0],
                column,
                f"{len(values)} ratings for {len(texts)} stories; "
                "the files are not of one version.",
            )
        given[key] = [rating(scored, rows[0], column, value) for value in values]
    items = []
    for k, story in enumerate(texts):
        for code, name in HANNA.items():
            items.append(
                Item(
                    str(k),
                    story["Human"],
                    story["Prompt"],
                    criterion=name,
                    block=str(k),
                    task="story",
                    ratings={f"Human {rater}": given[rater, code][k] for rater in (1, 2, 3)},
                )
            )
    return items, None


def summeval(tables: Sequence[Table], _gold: Sequence[str]) -> Made:
    """Return the summaries of SummEval (Fabbri et al. 2021), rated by three experts.

    The authors' file has four criteria but no articles, which SummaC's file adds. SummaC's file
    alone has only consistency. Raises LabError where an article is in neither file.
    """
    if len(tables) == 1 and "cnndm_id" in tables[0].columns:
        items = _summac_items(tables[0])
        if items:
            return items, None
    articles: dict[str, str] = {}
    for table in tables:
        if "cnndm_id" in table.columns:
            _, summaries = records([table], SUMMAC, "Its articles")
            articles |= {record["cnndm_id"]: record["document"] for record in summaries}
    table, rated = records(
        tables, ("id", "model_id", "decoded", "expert_annotations"), "The annotations"
    )
    items = []
    for row, record in enumerate(rated):
        experts = listed(table, row, "expert_annotations", record["expert_annotations"])
        article = record.get("text") or articles.get(record["id"], "")
        if not article:
            raise table.fault(
                row, "id", "its article is in no file; name SummaC's summeval.json as well."
            )
        for name in SUMMEVAL:
            given = {
                f"Expert {k}": rating(table, row, name, expert.get(name))
                for k, expert in enumerate(experts, 1)
            }
            items.append(
                _summary(record["id"], record["model_id"], article, record["decoded"], name, given)
            )
    return items, None


def _summac_items(table: Table) -> list[Item]:
    """Return the summaries of SummaC's file, which has the experts' ratings of consistency."""
    _, summaries = records([table], SUMMAC, "Its articles")
    items = []
    for row, record in enumerate(summaries):
        experts = listed(table, row, "annotations", record["annotations"])
        given = {
            f"Expert {k}": rating(table, row, "annotations", value)
            for k, value in enumerate(experts, 1)
        }
        items.append(
            _summary(
                record["cnndm_id"],
                record["model_name"],
                record["document"],
                record["claim"],
                "consistency",
                given,
            )
        )
    return items


def _summary(
    article: str, system: str, text: str, summary: str, criterion: str, given: Mapping[str, float]
) -> Item:
    """Return the item of one summary under one criterion."""
    return Item(
        f"{article}:{system}",
        summary,
        f"Summarise this news article.\n\n{text}",
        criterion=criterion,
        block=f"{article}:{system}",
        prompt=article,
        candidate=system,
        task="summary",
        ratings=given,
    )


def prometheus(tables: Sequence[Table], gold: Sequence[str]) -> Made:
    """Return the answers in records of Kim et al. 2024, and the rubric of all their criteria.

    Each record is a whole prompt with its own criterion. ``gold``: columns with a score, or with a
    list of scores.
    """
    table, rows = records(tables, ("idx", SYSTEMS, "instruction", *gold), "The records")
    criteria: dict[tuple[str, tuple[Option, ...]], Criterion] = {}
    items = []
    for row, record in enumerate(rows):
        parts = _prompt_parts(record["instruction"])
        if parts is None:
            raise table.fault(
                row,
                "instruction",
                "expected a prompt with an answer and a rubric in it; the format has changed.",
            )
        aspect, options = _criterion_parts(parts["rubric"])
        if (aspect, options) not in criteria:
            name = _free_name(aspect, [other for other, _ in criteria])
            criteria[aspect, options] = Criterion(name, options, aspect)
        given: dict[str, float] = {}
        for column in gold:
            values = [record[column]]
            if record[column].startswith("["):
                values = listed(table, row, column, record[column])
            given |= {
                f"{column} {k}": rating(table, row, column, value)
                for k, value in enumerate(values, 1)
            }
        items.append(
            Item(
                f"{record['idx']}:{record[SYSTEMS]}",
                parts["response"],
                parts["instruction"],
                parts.get("reference", ""),
                criterion=criteria[aspect, options].name,
                prompt=record["idx"],
                candidate=record[SYSTEMS],
                task=record.get("category"),
                ratings=given,
            )
        )
    return items, Rubric("Of each record", tuple(criteria.values()))


def _criterion_parts(rubric: str) -> tuple[str, tuple[Option, ...]]:
    """Return (the aspect that is judged, its options) of a rubric in a Prometheus prompt."""
    aspect, *rest = SCORE.split(rubric)
    scores = zip(rest[::2], rest[1::2], strict=True)
    options = tuple(Option(int(score), text.strip()) for score, text in scores)
    return aspect.strip().removeprefix("[").removesuffix("]").strip(), options


def _free_name(aspect: str, taken: Sequence[str]) -> str:
    """Return a short name for an aspect, with a number if other aspects have the same."""
    short = shorten(aspect, MAX_NAME)
    same = 0
    for other in taken:
        if look_alike(shorten(other, MAX_NAME)) == look_alike(short):
            same += 1
    return f"{short} ({same + 1})" if same else short


def two_turns(tables: Sequence[Table], gold: Sequence[str]) -> Made:
    """Return MT-Bench's answers as conversations of two turns, for pairs and lists.

    Each candidate keeps its own first answer. The columns ``instruction_2`` and ``response_2`` have
    the second turn.
    """
    made, rubric = prometheus(tables, gold)
    items = []
    for item in made:
        asked = TWO_TURNS.search(item.instruction)
        if asked is None:
            raise LabError(f"“{shorten(item.item_id)}” is not a dialogue of two turns.")
        first, answer, second = (turn.strip() for turn in asked.groups())
        further = {"instruction_2": second, "response_2": item.response}
        items.append(
            replace(item, instruction=first, response=answer, reference="", columns=further)
        )
    return items, rubric


def _prompt_parts(text: str) -> dict[str, str] | None:
    """Return the parts of a prompt by their headings; None if one is missing or out of order.

    An answer may have such headings itself. So the first two headings count where they first occur,
    and those after the answer where they last occur.
    """
    spans = {}
    for name, pattern in HEADINGS.items():
        matches = list(re.finditer(pattern, text, re.M))
        if matches:
            spans[name] = matches[0] if name in ("instruction", "response") else matches[-1]
    starts = [span.start() for span in spans.values()]
    if not {"instruction", "response", "rubric"} <= {*spans} or starts != sorted(starts):
        return None
    ends = [*starts[1:], len(text)]
    return {
        name: text[span.end() : end].strip()
        for (name, span), end in zip(spans.items(), ends, strict=True)
    }


def topical_chat(tables: Sequence[Table], _gold: Sequence[str]) -> Made:
    """Return the turns of Mehri and Eskenazi 2020 in UniEval's form: means of three people."""
    table, rows = records(
        tables, ("source", "system_id", "system_output", "context", "scores"), "The turns"
    )
    conversations: dict[tuple[str, str], int] = {}
    items = []
    for row, record in enumerate(rows):
        k = conversations.setdefault((record["source"], record["context"]), len(conversations))
        asked = (
            f"Continue this conversation.\n\n{record['source'].strip()}\n\nFact to use: "
            f"{record['context'].strip()}"
        )
        for name, value in listed(table, row, "scores", record["scores"], dict).items():
            items.append(
                Item(
                    f"{k}:{record['system_id']}",
                    record["system_output"],
                    asked,
                    criterion=name,
                    block=f"{k}:{record['system_id']}",
                    prompt=str(k),
                    candidate=record["system_id"],
                    task="conversation",
                    ratings={"mean of three people": rating(table, row, "scores", value)},
                )
            )
    return items, None


def llmbar(tables: Sequence[Table], _gold: Sequence[str]) -> Made:
    """Return the pairs of LLMBar (Zeng et al. 2024); their labels name the better candidate."""
    items = []
    for table in tables:
        subset = table.name.rpartition("-")[2].split(".")[0]
        for row, record in enumerate(records([table], LLMBAR, "The pairs")[1]):
            if record["label"] not in ("1", "2"):
                raise table.fault(row, "label", f"“{shorten(record['label'])}” is not 1 or 2.")
            pair = f"{subset}-{row + 1}"
            for name in LLMBAR[1:3]:
                gold = float(name.endswith(record["label"]))
                items.append(
                    Item(
                        f"{pair}:{name}",
                        record[name],
                        record["input"],
                        prompt=pair,
                        candidate=name,
                        task=subset,
                        ratings={"gold": gold},
                    )
                )
    return items, None


def llm_rubric(tables: Sequence[Table], _gold: Sequence[str]) -> Made:
    """Return the conversations of Hashemi et al. 2024, each rated by one named person.

    Q0 (overall) to Q8 are rated from 1 to 4. A 0 means “cannot be judged” and gives no item.
    """
    questions = [f"Q{k}" for k in range(9)]
    table, rated = records(tables, ("text_id", "annotator_id", *questions), "The ratings")
    source, texts = records(tables, ("_id", "messages"), "The conversations")
    messages = {record["_id"]: (row, record["messages"]) for row, record in enumerate(texts)}
    items = []
    for row, record in enumerate(rated):
        if record["text_id"] not in messages:
            raise table.fault(
                row, "text_id", f"“{shorten(source.name)}” does not have this conversation."
            )
        line, said = messages[record["text_id"]]
        turns = [
            f"{turn['role'].capitalize()}: {turn['content']}"
            for turn in listed(source, line, "messages", said)
        ]
        base = Item(
            record["text_id"], "\n\n".join(turns), block=record["text_id"], task="conversation"
        )
        for name in questions:
            score = rating(table, row, name, record[name])
            if score:
                given = {f"person {record['annotator_id']}": score}
                items.append(replace(base, criterion=name, ratings=given))
    return items, None


READERS: Mapping[str, Callable[[Sequence[Table], Sequence[str]], Made]] = {
    reader.__name__: reader
    for reader in (hanna, summeval, prometheus, two_turns, topical_chat, llmbar, llm_rubric)
}
"""Readers by their names in ``data/published/sources.toml``.

A reader takes the tables and the names of gold columns, and returns items and a rubric.
"""
