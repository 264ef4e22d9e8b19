"""One self-contained HTML file of a run: words, numbers and interactive charts, no network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from rubriclab.figures.style import Chart
from rubriclab.model import RunData
from rubriclab.report.charts import CONFOUNDED, charts
from rubriclab.report.document import document
from rubriclab.report.gather import Gathered
from rubriclab.report.text import as_text

STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1.25rem 4rem; background: #fbfaf7;
  color: #1d232b; font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.3rem;
  border-bottom: 1px solid #dcd7cb; padding-bottom: .3rem; } h3 { font-size: 1.02rem; margin: 1.4rem 0 .2rem; }
p.small, figcaption { color: #565f6b; font-size: .87rem; overflow-wrap: anywhere; }
.simulated, .note { border-left: 4px solid #c27a00; background: #fbf0da; padding: .6rem .9rem; margin: 1rem 0; }
.note { border-color: #8a8f98; background: #f1eee7; margin: .5rem 0; }
figure { margin: 0 0 1.5rem; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.wide { overflow-x: auto; } th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #e6e1d6;
  vertical-align: top; } td { font-variant-numeric: tabular-nums; }
pre { background: #f1eee7; padding: .9rem; overflow-x: auto; font-size: .8rem; }
dt { font-weight: 600; margin-top: .6rem; } dt::first-letter { text-transform: uppercase; } dd { margin: 0 0 .3rem; }
"""


def html_report(
    data: RunData, *, provenance: Mapping[str, Any] | None = None, seed: int = 0
) -> str:
    """Everything a run shows as one HTML document that needs no network to open.

    plotly.js is embedded once. ``provenance``: what the run was made with, shown at the end.
    All names and texts are escaped.
    """
    found = Gathered(data, seed)
    body = document(found)
    parts = [*_head(body), *_advice(body), *_numbers(body), *_warnings(body), *_figures(found)]
    text = escape(as_text(body))
    parts.append(
        f"<h2>All numbers as text</h2><details><summary>Show</summary><pre>{text}</pre></details>"
    )
    parts.extend(_made_with(provenance, seed))
    title = escape(f"{data.name} · rubriclab")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>"
    )


def _head(body: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h1>{escape(body['name'])}</h1>"
    total = sum(arm["judgments"]["total"] for arm in body["arms"])
    read = sum(arm["judgments"]["ok"] for arm in body["arms"])
    yield (
        f'<p class="small">Run {escape(body["run"])} · {read:,} of {total:,} judgments could be '
        f"read · {len(body['arms'])} arm(s)</p>"
    )
    if body["simulated"]:
        yield (
            '<p class="simulated" role="note">This run has a <strong>simulated</strong> judge: its '
            "numbers show how the method works, not how any model behaves.</p>"
        )


def _advice(body: Mapping[str, Any]) -> Iterator[str]:
    given = [one for one in body.get("recommendation", []) if one["advice"]]
    if not given:
        return
    yield "<h2>In words</h2>"
    for one in given:
        name = " · ".join(part for part in (one["judge"], one["dataset"], one["variant"]) if part)
        yield f"<h3>{escape(name)}</h3><dl>"
        for advice in one["advice"]:
            yield f"<dt>{escape(advice['question'])}</dt><dd>{escape(advice['answer'])}</dd>"
        yield "</dl>"


# ---------------------------------------------------------------- key numbers


def _numbers(body: Mapping[str, Any]) -> Iterator[str]:
    """One line an arm (a judge, for pairs and lists) with the numbers its page leads with."""
    yield "<h2>Key numbers</h2>"
    if "judges" in body:
        yield _table(("Judge", "PC", "PF", "RS", "Error", "Comparisons"), [
            (_name(one), _with_ci(one["pc"], one["pc_ci"]), _with_ci(one["pf"], one["pf_ci"], "+.3f"),
             _with_ci(one["rs"], one["rs_ci"]), _number(one["error"], ".3f"),
             f"{one['usable']['series']:,}")
            for one in body["judges"]
        ])  # fmt: skip
    options = [arm for arm in body["arms"] if "position" in arm]
    if options:
        yield _table(("Arm", "Verdict", "V", "Bias Cost", "r with humans", "Items"), [
            (_name(arm), arm["position"]["verdict"],
             _v(arm["position"]),
             _number(arm["bias_cost"]["default"], ".1f"), _r(arm), f"{arm['n_items']:,}")
            for arm in options
        ])  # fmt: skip
    ordered = [arm for arm in body["arms"] if "n_criteria" in arm]
    if ordered:
        yield _table(("Arm", "Criteria moved", "Δ position, mean", "max", "r with humans", "Texts"), [
            (_name(arm), f"{arm['significant']['corrected']} of {arm['significant']['tested']}",
             _number(arm["delta_pos"]["mean"], ".2f"), _number(arm["delta_pos"]["max"], ".2f"),
             _r(arm), f"{arm['n_texts']:,}")
            for arm in ordered
        ])  # fmt: skip
    yield '<p class="small">Brackets hold 95 % intervals; they resample items, texts or questions.</p>'


def _v(where: Mapping[str, Any]) -> str:
    """V with its interval; nothing for one fixed order, whose V is that of the scores given."""
    if where["verdict"] == CONFOUNDED:
        return "–"
    return _with_ci(where["cramers_v"], where["cramers_v_ci"])


def _r(arm: Mapping[str, Any]) -> str:
    found = arm["alignment"]
    return (
        "no ratings" if found is None else _with_ci(found["pearson"]["r"], found["pearson"]["ci"])
    )


def _name(one: Mapping[str, Any]) -> str:
    variant = one["variant"]
    if isinstance(variant, Mapping):
        variant = ", ".join(f"{name}={level}" for name, level in variant.items())
    return " · ".join(
        part for part in (one["judge"], one["dataset"], one["strategy"], variant) if part
    )


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _with_ci(value: float | None, ci: list[float | None], form: str = ".3f") -> str:
    low, high = ci
    ends = "" if low is None or high is None else f" [{low:{form}}, {high:{form}}]"
    return _number(value, form) + ends


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _warnings(body: Mapping[str, Any]) -> Iterator[str]:
    """What limits the findings, each said once with the arms it is about."""
    about: dict[str, list[str]] = {text: [] for text in body["warnings"]}
    for one in body.get("judges", body["arms"]):
        for text in one.get("warnings", ()):
            about.setdefault(text, []).append(_name(one))
    if about:
        yield "<h2>Read with care</h2>"
    for text, arms in about.items():
        where = f'<br><span class="small">{escape("; ".join(arms))}</span>' if arms else ""
        yield f'<p class="note">{escape(text)}{where}</p>'


# ---------------------------------------------------------------- charts and provenance


def _figures(found: Gathered) -> Iterator[str]:
    library: bool = True
    for heading, drawn in charts(found):
        if drawn:
            yield f"<h2>{escape(heading)}</h2>"
        for caption, chart in drawn:
            yield _figure(caption, chart, library)
            library = False


def _figure(caption: str, chart: Chart, library: bool) -> str:
    drawn = chart.figure.to_html(
        full_html=False, include_plotlyjs=library,
        config={"displaylogo": False, "responsive": True},
    )  # fmt: skip
    return (
        f'<h3>{escape(caption)}</h3><figure><div role="img" aria-label="{escape(chart.alt)}">{drawn}'
        f"</div><figcaption>{escape(chart.alt)}</figcaption></figure>"
    )


def _made_with(provenance: Mapping[str, Any] | None, seed: int) -> Iterator[str]:
    yield f'<h2>Made with</h2><p class="small">Findings computed with seed {seed}.</p>'
    if provenance:
        shown = json.dumps(provenance, ensure_ascii=False, indent=1, default=str)
        yield f"<pre>{escape(shown)}</pre>"
