"""Every estimate of a result as one row of one tidy table, whatever the topic.

Rows are read off the results themselves, by how these name things: ``x_ci`` (or ``ci``, or
``low`` and ``high``) belongs to the number ``x`` (or to the number just before), a test to
``x_p_holm`` or ``p_holm`` beside it. A new result is in the table without a line written for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.model import Arm
from rubriclab.stats.inference import Interval

COLUMNS = (
    "topic",
    "arm",
    "judge",
    "dataset",
    "strategy",
    "variant",
    "measure",
    "level",
    "value",
    "low",
    "high",
    "n",
    "p",
    "p_holm",
    "note",
)
"""``arm``: the arm's code, where the estimate is about one; ``level``: which of several numbers
of a measure (a position, a criterion, another strategy); ``n``: what it rests on."""

_COUNTS = ("n", "n_items", "n_questions", "n_instances", "texts", "prompts", "readable", "series")
_ABOUT = ("code", "arm", "judge", "dataset", "strategy", "variant", "simulated", "axis")
NAN = float("nan")


@dataclass(frozen=True)
class _Place:
    """Where in a result an object stands: whom it is about, and under which names."""

    about: Mapping[str, Any]
    path: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    n: float = NAN
    labels: tuple[str, ...] = ()
    p_holm: float | tuple[float, ...] = NAN

    def row(self, measure: str, value: Any, low: Any, high: Any, **more: Any) -> dict[str, Any]:
        level = (*self.level, more.pop("at")) if "at" in more else self.level
        return {
            **self.about,
            "measure": measure,
            "level": " · ".join(level),
            "value": value,
            "low": low,
            "high": high,
            "n": self.n,
            "p": NAN,
            "p_holm": NAN,
            "note": "",
            **more,
        }


def estimates(topic: str, result: Any) -> pd.DataFrame:
    """The numbers of ``result`` that have an interval or a test; columns as COLUMNS."""
    return frame(_rows(result, _Place({"topic": topic})))


def frame(rows: Iterator[Mapping[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(list(rows), columns=list(COLUMNS))
    numbers = ("value", "low", "high", "n", "p", "p_holm")
    return table.astype({"arm": "Int64"} | dict.fromkeys(numbers, "float64"))


def _rows(value: Any, place: _Place) -> Iterator[dict[str, Any]]:
    if _is_record(value):
        yield from _of_record(value, place)
    elif isinstance(value, tuple | list):
        own = place.p_holm
        for k, part in enumerate(value):
            yield from _rows(part, replace(place, p_holm=own[k]) if isinstance(own, tuple) else place)


def _is_record(value: Any) -> bool:
    if isinstance(value, Interval | Arm | type):
        return False
    return is_dataclass(value) or (isinstance(value, tuple) and hasattr(value, "_fields"))


def _record(value: Any) -> dict[str, Any]:
    names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields
    return {name: getattr(value, name) for name in names}


def _of_record(value: Any, outside: _Place) -> Iterator[dict[str, Any]]:
    parts = _record(value)
    place = _inside(parts, outside)
    if {"statistic", "p"} <= parts.keys():
        note = ": ".join(filter(None, (parts.get("name"), parts.get("note"))))
        statistic = replace(place, level=outside.level)
        yield statistic.row(
            ".".join(place.path), parts["statistic"], NAN, NAN, p=parts["p"], p_holm=outside.p_holm, note=note
        )
        return
    before = ""
    for name, part in parts.items():
        if name == "high" and "low" in parts:
            yield from _ends(parts, _number_before(parts, "low"), place)
        elif name == "ci" or name.endswith("_ci"):
            own, stem = name == "ci", name.removesuffix("_ci")
            measured = stem if stem in parts and not own else before
            yield from _with_interval(parts, measured, part, place, own=own)
        elif _is_record(part) or isinstance(part, tuple | list):
            yield from _rows(part, _below(parts, name, part, place))
        if _is_number(part):
            before = name


def _inside(parts: Mapping[str, Any], place: _Place) -> _Place:
    """The place with what the record itself says: whom it is about, which of several, its n."""
    arm, judges, about = parts.get("arm"), parts.get("judges"), dict(place.about)
    labels = judges if isinstance(judges, tuple) and judges and isinstance(judges[0], str) else ()
    if isinstance(arm, Arm):
        about |= {
            "arm": parts.get("code"),
            "judge": arm.judge,
            "dataset": arm.dataset,
            "strategy": arm.strategy,
            "variant": str(arm.variant),
        }
    elif "judge" in parts or labels:
        code = parts.get("code", arm)
        about["judge"] = ", ".join(labels)
        own = {name: str(parts[name]) for name in _ABOUT[2:6] if name in parts}
        about |= {"arm": code, "strategy": "", "variant": ""} | own
    n = next((float(k) for k in map(parts.get, _COUNTS) if isinstance(k, int)), place.n)
    level = (*place.level, *_which(parts))
    return replace(place, about=about, level=level, n=n, labels=labels or place.labels)


def _which(parts: Mapping[str, Any]) -> Iterator[str]:
    """What tells a record from its like: the words and numbers that it begins with."""
    whom = _ABOUT if {"judge", "judges", "arm"} & parts.keys() else ("code",)
    for name, part in parts.items():
        if name in whom:
            continue
        if name == "ordering":
            yield " ".join(map(str, part))
        elif not isinstance(part, str | int) or isinstance(part, bool) or _is_count(name):
            return
        else:
            yield str(part)
        if name == "name":
            return


def _is_count(name: str) -> bool:
    return name in _COUNTS or name in ("reads", "candidates", "unit") or name.startswith(("n_", "code_"))


def _below(parts: Mapping[str, Any], name: str, part: Any, place: _Place) -> _Place:
    """The place of a part of a record; a list of arms or pairs adds no name of its own."""
    first = part if _is_record(part) else next(iter(part), None)
    listed = not _is_record(part) and _is_record(first)
    whole = listed and ({"judge", "arm", "judges"} & _record(first).keys())
    stem = name.removesuffix("_test").removeprefix("delta_")
    beside = next((key for key in (f"{name}_p_holm", f"{stem}_p_holm", "p_holm") if key in parts), None)
    adjusted = NAN if beside is None else parts[beside]
    if isinstance(adjusted, tuple) and (_is_record(part) or len(adjusted) != len(part)):
        adjusted = NAN  # of the record's other part: one beside each of a list of tests
    return replace(place, path=place.path if whole else (*place.path, name), p_holm=adjusted)


def _with_interval(
    parts: Mapping[str, Any], measured: str, ci: Any, place: _Place, *, own: bool
) -> Iterator[dict[str, Any]]:
    """The number ``measured`` with its interval, or several with theirs."""
    path = place.path if own and place.path else (*place.path, measured)
    measure, value = ".".join(path), parts[measured]
    if isinstance(ci, Interval):
        tested = own and "p" in parts
        p, adjusted = (parts["p"], parts.get("p_holm", place.p_holm)) if tested else (NAN, NAN)
        yield place.row(measure, value, ci.low, ci.high, p=p, p_holm=adjusted)
        return
    places = parts.get("positions", range(1, len(ci) + 1))
    for k, part in enumerate(ci):
        if isinstance(part, Interval):
            yield place.row(measure, value[k], part.low, part.high, at=str(places[k]))
        else:
            scores = parts["scores"]
            for m, cell in enumerate(part):
                at = f"score {scores[k]}, position {places[m]}"
                yield place.row(measure, value[k][m], cell.low, cell.high, at=at)


def _ends(parts: Mapping[str, Any], measured: str, place: _Place) -> Iterator[dict[str, Any]]:
    """A number, or a table of judges by judges, whose ends stand beside it as low and high."""
    measure, value = ".".join((*place.path, measured)), parts[measured]
    low, high = parts["low"], parts["high"]
    if not isinstance(value, np.ndarray):
        yield place.row(measure, value, low, high, note=_verdict(parts))
        return
    n = parts.get("n", np.full(value.shape, NAN))
    names = place.labels or tuple(map(str, range(1, len(value) + 1)))
    for i in range(len(value)):
        for k in range(i + 1, len(value)):
            row = replace(place, n=float(n[i, k]))
            at = f"{names[i]} · {names[k]}"
            yield row.row(measure, value[i, k], low[i, k], high[i, k], at=at)


def _verdict(parts: Mapping[str, Any]) -> str:
    """What an effect concludes, and with what interval."""
    if "verdict" not in parts or "confidence" not in parts:
        return ""
    return f"{parts['verdict']}: {100 * parts['confidence']:g} % interval, smallest {parts['sesoi']:g}"


def _number_before(parts: Mapping[str, Any], name: str) -> str:
    names = list(parts)
    return names[names.index(name) - 1]


def _is_number(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return bool(part.dtype.kind == "f")
    several = isinstance(part, tuple) and not isinstance(part, Interval) and len(part) > 0
    return isinstance(part, float) or (several and isinstance(part[0], float))
