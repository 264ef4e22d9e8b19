"""Turn the tables of each published data set into items, and the rubric that its records bring."""

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
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")
LLMBAR = ("input", "output_1", "output_2", "label")
SYSTEMS = "response_source"
HEADINGS = {
    "instruction": r"^###\s*The instruction to evaluate:[ \t]*\n",
    "response": r"^###\s*Response to evaluate:[ \t]*\n",
    "reference": r"^###\s*Reference Answer[^\n]*:[ \t]*\n",
    "rubric": r"^###\s*Score Rubrics?:[ \t]*\n",
    "end": r"^###\s*Feedback:[ \t]*\s*\Z",
}
SCORE = re.compile(r"^[ \t]*Score (\d+):[ \t]*", re.M)
TWO_TURNS = re.compile(r"^User:(.*?)\n+Assistant:(.*)\n+User:(.*)\n+Assistant:\s*\Z", re.S | re.M)
MAX_NAME = 90


def records(
    tables: Sequence[Table], columns: Sequence[str], what: str
) -> tuple[Table, list[Record]]:
    """(the table that has all of ``columns``, its rows by column). Raises LabError naming what the
    nearest one lacks.
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
    """The JSON list (or object) in a cell. Raises LabError for anything else."""
    value = json_value(text, table.name, row + 1) if text[:1] in "[{" else None
    if not isinstance(value, kind):
        expected = "a list" if kind is list else "an object"
        raise table.fault(row, column, f"expected {expected}; the format has changed.")
    return value


def rating(table: Table, row: int, column: str, value: Any) -> float:
    score = number(str(value))
    if score is None:
        raise table.fault(row, column, f"“{shorten(str(value))}” is not a rating.")
    return score


def hanna(tables: Sequence[Table], _gold: Sequence[str]) -> Made:
    """Chhun et al. 2022: the stories repeat for each model; the ratings are lists over stories, a
    row a writer.
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
            words = (
                f"{len(values)} ratings for {len(texts)} stories; the files are not of one version."
            )
            raise scored.fault(rows[0], column, words)
        given[key] = [rating(scored, rows[0], column, value) for value in values]
    return [
        Item(
            str(k),
            story["Human"],
            story["Prompt"],
            criterion=name,
            block=str(k),
            task="story",
            ratings={f"Human {rater}": given[rater, code][k] for rater in (1, 2, 3)},
        )
        for k, story in enumerate(texts)
        for code, name in HANNA.items()
    ], None


def summeval(tables: Sequence[Table], _gold: Sequence[str]) -> Made:
    """Fabbri et al. 2021: the authors' file (four criteria, no articles) with SummaC's, or SummaC's
    alone (consistency).

    The three experts are the raters. Raises LabError where an article is in neither file.
    """
    articles: dict[str, str] = {}
    items = []
    for table in (table for table in tables if "cnndm_id" in table.columns):
        _, summaries = records(
            [table], ("cnndm_id", "model_name", "document", "claim", "annotations"), "Its articles"
        )
        articles |= {record["cnndm_id"]: record["document"] for record in summaries}
        for row, record in enumerate(summaries if len(tables) == 1 else ()):
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
    if items:
        return items, None
    table, rated = records(
        tables, ("id", "model_id", "decoded", "expert_annotations"), "The annotations"
    )
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


def _summary(
    article: str, system: str, text: str, summary: str, criterion: str, given: Mapping[str, float]
) -> Item:
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
    """Kim et al. 2024: a record is a whole prompt, with a rubric of its own. ``gold``: columns of
    scores, or lists of them.
    """
    table, rows = records(tables, ("idx", SYSTEMS, "instruction", *gold), "The records")
    criteria: dict[tuple[str, tuple[Option, ...]], Criterion] = {}
    items = []
    for row, record in enumerate(rows):
        parts = _prompt_parts(record["instruction"])
        if parts is None:
            raise table.fault(row, "instruction", "no prompt with an answer and a rubric in it.")
        aspect, *listed_scores = SCORE.split(parts["rubric"])
        aspect = aspect.strip().removeprefix("[").removesuffix("]").strip()
        scores = zip(listed_scores[::2], listed_scores[1::2], strict=True)
        options = tuple(Option(int(score), text.strip()) for score, text in scores)
        if (aspect, options) not in criteria:
            short = shorten(aspect, MAX_NAME)
            same = sum(
                look_alike(shorten(other, MAX_NAME)) == look_alike(short) for other, _ in criteria
            )
            criteria[aspect, options] = Criterion(
                f"{short} ({same + 1})" if same else short, options, aspect
            )
        given: dict[str, float] = {}
        for column in gold:
            values = (
                listed(table, row, column, record[column])
                if record[column][:1] == "["
                else [record[column]]
            )
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
                criteria[aspect, options].name,
                None,
                record["idx"],
                record[SYSTEMS],
                record.get("category"),
                given,
            )
        )
    return items, Rubric("Of each record", tuple(criteria.values()))


def two_turns(tables: Sequence[Table], gold: Sequence[str]) -> Made:
    """MT-Bench's answers as conversations of two turns, for pairs and lists: each candidate's first
    answer is its own.

    The prompt is the dialogue before the second answer. Columns ``instruction_2`` and
    ``response_2`` hold the second turn.
    """
    made, rubric = prometheus(tables, gold)
    items = []
    for item in made:
        asked = TWO_TURNS.search(item.instruction)
        if asked is None:
            raise LabError(f"“{shorten(item.item_id)}” is no dialogue of two turns.")
        first, answer, second = map(str.strip, asked.groups())
        further = {"instruction_2": second, "response_2": item.response}
        items.append(
            replace(item, instruction=first, response=answer, reference="", columns=further)
        )
    return items, rubric


def _prompt_parts(text: str) -> dict[str, str] | None:
    """A prompt at its headings: an answer may hold some, so the first two are taken first, the last
    ones last.
    """
    spans = {}
    for name, pattern in HEADINGS.items():
        if matches := list(re.finditer(pattern, text, re.M)):
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
    """Mehri and Eskenazi 2020, as UniEval has it: the mean of three people on each criterion."""
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
    """Zeng et al. 2024: the answers of each instruction as two candidates; the labelled one is the
    better.
    """
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
    """Hashemi et al. 2024: one named person a conversation, 1 to 4 on Q0 (overall) to Q8; 0, cannot
    be said, has no item.
    """
    questions = [f"Q{k}" for k in range(9)]
    table, rated = records(tables, ("text_id", "annotator_id", *questions), "The ratings")
    source, texts = records(tables, ("_id", "messages"), "The conversations")
    messages = {record["_id"]: (row, record["messages"]) for row, record in enumerate(texts)}
    items = []
    for row, record in enumerate(rated):
        if record["text_id"] not in messages:
            raise table.fault(row, "text_id", f"“{shorten(source.name)}” has no such conversation.")
        line, said = messages[record["text_id"]]
        turns = [
            f"{turn['role'].capitalize()}: {turn['content']}"
            for turn in listed(source, line, "messages", said)
        ]
        base = Item(
            record["text_id"], "\n\n".join(turns), block=record["text_id"], task="conversation"
        )
        for name in questions:
            if score := rating(table, row, name, record[name]):
                given = {f"person {record['annotator_id']}": score}
                items.append(replace(base, criterion=name, ratings=given))
    return items, None


READERS: Mapping[str, Callable[[Sequence[Table], Sequence[str]], Made]] = {
    reader.__name__: reader
    for reader in (hanna, summeval, prometheus, two_turns, topical_chat, llmbar, llm_rubric)
}
"""By the names that ``data/published/sources.toml`` uses: (tables, columns of gold scores) ->
(items, rubric).
"""
