"""Count how a corpus of replies is parsed: right, unread or misread, by kind, and at what cost.

    python -m benchmarks replies FILE.jsonl [--show misread|unread|all]

A line of the corpus has ``rule`` (score, bare, feedback, criteria, batch, pair, list), ``scores``
(the labels), ``reply`` (or ``message``, as a server sends it), ``finish_reason``, ``expect`` (a
label, "unread", or {name: score}), and where they apply ``names``, ``tie``, ``brief``. Misread is
another score than the expected one, or one where none is.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rubriclab.judges.reply import read_completion
from rubriclab.model.ending import why_not_whole
from rubriclab.study.reading import Reading, read_each, read_one

LONGEST_HOSTILE = 100_000
HOSTILE = (
    "score: ",
    "3 ",
    "1. ",
    "the score is a ",
    "I give it a ",
    '{"a": ',
    "[[A]] ",
    "[RESULT] ",
    "| 3 ",
    "final overall my ",
    "<score>",
    "((((",
    "Wait, 3, ",
    "Clarity: ",
)
"""What a reply of 100,000 characters repeats: beginnings of forms that never end."""


def read_case(case: dict[str, Any]) -> tuple[Any, str]:
    """Return (a label, None, or {name: score}; why it is unread) of one line of a corpus."""
    several = case["rule"] in ("criteria", "batch")
    text, finish = case.get("reply", ""), case.get("finish_reason")
    if "message" in case:
        choice = {"message": case["message"], "finish_reason": finish}
        reply = read_completion(json.dumps({"choices": [choice]}).encode(), {})
        text, finish = reply.text, reply.finish
    if why := why_not_whole(finish):
        return ({} if several else None), why
    labels = tuple(case["scores"])
    if several:
        readings = read_each(text, labels, tuple(case["names"]))
        given = {name: each.label for name, each in readings.items() if each.label is not None}
        return given, "; ".join(dict.fromkeys(each.why for each in readings.values() if each.why))
    reading: Reading = read_one(
        text,
        labels,
        case["rule"],
        names=case.get("names", ()),
        tie=case.get("tie", False),
        brief=case.get("brief", True),
    )
    return reading.label, reading.why


def outcome(expected: Any, given: Any) -> str:
    """Return right, unread or misread."""
    if isinstance(expected, dict):
        wanted = {name: str(score) for name, score in expected.items()}
        if any(wanted.get(name) != score for name, score in given.items()):
            return "misread"
        return "right" if given == wanted else "unread"
    if given is None:
        return "right" if expected == "unread" else "unread"
    return "right" if given == str(expected) else "misread"


def main(arguments: list[str] | None = None) -> None:
    """Print the table of a corpus, and the cost of a short form, of prose and of hostile text."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks replies", description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--show", default="", choices=["", "misread", "unread", "all"])
    given = parser.parse_args(arguments)
    cases = [json.loads(line) for line in given.corpus.read_text("utf-8").splitlines()]
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        try:
            got, why = read_case(case)
        except Exception as fault:  # a reader that fails has not read: count it and show it
            got, why = None, f"FAILED: {type(fault).__name__}: {fault}"
        seen = outcome(case["expect"], got or ({} if isinstance(case["expect"], dict) else got))
        kinds[case.get("family", case.get("kind", case["rule"]))][seen] += 1
        if given.show == "all" or (given.show and given.show == seen):
            said = json.dumps(case.get("reply", case.get("message")), ensure_ascii=False)
            print(f"{seen} {case['rule']} {said} expected {case['expect']} got {got} | {why}")
    total = sum(kinds.values(), Counter[str]())
    print(f"{'kind':28}{'right':>8}{'unread':>8}{'misread':>9}")
    for kind, seen in sorted(kinds.items()):
        print(f"{kind:28}{seen['right']:>8}{seen['unread']:>8}{seen['misread']:>9}")
    readable = sum(case["expect"] not in ("unread", {}) for case in cases)
    share = total["unread"] / max(readable, 1)
    print(
        f"{len(cases):,} replies, {readable:,} of them readable: {total['right']:,} right, "
        f"{total['unread']:,} unread ({share:.1%} of the readable), {total['misread']:,} misread"
    )
    for words, milliseconds in costs().items():
        print(f"{words}: {milliseconds:.3f} ms of CPU")


def costs() -> dict[str, float]:
    """Return milliseconds of CPU a reading takes: of short forms, of prose, and of the worst of
    HOSTILE.
    """
    five = ("1", "2", "3", "4", "5")
    sentence = (
        "The reply names {} of the 3 causes, and its tone is kind; it could say more about dates. "
    )
    prose = [
        f"Feedback {k}: "
        + "".join(sentence.format(n) for n in range(12))
        + f"\n\nScore: {1 + k % 5}"
        for k in range(40)
    ]
    short = [
        f"{dress}{n}{end}" for dress in ("", "Score: ", "**") for n in five for end in ("", ".")
    ]
    read_one("Score: 4", five)  # the grammar is made once
    read_each("Clarity: 4", five, ("Clarity", "Tone"))
    out = {
        "a short form": _timed(
            lambda: [read_one(f"{text} " + "\n" * k, five) for k, text in enumerate(short)],
            len(short),
        ),
        "prose of 1,100 characters": _timed(
            lambda: [read_one(text, five) for text in prose], len(prose)
        ),
    }
    worst, slowest = "", 0.0
    for piece in HOSTILE:
        text = "5" + piece * (LONGEST_HOSTILE // len(piece)) + "x"
        for read in (
            lambda text=text: read_one(text, five),
            lambda text=text: read_one(text, five, "feedback"),
            lambda text=text: read_one(text, ("A", "B", "C"), "pair", tie=True),
            lambda text=text: read_each(text, five, ("Clarity", "Tone")),
        ):
            took = _timed(read, 1)
            if took > slowest:
                worst, slowest = piece, took
    out[f"100,000 hostile characters (worst: {worst!r})"] = slowest
    return out


def _timed(work: Callable[[], object], units: int) -> float:
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started) / units
