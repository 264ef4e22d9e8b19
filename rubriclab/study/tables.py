"""The tables of a study file: every key with its type and range. A run keeps the same tables."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.code_entry import pinned
from rubriclab.model import (
    SMALLEST_EFFECT,
    AnswerMode,
    Axis,
    Design,
    Judge,
    JudgeKind,
    LabError,
    Sampling,
    Strategy,
    StrategyKind,
    StudyError,
    UnitChoice,
)
from rubriclab.model.designs import MAX_READS, STRATEGIES
from rubriclab.model.language import msg, tr
from rubriclab.model.validation import Count, Flag, NotNegative, Seed, Several, Table, Text, validated
from rubriclab.study.protocols import PROTOCOLS
from rubriclab.study.protocols.batch import MAX_SIZE

MAX_LIST, MAX_VARIANTS = 26, 1_000
"""Candidates in a list, each with a letter of its own; settings of a study's factors."""
_SAMPLING = frozenset(field.name for field in fields(Sampling))
_SECRET = re.compile(
    r"key|token|(.*[_-])?(api[_-]?key|apikey|secret|password|passwd|authorization|bearer|"
    r"access[_-]?token|auth[_-]?token)",
    re.I,
)


class DataTable(Table):
    """[data]: one file, or a recipe, which may take several."""

    file: Annotated[tuple[str, ...], Several] = ()
    files: Annotated[tuple[str, ...], Several] = ()
    name: Text = None
    recipe: Text = None
    columns: dict[str, Any] = Field(default_factory=dict)
    items: Count | None = None
    skip_empty: Flag = False
    delimiter: Text = None

    @model_validator(mode="after")
    def _one_of_both(self) -> DataTable:
        if self.file and self.files:
            raise ValueError(tr("give file or files, not both."))
        return self


# ---------------------------------------------------------------- [design]

Reads = Annotated[int, Field(strict=True, ge=1, le=MAX_READS)]


def _orders(value: Any) -> Any:
    listed = isinstance(value, list | tuple)
    if not listed or not all(isinstance(line, list | tuple) and line for line in value):
        raise ValueError(tr("expected lists of scores or names, as [[1, 2], [2, 1]]."))
    return value


class StrategyTable(Table):
    """One of a design's strategies; a name alone is its kind."""

    kind: StrategyKind = Field(None, validate_default=True)
    name: Text = None
    reads: Reads | None = None
    shared: Flag = False
    orderings: Annotated[tuple[tuple[Any, ...], ...], BeforeValidator(_orders)] = ()

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _lists_its_orders(self) -> StrategyTable:
        if STRATEGIES[self.kind].listed and not self.orderings:
            raise ValueError(tr("a “{kind}” strategy needs its orderings, as [[1, 2, 3]].", kind=self.kind))
        return self

    def strategy(self, reads: int | None) -> Strategy:
        """``reads``: of a strategy that neither names its own nor lists its orders."""
        own = self.reads or (None if self.orderings else reads)
        return Strategy(self.kind, self.name or "", own, self.shared, self.orderings)


def _levels(value: Any) -> tuple[Any, ...]:
    listed = value if isinstance(value, list | tuple) else [value]
    if not listed:
        raise ValueError(tr("no levels; the first one is the baseline."))
    return tuple(tuple(level) if isinstance(level, list) else level for level in listed)


def _few_settings(factors: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    settings = math.prod(map(len, factors.values()))
    if settings > MAX_VARIANTS:
        raise ValueError(
            tr(
                "{settings:,} settings when crossed; {most:,} are planned. Leave out factors or levels.",
                settings=settings,
                most=MAX_VARIANTS,
            )
        )
    return factors


Factors = dict[str, Annotated[tuple[Any, ...], BeforeValidator(_levels)]]


class DesignTable(Table):
    """[design]; ``reads`` holds for the strategies that name none."""

    axis: Axis = "options"
    strategies: Annotated[tuple[StrategyTable, ...], Several] = ()
    reads: Reads | None = None
    answer: AnswerMode = "score"
    repeats: Reads = 1
    seed: Seed = 0
    factors: Annotated[Factors, AfterValidator(_few_settings)] = Field(default_factory=dict)
    crossed: Flag = False
    shuffle_ids: Flag = False
    show_reference: Flag = True
    tie: Flag = True
    baseline_candidate: Text = None
    list_size: Annotated[int, Field(strict=True, ge=1, le=MAX_LIST)] = 3
    batch_size: Annotated[int, Field(strict=True, ge=2, le=MAX_SIZE)] = 4
    batch_draws: Annotated[int, Field(strict=True, ge=1, le=100)] = 1
    template: Text = None
    smallest_effect: float = Field(
        SMALLEST_EFFECT,
        strict=True,
        gt=0,
        le=10,
        description=msg("the smallest effect of interest in steps of the scale, as 0.1"),
    )
    unit: UnitChoice = "auto"

    def design(self) -> Design:
        given = self.given()
        reads = given.pop("reads", None)
        tables = given.pop("strategies", ())
        usual = PROTOCOLS[self.axis].usual
        if reads and not tables:
            tables = [StrategyTable(kind=strategy.kind) for strategy in usual]
        given["strategies"] = usual
        if tables:
            given["strategies"] = tuple(table.strategy(reads) for table in tables)
        return Design(**given)


def design_from_value(value: Any, *, where: str = "design") -> Design:
    """A Design from plain values. Raises StudyError naming the place, the value and the cure."""
    return validated(DesignTable, value, where).design()


# ---------------------------------------------------------------- [[judges]]


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(tr("{url!r} is no http address, as http://host:8000/v1.", url=url))
    if parts.username or parts.password:
        raise ValueError(tr("no user or password in an address; use key_env."))
    return url


def _variable(name: str | None) -> str | None:
    if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        # The value is not repeated in the message: it may be the key itself.
        raise ValueError(
            tr(
                "this is no name of an environment variable. Name the variable that holds the key, as key_env = "
                '"MY_API_KEY"; never the key itself.'
            )
        )
    return name


Address = Annotated[str, AfterValidator(_address)]


class JudgeTable(Table):
    """[[judges]]: a judge's own fields and those of its sampling side by side."""

    name: Text = None
    kind: JudgeKind = "openai"
    model: Text = None
    entry: Text = None
    base_url: Address | None = None
    base_urls: Annotated[tuple[Address, ...], Several] = ()
    key_env: Annotated[Text, AfterValidator(_variable)] = None
    options: dict[str, Any] = Field(default_factory=dict)
    concurrency: Count | None = None
    rpm: Count | None = None
    tpm: Count | None = None
    timeout: NotNegative | None = None
    price_input: NotNegative | None = None
    price_output: NotNegative | None = None
    ca_file: Text = None
    temperature: Annotated[NotNegative | None, BeforeValidator(lambda value: None if value == "default" else value)] = (
        None
    )
    max_tokens: Count | None = None
    top_p: NotNegative | None = None
    seed: Seed | None = None
    reasoning_effort: Text = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be_asked(self) -> JudgeTable:
        if self.base_url and self.base_urls:
            raise ValueError(tr("give base_url or base_urls, not both."))
        kind = JUDGE_KINDS[self.kind]
        if self.entry and not kind.code:
            raise ValueError(tr('a judge of kind “{kind}” has no entry; that is for kind = "python".', kind=self.kind))
        if self.entry and self.model and self.entry != self.model:
            raise ValueError(tr("give entry alone: the model of own code is its entry."))
        if kind.code and not (self.entry or self.model):
            raise ValueError(tr('no entry; name your function, as entry = "my_judge:judge".'))
        if not kind.code and not self.model and not kind.model:
            raise ValueError(tr("no model; name the model this judge asks."))
        if kind.address and not self.base_url and not self.base_urls:
            raise ValueError(tr("a judge of kind “{kind}” needs a base_url, as http://host/v1.", kind=self.kind))
        return self

    def judge(self) -> Judge:
        given = self.given() | {"kind": self.kind, "model": self.entry or self.model or JUDGE_KINDS[self.kind].model}
        given.pop("entry", None)
        if (url := given.pop("base_url", None)) is not None:
            given["base_urls"] = (url,)
        sampling = {key: given.pop(key) for key in _SAMPLING & given.keys()}
        name = given.pop("name", None) or given["model"]
        return Judge(name, sampling=Sampling(**sampling), **given)


def judge_from_value(value: Any, *, where: str = "judge") -> Judge:
    """A Judge from one table.

    ``base_url`` may stand for ``base_urls``; ``temperature = "default"`` leaves it to the
    server. A key in the table is refused: ``key_env`` names the variable that holds it.
    """
    _refuse_secrets(value, where)
    return validated(JudgeTable, value, where).judge()


def kept_judge_from_value(value: Any, *, where: str = "judge") -> Judge:
    """A judge that the user keeps; of own code with the hash of the file as it is now.

    A function that was changed is another judge. Where its file is gone the old hash stays, and
    whoever uses the judge is told so.
    """
    judge = judge_from_value(value, where=where)
    if not JUDGE_KINDS[judge.kind].code:
        return judge
    try:
        return pinned(replace(judge, options={}))
    except LabError:
        return judge


def judges_from_value(value: Any, *, where: str = "study") -> tuple[Judge, ...]:
    """Judges from a list of tables. Raises StudyError naming the judge's place."""
    if not isinstance(value, list) or not value:
        raise StudyError(tr("{where}: expected one or more [[judges]] tables.", where=where))
    return tuple(judge_from_value(judge, where=f"{where}, [[judges]] {i}") for i, judge in enumerate(value, 1))


def _refuse_secrets(value: Any, where: str) -> None:
    """A key in a study would end in the store, in reports and in a repository."""
    for key, part in value.items() if isinstance(value, Mapping) else ():
        if _SECRET.fullmatch(str(key)):
            raise StudyError(
                tr(
                    "{where}, {key}: a study file holds no keys. Put the key into an environment variable and name "
                    'that: key_env = "MY_API_KEY".',
                    where=where,
                    key=key,
                )
            )
        _refuse_secrets(part, f"{where}, {key}")
