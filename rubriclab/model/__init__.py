"""Nothing in, the words of the field out: frozen dataclasses that all other rooms speak in.

Nothing here reads a file, asks a judge or computes a statistic. Names follow the
field: a *judge* gives an *item* a score under a *criterion* whose *score options*
are listed in some *ordering*; what it picks sits at a *position*.
"""

from rubriclab.model.data import Comparison, Dataset, Item
from rubriclab.model.faults import DataError, LabError, RubricError, StudyError
from rubriclab.model.hashing import canonical_json, fingerprint
from rubriclab.model.judgments import (
    EPSILON,
    MOSTLY,
    REVIEW_TEMPLATE,
    STATUSES,
    WRITE_TEMPLATE,
    Call,
    Dropped,
    Judgment,
    Outcome,
    Reply,
    RunData,
    Status,
)
from rubriclab.model.rubric import MAX_OPTIONS, MIN_OPTIONS, Criterion, Rubric, ScoreOption
from rubriclab.model.study import (
    SMALLEST_EFFECT,
    TRIAL_ORIGIN,
    AnswerMode,
    Arm,
    Axis,
    Design,
    Judge,
    JudgeKind,
    Ordering,
    Sampling,
    Strategy,
    StrategyKind,
    Study,
    UnitChoice,
    Variant,
)

__all__ = [
    "EPSILON",
    "MAX_OPTIONS",
    "MIN_OPTIONS",
    "MOSTLY",
    "REVIEW_TEMPLATE",
    "SMALLEST_EFFECT",
    "STATUSES",
    "TRIAL_ORIGIN",
    "WRITE_TEMPLATE",
    "AnswerMode",
    "Arm",
    "Axis",
    "Call",
    "Comparison",
    "Criterion",
    "DataError",
    "Dataset",
    "Design",
    "Dropped",
    "Item",
    "Judge",
    "JudgeKind",
    "Judgment",
    "LabError",
    "Ordering",
    "Outcome",
    "Reply",
    "Rubric",
    "RubricError",
    "RunData",
    "Sampling",
    "ScoreOption",
    "Status",
    "Strategy",
    "StrategyKind",
    "Study",
    "StudyError",
    "UnitChoice",
    "Variant",
    "canonical_json",
    "fingerprint",
]
