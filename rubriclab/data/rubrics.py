"""Read a rubric from YAML, JSON, CSV or pasted text.

Hostile and unclear texts are refused: aliases (a few lines can stand for gigabytes), keys that
appear twice, deep nesting, unknown keys.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import yaml

from rubriclab.data import limits
from rubriclab.data.pasted_rubric import criteria_of_text
from rubriclab.data.tables import Table, as_file, json_value, read_table
from rubriclab.data.worker import WORKER
from rubriclab.model.data import MAX_OPTIONS, Criterion, Option, Rubric
from rubriclab.model.passing import BAD, GOOD, known_word
from rubriclab.model.text import LabError, look_alike, shorten, storable

NUMBER = re.compile(r"[-+]?[\d_.:xob]+")
FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.S)
"""What a chat or a README puts around YAML and JSON."""
KEYS = re.compile(
    r"^\s*(?:-\s+)?(?:(?:criteria|options)\s*:\s*(?:$|[\[{|#&*!])"
    r"|(?:[\[{]\s*)?score\s*:\s*-?\d+\s*(?:$|[,}#]))",
    re.M,
)
"""A line that YAML of a rubric has, and a pasted list of scores has not."""
MOST_LISTED = 10
"""Missing scores that a note lists."""
QUOTE = (
    "Put a text with a comma or a colon in quotes, for example "
    '{score: 1, description: "bad, vague"}.'
)
MAX_SCORE = 1_000_000
"""Largest score. Beyond it a number is an ID or a time."""
ENDINGS = (".yaml", ".yml", ".json", ".csv", ".tsv", ".xlsx", ".txt", ".md")
PLAIN = (".txt", ".md")
"""Endings of files whose text is read like pasted text."""
COLUMNS = ("criterion", "score", "description", "label", "criterion_description")


def read_rubric(source: str | Path | bytes, name: str = "") -> Rubric:
    """Return the rubric in a file or in its bytes. The ending of ``name`` says how to read it.

    Text (.txt, .md) is read as ``rubric_of_text`` reads it. YAML and JSON: ``name``,
    ``criteria: [{name, description, options: [{score, description, label}]}]``. CSV: a row
    per option, ``criterion, score, description`` and optional ``label, criterion_description``.
    Raises LabError.
    """
    name = name or (PurePath(str(source)).name if not isinstance(source, bytes) else "rubric.yaml")
    ending = PurePath(name.lower()).suffix
    if ending not in ENDINGS:
        raise limits.refusal(
            name,
            f": the lab cannot read a rubric from “{shorten(ending)}” files. Use "
            f"{', '.join(ENDINGS)}.",
        )
    if ending in (".csv", ".tsv", ".xlsx"):
        return _from_table(read_table(source, name), PurePath(name).stem)
    with tempfile.TemporaryDirectory(prefix="rubriclab-", ignore_cleanup_errors=True) as folder:
        file = as_file(source, name, Path(folder), limits.MAX_PLAIN)
        return rubric_of(WORKER.run("rubric", file, name)["rubric"], name)


def rubric_of_text(text: str) -> Rubric:
    """Return the rubric in pasted text: YAML or JSON as in a file, else one line per score.

    “5: Convincing” is a score. “name: what is judged” is above the scores, and a blank line before
    the next criterion. Raises LabError naming a line that is unclear.
    """
    value = _pasted_value(text)
    if value is None:
        criteria = criteria_of_text(text)
        title = criteria[0]["name"] if len(criteria) == 1 else "My rubric"
        value = {"name": title, "criteria": criteria}
    return rubric_of(value, "text")


def pasted_form(text: str) -> str:
    """Return what a pasted text is read as: JSON, YAML, a table, or one score per line."""
    bare = _unfenced(text)
    if _is_json(bare):
        return "JSON"
    if _is_yaml(bare):
        return "YAML"
    lines = [line.strip() for line in bare.splitlines() if line.strip()]
    if any(line.startswith("|") for line in lines) or (lines and "\t" in lines[0]):
        return "a table"
    return "one score per line"


def _unfenced(text: str) -> str:
    bare = text.strip()
    fenced = FENCED.fullmatch(bare)
    return fenced[1].strip() if fenced else bare


def _is_json(bare: str) -> bool:
    return bare[:1] == "{" or re.match(r"\[\s*[{\]]", bare) is not None


def _is_yaml(bare: str) -> bool:
    return KEYS.search(bare) is not None or bare.startswith("---\n")


def _pasted_value(text: str) -> Any:
    """Return the value of pasted JSON or YAML; None for a text of another kind.

    A list of options or a table of scores is completed to a rubric of one criterion.
    """
    bare = _unfenced(text)
    if _is_json(bare):
        value = json_value(bare, "text")
    elif _is_yaml(bare):
        value = yaml_value(text if bare == text.strip() else bare, "text")
    else:
        return None
    if isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
        of_options = all("score" in part or set(part) <= {"label", "description"} for part in value)
        value = {"options": value} if of_options else {"criteria": value}
    if isinstance(value, Mapping) and value and all(_whole(key) is not None for key in value):
        value = {"options": dict(value)}
    if isinstance(value, Mapping) and "name" not in value and "criterion" in value:
        value = {"name" if key == "criterion" else key: part for key, part in value.items()}
    if isinstance(value, Mapping) and "name" not in value:
        value = {"name": "My rubric", **value}
    return value


def rubric_notes(rubric: Rubric) -> list[str]:
    """Return what a reader should know of a rubric: levels that are missing or not described."""
    notes = []
    for criterion in rubric.criteria:
        name, scores = shorten(criterion.name), criterion.scores
        missing = sorted({*range(scores[0], scores[-1] + 1)} - {*scores}) if _narrow(scores) else []
        if missing:
            has, lacks = _listed(scores), _listed(missing)
            notes.append(f"“{name}” has the scores {has}, so no answer can get {lacks}.")
        elif not _narrow(scores):
            notes.append(f"“{name}” has only the scores {_listed(scores)}.")
        bare = [option.score for option in criterion.options if not option.description.strip()]
        if len(bare) == len(scores):
            notes.append(f"“{name}” describes none of its scores.")
        elif bare:
            what = "score" if len(bare) == 1 else "scores"
            notes.append(f"“{name}” has no description of the {what} {_listed(bare)}.")
    return notes


def _narrow(scores: Sequence[int]) -> bool:
    """Return whether few enough scores are missing in between to list them."""
    return scores[-1] - scores[0] - len(scores) + 1 <= MOST_LISTED


def _listed(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def rubric_task(file: str, name: str) -> dict[str, Any]:
    """Return the file's plain values. Runs in the worker."""
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise LabError(
            f"“{shorten(name)}” is not UTF-8 text (byte {fault.start:,}). Save it as UTF-8."
        ) from None
    ending = PurePath(name.lower()).suffix
    if ending in PLAIN:
        return {"rubric": rubric_of_text(text).document()}
    value = json_value(text, name) if ending == ".json" else yaml_value(text, name)
    # Refused here, before a value that JSON cannot carry goes to the parent process.
    rubric_of(value, name)
    return {"rubric": value}


def own_rubric(path: Path) -> Rubric:
    """Return a rubric that comes with the lab. It is trusted, so it is read in this process."""
    return rubric_of(yaml_value(path.read_text("utf-8"), path.name), path.name)


def rubric_of(value: Any, source: str = "rubric") -> Rubric:
    """Return the rubric of plain values.

    Raises LabError naming criterion, option, value and what was expected.
    """
    where = f"“{shorten(source)}”"
    head = _table(value, {"name", "description", "criteria", "options"}, where)
    title = _text(head, "name", where) or PurePath(source).stem
    if "criteria" not in head and "options" in head:
        head = {"criteria": [head | {"name": title}]}
    criteria = head.get("criteria")
    if not isinstance(criteria, list) or not 0 < len(criteria) <= limits.MAX_CRITERIA:
        most = limits.MAX_CRITERIA
        raise LabError(f"{where}: criteria has to be a list of 1 to {most} criteria.")
    return Rubric(
        title,
        tuple(_criterion(body, f"{where}, criterion {k}") for k, body in enumerate(criteria, 1)),
    )


def _criterion(value: Any, where: str) -> Criterion:
    body = _table(value, {"name", "description", "options", "criteria"}, where)
    options = body.get("options")
    if isinstance(options, dict):
        options = [{"score": score, "description": text} for score, text in options.items()]
    if not isinstance(options, list) or len(options) > 10 * MAX_OPTIONS:
        raise LabError(
            f"{where}: options has to be a list with score and description of each option."
        )
    parts = [
        _table(option, {"score", "description", "label"}, f"{where}, option {k}")
        for k, option in enumerate(options, 1)
    ]
    if parts and all(part.get("score") is None for part in parts):
        parts = _scored_by_label(parts, where)
    made = []
    for k, part in enumerate(parts, 1):
        here = f"{where}, option {k}"
        score = _whole(part.get("score"))
        if score is None:
            raise LabError(
                f"{here}: the score is {shorten(repr(part.get('score')), 40)}. Use a whole number."
                f"{_cure_of_halves(parts)}"
            )
        made.append(Option(score, _text(part, "description", here), _text(part, "label", here)))
    return Criterion(_text(body, "name", where), tuple(made), _text(body, "description", where))


def _scored_by_label(parts: Sequence[Mapping[str, Any]], where: str) -> list[dict[str, Any]]:
    """Return options that have labels and no scores with the scores 0 and 1.

    Two labels may say by themselves which of them is good: yes and no, pass and fail. Of others it
    is not guessed whether they run from best to worst. Raises LabError for these.
    """
    labels = [_text(part, "label", where) for part in parts]
    known = {GOOD: 1, BAD: 0}
    words = [known_word(label) for label in labels]
    if sorted(words) == sorted(known):
        return [{**part, "score": known[word]} for part, word in zip(parts, words, strict=True)]
    example = "Bad 0, Good 1"
    named = [shorten(label, 20) for label in labels if label]
    if 1 < len(named) <= MAX_OPTIONS:
        first = ", ".join(f"{label} {k}" for k, label in enumerate(named))
        example = f"{first}, if {named[-1]} is best"
    raise LabError(
        f"{where}: no option has a score. Give each option a score, for example {example}."
    )


def _cure_of_halves(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return how to write scores of which some are halves; empty where that is not the fault."""
    try:
        scores = [float(part["score"]) for part in parts]
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""
    twice = [_whole(2 * score) for score in scores]
    if None in twice:
        return ""
    doubled = ", ".join(str(score) for score in twice)
    written = ", ".join(f"{score:g}" for score in scores)
    return f" Double the scores ({doubled}) and put {written} as labels."


def _table(value: Any, known: set[str], where: str) -> dict[str, Any]:
    names = ", ".join(sorted(known))
    if not isinstance(value, Mapping):
        raise LabError(f"{where} is {shorten(repr(value), 40)}. Write a table of {names}.")
    for key in value:
        if key not in known:
            cure = ""
            if "weight" in str(key):
                cure = " Leave it out: each criterion has its own results, without weights."
            elif value[key] is None and len(value) > 1:
                cure = f" {QUOTE}"
            raise LabError(
                f"{where}: unknown key {shorten(repr(key), 40)}. Allowed keys are {names}.{cure}"
            )
    return dict(value)


def _text(body: Mapping[str, Any], key: str, where: str) -> str:
    value = body.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise LabError(f"{where}: {key} is {shorten(repr(value), 40)}. Write a text, in quotes.")
    if len(str(value)) > limits.MAX_DESCRIPTION:
        raise LabError(
            f"{where}: {key} has {len(str(value)):,} characters; the limit is "
            f"{limits.MAX_DESCRIPTION:,}. Shorten it."
        )
    return storable(str(value)).strip()


def _whole(value: Any) -> int | None:
    try:
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if abs(number) <= MAX_SCORE and number == int(number) else None


def _from_table(table: Table, title: str) -> Rubric:
    """Return the rubric of a table with a row per option.

    Without a column ``criterion`` there is one criterion, with the name of the file.
    """
    names = {look_alike(column): column for column in table.columns}
    for needed in ("score", "description"):
        if needed not in names:
            known = "criterion, score, description and, if wanted, label and criterion_description"
            raise limits.refusal(
                table.name, f" has no column {needed}. A rubric as a table needs {known}."
            )
    blank = [""] * table.size
    cells = [table.column(names[role]) if role in names else blank for role in COLUMNS]
    criteria: dict[str, dict[str, Any]] = {}
    for row, (criterion, score, description, label, about) in enumerate(zip(*cells, strict=True)):
        name = criterion.strip() or title
        body = criteria.setdefault(name, {"name": name, "description": "", "options": []})
        body["description"] = body["description"] or about
        if _whole(score) is None:
            raise table.fault(
                row, names["score"], f"“{shorten(score)}” is not a score. Use a whole number."
            )
        body["options"].append({"score": score, "description": description, "label": label})
    return rubric_of({"name": title, "criteria": list(criteria.values())}, table.name)


def yaml_value(text: str, name: str) -> Any:
    """Return the value of a YAML text within limits.

    Refused are aliases, a key that appears twice, more than 64 levels and 100,000 values, and
    numbers of more than 300 digits.
    """
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, OverflowError) as fault:
        mark = getattr(fault, "problem_mark", None)
        where = f", line {mark.line + 1:,}, column {mark.column + 1:,}" if mark else ""
        problem = getattr(fault, "problem", None) or str(fault)
        cure = f" {QUOTE}" if re.search("mapping values|expected ',' or '}'", problem) else ""
        raise LabError(
            f"“{shorten(name)}”{where}: could not read this YAML ({shorten(problem, 120)}).{cure} "
            "Fix the line, or paste the rubric as text instead."
        ) from None


OTHER_NOTATION = re.compile(
    r"[-+]?(0[0-9_]+|0x[0-9a-f_]+|0b[01_]+|[0-9]+_[0-9_]*(\.[0-9_]*)?|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)"
    r"|yes|no|on|off",
    re.IGNORECASE,
)
"""What YAML 1.1 takes for an octal, hexadecimal or sexagesimal number, or for true or false.

In YAML 1.1 ``010`` is 8, so a score that a person wrote would become another one.
"""


class _Loader(yaml.SafeLoader):
    """Load YAML safely, within limits.

    It also refuses a key that appears twice, however it is written (1 and 1.0).
    """

    depth = nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self.depth += 1
        self.nodes += 1
        plain = event.value if isinstance(event, yaml.ScalarEvent) and event.implicit[0] else ""
        if isinstance(event, yaml.AliasEvent):
            problem = f"an alias, *{event.anchor}: write out the text that it repeats"
        elif self.depth > limits.MAX_DEPTH:
            problem = f"nested deeper than {limits.MAX_DEPTH} levels"
        elif self.nodes > limits.MAX_NODES:
            problem = f"more than {limits.MAX_NODES:,} values"
        elif OTHER_NOTATION.fullmatch(plain):
            problem = (
                f"“{plain}” is another value in YAML: write a number in decimal digits, or put a "
                "text in quotes"
            )
        elif len(plain) > limits.MAX_DIGITS and NUMBER.fullmatch(plain):
            problem = f"a number of {len(plain):,} digits: put it in quotes if it is a text"
        else:
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        value = super().construct_mapping(node, deep)
        seen: set[Any] = set()
        for key, _ in node.value if len(value) < len(node.value) else ():
            if (known := self.construct_object(key, deep=True)) in seen:
                problem = f"the key “{shorten(str(known), 40)}” appears twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(known)
        return value
