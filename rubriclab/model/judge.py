"""What a file, a form or the store says of a judge in, its checked settings out. Never a key, only
its variable's name.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rubriclab.model.constraint import CONSTRAINING_FIELDS, Constraint
from rubriclab.model.text import LabError, shorten

JudgeKind = Literal["embedded", "vllm", "openai", "decisions", "python", "simulated"]
Packing = Literal["packed", "alone", "reversed"]
"""All orders of an answer as questions of one request; each in a request of its own; packed, the
last one first.
"""
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]

# A variable whose name speaks of another purpose is never sent to a judge's server, whatever a
# study file says.
FOREIGN_KEYS = re.compile(
    r"AWS_|AZURE_CLIENT|GOOGLE_APPLICATION|GITHUB|GITLAB|SSH|DATABASE|POSTGRES|MYSQL|STRIPE|NPM_|PYPI"
)

ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
AN_ADDRESS = "http://HOST:PORT/v1 or https://…, without a key, a user or a query in it"
"""What is kept with the study; a refused one may hold a key, so no message repeats it."""
SECRET_FIELD = re.compile(
    r'(?i)"((x-)?(api[-_]?key|authorization|(access|auth)[-_]token|password|secret))":'
)

CONSTRAINED_KINDS = ("embedded", "vllm", "openai")
"""Kinds of judges whose server writes a text, which it can constrain."""
DEFAULT_ADDRESS = {"vllm": "http://127.0.0.1:8000/v1", "openai": "https://api.openai.com/v1"}
"""Of the kinds that have one, where the settings give none."""

RESERVED = frozenset({"model", "messages", "stream", "n", "state", "input", "questions"})
"""Fields of a request that ``extra`` may not replace: they would make another study of it."""


class Part(BaseModel):
    """A table of the study file. Unknown keys are refused, so that a typing error is never silently
    left out; so is ``true`` in place of a number, which Python counts as 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_as_a_number(cls, value: Any, about: ValidationInfo) -> Any:
        given = value if isinstance(value, list | tuple) else [value]
        expected = cls.model_fields[str(about.field_name)].annotation
        if any(isinstance(part, bool) for part in given) and "bool" not in str(expected):
            raise ValueError("input should be no true or false")
        return value


class JudgeSettings(Part):
    """One judge. ``name`` stands in results; all but pace and prices is part of a call's identity.

    ``temperature`` None (in a file: "server", since TOML has no null) leaves the server's own.
    ``rpm``: calls a minute. ``timeout``: seconds a call. Prices are per million tokens. ``options``
    belong to the kind (planted effects, a file of own code). ``constrain``: whether, and how, the
    server holds a reply that is one label to the labels (``model/constraint.py``).
    """

    # A key given for its variable's name must reach no log by the words of a refusal.
    model_config = ConfigDict(allow_inf_nan=False, hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=100)
    kind: JudgeKind = "embedded"
    model: str = Field("smollm2-135m", max_length=300)
    base_urls: tuple[str, ...] = ()
    key_env: str | None = None
    temperature: float | None = Field(0.0, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=100_000)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: Seed | None = None
    reasoning_effort: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    concurrency: int = Field(8, ge=1, le=2_048)
    rpm: float | None = Field(None, gt=0)
    timeout: float = Field(120.0, gt=0, le=3_600)
    price_input: float | None = Field(None, ge=0)
    price_output: float | None = Field(None, ge=0)
    ca_file: str | None = None
    constrain: Constraint = "free"
    options: dict[str, Any] = Field(default_factory=dict)
    _folder: str = PrivateAttr("")

    @field_validator("base_urls")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for number, address in enumerate(value, 1):
            if not ADDRESS.fullmatch(address.strip()):
                raise ValueError(f"number {number} is no address; expected {AN_ADDRESS}")
        return value

    @field_validator("extra")
    @classmethod
    def _further_fields(cls, value: dict[str, Any]) -> dict[str, Any]:
        if secret := SECRET_FIELD.search(json.dumps(value, default=str)):
            raise ValueError(
                f"{secret[1]} would be kept with the study; name the key's variable in key_env "
                f"instead"
            )
        if reserved := RESERVED & value.keys():
            raise ValueError(
                f"{min(reserved)} is a field that the lab fills in itself; leave it out"
            )
        return value

    @field_validator("temperature", mode="before")
    @classmethod
    def _temperature(cls, value: Any) -> Any:
        return None if value == "server" else value

    @field_validator("key_env")
    @classmethod
    def _variable(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", value):
            raise ValueError(
                "expected the name of an environment variable, as MY_API_KEY, never the key itself"
            )
        if FOREIGN_KEYS.search(value.upper()):
            raise ValueError(
                f"{value} is another service's secret; a judge's key needs a variable of its own"
            )
        return value

    @model_validator(mode="after")
    def _constrained_once(self) -> Self:
        if self.constrain == "free":
            return self
        if self.kind not in CONSTRAINED_KINDS:
            raise ValueError(
                f'constrain is "{self.constrain}", which is nothing to a judge of the kind '
                f"{self.kind}; "
                f"it is for {', '.join(CONSTRAINED_KINDS)}. Leave it out"
            )
        given = [name for name in CONSTRAINING_FIELDS if name in self.extra]
        if given or self.options.get("constrain"):
            where = f"extra holds {given[0]}" if given else "options holds the older constrain"
            raise ValueError(
                f'constrain is "{self.constrain}" and {where}: a reply is constrained once. Leave '
                f"out one of the two"
            )
        return self

    def constraint_of(self, template: str) -> Constraint:
        """Return how replies to calls of a template are constrained where they are one label.

        ``options.constrain = true`` of kind vllm is what studies said before there was
        ``constrain``: a choice, for the lab's own score prompts alone. Runs that were made so go on
        so.
        """
        older = self.kind == "vllm" and bool(self.options.get("constrain"))
        if older and template.startswith("score."):
            return "choice"
        return self.constrain

    @property
    def folder(self) -> str:
        """Where the files that ``options`` name lie; never said by a file, so that none can run
        another folder's code.
        """
        return self._folder

    def in_folder(self, folder: str | Path) -> Self:
        copy = self.model_copy()
        copy._folder = str(folder)
        return copy

    @property
    def simulated(self) -> bool:
        return self.kind == "simulated"

    @property
    def addresses(self) -> tuple[str, ...]:
        """The base URLs that this judge asks; empty for one of this machine, whatever its settings
        name.
        """
        if self.kind in ("embedded", "python", "simulated"):
            return ()
        if self.kind == "decisions" and self.options.get("path"):
            return ()
        default = DEFAULT_ADDRESS.get(self.kind)
        return self.base_urls or ((default,) if default else ())

    def identity(self) -> dict[str, Any]:
        """What decides an answer: part of a call's key. Pace, prices and timeouts are not."""
        kept = {
            "kind",
            "model",
            "base_urls",
            "temperature",
            "max_tokens",
            "top_p",
            "seed",
            "reasoning_effort",
            "extra",
            "options",
        }
        body = self.model_dump(mode="json", include=kept)
        if self.constrain != "free":  # runs that were made before it was known keep their keys
            body["constrain"] = self.constrain
        if self.kind == "python":  # how much memory its process may use decides no answer
            body["options"] = {
                name: value for name, value in self.options.items() if name != "memory"
            }
        return body


class DecisionOptions(Part):
    """``options`` of a judge that answers typed questions with a probability for each option.

    ``form``: of the request, ``systemone`` (vLLM, SGLang, llama.cpp) or ``openai``
    (``client.decisions``). ``question``: the options of a rubric as a choice, in any order, or as a
    score, whose levels go up or down. ``served_model``: the name that the server answers with where
    it is another one ("*": any). ``path``: a GGUF file of a decision model, in place of a server.
    """

    form: Literal["systemone", "openai"] = "systemone"
    question: Literal["choice", "score"] = "choice"
    packing: Packing = "packed"
    served_model: str = ""
    path: str = ""


Options = TypeVar("Options", bound=BaseModel)


def read_options(model: type[Options], settings: JudgeSettings) -> Options:
    """The options of a judge's kind. Raises LabError naming the first wrong one, its value and what
    is expected.
    """
    try:
        return model.model_validate(settings.options)
    except ValidationError as error:
        first = error.errors()[0]
        given = "" if first["type"] == "extra_forbidden" else f" is {shorten(repr(first['input']))}"
        raise LabError(
            f"Option “{shorten(str(first['loc'][0]))}” of the {settings.kind} judge "
            f"“{settings.name}”{given}: "
            f"{first['msg']}. It has the options {', '.join(model.model_fields)}."
        ) from error
