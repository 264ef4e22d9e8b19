"""Define the tables of a study: one model for the TOML file, the forms, the schema and errors."""

import math
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from rubriclab.model.judge import RESERVED, JudgeSettings, Seed
from rubriclab.model.judge_options import Packing
from rubriclab.model.judgment import Reorder, step_of
from rubriclab.model.orders import MAX_CALLS, STRATEGIES, Strategy, known_strategy
from rubriclab.model.part import Part
from rubriclab.model.text import LabError, digest, look_alike, shorten

MAX_STUDY = 1_000_000
"""Bytes of a study file. A larger file is something else, most likely the data."""
MOST_DOTS = 1_000
"""Dots in a line: a key of a hundred thousand parts takes minutes to parse."""
DEEPEST = 64
"""Tables inside tables. No study needs more, and much deeper ones exceed Python's stack."""
FIRST_FIELDS = ("reorder", "strategies", "repeats", "answer", "seed")
"""Fields of the design that the first version had. Later ones are part of a study's identity only
where they are used, so that older runs can be resumed.
"""


P = TypeVar("P", bound=BaseModel)


def _named(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return judges or strategies as they are. Refuses an empty list, blank names, and names that
    look like an earlier one.
    """
    if not parts:
        raise ValueError("expected at least one")
    seen = {""}
    for name in (part.name or part.kind for part in parts):
        if look_alike(name) in seen:
            words = f"two are called “{shorten(name) or 'blank'}”, or look like it"
            raise ValueError(f"{words}; give each a name of its own")
        seen.add(look_alike(name))
    return parts


class RubricPart(Part):
    """``[rubric]``: a file, or its criteria inline."""

    file: str = Field("", max_length=1_000)
    name: str = Field("", max_length=200)
    criteria: list[dict[str, Any]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _source(self) -> Self:
        if bool(self.file) == bool(self.criteria):
            raise ValueError('give either file = "rubric.yaml" or [[rubric.criteria]]')
        return self


PublishedName = Literal[
    "hanna",
    "summeval",
    "mt_bench",
    "mt_bench_turns",
    "vicuna",
    "topical_chat",
    "llmbar",
    "llm_rubric",
]


class DataPart(Part):
    """``[[data]]``.

    ``take``: items at most, one answer of each prompt first, or whole prompts if calls show
    several.

    ``published``: a data set as it was published, fetched or read from the user's own ``files``;
    ``candidates``: only their answers. ``rubric``: its own, in place of the study's.
    """

    file: str = Field("", max_length=1_000)
    published: PublishedName | None = None
    files: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    name: str = Field("", max_length=200)
    sample: bool = False
    take: int | None = Field(None, ge=1)
    seed: Seed = 0
    columns: dict[str, str | list[str]] = Field(default_factory=dict)
    rubric: RubricPart | None = None

    @model_validator(mode="after")
    def _source(self) -> Self:
        if [bool(self.file), self.sample, self.published is not None].count(True) != 1:
            raise ValueError(
                'give file = "answers.csv", sample = true for the answers that come with the lab, '
                'or published = "hanna"'
            )
        if self.files and self.published is None:
            raise ValueError(
                "files are the user's own copies of a published data set; name that, as published"
            )
        return self


class StrategyPart(Part):
    """One of ``strategies``: a kind's name, or a table."""

    kind: Annotated[str, AfterValidator(known_strategy)]
    name: str = Field("", max_length=100)
    calls: int | None = Field(None, ge=1, le=MAX_CALLS)
    orders: tuple[tuple[int | str, ...], ...] = Field((), max_length=MAX_CALLS)

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _listed(self) -> Self:
        if self.orders and not STRATEGIES[self.kind].listed:
            raise ValueError(
                f'{self.kind} makes its own orders; give orders with kind = "custom" or "min-bias"'
            )
        return self


IdStyle = Literal["arabic", "letters", "roman", "shuffled"]
Level = str | bool | int | Annotated[float, Field(allow_inf_nan=False)]
MOST_LEVELS, MOST_VARIANTS = 20, 200
Levels = Field(min_length=2, max_length=MOST_LEVELS)


MOST_PROMPTS, MAX_TEXT = 20, 200_000


class AnswerPart(Part):
    """``[answer]`` of a prompt file: where the verdict is in a reply.

    ``read``: ``label``, the reply is the verdict or names it (behind the word ``path``, where
    replies repeat it); ``result``, it follows the reasons, as ``[RESULT] 4`` or ``[[A]]``;
    ``last_label``, the one label in the last line that has any; ``pattern``, its one group (RE2);
    ``json`` or ``tag``, under the key or in the tag named by ``path`` (dotted; ``{criterion}`` for
    each). Where a rule fits several times, all must give one label.
    ``labels``: for pairs and lists, the candidates' labels by position, and a tie's last.
    ``ask``: hold the server to the JSON, by a schema or a tool.
    """

    read: Literal["label", "result", "last_label", "pattern", "json", "tag"] = "label"
    pattern: str = Field("", max_length=1_000)
    path: str = Field("", max_length=200, pattern=r"^[\w{}.-]*$")
    labels: tuple[Annotated[str, Field(min_length=1, max_length=40)], ...] = Field(
        (), max_length=21
    )
    ask: Literal["", "schema", "tool"] = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not {"pattern": self.pattern, "json": self.path, "tag": self.path}.get(
            self.read, self.read
        ):
            example = "pattern = 'Rating: (\\d)'" if self.read == "pattern" else 'path = "score"'
            raise ValueError(f'read = "{self.read}" needs {example}')
        if self.ask and self.read != "json":
            raise ValueError(
                f'ask = "{self.ask}" holds a server to JSON; set read = "json" and its path'
            )
        return self


class MessagePart(Part):
    """One of ``[[messages]]``: ``text`` is a Jinja2 template."""

    role: Literal["system", "developer", "user", "assistant"] = "user"
    text: str = Field(max_length=MAX_TEXT)


class PromptFile(Part):
    """A judge prompt: a file, or the same inline. ``order``, ``item``: those of the pasted prompt
    that it was made from.
    """

    name: str = Field("prompt", min_length=1, max_length=200)
    messages: tuple[MessagePart, ...] = Field(min_length=1, max_length=20)
    answer: AnswerPart = AnswerPart()
    order: tuple[int | str, ...] = Field((), max_length=100)
    item: str = ""

    @property
    def id(self) -> str:
        """A hash of what decides its calls."""
        return digest(self.model_dump(mode="json", include={"messages", "answer"}))[:16]


class PromptPart(Part):
    """``[prompt]``: files of one's own prompts (several are a factor, the first its baseline), or
    ``templates`` inline.

    ``pasted``: a file with a prompt as it was sent, for ``row`` (from 1) of the data; where that
    cannot tell: ``lines`` (first and last) of the list whose order changes; ``best``: which of its
    entries; ``columns``: those that it shows.
    """

    files: tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...] = Field(
        (), max_length=MOST_PROMPTS
    )
    templates: tuple[PromptFile, ...] = Field((), max_length=MOST_PROMPTS)
    pasted: str = Field("", max_length=1_000)
    row: int | None = Field(None, ge=1)
    lines: tuple[int, ...] | None = Field(None, min_length=1, max_length=2)
    best: Literal["", "first", "last"] = ""
    columns: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _source(self) -> Self:
        if [bool(self.files), bool(self.templates), bool(self.pasted)].count(True) != 1:
            raise ValueError(
                'give files = ["judge.toml"], or pasted = "prompt.txt" for a row of the data'
            )
        if not self.pasted and (self.row, self.lines, self.best, self.columns) != (
            None,
            None,
            "",
            None,
        ):
            raise ValueError("row, lines, best and columns belong to pasted")
        names = [prompt.name for prompt in self.templates] or [
            Path(name).stem for name in self.files
        ]
        if len({look_alike(name) for name in names}) < len(names):
            raise ValueError(
                f"two prompts are called alike ({shorten(', '.join(names), 100)}); name their "
                f"files apart"
            )
        return self


class VaryPart(Part):
    """``[design.vary]``: factors by name, the levels of each; the first is the baseline.

    Each other level is asked with every other factor at its baseline; ``crossed``: all
    combinations. ``ids``: what stands for the scores; ``reference``: the score of the reference
    answer shown, 0 for none; ``scale``: the number of options; ``wording``: names of further
    rubrics, the first in place of the study's; ``extra``: fields of the request, dotted.
    ``packing``: do the orders of an answer share a request of a judge that decides? ``prompt``:
    names of the study's own prompts, which the lab fills in where ``[prompt]`` has several.
    """

    crossed: bool = False
    ids: Annotated[tuple[IdStyle, ...], Levels] = ()
    reference: Annotated[
        tuple[Annotated[int, Field(strict=True, ge=0, le=1_000)], ...], Levels
    ] = ()
    scale: Annotated[tuple[Annotated[int, Field(strict=True, ge=2, le=10)], ...], Levels] = ()
    wording: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...], Levels
    ] = ()
    prompt: Annotated[tuple[str, ...], Levels] = ()
    temperature: Annotated[
        tuple[Annotated[float, Field(strict=True, ge=0, le=2)], ...], Levels
    ] = ()
    reasoning_effort: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=40)], ...], Levels
    ] = ()
    packing: Annotated[tuple[Packing, ...], Levels] = ()
    extra: dict[str, Annotated[tuple[Level, ...], Levels]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _dotted(cls, value: Any) -> Any:
        """``extra`` as one table, whether it is written ``"extra.a.b"``, ``extra.a.b`` or
        ``[design.vary.extra.a]``.
        """
        if not isinstance(value, dict):
            return value
        kept = {
            name: levels for name, levels in value.items() if not str(name).startswith("extra.")
        }
        dotted = {
            name.removeprefix("extra."): levels
            for name, levels in value.items()
            if name not in kept
        }
        fields = (
            flat(kept.get("extra", {}) | dotted)
            if isinstance(kept.get("extra", {}), dict)
            else kept["extra"]
        )
        return kept | ({"extra": fields} if fields else {})

    @model_validator(mode="after")
    def _levels(self) -> Self:
        factors = self.factors()
        sizes = [len(levels) for levels in factors.values()]
        settings = math.prod(sizes) if self.crossed else sum(sizes) - len(sizes) + 1
        if settings > MOST_VARIANTS:  # first: what follows compares the factors with each other
            raise ValueError(
                f"the factors make {settings:,} combinations; at most {MOST_VARIANTS} can be told "
                f"apart: take "
                f"fewer levels{', or crossed = false' * self.crossed}"
            )
        for name, levels in factors.items():
            seen = [
                look_alike(level) if isinstance(level, str) else repr(level) for level in levels
            ]
            if len(set(seen)) < len(seen):
                raise ValueError(
                    f"{name} has a level twice, or two that look alike: "
                    f"{shorten(str(list(levels)), 100)}"
                )
            parts = name.split(".")[1:]
            if parts and parts[0] in RESERVED:
                raise ValueError(
                    f"{name} is a field that the lab fills in itself; vary another one"
                )
            if "" in parts or any(other.startswith(f"{name}.") for other in factors):
                raise ValueError(
                    f"{name} names no field of its own; expected as extra.min_p or extra.a.b, each "
                    f"once"
                )
        return self

    @model_serializer(mode="wrap")
    def _given(self, handler: Any) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value}

    def factors(self) -> dict[str, tuple[Level, ...]]:
        """The levels of each factor that is varied; a field of the request is called
        ``extra.FIELD``.
        """
        names = [name for name in VaryPart.model_fields if name not in ("crossed", "extra")]
        varied = {name: getattr(self, name) for name in names if getattr(self, name)}
        return varied | {f"extra.{name}": levels for name, levels in self.extra.items()}


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Tables within tables as one with dotted names."""
    out: dict[str, Any] = {}
    for name, value in table.items():
        out |= (
            flat(value, f"{before}{name}.")
            if isinstance(value, dict)
            else {f"{before}{name}": value}
        )
    return out


class DesignPart(Part):
    """``[design]``: what is reordered, how often, and in which form the answer is asked for.

    ``reorder``: one axis, or several on the same answers. ``repeats_on``: repeats only on a sample
    of questions, a share of them or so many of each task; the others are asked once in each order.

    ``k``: candidates of a list, or answers that one call scores. Of pairs and lists: ``tie``, may a
    tie be answered; ``baseline``: only comparisons with this candidate; ``template``: the papers'
    prompts instead of the letter alone.
    """

    reorder: Reorder | tuple[Reorder, ...] = "options"
    strategies: Annotated[tuple[StrategyPart, ...], AfterValidator(_named)] = (
        StrategyPart(kind="balanced"),
    )
    repeats: int = Field(2, ge=1, le=100)
    repeats_on: float | None = Field(None, gt=0, le=1_000_000)
    answer: Literal["score", "feedback"] = "score"
    k: int = Field(4, ge=2, le=20)
    tie: bool = True
    baseline: str = Field("", max_length=1_000)
    template: Literal["", "brief", "mtbench", "devbench"] = ""
    seed: Seed = 0
    vary: VaryPart = VaryPart()

    @field_validator("reorder", mode="before")
    @classmethod
    def _axes(cls, value: Any) -> Any:
        axes = [value] if isinstance(value, str) else value
        known = get_args(Reorder)
        if (
            not isinstance(axes, list | tuple)
            or not axes
            or any(axis not in known for axis in axes)
        ):
            raise ValueError(f"expected one of {', '.join(known)}, or a list of them")
        if len(set(axes)) < len(axes):
            raise ValueError("an axis stands twice; name each of them once")
        return axes[0] if len(axes) == 1 else axes

    @field_validator("repeats_on")
    @classmethod
    def _sample(cls, value: float | None) -> float | None:
        if value is not None and value >= 1 and value != int(value):
            raise ValueError(
                "expected a share below 1, or a whole number of questions of each task"
            )
        return value

    @property
    def axes(self) -> tuple[Reorder, ...]:
        """What is reordered: of a study with several axes each of them, asked one after the
        other.
        """
        return (self.reorder,) if isinstance(self.reorder, str) else self.reorder

    def plans(self) -> list[Strategy]:
        return [
            Strategy(part.kind, part.name or part.kind, self.repeats, part.calls, part.orders)
            for part in self.strategies
        ]


SMALLEST_STEPS, SMALLEST_SPAN = 0.25, 1 / 16
"""Where none is given: of a step, and of the whole scale."""


class Smallest(Part):
    """The smallest effects that matter.

    mean: steps of the scale; None for the default, which depends on the number of scores.
    share, single: fractions of calls. r: a correlation.
    """

    mean: float | None = Field(None, gt=0, le=10)
    share: float = Field(0.05, gt=0, le=0.5)
    single: float = Field(0.05, gt=0, le=0.5)
    r: float = Field(0.05, gt=0, le=1)

    def points(self, scores: Sequence[float]) -> float:
        """Return the smallest change of a mean score that matters, in points of a scale of these
        ``scores``.

        A given ``mean`` is in steps. Else a quarter of a step, of few scores at most a sixteenth of
        the whole scale, since there a step is much of it; of two scores the mean is a pass rate and
        a step all of it: ``share``.
        """
        step = step_of(scores)
        if self.mean is not None:
            return self.mean * step
        if len(scores) < 2:
            return SMALLEST_STEPS * step
        span = max(scores) - min(scores)
        if len(scores) == 2:
            return self.share * span
        return min(SMALLEST_STEPS * step, SMALLEST_SPAN * span)


class ReadingPart(Part):
    """``[reading]``: how judgments become numbers. No part of the study's identity.

    epsilon: how much worse than the rater it replaces a judge may be, as a share of items, since it
    is cheaper. cut: the lowest score that passes; None for the middle of the scale.
    """

    unit: Literal["auto", "item", "block", "prompt"] = "auto"
    smallest: Smallest = Smallest()
    epsilon: float = Field(0.15, ge=0, le=0.5)
    cut: float | None = Field(None, allow_inf_nan=False)


OLD_SMALLEST = {"mean": 0.25, "share": 0.05, "single": 0.05, "r": 0.05}
"""What the lab wrote with every run while a quarter of a step was the default of every scale."""


def stored_reading(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``reading`` of a stored run as it was meant: a default that was written out then
    is none given now.
    """
    made = dict(body)
    if made.get("smallest") == OLD_SMALLEST:
        made["smallest"] = {key: size for key, size in OLD_SMALLEST.items() if key != "mean"}
    return made


class ReferencesPart(Part):
    """``[references]``: who writes reference answers of each score, and who reviews them (Li et
    al., figure 4).

    ``writer``, ``reviewer``: names of judges; the first and the last where left out. ``alternate``:
    they change roles with every attempt, as in the paper. ``tries``: attempts an answer;
    ``scores``: only these.
    """

    writer: str = Field("", max_length=100)
    reviewer: str = Field("", max_length=100)
    alternate: bool = False
    tries: int = Field(5, ge=1, le=100)
    scores: tuple[int, ...] = ()


class PaperPart(Part):
    """``[paper]``, once or several times: what a paper printed of the same design; no part of the
    study's identity.

    ``measure``: as a table asks for it (``position_share:1``); ``across``: what its columns are;
    ``numbers``: judge -> column -> number, in the measure's own unit; ``note``: what is not as in
    the paper.
    """

    table: str = Field(min_length=1, max_length=200)
    measure: str = Field(min_length=1, max_length=200)
    across: str = Field("dataset", max_length=100)
    numbers: dict[str, dict[str, float]] = Field(default_factory=dict)
    note: str = Field("", max_length=1_000)


class Study(Part):
    """A whole study. ``identity`` names it by what decides its calls; ``rubrics``: by name, for the
    factor ``wording``.
    """

    name: str = Field("Study", min_length=1, max_length=200)
    data: tuple[DataPart, ...] = Field(min_length=1, max_length=50)
    rubric: RubricPart | None = None
    rubrics: dict[str, RubricPart] = Field(default_factory=dict)
    prompt: PromptPart | None = None
    design: DesignPart = DesignPart()
    reading: ReadingPart = ReadingPart()
    references: ReferencesPart = ReferencesPart()
    judges: Annotated[tuple[JudgeSettings, ...], AfterValidator(_named)] = (
        JudgeSettings(name="smollm2-135m"),
    )
    paper: tuple[PaperPart, ...] = ()

    @field_validator("data", "paper", mode="before")
    @classmethod
    def _single(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        """What JSON and DuckDB cannot hold is refused wherever it stands, in free tables
        (``extra``) too.
        """
        waiting: list[tuple[list[str], Any]] = [([], value)]
        while waiting:
            path, part = waiting.pop()
            if isinstance(part, dict | list) and len(path) >= DEEPEST:
                raise ValueError(
                    f"{_where(path[:4])}… is more than {DEEPEST} tables deep; expected a flatter "
                    f"one"
                )
            if isinstance(part, dict | list):
                inner = part.items() if isinstance(part, dict) else enumerate(part)
                waiting += [([*path, str(key)], inside) for key, inside in inner]
            elif isinstance(part, float) and not math.isfinite(part):
                raise ValueError(f"{_where(path)} is {part}; expected a finite number")
            elif isinstance(part, int) and part.bit_length() > 64:
                raise ValueError(
                    f"{_where(path)} is a number of {part.bit_length():,} bits; expected at most 64"
                )
        return value

    @model_validator(mode="after")
    def _wordings(self) -> Self:
        if self.design.vary.wording and any(part.rubric for part in self.data):
            raise ValueError(
                "wording names rubrics for all data; leave out the rubrics that single [[data]] "
                "have"
            )
        return self

    def identity(self, data_id: str, rubric_id: str) -> str:
        """A hash over all that decides which calls are made."""
        design = self.design.model_dump(mode="json")
        later = {
            name for name, field in DesignPart.model_fields.items() if name not in FIRST_FIELDS
        }
        unchanged = DesignPart().model_dump(mode="json")
        return digest(
            data_id,
            rubric_id,
            # What later versions added counts where it is used: older runs go on as the runs they
            # are.
            {
                name: value
                for name, value in design.items()
                if name not in later or value != unchanged[name]
            },
            [judge.identity() | {"name": judge.name} for judge in self.judges],
        )[:32]


def read_prompt(text: str, source: str) -> PromptFile:
    """Return a prompt file from its text, named after ``source``.

    Raises LabError naming the place and what was expected.
    """
    return _from_toml(PromptFile, text, source, name=Path(source).stem[:200] or "prompt")


def read_study(path: str | Path) -> Study:
    """Return the study in a TOML file.

    Raises LabError naming the place, the value and what was expected.
    """
    path = Path(path)
    try:
        known = path.stat()
        fits = (
            stat.S_ISREG(known.st_mode) and known.st_size <= MAX_STUDY
        )  # a pipe is never waited for
        raw = path.read_text("utf-8-sig") if fits else ""
    except (OSError, ValueError) as fault:  # ValueError: no UTF-8, or NUL in the name
        raise LabError(
            f"Could not read the study file “{shorten(str(path))}”: "
            f"{getattr(fault, 'strerror', '') or shorten(str(fault), 100)}."
        ) from None
    if not fits:
        raise LabError(
            f"“{shorten(path.name)}” is no study file: expected TOML of at most {MAX_STUDY:,} "
            f"bytes."
        )
    return study_from_toml(raw, path.name)


def study_from_toml(text: str, source: str = "study.toml") -> Study:
    """Return the study in the text of a TOML file. Raises LabError, as ``read_study`` does."""
    return _from_toml(Study, text.removeprefix("\ufeff"), source)


def _from_toml(model: type[P], text: str, source: str, **default: Any) -> P:
    # Dots of texts are none of a key.
    if any(
        re.sub(r'"(?:[^"\\]|\\.)*"', "", line).count(".") > MOST_DOTS for line in text.split("\n")
    ):
        raise LabError(
            f"{source} has a line with more than {MOST_DOTS:,} dots; expected keys of few parts. "
            f"Split it."
        )
    try:
        values = tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as fault:  # ValueError: no TOML, or a number of more than 4,300 digits
        raise LabError(f"{source} is no TOML: {shorten(str(fault), 200)}.") from None
    return validated(model, default | values, f"{source}: ")


def validated(model: type[P], values: Mapping[str, Any], where: str = "") -> P:
    """Return the model of plain values.

    Raises LabError naming the value and what was expected, after ``where``.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as fault:
        raise LabError(where + problems(fault)) from None


def problems(fault: ValidationError) -> str:
    """Return a pydantic error in words: “[design] calls is 0; expected …”.

    No input longer than 60 characters is repeated.
    """
    lines, errors = [], fault.errors()
    for error in errors[:8]:
        depth = len(error["loc"])
        inside = (other["loc"] for other in errors if len(other["loc"]) > depth)
        if error["type"] == "too_short" and any(loc[:depth] == error["loc"] for loc in inside):
            continue  # for want of the parts that were refused
        where = _where([str(part) for part in error["loc"]])
        message, given = error["msg"].removeprefix("Value error, "), error["input"]
        message = re.sub("valid dictionary( or instance of .*)?", "table", message).replace(
            "valid tuple", "list"
        )
        short = isinstance(given, str | float) or (
            isinstance(given, int) and given.bit_length() < 200
        )
        if error["type"] == "extra_forbidden":
            lines.append(f"{where} is not known; check the spelling or leave it out")
        elif short and "key" not in where:
            lines.append(f"{where} is {shorten(repr(given))}; {message[0].lower() + message[1:]}")
        else:
            lines.append(f"{where}: {message}")
    return "; ".join(lines) + "."


def _where(path: Sequence[str]) -> str:
    """Return a place in a study file as people write it: its table and the key in it."""
    if len(path) > 1:
        return f"[{shorten(path[0])}] {shorten('.'.join(path[1:]))}"
    return shorten(path[0]) if path else "study"
