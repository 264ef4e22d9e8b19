"""Check what a file, a form or the store says about a judge.

Settings hold the name of a key's variable, never the key.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from rubriclab.model.constraint import CONSTRAINING_FIELDS, Constraint
from rubriclab.model.judge_kind import OWN_KINDS, JudgeKind, kind_named
from rubriclab.model.part import Part
from rubriclab.model.text import LabError, shorten

Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A seed that fits into the 64 bits that servers accept."""

FOREIGN_KEYS = re.compile(
    r"AWS_|AZURE_CLIENT|GOOGLE_APPLICATION|GITHUB|GITLAB|SSH|DATABASE|POSTGRES|MYSQL|STRIPE|NPM_|PYPI"
)
"""Variables whose names show another purpose. They are never sent to a judge's server, whatever a
study file says."""

ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
AN_ADDRESS = "http://HOST:PORT/v1 or https://…, without a key, a user or a query in it"
"""An address is kept with the study, so it may hold no secret. A refused one may hold a key, so no
message repeats it."""
SECRET_FIELD = re.compile(
    r'(?i)"((x-)?(api[-_]?key|authorization|(access|auth)[-_]token|password|secret))":'
)
"""A field of ``extra`` that holds a secret, which would be kept with the study."""

RESERVED = frozenset({"model", "messages", "stream", "n", "state", "input", "questions"})
"""Fields of a request that ``extra`` may not replace, because the study decides them."""


class JudgeSettings(Part):
    """One judge of a study.

    name: in results. ``identity`` says which settings decide a reply.
    temperature: None leaves the server's own. In a file that is “server”, since TOML has no null.
    rpm: calls per minute.
    timeout: seconds per call.
    price_input, price_output: per million tokens.
    constrain: how the server holds a reply to the labels (``model/constraint.py``).
    options: of the kind, for example planted effects or a file of own code.
    """

    # Somebody may type a key instead of its variable's name. No message may then repeat it.
    model_config = ConfigDict(allow_inf_nan=False, hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=100)
    kind: str = "embedded"
    # Not DEFAULT_JUDGE's: files that name no model mean the weights that they were written with.
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

    @model_validator(mode="before")
    @classmethod
    def _model_of_the_kind(cls, value: Any) -> Any:
        """Fill in the model of a packaged kind: the default is a model of the lab's own."""
        if not isinstance(value, dict) or "model" in value:
            return value
        kind = value.get("kind", "embedded")
        if not isinstance(kind, str) or kind in OWN_KINDS:
            return value
        try:
            about = kind_named(kind)
        except LabError:  # reported by the validator of ``kind``
            return value
        return value | {"model": about.models[0] if about.models else about.name}

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, value: str) -> str:
        try:
            kind_named(value)
        except LabError as fault:  # the caller adds the full stop
            raise ValueError(str(fault).removesuffix(".")) from None
        return value

    @field_validator("base_urls")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for number, address in enumerate(value, 1):
            if not ADDRESS.fullmatch(address.strip()):
                raise ValueError(f"number {number} is not an address. Use {AN_ADDRESS}")
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
        if self.constrain not in self.about.constraints:
            able = [kind.name for kind in OWN_KINDS.values() if self.constrain in kind.constraints]
            raise ValueError(
                f'constrain is "{self.constrain}", which is nothing to a judge of the kind '
                f"{self.kind}; it is for {', '.join(able)}. Leave it out"
            )
        given = [name for name in CONSTRAINING_FIELDS if name in self.extra]
        if given or self.options.get("constrain"):
            where = f"extra holds {given[0]}" if given else "options holds the older constrain"
            raise ValueError(
                f'constrain is "{self.constrain}" and {where}: a reply is constrained once. Leave '
                f"out one of the two"
            )
        return self

    @property
    def about(self) -> JudgeKind:
        """What the lab knows of this judge's kind."""
        return kind_named(self.kind)

    @property
    def older_constraint(self) -> bool:
        """Whether kind vllm has ``options.constrain``, which is older than ``constrain``."""
        return self.about.vllm and bool(self.options.get("constrain"))

    def constraint_of(self, template: str) -> Constraint:
        """Return how the replies to a template's calls are constrained, if they are one label.

        The older ``options.constrain`` means a choice, only for the lab's own score prompts. Runs
        that were made with it continue with it.
        """
        if self.older_constraint and template.startswith("score."):
            return "choice"
        return self.constrain

    @property
    def folder(self) -> str:
        """The folder of the files that ``options`` name.

        No study file can set it, so none can run code of another folder.
        """
        return self._folder

    def in_folder(self, folder: str | Path) -> Self:
        """Return the judge with the folder of its files."""
        copy = self.model_copy()
        copy._folder = str(folder)
        return copy

    @property
    def simulated(self) -> bool:
        """Whether this judge's replies are made up."""
        return self.about.simulated

    @property
    def served(self) -> bool:
        """Whether this judge is asked over HTTP."""
        about = self.about
        return about.served and not (about.local_option and self.options.get(about.local_option))

    @property
    def addresses(self) -> tuple[str, ...]:
        """The base URLs that this judge asks.

        Empty for a judge of this machine, even if its settings name some.
        """
        if not self.served:
            return ()
        default = self.about.default_address
        if self.base_urls or not default:
            return self.base_urls
        return (default,)

    def identity(self) -> dict[str, Any]:
        """Return the settings that decide a reply. They are part of a call's key.

        Pace, prices and timeouts are not.
        """
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
        if self.constrain != "free":  # so that runs older than the setting keep their keys
            body["constrain"] = self.constrain
        about = self.about
        if about.idle_options:
            body["options"] = {
                name: value
                for name, value in self.options.items()
                if name not in about.idle_options
            }
        if about.version:
            body["version"] = about.version
        return body


Options = TypeVar("Options", bound=BaseModel)


def read_options(model: type[Options], settings: JudgeSettings) -> Options:
    """Return the options of a judge, checked by its kind's model.

    Raises LabError with the first wrong option, its value and what is expected.
    """
    try:
        return model.model_validate(settings.options)
    except ValidationError as error:
        first = error.errors()[0]
        given = ""
        if first["type"] != "extra_forbidden":  # there the option is wrong, not its value
            given = f" is {shorten(repr(first['input']))}"
        raise LabError(
            f"Option “{shorten(str(first['loc'][0]))}” of the {settings.kind} judge "
            f"“{settings.name}”{given}: {first['msg']}. It has the options "
            f"{', '.join(model.model_fields)}."
        ) from error
