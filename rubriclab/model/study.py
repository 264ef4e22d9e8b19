"""What decides which calls are made: orderings, strategies, judges, variants, designs, studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rubriclab.model.data import Dataset
from rubriclab.model.faults import StudyError
from rubriclab.model.hashing import fingerprint
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.model.rubric import Rubric

Axis = Literal["options", "criteria", "pairwise", "listwise", "batch"]
"""What is reordered: the score options of one criterion, the criteria of one call, the
candidates of a comparison, or the responses that one call scores."""

AnswerMode = Literal["feedback", "score"]
"""``feedback``: prose, then ``[RESULT] n`` (Prometheus-Eval). ``score``: the label alone."""

UnitChoice = Literal["auto", "item", "block", "prompt"]
SMALLEST_EFFECT = 0.1
"""Of interest, in steps of the scale: a tenth of the way from one score to the next."""

TRIAL_ORIGIN = "try it"
"""Where the data of a trial says it is from: pages about whole runs leave these out."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """What is shown at positions 1..n, and the label that stands beside each.

    ``shown[p]`` is a canonical score (axis options), a criterion name (criteria), a candidate
    name (comparisons) or an item's id (batch). ``labels`` is empty for criteria and batches.
    """

    shown: tuple[int, ...] | tuple[str, ...]
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.shown))


StrategyKind = Literal["fixed", "descending", "balanced", "random", "williams", "all", "ends", "custom", "min-bias"]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How orderings are chosen for an item (method: section 2).

    ``reads`` is K; None takes the design's own size (2n for balanced; the balanced size for
    fixed, descending and random, so that budgets match). ``shared`` draws random orderings
    once for all items. ``orderings`` is the user's list for ``custom`` and ``min-bias``.
    """

    kind: StrategyKind
    name: str = ""
    reads: int | None = None
    shared: bool = False
    orderings: tuple[tuple[int | str, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.kind)


@dataclass(frozen=True, slots=True)
class Sampling:
    """What the judge is asked with; part of every call key. None leaves the server's default."""

    temperature: float | None = 0.0
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


JudgeKind = Literal["embedded", "openai", "vllm", "python", "simulated"]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge and how to reach it. Holds the *name* of the key's variable, never the key.

    ``options`` are the kind's own settings: ``{"path": ...}`` for an own GGUF file, the
    planted effects of a simulated judge. ``base_urls``: several servers of one model.
    Prices are money per million tokens. ``ca_file`` is a PEM file of certificates to trust
    beside the system's. Limits (``concurrency``, ``rpm``, ``tpm``, ``timeout``) and ``ca_file``
    are not part of a call's identity. The model of a judge of own code is its function, as
    "my_judge:judge"; ``code_folder``, where that stands, is never kept or read from anywhere: it is
    that of the study file that the user runs.
    """

    name: str
    kind: JudgeKind
    model: str
    base_urls: tuple[str, ...] = ()
    key_env: str | None = None
    sampling: Sampling = Sampling()
    options: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    timeout: float = 120.0
    price_input: float | None = None
    price_output: float | None = None
    ca_file: str | None = None
    code_folder: str | None = field(default=None, compare=False, repr=False)

    @property
    def simulated(self) -> bool:
        return self.kind == "simulated"

    def identity(self) -> dict[str, Any]:
        """What makes two judges the same judge: kind, model, endpoint and own settings."""
        # Of vLLM the model is known by its weights, wherever they are served.
        endpoint = [] if self.kind == "vllm" else sorted(self.base_urls)
        return {"kind": self.kind, "model": self.model, "endpoint": endpoint, "options": dict(self.options)}


@dataclass(frozen=True, slots=True)
class Variant:
    """One setting of the study's factors, as (factor, level) pairs; empty is the baseline."""

    levels: tuple[tuple[str, Any], ...] = ()

    def get(self, factor: str, default: Any = None) -> Any:
        return dict(self.levels).get(factor, default)

    def __str__(self) -> str:
        return ", ".join(f"{name}={level}" for name, level in self.levels)


@dataclass(frozen=True, slots=True)
class Design:
    """What is varied, how often and with which seed.

    ``factors`` maps a factor's name to its levels, the first being the baseline:
    ``temperature``, ``reasoning_effort`` and any other sampling field; ``answer``; ``scale``
    (number of options); ``ids`` (arabic, letters, roman, or a list, lowest score first);
    ``reference`` (0 = none, or the score of the reference answer shown); without that factor
    ``show_reference`` shows an item's best reference answer where it has one; ``prompt`` (names of
    the study's own prompts); ``rubric`` (names of the study's rubric and of its other wordings). ``crossed``: full
    factorial; else one factor at a time against the baseline, and only under the first
    strategy. ``shuffle_ids`` deals the labels out anew for every read, so that a label's
    pull can be told from its score's. ``tie``, ``baseline_candidate`` and ``list_size`` are
    for comparisons. ``batch_size`` (also a factor) and ``batch_draws``, how often the items are dealt
    into batches anew, are for batches; every item is asked about alone besides.

    How the answers are read, and no part of the study's identity: ``smallest_effect``, the smallest
    effect of interest in steps of the scale (see ``stats.verdict``), and the ``unit`` that
    intervals resample: the prompt where items share one, the block where given, else the item
    (``auto``), or the named one.
    """

    axis: Axis = "options"
    strategies: tuple[Strategy, ...] = (Strategy("balanced"), Strategy("fixed"))
    answer: AnswerMode = "score"
    repeats: int = 1
    seed: int = 0
    factors: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    crossed: bool = False
    shuffle_ids: bool = False
    show_reference: bool = True
    tie: bool = True
    baseline_candidate: str | None = None
    list_size: int = 3
    batch_size: int = 4
    batch_draws: int = 1
    template: str | None = None
    smallest_effect: float = SMALLEST_EFFECT
    unit: UnitChoice = "auto"

    def identity(self) -> dict[str, Any]:
        """What decides the calls: everything but how their answers are read."""
        no_part = {"smallest_effect", "unit"} | (set() if self.axis == "batch" else {"batch_size", "batch_draws"})
        return {k: v for k, v in asdict(self).items() if k not in no_part}


@dataclass(frozen=True)
class Study:
    """Data, rubric, judges, design and own prompts: everything that decides which calls are made.

    ``prompts``: the user's own; the first is sent where no factor ``prompt`` names another. Without
    any the lab's own prompts are sent. ``rubrics``: other wordings of ``rubric``, of the same criteria, that the
    factor ``rubric`` names.
    """

    name: str
    dataset: Dataset
    judges: tuple[Judge, ...]
    design: Design = Design()
    rubric: Rubric | None = None
    prompts: tuple[PromptTemplate, ...] = ()
    rubrics: tuple[Rubric, ...] = ()

    def __post_init__(self) -> None:
        names = [judge.name for judge in self.judges]
        if not names:
            raise StudyError(tr("Study “{name}” has no judge: add at least one.", name=self.name))
        for name in names:
            if names.count(name) > 1:
                raise StudyError(tr("Two judges are named “{name}”; give each its own name.", name=name))
        titles = [prompt.name for prompt in self.prompts]
        for title in titles:
            if titles.count(title) > 1:
                raise StudyError(tr("Two prompts are named “{name}”; give each its own name.", name=title))
        _check_rubrics(self)

    def prompt_of(self, variant: Variant) -> PromptTemplate | None:
        """The user's own prompt that is sent under a variant; None for the lab's.

        Raises StudyError where the variant names one that the study does not have.
        """
        name = variant.get("prompt")
        if name is None:
            return self.prompts[0] if self.prompts else None
        for prompt in self.prompts:
            if prompt.name == name:
                return prompt
        known = ", ".join(f"“{prompt.name}”" for prompt in self.prompts) or tr("none")
        raise StudyError(
            tr("Factor “prompt” has the level {name!r}; the study's own prompts: {known}.", name=name, known=known)
        )

    def rubric_of(self, variant: Variant) -> Rubric | None:
        """What is rated by under a variant. Raises StudyError where it names a rubric that the study does not have."""
        name = variant.get("rubric")
        if name is None:
            return self.rubric
        known = [one for one in (self.rubric, *self.rubrics) if one is not None]
        for rubric in known:
            if rubric.name == name:
                return rubric
        names = ", ".join(f"“{rubric.name}”" for rubric in known) or tr("none")
        raise StudyError(
            tr("Factor “rubric” has the level {name!r}; the study's rubrics: {names}.", name=name, names=names)
        )

    @property
    def id(self) -> str:
        """The same calls, the same id: the run of a study is found again by it."""
        return fingerprint(
            {
                "dataset": self.dataset.id,
                "rubric": self.rubric.id if self.rubric else None,
                "design": self.design.identity(),
                "judges": [
                    {**judge.identity(), "name": judge.name, "sampling": asdict(judge.sampling)}
                    for judge in self.judges
                ],
                **({"prompts": [[prompt.name, prompt.id] for prompt in self.prompts]} if self.prompts else {}),
                **({"rubrics": [[rubric.name, rubric.id] for rubric in self.rubrics]} if self.rubrics else {}),
            }
        )


def _check_rubrics(study: Study) -> None:
    """Raises StudyError for wordings of a rubric that are not of its criteria, or share a name."""
    if not study.rubrics:
        return
    if study.rubric is None:
        raise StudyError(
            tr("Study “{name}” has other wordings of a rubric and no rubric. Choose the rubric.", name=study.name)
        )
    names = [rubric.name for rubric in (study.rubric, *study.rubrics)]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(tr("Two rubrics are named “{name}”; give each its own name.", name=name))
    own = [criterion.name for criterion in study.rubric.criteria]
    for rubric in study.rubrics:
        theirs = [criterion.name for criterion in rubric.criteria]
        if sorted(theirs) != sorted(own):
            raise StudyError(
                tr(
                    "Rubric “{name}” has the criteria {theirs}; as a wording of “{base}” it needs {own}. Give its "
                    "criteria the same names.",
                    name=rubric.name,
                    theirs=", ".join(theirs),
                    base=study.rubric.name,
                    own=", ".join(own),
                )
            )


@dataclass(frozen=True, slots=True)
class Arm:
    """One line of results: a judge on a data set under one strategy and one variant.

    ``scores`` are the canonical scores in ascending order; for comparisons it is empty and
    ``n_positions`` is the number of candidates shown.
    """

    judge: str
    dataset: str
    strategy: str
    axis: Axis = "options"
    scores: tuple[int, ...] = ()
    n_positions: int = 0
    variant: Variant = Variant()
    simulated: bool = False

    def __str__(self) -> str:
        parts = [self.judge, self.dataset, self.strategy]
        return " · ".join([*parts, str(self.variant)] if self.variant.levels else parts)
