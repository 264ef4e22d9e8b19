"""Describe each kind of judge in one record, and find the kinds that other packages bring.

Code that needs to know something about a kind reads its record (``JudgeSettings.about``) and never
compares names. The lab's own kinds are described here and opened in ``judges/kinds.py``, because
this room may not import that one. A package brings a kind by an entry point of the group
``rubriclab.judges`` (docs/adding.md).

We import a package only when somebody names its kind or lists all kinds. A broken package becomes a
LabError that names it. The lab and its own kinds keep working.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions

from pydantic import BaseModel

from rubriclab.model.constraint import RUNGS, Constraint
from rubriclab.model.judge_options import (
    ChatOptions,
    DecisionOptions,
    Effects,
    EmbeddedOptions,
    NoOptions,
    PythonOptions,
    VllmOptions,
)
from rubriclab.model.text import LabError, shorten

ENTRY_POINTS = "rubriclab.judges"
"""The group of entry points by which a package brings kinds of judges."""
KIND_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""What a kind may be called. It is typed in study files, and before a colon on command lines."""


@dataclass(frozen=True)
class Speed:
    """The first guess of a kind's speed, which we use until a run has measured it.

    calls_per_second: for short replies, with one call at a time.
    long_slowdown: how many times longer a reply with a text takes.
    at_once: whether ``concurrency`` calls are answered at the same time.
    of_model: calls per second, by model, where we have measured them.
    signs_read: how many characters of its prompt a call read when that was measured, beyond those
        that it shared with the call before. One that reads more takes as much longer. 0 if the
        prompt hardly matters.
    """

    calls_per_second: float = 1.0
    long_slowdown: float = 8.0
    at_once: bool = True
    of_model: Mapping[str, float] = field(default_factory=dict)
    signs_read: float = 0.0

    def guess(
        self, model: str, concurrency: int, *, long_answer: bool, signs_read: float = 0.0
    ) -> float:
        """Return the expected calls per second.

        ``long_answer``: replies contain a text. ``signs_read``: characters of its prompt that a
        call reads, beyond those that it shares with the call before.
        """
        rate = self.of_model.get(model, self.calls_per_second)
        if self.at_once:
            rate *= concurrency
        return rate / self.slowdown(long_answer=long_answer, signs_read=signs_read)

    def slowdown(self, *, long_answer: bool, signs_read: float = 0.0) -> float:
        """Return how many times as long such a call takes as the short one of the guess."""
        slowdown = 1.0
        if self.signs_read:
            slowdown = max(slowdown, signs_read / self.signs_read)
        if long_answer:
            slowdown += self.long_slowdown - 1.0
        return slowdown


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeKind:
    """One kind of judge: what the lab needs to know about it without opening one.

    name: the name in study files (``kind = "..."``).
    label: where this kind of judge runs, in a few words, for lists and Set up.
    help: one or two sentences for a user who chooses a judge in Set up.
    form: the form in Set up that was written for it. If empty, Set up draws one from ``options``.
    models: the models to choose from in Set up, the default first. Users may type others.
    options: the pydantic model of the judge's ``options``.
    speed: the first guess of its speed, for forecasts.
    version: what else decides its replies apart from the settings, for example a version or a hash.
        It is part of a judge's identity unless it is empty.

    served: whether it is asked over HTTP and so needs an address.
    default_address: the address to use if the settings give no ``base_urls``.
    local_option: the option that makes a served judge run on this machine instead.
    takes_key: whether it receives a key. A key needs the user's consent for each address, or for
        the package where the kind has no address.

    simulated: whether its replies are made up. Every result of it is labelled.
    deterministic: whether the same prompt gets the same reply at temperature 0, but for rounding,
        and no call depends on those before.
    probabilities: whether it can report how probable each label was.
    chat: whether its requests are OpenAI chat completions. They can then be written into batch
        files and contain a JSON schema, and the server lists its models.
    vllm: whether its server is vLLM, which accepts further fields and gives the numbers of tokens.
    small_model: whether it is a small model whose replies the lab begins and cuts.
    typed_questions: whether it is asked typed questions instead of a chat. Its options are then
        ``DecisionOptions``.
    runs_code: whether it runs a file of the user, which somebody has to look at first.
    constraints: the ways in which its replies can be limited to the labels.
    reports_free: the constraints under which a reply still reports unconstrained probabilities.
    idle_factors: factors of ``[design.vary]`` that change nothing for it. "extra" means every
        ``extra.…``.
    idle_options: options that affect no reply, so they are not part of a judge's identity.

    package: the name and version of the package that brings it. The lab fills it in.
    """

    name: str
    label: str
    help: str = ""
    form: str = ""
    models: tuple[str, ...] = ()
    options: type[BaseModel] = NoOptions
    speed: Speed = Speed()
    version: str = ""

    served: bool = False
    default_address: str = ""
    local_option: str = ""
    takes_key: bool = False

    simulated: bool = False
    deterministic: bool = False
    probabilities: bool = False
    chat: bool = False
    vllm: bool = False
    small_model: bool = False
    typed_questions: bool = False
    runs_code: bool = False
    constraints: tuple[Constraint, ...] = ()
    reports_free: tuple[Constraint, ...] = ()
    idle_factors: tuple[str, ...] = ("packing",)
    idle_options: tuple[str, ...] = ()

    package: str = ""

    def ignores(self, factor: str) -> bool:
        """Return whether a factor of the design changes nothing for this kind of judge."""
        return factor.partition(".")[0] in self.idle_factors


SIGNS_READ = 604.0
"""Characters that a call about the sample reads in ten orders of the options, of the 1,506 that its
prompt has: the small models were measured with these. Measured with smollm2-135m-q8: the time that
the processor takes is proportional to what is read (1,514 took 2.16 s, 534 took 0.77 s; of pairs,
2,355 took 2.89 s, 1,135 took 1.49 to 1.54 s)."""
SMALL_MODELS = {"smollm2-135m-q8": 4.7, "smollm2-135m": 3.2, "qwen2.5-coder-0.5b": 1.4}
"""Calls per second by model, measured on two cores with short replies, one answer at a time. That
of smollm2-135m-q8 is 3.2 times a ratio: ten orders take 5.0 s of the processor instead of 7.4."""

RECORDS = (
    JudgeKind(
        name="embedded",
        label="on this machine",
        help="No key, no server, no graphics card.",
        form="embedded",
        options=EmbeddedOptions,
        speed=Speed(
            long_slowdown=10.0, at_once=False, of_model=SMALL_MODELS, signs_read=SIGNS_READ
        ),
        deterministic=True,
        probabilities=True,
        small_model=True,
        constraints=RUNGS,
        # llama.cpp reports the probabilities before the grammar removes tokens.
        reports_free=("grammar",),
        idle_factors=("packing", "reasoning_effort", "extra"),
    ),
    JudgeKind(
        name="vllm",
        label="vLLM",
        form="vllm",
        options=VllmOptions,
        served=True,
        default_address="http://127.0.0.1:8000/v1",
        takes_key=True,
        probabilities=True,
        chat=True,
        vllm=True,
        constraints=RUNGS,
    ),
    JudgeKind(
        name="openai",
        label="API or server",
        form="server",
        options=ChatOptions,
        served=True,
        default_address="https://api.openai.com/v1",
        takes_key=True,
        probabilities=True,
        chat=True,
        constraints=RUNGS,
    ),
    JudgeKind(
        name="decisions",
        label="decision endpoint",
        form="server",
        options=DecisionOptions,
        served=True,
        local_option="path",
        takes_key=True,
        probabilities=True,
        typed_questions=True,
        idle_factors=("reasoning_effort", "temperature"),
    ),
    JudgeKind(
        name="python",
        label="own function",
        form="code",
        options=PythonOptions,
        speed=Speed(long_slowdown=10.0, at_once=False),
        takes_key=True,
        probabilities=True,
        runs_code=True,
        # The memory limit of its process affects no reply.
        idle_options=("memory",),
    ),
    JudgeKind(
        name="simulated",
        label="simulated",
        help="No model: answers are made up with the effects that you plant. Every result of "
        "it is labelled.",
        form="simulated",
        options=Effects,
        speed=Speed(calls_per_second=1_000.0, long_slowdown=1.0, at_once=False),
        simulated=True,
        probabilities=True,
    ),
)
"""The kinds that come with the lab."""
OWN_KINDS: Mapping[str, JudgeKind] = {kind.name: kind for kind in RECORDS}
"""The same kinds by name."""


# ---------------------------------------------------------------- kinds of other packages
@dataclass(frozen=True)
class Brought:
    """An entry point by which a package brings one kind of judge.

    name: the name of the kind.
    package: the name and version of the package.
    folder: where the package is installed. It tells apart two copies of a package.
    """

    name: str
    package: str
    folder: str
    entry: EntryPoint


def kind_named(name: str) -> JudgeKind:
    """Return the kind with this name, from the lab or from an installed package.

    Raises LabError where there is none, where two packages bring it, and where its package cannot
    be used.
    """
    own = OWN_KINDS.get(name)
    if own is not None:
        return own
    brought = _brought_by_name().get(name, ())
    if not brought:
        raise LabError(
            f"There is no judge kind “{shorten(name, 40)}”. Use {', '.join(kind_names())}, or "
            f"install the package that brings it."
        )
    if len(brought) > 1:
        packages = " and ".join(sorted(each.package for each in brought))
        raise LabError(
            f"Several packages bring the judge kind “{shorten(name, 40)}”: {packages}. Uninstall "
            f"all but one."
        )
    kind, fault = _loaded(brought[0])
    if kind is None:
        raise LabError(fault)
    return kind


def kind_names() -> list[str]:
    """Return the names of all kinds, the lab's own first. Imports no package."""
    return list(dict.fromkeys([*OWN_KINDS, *sorted(_brought_by_name())]))


def all_kinds() -> tuple[list[JudgeKind], list[str]]:
    """Return all kinds that can be used, and an error for each kind that cannot."""
    kinds, faults = list(OWN_KINDS.values()), []
    for name, brought in sorted(_brought_by_name().items()):
        if name in OWN_KINDS:
            packages = " and ".join(sorted(each.package for each in brought))
            faults.append(
                f"{packages} brings a judge kind “{name}”, which is one of the lab's own. The "
                f"lab's is used. Rename the other one in its package."
            )
            continue
        try:
            kinds.append(kind_named(name))
        except LabError as fault:
            faults.append(str(fault))
    return kinds, faults


def _brought_by_name() -> Mapping[str, tuple[Brought, ...]]:
    """Return the entry points of all installed packages, by the name of the kind."""
    return _brought_on(tuple(sys.path))


@cache
def _brought_on(path: tuple[str, ...]) -> Mapping[str, tuple[Brought, ...]]:
    """Return the entry points of all packages on a search path, by kind. Imports none of them."""
    by_name: dict[str, tuple[Brought, ...]] = {}
    seen: set[str] = set()
    for package in distributions(path=list(path)):
        entries = _entries_of(package)
        # The first copy of a package on the path is the one that Python imports.
        if not entries or entries[0].package.partition(" ")[0] in seen:
            continue
        seen.add(entries[0].package.partition(" ")[0])
        for brought in entries:
            by_name[brought.name] = (*by_name.get(brought.name, ()), brought)
    return by_name


def _entries_of(package: Distribution) -> list[Brought]:
    """Return a package's entry points in our group; none where its metadata cannot be read."""
    try:
        # Most packages have none, and parsing the metadata of all of them would take a second.
        if ENTRY_POINTS not in (package.read_text("entry_points.txt") or ""):
            return []
        called = f"{package.metadata['Name']} {package.version}"
        return [
            Brought(entry.name, called, str(package.locate_file("")), entry)
            for entry in package.entry_points.select(group=ENTRY_POINTS)
        ]
    except Exception:  # a damaged package that may have nothing to do with the lab
        return []


@cache
def _loaded(brought: Brought) -> tuple[JudgeKind | None, str]:
    """Import a package's kind and check it. Return (the kind, ""), or (None, the error).

    We cache errors too. Otherwise every page that lists all kinds would import a broken package.
    """
    where = f"The judge kind “{shorten(brought.name, 40)}” of the package {brought.package}"
    try:
        kind = brought.entry.load()
    except (Exception, SystemExit) as fault:  # a package may raise anything when we import it
        said = f"{type(fault).__name__}: {shorten(str(fault), 200)}"
        return None, (
            f"{where} could not be loaded ({said}). Update or reinstall that package, or uninstall "
            f"it, and start the lab again."
        )
    fault_of = _misfit(kind, brought.name)
    if fault_of:
        return None, f"{where} cannot be used: {fault_of}. Tell its author, or uninstall it."
    return replace(kind, package=brought.package), ""


def _misfit(kind: object, name: str) -> str:
    """Return what is wrong with the object of an entry point; empty if nothing is."""
    if not isinstance(kind, JudgeKind) or not callable(getattr(kind, "open", None)):
        return f"{type(kind).__name__} is not a PackagedKind of rubriclab.judges.kinds"
    if kind.name != name:
        return f"it calls itself “{shorten(str(kind.name), 40)}”"
    if not KIND_NAME.fullmatch(name):
        return "a name has small letters, digits, - and _, and begins with a letter"
    if not isinstance(kind.options, type) or not issubclass(kind.options, BaseModel):
        return "its options are not a pydantic model"
    if kind.typed_questions and not issubclass(kind.options, DecisionOptions):
        return "it answers typed questions, so its options must extend DecisionOptions"
    return ""
