"""The command that lists single judgments: what stands behind a number of a run."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import EXIT_OK, command, existing_store, positive, tell
from rubriclab.model import STATUSES, Arm, LabError
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.store import Offered

LONGEST = 60
"""Characters of a reply in a line of text; ``--json`` gives all of it."""


def add_judgments(parsers: Any) -> None:
    about = "List the judgments behind a number of a run: what was shown, chosen and written."
    made = command(parsers, "judgments", judgments, about)
    made.add_argument("run", metavar="RUN", help="a run's name, the beginning of it, or its title")
    made.add_argument("--arm", type=int, metavar="N", help="judge and strategy by number, as this command lists them")
    made.add_argument("--score", type=int, metavar="S")
    made.add_argument("--position", type=int, metavar="P", help="1 is the first shown, 0 a tie")
    made.add_argument("--item", metavar="ID", help="an item's name")
    made.add_argument("--criterion", metavar="NAME")
    made.add_argument("--ordering", metavar="ORDER", help='what was shown, from the first on: "1 2 3 4 5"')
    made.add_argument("--status", choices=(*STATUSES, "unread"), help="unread: all but ok")
    made.add_argument("--limit", type=positive, default=50, metavar="N", help="default: 50")


def judgments(arguments: argparse.Namespace) -> int:
    from rubriclab.store import Condition

    with existing_store(arguments.store) as store:
        run = store.run(arguments.run).run
        offered = store.offered(run)
        asked = {
            name: getattr(arguments, name) for name in ("arm", "score", "position", "criterion", "ordering", "status")
        } | {"item_id": arguments.item}
        _check(asked, offered, store.items_behind(run, Condition(item_id=arguments.item), limit=1))
        behind = store.items_behind(run, Condition(**asked), limit=1)
        frame = store.judgments_behind(run, limit=arguments.limit, **asked)
    rows = [_row(row, offered) for row in frame.to_dict("records")]
    document = {
        "run": run,
        "judgments": behind.judgments,
        "items": behind.items,
        "arms": [_named(arm) for arm in offered.arms],
        "listed": rows,
    }
    tell(document if arguments.json else _as_text(document))
    return EXIT_OK


def _check(asked: Mapping[str, Any], offered: Offered, item: Any) -> None:
    """Raises LabError for a value that no judgment of the run has, with those that there are."""
    known: dict[str, Sequence[Any]] = {
        "arm": offered.used,
        "score": offered.scores,
        "position": offered.positions,
        "criterion": offered.criteria,
        "ordering": offered.orderings,
    }
    for name, values in known.items():
        if asked[name] is not None and asked[name] not in values:
            there = [f"{code} ({_named(offered.arms[code])})" for code in values] if name == "arm" else values
            listed = ", ".join(map(str, there[:12])) or "none"
            more = f" and {len(values) - 12} more" if len(values) > 12 else ""
            raise LabError(f"No judgment of this run has the {name} “{asked[name]}”. There are: {listed}{more}.")
    if asked["item_id"] is not None and not item.items:
        raise LabError(f"No judgment of this run is about an item named “{asked['item_id']}”.")


def _named(arm: Arm) -> str:
    return f"{arm} (simulated)" if arm.simulated else str(arm)


def _quoted(text: str) -> str:
    """Text of unknown origin on one line of a terminal: control characters are written out."""
    return json.dumps(text, ensure_ascii=False)


def _row(row: Mapping[Any, Any], offered: Offered) -> dict[str, Any]:
    """A judgment as plain values; what was not told is null."""
    score, expected = _number(row["score"]), _number(row["expected"])
    shown = json.loads(row["shown"])
    chances = [_number(row[f"p{i + 1}"]) for i in range(min(len(shown), 10))]
    return {
        "call": int(row["call"]),
        "arm": int(row["arm"]),
        "judge": offered.arms[row["arm"]].judge,
        "strategy": offered.arms[row["arm"]].strategy,
        "item": row["item_id"],
        "criterion": row["criterion"],
        "shown": shown,
        "status": row["status"],
        "score": None if score is None else int(score),
        "position": int(row["position"]) if row["position"] >= 0 else None,
        "expected": expected,
        "probabilities": chances if any(p is not None for p in chances) else None,
        "reply": row["text"],
        "error": row["error"],
        "note": row["note"],
        "key": row["key"],
    }


def _number(value: Any) -> float | None:
    """The store keeps 32 bits: more digits than these would be made up."""
    return round(float(value), 6) if value is not None and math.isfinite(value) else None


def _as_text(document: Mapping[str, Any]) -> str:
    lines = [f"{many(document['judgments'], 'judgment')} of {many(document['items'], 'item')}"]
    lines += [f"arm {code}: {_quoted(name)[1:-1]}" for code, name in enumerate(document["arms"])]
    lines.append("")
    for row in document["listed"]:
        place = "a tie" if row["position"] == 0 else f"position {row['position']}"
        chosen = "" if row["score"] is None else f"score {row['score']} at "
        came = f"{chosen}{place}" if row["status"] == "ok" else row["status"]
        words = _quoted(row["reply"] or row["error"] or "")
        if len(words) > LONGEST:
            words = f"{words[:LONGEST]}…"
        if row["note"]:
            words += f" · {_quoted(row['note'])[1:-1]}"
        order = _quoted(" ".join(map(str, row["shown"])))[1:-1]
        lines.append(f"arm {row['arm']} · {_quoted(row['item'])} · shown {order} · {came} · {words}")
    left = document["judgments"] - len(document["listed"])
    if left > 0:
        lines.append(f"… and {left:,} more: --limit lists them.")
    return "\n".join(lines)
