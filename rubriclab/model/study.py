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
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import ErrorDetails

from rubriclab.model.judge import RESERVED, JudgeSettings, Seed
from rubriclab.model.judge_options import Packing
from rubriclab.model.judgment import Reorder, step_of
from rubriclab.model.looks import Stop
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
"""Fields of the design in the first version. A later field is part of a study's identity only if it
is used, so that older runs can be resumed.
"""


P = TypeVar("P", bound=BaseModel)


def _named(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return judges or strategies unchanged.

    Raises ValueError for an empty list, a blank name, and two names that look the same.
    """
    if not parts:
        raise ValueError("expected at least one")
    seen = {""}
    for name in (part.name or part.kind for part in parts):
        if look_alike(name) in seen:
            raise ValueError(
                f"two names are “{shorten(name) or 'blank'}”, or look like it; use different names"
            )
        seen.add(look_alike(name))
    return parts


class RubricPart(Part):
    """``[rubric]``: the path of a rubric, or its criteria inline."""

    file: str = Field("", max_length=1_000, description="Path of the rubric file.")
    name: str = Field("", max_length=200, description="Name of the rubric on screens.")
    criteria: list[dict[str, Any]] = Field(
        default_factory=list, description="The criteria themselves, instead of a file."
    )

    @model_validator(mode="after")
    def _source(self) -> Self:
        if bool(self.file) == bool(self.criteria):
            raise ValueError('give file = "rubric.yaml" or [[rubric.criteria]], not both')
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


MOST_EXAMPLES = 10
"""Examples of a prompt. Their balanced orders are 20 calls for each answer."""
MAX_EXAMPLE = 20_000
"""Characters of an example. All of them are in every call."""


def _as_written(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return value


ScoreText = Annotated[str, BeforeValidator(_as_written)]
"""A score or a score's label, as a text. A score may be written without quotes."""


class ExamplePart(Part):
    """One example: its text, and the score (or the score's label) that it is shown with."""

    text: str = Field(min_length=1, max_length=MAX_EXAMPLE, description="Text of the example.")
    label: ScoreText = Field(
        "", max_length=200, description="Score that the example is shown with."
    )


class ExamplesPart(Part):
    """``[examples]``: what ``reorder = "examples"`` shows before the answer.

    ``file`` and ``shown`` are the same examples for all answers. ``column`` holds a list for each
    answer, as JSON: texts, or tables of ``text`` with ``label`` or ``gold``.
    """

    file: str = Field("", max_length=1_000, description="Table with the columns text and label.")
    column: str = Field(
        "", max_length=1_000, description="Column of the data with a list for each answer."
    )
    shown: tuple[ExamplePart, ...] = Field(
        (), max_length=MOST_EXAMPLES, description="The examples themselves, instead of a file."
    )

    @model_validator(mode="after")
    def _source(self) -> Self:
        if [bool(self.file), bool(self.column), bool(self.shown)].count(True) != 1:
            raise ValueError(
                'give one of file = "shots.csv", column = "passages", and [[examples.shown]]'
            )
        return self

    @property
    def id(self) -> str:
        """Return a hash of the fields that decide which calls are made."""
        return digest(self.model_dump(mode="json", include={"column", "shown"}))[:16]


class DataPart(Part):
    """One of ``[[data]]``: the answers to judge, from ``file``, ``sample``, or ``published``."""

    file: str = Field("", max_length=1_000, description="Path of the table with the answers.")
    published: PublishedName | None = Field(
        None, description="A published data set, downloaded unless files gives your own copies."
    )
    files: tuple[str, ...] = Field(
        (), description="Your own copies of the published data set's files."
    )
    candidates: tuple[str, ...] = Field((), description="Use only the answers of these candidates.")
    name: str = Field("", max_length=200, description="Name of the data set on screens.")
    sample: bool = Field(False, description="Use the sample answers that come with the lab.")
    take: int | None = Field(
        None,
        ge=1,
        description="Use a random sample of this many answers, spread over the prompts. If calls "
        "show several answers, whole prompts are drawn.",
    )
    seed: Seed = Field(0, description="Seed of the random sample.")
    columns: dict[str, str | list[str]] = Field(
        default_factory=dict, description="Your column for each column of the lab."
    )
    unrated: tuple[str, ...] = Field(
        (), description="Cells of human scores that mean “no rating”, for example n/a."
    )
    rubric: RubricPart | None = Field(
        None, description="Rubric of this data set, instead of the study's."
    )

    @model_validator(mode="after")
    def _source(self) -> Self:
        if [bool(self.file), self.sample, self.published is not None].count(True) != 1:
            raise ValueError(
                'give one of file = "answers.csv", sample = true (the answers that come with the '
                'lab), and published = "hanna"'
            )
        if self.files and self.published is None:
            raise ValueError(
                "files are your own copies of a published data set; name the data set too, for "
                'example published = "hanna"'
            )
        return self


class StrategyPart(Part):
    """One of ``strategies``: how the orders of each item are chosen. A plain text is a kind."""

    kind: Annotated[str, AfterValidator(known_strategy)] = Field(
        description="How orders are chosen, for example balanced."
    )
    name: str = Field("", max_length=100, description="Name of the strategy on screens.")
    calls: int | None = Field(
        None, ge=1, le=MAX_CALLS, description="Calls per item, instead of repeats of each order."
    )
    orders: tuple[tuple[int | str, ...], ...] = Field(
        (), max_length=MAX_CALLS, description="Your own orders, each with all entries."
    )

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _listed(self) -> Self:
        if self.orders and not STRATEGIES[self.kind].listed:
            raise ValueError(
                f'{self.kind} makes its own orders; use kind = "custom" or "min-bias" to set orders'
            )
        return self


IdStyle = Literal["arabic", "letters", "roman", "shuffled"]
AnswerFormat = Literal["score", "feedback", "score-then-reason"]
SECTIONS = ("task", "answer", "reference", "rubric")
"""The sections of a judge prompt that scores one answer, in the order of the lab's own prompt. The
line that asks for the reply is always last.
"""
Level = str | bool | int | Annotated[float, Field(allow_inf_nan=False)]
MOST_LEVELS = 20
"""Levels of a factor. More columns do not fit a table."""
MOST_VARIANTS = 200
"""Combinations of levels. More cannot be distinguished in a picture, and cost as many runs."""
Levels = Field(min_length=2, max_length=MOST_LEVELS)

MOST_PROMPTS = 20
"""Judge prompts of a study: each is a level of the factor ``prompt``."""
MAX_TEXT = 200_000
"""Characters of a message template. A longer text is most likely data."""


class AnswerPart(Part):
    """``[answer]`` of a prompt file: the rule that finds the verdict in a reply.

    If a rule fits a reply several times, all its places must give the same label.

    read: the kind of rule.
        ``label``: the reply is the verdict, or names it (after the word ``path``, if given).
        ``result``: the verdict follows the reasons, for example ``[RESULT] 4`` or ``[[A]]``.
        ``before_reason``: the verdict comes first, then the reasons: ``Score: 4``, ``Reason: …``.
        ``last_label``: the only label in the last line that has a label.
        ``pattern``: the one group of ``pattern``.
        ``json`` or ``tag``: the value of a key, or the content of a tag.
    path: the key (dotted) or the tag. ``{criterion}`` is replaced by the name of each criterion.
    labels: for pairs and lists, the label of each position. The last one may mean a tie.
    """

    read: Literal["label", "result", "before_reason", "last_label", "pattern", "json", "tag"] = (
        Field("label", description="Where the verdict is in a reply.")
    )
    pattern: str = Field(
        "", max_length=1_000, description="RE2 pattern whose one group is the verdict."
    )
    path: str = Field(
        "",
        max_length=200,
        pattern=r"^[\w{}.-]*$",
        description="JSON key (dotted) or tag that holds the verdict. {criterion} stands for each "
        "criterion.",
    )
    labels: tuple[Annotated[str, Field(min_length=1, max_length=40)], ...] = Field(
        (), max_length=21, description="Label of each position, and then of a tie."
    )
    ask: Literal["", "schema", "tool"] = Field(
        "", description="Make the server return this JSON, by a schema or by a tool."
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not {"pattern": self.pattern, "json": self.path, "tag": self.path}.get(
            self.read, self.read
        ):
            example = "pattern = 'Rating: (\\d)'" if self.read == "pattern" else 'path = "score"'
            raise ValueError(f'read = "{self.read}" needs {example}')
        if self.ask and self.read != "json":
            raise ValueError(
                f'ask = "{self.ask}" works only with JSON replies; set read = "json" and path'
            )
        return self


class MessagePart(Part):
    """One of ``[[messages]]`` of a judge prompt."""

    role: Literal["system", "developer", "user", "assistant"] = Field(
        "user", description="Who says the message."
    )
    text: str = Field(max_length=MAX_TEXT, description="Jinja2 template of the message.")


class PromptFile(Part):
    """A judge prompt, from a file or inline: its messages, and the rule for its replies.

    order, item: what a pasted prompt was sent for, if this one was made from a pasted prompt.
    """

    name: str = Field(
        "prompt", min_length=1, max_length=200, description="Name of the judge prompt on screens."
    )
    messages: tuple[MessagePart, ...] = Field(
        min_length=1, max_length=20, description="Messages in the order in which they are sent."
    )
    answer: AnswerPart = AnswerPart()
    order: tuple[int | str, ...] = Field(
        (), max_length=100, description="Order in the prompt that was pasted."
    )
    item: str = Field("", description="ID of the item in the prompt that was pasted.")

    @property
    def id(self) -> str:
        """Return a hash of the fields that decide which calls are made."""
        return digest(self.model_dump(mode="json", include={"messages", "answer"}))[:16]


class PromptPart(Part):
    """``[prompt]``: your own judge prompts, instead of the lab's.

    Several prompts are the levels of a factor, and the first one is its baseline. ``row``,
    ``lines``, ``of``, ``best`` and ``columns`` belong to ``pasted``, if the lab cannot find them
    itself.
    """

    files: tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...] = Field(
        (), max_length=MOST_PROMPTS, description="Paths of judge prompts (TOML)."
    )
    templates: tuple[PromptFile, ...] = Field(
        (), max_length=MOST_PROMPTS, description="Judge prompts inline, instead of files."
    )
    pasted: str = Field(
        "", max_length=1_000, description="Path of a prompt as your pipeline sent it."
    )
    row: int | None = Field(
        None, ge=1, description="Row of the data (from 1) that the pasted prompt was sent for."
    )
    lines: tuple[int, ...] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description="First and last line (from 1) of the list whose order changes.",
    )
    of: Literal["", "options", "examples"] = Field(
        "", description="What these lines list: the scores, or the examples before the answer."
    )
    best: Literal["", "first", "last"] = Field(
        "", description="Which entry of the list is the best score."
    )
    columns: tuple[str, ...] | None = Field(
        None, description="Columns of the data that the pasted prompt shows."
    )

    @model_validator(mode="after")
    def _source(self) -> Self:
        if [bool(self.files), bool(self.templates), bool(self.pasted)].count(True) != 1:
            raise ValueError(
                'give files = ["judge.toml"], or pasted = "prompt.txt" for a row of the data'
            )
        given = (self.row, self.lines, self.of, self.best, self.columns)
        if not self.pasted and given != (None, None, "", "", None):
            raise ValueError("row, lines, of, best and columns belong to pasted")
        names = [prompt.name for prompt in self.templates] or [
            Path(name).stem for name in self.files
        ]
        if len({look_alike(name) for name in names}) < len(names):
            raise ValueError(
                f"two prompts have names that are the same or look alike "
                f"({shorten(', '.join(names), 100)}); rename one of the files"
            )
        return self


def _order_of_sections(value: str) -> str:
    """Return the names of the sections with single blanks between them."""
    names = value.replace(",", " ").lower().split()
    if sorted(names) != sorted(SECTIONS):
        raise ValueError(
            f"“{shorten(value)}” is not an order of the sections; write each of "
            f"{', '.join(SECTIONS)} once, for example “task rubric answer reference”"
        )
    return " ".join(names)


SectionOrder = Annotated[str, Field(max_length=200), AfterValidator(_order_of_sections)]
"""Names of all sections of a prompt, in the order in which it shows them."""


class VaryPart(Part):
    """``[design.vary]``: the levels of each factor that is varied. The first is the baseline.

    Every other level is asked with all other factors at their baselines.
    """

    crossed: bool = Field(False, description="Ask all combinations of the levels.")
    ids: Annotated[tuple[IdStyle, ...], Levels] = Field(
        (), description="Labels of the scores, for example arabic and letters."
    )
    reference: Annotated[tuple[Annotated[int, Field(strict=True, ge=0, le=1_000)], ...], Levels] = (
        Field((), description="Score of the reference answer that is shown. 0 shows none.")
    )
    scale: Annotated[tuple[Annotated[int, Field(strict=True, ge=2, le=10)], ...], Levels] = Field(
        (), description="Number of score options."
    )
    wording: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...], Levels
    ] = Field((), description="Names of rubrics. The first one replaces the study's rubric.")
    prompt: Annotated[tuple[str, ...], Levels] = Field(
        (), description="Names of your judge prompts. The lab fills this in from [prompt]."
    )
    answer: Annotated[tuple[AnswerFormat, ...], Levels] = Field(
        (), description="What judges reply. The first one replaces [design] answer."
    )
    sections: Annotated[tuple[SectionOrder, ...], Levels] = Field(
        (), description="Orders of the sections of the judge prompt."
    )
    temperature: Annotated[tuple[Annotated[float, Field(strict=True, ge=0, le=2)], ...], Levels] = (
        Field((), description="Sampling temperature.")
    )
    reasoning_effort: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=40)], ...], Levels
    ] = Field((), description="How much a reasoning model thinks, in the server's own words.")
    packing: Annotated[tuple[Packing, ...], Levels] = Field(
        (), description="Whether the orders of an answer share one request of a decision endpoint."
    )
    extra: dict[str, Annotated[tuple[Level, ...], Levels]] = Field(
        default_factory=dict, description="Further fields of the request, with dotted names."
    )

    @model_validator(mode="before")
    @classmethod
    def _dotted(cls, value: Any) -> Any:
        """Make ``extra`` one flat table.

        It may be written as ``"extra.a.b"``, ``extra.a.b`` or ``[design.vary.extra.a]``.
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
        fields = kept.get("extra", {})
        if isinstance(fields, dict):
            fields = flat(fields | dotted)
        return kept | {"extra": fields} if fields else kept

    @model_validator(mode="after")
    def _levels(self) -> Self:
        factors = self.factors()
        sizes = [len(levels) for levels in factors.values()]
        settings = math.prod(sizes) if self.crossed else sum(sizes) - len(sizes) + 1
        # This check comes first: the ones below compare all factors with each other.
        if settings > MOST_VARIANTS:
            instead = " or crossed = false" if self.crossed else ""
            raise ValueError(
                f"the factors make {settings:,} combinations; at most {MOST_VARIANTS} are "
                f"allowed. Use fewer levels{instead}"
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
                    f"{name} is a field that the lab fills in itself; vary another field"
                )
            if "" in parts or any(other.startswith(f"{name}.") for other in factors):
                raise ValueError(
                    f"{name} does not name one field; use names like extra.min_p or extra.a.b, "
                    f"each once"
                )
        return self

    @model_serializer(mode="wrap")
    def _given(self, handler: Any) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value}

    def factors(self) -> dict[str, tuple[Level, ...]]:
        """Return the levels of each factor that is varied, by its name.

        A field of the request is called ``extra.FIELD``.
        """
        names = [name for name in VaryPart.model_fields if name not in ("crossed", "extra")]
        varied = {name: getattr(self, name) for name in names if getattr(self, name)}
        return varied | {f"extra.{name}": levels for name, levels in self.extra.items()}


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested tables as one table with dotted names."""
    out: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            out |= flat(value, f"{before}{name}.")
        else:
            out[f"{before}{name}"] = value
    return out


class DesignPart(Part):
    """``[design]``: what is reordered, how often each order is asked, and what judges reply."""

    reorder: Reorder | tuple[Reorder, ...] = Field(
        "options", description="What is reordered: one of them, or several on the same answers."
    )
    strategies: Annotated[tuple[StrategyPart, ...], AfterValidator(_named)] = Field(
        (StrategyPart(kind="balanced"),), description="Ordering strategies to compare."
    )
    repeats: int = Field(
        2, ge=1, le=100, description="How often each order is asked. Two or more measure the noise."
    )
    repeats_on: float | None = Field(
        None,
        gt=0,
        le=1_000_000,
        description="Repeat orders only on a sample: a share below 1, or a number per task. "
        "Elsewhere each order is asked once.",
    )
    answer: AnswerFormat = Field(
        "score",
        description="Ask for the score alone, for feedback and then the score, or for the score "
        "and then the reason.",
    )
    sections: Literal[""] | SectionOrder = Field(
        "", description="Order of the sections of the judge prompt. Empty: the prompt's own."
    )
    k: int = Field(4, ge=2, le=20, description="Candidates in a list, or answers in a batch.")
    tie: bool = Field(True, description="Allow ties in pairs and lists.")
    baseline: str = Field(
        "", max_length=1_000, description="Compare only with the answers of this candidate."
    )
    template: Literal["", "brief", "mtbench", "devbench"] = Field(
        "", description="Prompt for pairs and lists: the letter alone, or the prompt of a paper."
    )
    alone: bool = Field(
        False, description="Also ask each criterion by itself, to compare with all in one call."
    )
    seed: Seed = Field(0, description="Seed of random orders.")
    stop: Stop | None = Field(
        None,
        description="Stop before all calls are asked: known, as soon as the order is shown to "
        "matter, or decided, as soon as every question has its answer.",
    )
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
            raise ValueError("an axis appears twice; name each axis once")
        return axes[0] if len(axes) == 1 else axes

    @field_validator("repeats_on")
    @classmethod
    def _sample(cls, value: float | None) -> float | None:
        if value is not None and value >= 1 and value != int(value):
            raise ValueError("expected a share below 1, or a whole number of prompts per task")
        return value

    @model_validator(mode="after")
    def _alone(self) -> Self:
        if not self.alone:
            return self
        others = [axis for axis in self.axes if axis != "criteria"]
        if others:
            raise ValueError(
                f'alone asks each criterion by itself, so it needs reorder = "criteria" and '
                f"nothing else; leave it out, or leave out {' and '.join(others)}"
            )
        factors = list(self.vary.factors())
        if factors:
            raise ValueError(
                f"alone compares calls that differ in the number of criteria only; leave it out, "
                f"or leave out [design.vary] {', '.join(factors)}"
            )
        return self

    @property
    def axes(self) -> tuple[Reorder, ...]:
        """Return what is reordered. Several axes are asked one after the other."""
        return (self.reorder,) if isinstance(self.reorder, str) else self.reorder

    def plans(self) -> list[Strategy]:
        """Return the strategies with their names, repeats, calls and orders."""
        return [
            Strategy(part.kind, part.name or part.kind, self.repeats, part.calls, part.orders)
            for part in self.strategies
        ]


SMALLEST_STEPS = 0.25
"""Default smallest change of a mean score that matters, in steps of the scale."""
SMALLEST_SPAN = 1 / 16
"""Its upper limit as a share of the scale: one step of a short scale is a large part of it."""


class Smallest(Part):
    """The smallest effects that matter, for the position, the mean, single scores and agreement."""

    mean: float | None = Field(
        None,
        gt=0,
        le=10,
        description="Change of the mean score, in steps of the scale. Default: a quarter of a "
        "step, less on short scales.",
    )
    share: float = Field(
        0.05, gt=0, le=0.5, description="Change of a position's share, as a fraction of calls."
    )
    single: float = Field(
        0.05, gt=0, le=0.5, description="Share of single scores that the order changes (fraction)."
    )
    r: float = Field(0.05, gt=0, le=1, description="Change of a correlation with people.")

    def points(self, scores: Sequence[float]) -> float:
        """Return the smallest change of a mean score that matters, in points of the scale.

        The default is a quarter of a step, and at most a sixteenth of the whole scale. With two
        scores the mean is a pass rate, so ``share`` is the limit.
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
    """``[reading]``: how judgments become numbers. It is not part of the study's identity."""

    unit: Literal["auto", "item", "block", "prompt"] = Field(
        "auto", description="What is independent: each item, block of items, or prompt."
    )
    smallest: Smallest = Smallest()
    epsilon: float = Field(
        0.15,
        ge=0,
        le=0.5,
        description="How much worse a judge may be than the rater it replaces, because it is "
        "cheaper (share of items).",
    )
    cut: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Lowest score that passes. Default: the middle of the scale.",
    )
    passes: ScoreText = Field(
        "",
        max_length=200,
        description="Label or score that passes, of a scale of two scores. Default: the highest "
        "score.",
    )
    labels: Literal["", "random", "by label", "by verdict"] = Field(
        "",
        description="How the answers with people's labels were chosen: at random, by people's "
        "label (a set number of each), or by the judge's verdict.",
    )
    baseline: str = Field(
        "",
        max_length=200,
        description="Judge of pairs or lists that the others are compared with. Default: the "
        "first.",
    )
    families: dict[str, str] = Field(
        {},
        max_length=200,
        description="Family of a judge, by its name. Default: guessed from the name.",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.passes and self.cut is not None:
            raise ValueError(
                "has passes and cut; give passes for a scale of two scores, or cut for a longer one"
            )
        return self


OLD_SMALLEST = {"mean": 0.25, "share": 0.05, "single": 0.05, "r": 0.05}
"""What every run stored while a quarter of a step was the default of all scales."""


def stored_reading(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``reading`` of a stored run, without a mean that was only the old default."""
    made = dict(body)
    if made.get("smallest") == OLD_SMALLEST:
        made["smallest"] = {key: size for key, size in OLD_SMALLEST.items() if key != "mean"}
    return made


class ReferencesPart(Part):
    """``[references]``: who writes a reference answer for each score, and who reviews it.

    The procedure is figure 4 of Li et al.
    """

    writer: str = Field(
        "", max_length=100, description="Judge that writes the answers. Default: the first one."
    )
    reviewer: str = Field(
        "", max_length=100, description="Judge that reviews the answers. Default: the last one."
    )
    alternate: bool = Field(
        False, description="Swap writer and reviewer with every attempt, like the paper."
    )
    tries: int = Field(5, ge=1, le=100, description="Attempts per answer.")
    scores: tuple[int, ...] = Field((), description="Write answers for these scores only.")


class RegressionPart(Part):
    """One line of a table of stepwise regression: the kept model without a variable.

    The line without any variable left out has no ``df`` and no ``sum_sq``.
    """

    df: int | None = Field(None, ge=0, description="Degrees of freedom of the variable.")
    sum_sq: float | None = Field(None, ge=0, description="Growth of RSS without the variable.")
    rss: float = Field(ge=0, description="Residual sum of squares.")
    aic: float = Field(description="Akaike's criterion, as the paper prints it.")


class PaperPart(Part):
    """One of ``[[paper]]``: the numbers that a paper printed for the same design.

    It is not part of the study's identity.
    """

    table: str = Field(min_length=1, max_length=200, description="Table in the paper.")
    measure: str = Field(
        min_length=1, max_length=200, description="Measure, for example position_share:1."
    )
    across: str = Field("dataset", max_length=100, description="What the table's columns are.")
    numbers: dict[str, dict[str, float]] = Field(
        default_factory=dict,
        description="Number for each judge and column, in the unit of the measure.",
    )
    regression: dict[str, RegressionPart] = Field(
        default_factory=dict,
        description="Of a stepwise regression, the printed line for each column.",
    )
    dataset: str = Field(
        "",
        max_length=200,
        description="Data set of the numbers, if no column says it; “all” for several together.",
    )
    note: str = Field("", max_length=1_000, description="What differs from the paper.")
    items: dict[str, int] = Field(
        default_factory=dict,
        description="Number of items, or pairs, in the paper for each data set.",
    )


DEFAULT_JUDGE = JudgeSettings(name="smollm2-135m-q8", model="smollm2-135m-q8")
"""The judge of a study that names none."""


class Study(Part):
    """A whole study, as its TOML file describes it."""

    name: str = Field(
        "Study", min_length=1, max_length=200, description="Name of the study on screens."
    )
    data: tuple[DataPart, ...] = Field(
        min_length=1, max_length=50, description="Data sets with the answers to judge."
    )
    rubric: RubricPart | None = None
    rubrics: dict[str, RubricPart] = Field(
        default_factory=dict, description="Further rubrics by name, for the factor wording."
    )
    prompt: PromptPart | None = None
    examples: ExamplesPart | None = None
    design: DesignPart = DesignPart()
    reading: ReadingPart = ReadingPart()
    references: ReferencesPart = ReferencesPart()
    judges: Annotated[tuple[JudgeSettings, ...], AfterValidator(_named)] = (DEFAULT_JUDGE,)
    paper: tuple[PaperPart, ...] = ()

    @field_validator("data", "paper", mode="before")
    @classmethod
    def _single(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        """Refuse values that JSON and DuckDB cannot hold, in free tables (``extra``) too."""
        waiting: list[tuple[list[str], Any]] = [([], value)]
        while waiting:
            path, part = waiting.pop()
            if isinstance(part, dict | list) and len(path) >= DEEPEST:
                raise ValueError(
                    f"{_where(path[:4])}… is more than {DEEPEST} tables deep; use fewer levels"
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
                "wording names rubrics for all data sets; remove the rubrics of single [[data]]"
            )
        return self

    @model_validator(mode="after")
    def _examples(self) -> Self:
        """Refuse what examples are not asked with, since no results are known for it."""
        design, asked = self.design, "examples" in self.design.axes
        if self.examples is not None and not asked:
            raise ValueError(
                '[examples] is used only with reorder = "examples"; set that in [design], or leave '
                "[examples] out"
            )
        if not asked:
            return self
        if self.examples is None:
            raise ValueError(
                'reorder = "examples" needs [examples], for example file = "shots.csv" with the '
                "columns text and label"
            )
        if len(design.axes) > 1:
            others = " and ".join(axis for axis in design.axes if axis != "examples")
            raise ValueError(
                f'reorder = "examples" is a study of its own; leave out {others}, and ask that in '
                f"another study"
            )
        drawn = [part for part in design.strategies if STRATEGIES[part.kind].drawn]
        if drawn:
            raise ValueError(
                f"“{shorten(drawn[0].name or drawn[0].kind)}” draws orders for each answer, and "
                f"examples need the same orders for all; use balanced"
            )
        if design.stop is not None:
            raise ValueError(
                f'stop = "{design.stop}" is not possible with examples; leave stop out, so that '
                f"all calls are asked"
            )
        if varied := list(design.vary.factors()):
            raise ValueError(
                f"examples are asked with one judge prompt; leave out [design.vary] "
                f"{', '.join(varied)}"
            )
        return self

    def identity(self, data_id: str, rubric_id: str) -> str:
        """Return a hash of everything that decides which calls are made."""
        design = self.design.model_dump(mode="json")
        later = {
            name for name, field in DesignPart.model_fields.items() if name not in FIRST_FIELDS
        }
        unchanged = DesignPart().model_dump(mode="json")
        return digest(
            data_id,
            rubric_id,
            # A field of a later version counts only if it is used. Otherwise an older run could
            # not be resumed: it would be another study.
            {
                name: value
                for name, value in design.items()
                if name not in later or value != unchanged[name]
            },
            [judge.identity() | {"name": judge.name} for judge in self.judges],
        )[:32]


def read_prompt(text: str, source: str) -> PromptFile:
    """Return the judge prompt in the text of a TOML file, named after ``source``.

    Raises LabError naming the place, the value and what was expected.
    """
    return _from_toml(PromptFile, text, source, name=Path(source).stem[:200] or "prompt")


def read_study(path: str | Path) -> Study:
    """Return the study in a TOML file.

    Raises LabError naming the place, the value and what was expected.
    """
    path = Path(path)
    try:
        known = path.stat()
        # Opening a pipe would wait for its writer.
        fits = stat.S_ISREG(known.st_mode) and known.st_size <= MAX_STUDY
        raw = path.read_text("utf-8-sig") if fits else ""
    except (OSError, ValueError) as fault:  # ValueError: not UTF-8, or NUL in the name
        raise LabError(
            f"Could not read the study file “{shorten(str(path))}”: "
            f"{getattr(fault, 'strerror', '') or shorten(str(fault), 100)}."
        ) from None
    if not fits:
        raise LabError(
            f"“{shorten(path.name)}” is not a study file. Choose a TOML file of at most "
            f"{MAX_STUDY:,} bytes."
        )
    return study_from_toml(raw, path.name)


def study_from_toml(text: str, source: str = "study.toml") -> Study:
    """Return the study in the text of a TOML file. Raises LabError like ``read_study``."""
    return _from_toml(Study, text.removeprefix("\ufeff"), source)


def _from_toml(model: type[P], text: str, source: str, **default: Any) -> P:
    """Return the model in the text of a TOML file. ``default``: values that it may leave out."""
    # Dots in quoted text are not part of a key.
    if any(
        re.sub(r'"(?:[^"\\]|\\.)*"', "", line).count(".") > MOST_DOTS for line in text.split("\n")
    ):
        raise LabError(
            f"{source} has a line with more than {MOST_DOTS:,} dots. Use shorter keys, or split "
            f"the line."
        )
    try:
        values = tomllib.loads(text)
    # ValueError: not TOML, or a number of more than 4,300 digits.
    except (ValueError, RecursionError) as fault:
        raise LabError(f"{source} is not valid TOML: {shorten(str(fault), 200)}.") from None
    return validated(model, default | values, f"{source}: ")


def validated(model: type[P], values: Mapping[str, Any], where: str = "") -> P:
    """Return the model of plain values.

    Raises LabError naming the value and what was expected. ``where``: the beginning of its text.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as fault:
        raise LabError(where + problems(fault)) from None


def problems(fault: ValidationError) -> str:
    """Say what pydantic refused: “[design] repeats is 0; expected at least 1”.

    At most eight problems are named, and no value of more than 60 characters is repeated.
    """
    lines, errors = [], fault.errors()
    for error in errors[:8]:
        depth = len(error["loc"])
        inside = (other["loc"] for other in errors if len(other["loc"]) > depth)
        if error["type"] == "too_short" and any(loc[:depth] == error["loc"] for loc in inside):
            continue  # the list is too short only because its parts were refused
        where = _where([str(part) for part in error["loc"]])
        message, given = _expected(error), error["input"]
        short = isinstance(given, str | float) or (
            isinstance(given, int) and given.bit_length() < 200
        )
        if error["type"] == "extra_forbidden":
            lines.append(f"{where} is not a known setting; check the spelling, or remove it")
        elif error["type"] == "missing":
            lines.append(f"{where} is missing; add it")
        elif short and "key" not in where:
            lines.append(f"{where} is {shorten(repr(given))}; {message[0].lower() + message[1:]}")
        else:
            lines.append(f"{where}: {message}")
    return "; ".join(lines) + "."


_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("more than", "gt"),
    "less_than": ("less than", "lt"),
}
"""How an error of pydantic's about a number is phrased, and which of its values is the limit."""


def _expected(error: ErrorDetails) -> str:
    """Return what pydantic expected, in the words of a study file."""
    if error["type"] in _BOUNDS:
        words, limit = _BOUNDS[error["type"]]
        return f"expected {words} {error['ctx'][limit]:,}"
    message = error["msg"].removeprefix("Value error, ")
    message = re.sub("valid dictionary( or instance of .*)?", "table", message)
    return message.replace("valid tuple", "list")


def _where(path: Sequence[str]) -> str:
    """Return a place in a study file the way people write it: its table, and the key in it."""
    if len(path) > 1:
        return f"[{shorten(path[0])}] {shorten('.'.join(path[1:]))}"
    return shorten(path[0]) if path else "study"
