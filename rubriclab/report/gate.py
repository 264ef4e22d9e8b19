"""What a gate decided, from one structure: as JSON, as text, as Markdown and as JUnit XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from rubriclab.findings.gate import Decision, GateResult
from rubriclab.findings.plain import plain
from rubriclab.model.gate_limits import GateLimits
from rubriclab.model.language import Counted, figure, msg, tr
from rubriclab.model.wording import beyond_noise, interval, known, many, number

Undecided = Literal["fail", "pass", "skip"]
UNDECIDED: tuple[Undecided, ...] = ("skip", "fail", "pass")
"""What an open condition is to a reader of JUnit: skipped, an error, or no news."""
MARKS = {"passes": "✓", "fails": "✗", "cannot tell": "?"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_json(result: GateResult) -> dict[str, Any]:
    """The whole as plain values; ``decisions`` with the key of the condition and both bounds."""
    return {
        "run": result.run,
        "name": result.name,
        "outcome": result.outcome,
        "unanswered": result.unanswered,
        "limits": result.limits.given(),
        "judges": result.judges,
        "decisions": [_one_json(one) for one in result.decisions],
        "notes": list(result.notes),
    }


def _one_json(one: Decision) -> dict[str, Any]:
    body: dict[str, Any] = plain(one)
    condition = body.pop("condition")
    return {"condition": condition["key"], "title": one.title, "least": one.condition.least, **body}


# ---------------------------------------------------------------- in words


def number_words(one: Decision) -> str:
    if not known(one.estimate):
        return tr("not known")
    if one.condition.beyond_noise:
        return beyond_noise(one.estimate, ".3f", tr(one.condition.unit))
    return f"{number(one.estimate, '.3f')} {tr(one.condition.unit)}".rstrip()


def bounds_words(one: Decision) -> str:
    """Both one-sided bounds; of a size that has a sign, of the size, which is given where the sign is below 0."""
    ends = interval((one.low, one.high), ".3f", brackets=True)
    if not (one.condition.sized and one.low == one.low):
        return ends
    if one.estimate < 0:
        return tr("size {size} {ends}", size=number(-one.estimate, ".3f"), ends=ends)
    return tr("size {ends}", ends=ends)


def limit_words(one: Decision) -> str:
    limit = f"{figure(one.limit, 'g')} {tr(one.condition.unit)}".rstrip()
    return tr("at least {limit}", limit=limit) if one.condition.least else tr("at most {limit}", limit=limit)


def reason(one: Decision) -> str:
    """Why it is open and what would tell; empty where it is decided."""
    return "; ".join(filter(None, (one.why, one.tell)))


def headline(result: GateResult) -> str:
    """The whole in one sentence."""
    return tr(
        "{outcome}: of {conditions} {passing} {passing:passes|pass}, {failing} {failing:fails|fail}, {open} cannot tell.",
        outcome=tr(_WHOLE[result.outcome]),
        conditions=many(len(result.decisions), "condition"),
        passing=_count(result, "passes"),
        failing=_count(result, "fails"),
        open=_count(result, "cannot tell"),
    )


_WHOLE = {"passes": msg("The gate passes"), "fails": msg("The gate fails"), "cannot tell": msg("The gate cannot tell")}


def _count(result: GateResult, outcome: str) -> Counted:
    n = sum(one.outcome == outcome for one in result.decisions)
    return Counted(n, str(n))


def bounds_note(result: GateResult) -> str:
    """How sure the bounds are."""
    sure = sorted({round(100 * one.fail_confidence, 2) for one in result.decisions})
    ends = [figure(value, "g") for value in dict.fromkeys((sure[0], sure[-1]))] if sure else [""]
    return tr(
        "Passes: the 95 % interval lies inside the limit. Fails: the {others} % interval lies beyond it (5 % shared out "
        "over a judge's conditions). A judge beyond a limit passes, and one that keeps all limits fails, in at most "
        "5 % of runs each.",
        others=ends[0] if len(ends) == 1 else tr("{low} to {high}", low=ends[0], high=ends[1]),
    )


def gate_text(result: GateResult) -> str:
    """A table for a terminal, judge by judge."""
    lines = [headline(result)]
    for about in dict.fromkeys(one.about for one in result.decisions):
        lines += ["", about]
        for one in result.decisions:
            if one.about == about:
                shown = f"{number_words(one)} {bounds_words(one)}"
                lines.append(f"  {one.outcome:<12}{one.title:<44}{shown:<40}{limit_words(one)}")
                if reason(one):
                    lines.append(f"{'':14}{reason(one)}")
    return "\n".join([*lines, "", bounds_note(result), *result.notes])


def gate_markdown(result: GateResult) -> str:
    """A summary with its table, for ``$GITHUB_STEP_SUMMARY``; names are shown as they are, never as markup."""
    head = "| | Judge | Condition | Estimate | Bounds | Limit | |\n|---|---|---|---|---|---|---|"
    rows = [
        f"| {MARKS[one.outcome]} {one.outcome} | {_md(one.about)} | {_md(one.title)} | {number_words(one)} | "
        f"{_md(bounds_words(one))} | {limit_words(one)} | {_md(reason(one))} |"
        for one in result.decisions
    ]
    title = f"## Judge gate: {MARKS[result.outcome]} {result.outcome}"
    about = f"Run {_md(result.run)} “{_md(result.name)}”. {_md(headline(result))}"
    notes = [f"- {_md(note)}" for note in (bounds_note(result), *result.notes)]
    return "\n".join([title, "", about, "", head, *rows, "", *notes, ""])


def _md(text: str) -> str:
    """Text of unknown origin in one cell of a table."""
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", text)
    # Addresses and names become links by themselves, escaped or not; a word joiner keeps them text.
    return re.sub(r"(://|@|www(?=\.))", "\\1\u2060", text)


# ---------------------------------------------------------------- JUnit


def gate_junit(result: GateResult, *, at: datetime, undecided: Undecided = "skip") -> str:
    """One suite a judge, one case a condition in a setting; valid under the schema of Ant, whose form CI servers read.

    A condition that fails is a failure; one that is open is skipped, an error or nothing, as ``undecided``
    says. ``at``: when it was decided.
    """
    suites = ET.Element("testsuites")
    for place, (judge, outcome) in enumerate(result.judges.items()):
        mine = [one for one in result.decisions if one.judge == judge]
        suite = _suite(suites, f"rubriclab gate: {judge}", mine, at, undecided)
        suite.set("id", str(place))
        properties = ET.SubElement(suite, "properties")
        for name, value in (("run", result.run), ("study", result.name), ("outcome", outcome)):
            ET.SubElement(properties, "property", name=name, value=_xml(value))
        for one in mine:
            _case(suite, one, undecided)
        ET.SubElement(suite, "system-out").text = _xml("\n".join(_lines(result, mine)))
        ET.SubElement(suite, "system-err")
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _suite(suites: ET.Element, name: str, mine: list[Decision], at: datetime, undecided: Undecided) -> ET.Element:
    open_ones = sum(one.outcome == "cannot tell" for one in mine)
    counts = {
        "tests": len(mine),
        "failures": sum(one.outcome == "fails" for one in mine),
        "errors": open_ones if undecided == "fail" else 0,
        "skipped": open_ones if undecided == "skip" else 0,
    }
    about = {"name": _xml(name), "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S"), "hostname": "localhost", "time": "0"}
    about["package"] = "rubriclab.gate"
    return ET.SubElement(suites, "testsuite", {**about, **{key: str(n) for key, n in counts.items()}})


def _case(suite: ET.Element, one: Decision, undecided: Undecided) -> None:
    name = " · ".join(filter(None, (f"{one.title}, {limit_words(one)}", one.dataset, one.variant)))
    case = ET.SubElement(suite, "testcase", name=_xml(name), classname=_xml(f"rubriclab.gate.{one.judge}"), time="0")
    text = _xml(f"{number_words(one)} {bounds_words(one)}, limit {limit_words(one)}")
    if one.outcome == "fails":
        ET.SubElement(case, "failure", message=text, type="fails").text = text
    elif one.outcome == "cannot tell" and undecided != "pass":
        why = _xml(reason(one) or "the bounds hold the limit between them")
        part = ET.SubElement(case, "error" if undecided == "fail" else "skipped", message=f"cannot tell: {why}")
        if undecided == "fail":
            part.set("type", "cannot tell")
            part.text = text


def _lines(result: GateResult, mine: list[Decision]) -> Iterator[str]:
    several = len({one.about for one in mine}) > 1
    for one in mine:
        title = f"{one.about}: {one.title}" if several else one.title
        yield f"{one.outcome}: {title}: {number_words(one)} {bounds_words(one)}, {limit_words(one)}. {reason(one)}"
    yield bounds_note(result)
    yield from result.notes


def _xml(text: str) -> str:
    """Without the characters that XML has no way to write."""
    return _NOT_XML.sub("�", text)


# ---------------------------------------------------------------- to copy


def table_toml(limits: GateLimits) -> str:
    """The limits as a table of a study file."""
    return "\n".join(["[gate]", *(f"{key} = {value:g}" for key, value in limits.given().items())]) + "\n"


def workflow() -> str:
    """A GitHub workflow that runs a gate, as docs/gate-workflow.yml has it."""
    return Path(__file__).with_name("gate-workflow.yml").read_text(encoding="utf-8")
