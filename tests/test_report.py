"""The document, the text and the HTML file of runs of every kind, from the real pipeline."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jinja2 import UndefinedError

from rubriclab import __main__ as command
from rubriclab.findings.alignment import sweep
from rubriclab.findings.perturbation import PERTURBATION, perturbation_sentence
from rubriclab.findings.plain import plain
from rubriclab.findings.position import position, position_sentence
from rubriclab.findings.topics import Findings
from rubriclab.findings.topics import document as topics_document
from rubriclab.model import RunData
from rubriclab.report import Source, as_text, results, source
from rubriclab.report.charts import drawable, factors, sections
from rubriclab.report.definitions import TERMS, term
from rubriclab.report.methods import method_terms
from rubriclab.report.numbers import key_tables
from rubriclab.report.page import html_report
from rubriclab.report.source import Shown
from rubriclab.report.template import environment
from rubriclab.report.words import limits
from rubriclab.store import Store
from tests.simulated_runs import HOSTILE, data_of, run_into

KINDS = ("options", "sweep", "forms", "plain", "criteria", "pairs", "lists")


KNOWN: list[Findings] = []


def findings(data: RunData, *, seed: int = 0) -> Findings:
    """Of the same run with the usual seed the same findings, which keep what they worked out."""
    found = next((one for one in KNOWN if one.data is data and seed == 0), None)
    if found is None:
        found = Findings(data, seed=seed)
        KNOWN.append(found)
    return found


@pytest.fixture(scope="module", autouse=True)
def worked_out_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for module in ("rubriclab.report", "rubriclab.report.page"):
            patched.setattr(f"{module}.Findings", findings)
        yield
    KNOWN.clear()


@cache
def written(kind: str) -> str:
    return json.dumps(results(data_of(kind)), allow_nan=False)


def document(kind: str) -> dict[str, Any]:
    """The document after a trip through strict JSON: no NaN, no object of our own."""
    found: dict[str, Any] = json.loads(written(kind))
    return found


def is_interval(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_a_document_and_text(kind: str) -> None:
    found = document(kind)
    assert found["arms"]
    assert found["simulated"] is True
    text = as_text(found)
    assert text.startswith(f"Run {found['run']}\nSIMULATED")
    assert "nan" not in text.lower().split()
    assert all(arm["judge"] in text for arm in found["arms"])


def test_options_arm_has_every_finding_of_its_judge() -> None:
    found = document("options")
    arms = {(arm["judge"], arm["strategy"]): arm for arm in found["arms"]}
    assert len(arms) == 6
    arm = arms["leaning", "balanced"]
    assert {
        "judge",
        "dataset",
        "strategy",
        "n_options",
        "judgments",
        "position",
        "table",
        "bias_cost",
        "score_distribution",
        "within_item_sd",
        "noise_floor",
        "smallest_visible_effect",
    } <= set(arm)
    assert arm["judgments"]["total"] == arm["judgments"]["ok"] == 60 * 10
    assert {
        "n_items",
        "excluded",
        "pearson",
        "spearman",
        "raters",
        "ceiling",
        "reliability",
        "more_reads",
        "against_humans",
        "missing",
        "sensitivity",
    } <= set(arm["alignment"])
    assert arm["alignment"]["n_items"] == 60
    assert is_interval(arm["alignment"]["pearson"]["ci"])
    assert set(arm["alignment"]["raters"]) == {"alpha", "leave_one_out_r"}
    assert [point["k"] for point in arm["budget"]] == list(range(1, 11))
    assert sorted(entry["rank"] for entry in arm["ordering_rank"]) == list(range(1, 11))
    model = arm["choice_model"]
    assert [level["position"] for level in model["position"]] == [1, 2, 3, 4, 5]
    assert model["converged"] is True
    low, high = model["position"][0]["ci"]
    assert 0 < low < model["position"][0]["log_odds"] < high  # planted: a pull to the first


def test_planted_lean_is_told_apart_from_its_absence() -> None:
    arms = {(arm["judge"], arm["strategy"]): arm for arm in document("options")["arms"]}
    assert arms["leaning", "balanced"]["position"]["p_holm"] < 0.001
    assert arms["leaning", "balanced"]["shift"]["pulls"][0]["clear"]
    assert arms["even", "balanced"]["shift"]["mean"]["verdict"] != "effect"


def test_beside_the_arms_stand_comparisons_reversals_debiasing_and_advice() -> None:
    found = document("options")
    pairs = {(c["judge"], c["a"], c["b"]) for c in found["comparisons"]}
    assert ("leaning", "balanced", "fixed") in pairs
    assert {"judge", "dataset", "a", "b", "delta_r", "ci", "n_items"} <= set(found["comparisons"][0])
    assert {"kendall_tau", "top1_flip", "top1_flip_strict", "prompts", "excluded"} <= set(found["rank_reversal"][0])
    entry = next(e for e in found["debiasing"] if e["method"] == "debiased")
    assert {"judge", "dataset", "method", "calls_per_item", "distance_to_all", "r", "n_items"} <= set(entry)
    assert entry["calls_per_item"] == 1
    told = {advice["question"] for advice in found["advice"]}
    assert {"mean score", "single scores", "single order"} <= told
    assert all(advice["verdict"] in {"effect", "equivalent", "undecided"} for advice in found["advice"])
    assert {"mitigation", "ranking", "budget", "one call"} <= told


@pytest.mark.slow
def test_codes_of_findings_meet_their_arms_when_an_arm_is_empty() -> None:
    data = data_of("options")
    kept = data.judgments["arm"].to_numpy() != 1
    probabilities = None if data.probabilities is None else data.probabilities[kept]
    thinned = replace(data, judgments=data.judgments[kept].reset_index(drop=True), probabilities=probabilities)
    before, after = document("options")["arms"], results(thinned)["arms"]
    assert after[1]["alignment"] is None
    assert after[1]["choice_model"] is None
    assert after[1]["judgments"]["total"] == 0
    for code in (0, 2, 3, 4, 5):
        assert after[code]["choice_model"] == before[code]["choice_model"]
        assert after[code]["alignment"]["pearson"]["r"] == before[code]["alignment"]["pearson"]["r"]


def test_without_humans_or_several_candidates_the_document_says_why() -> None:
    found = document("plain")
    assert found["arms"][0]["alignment"] is None
    assert any("human rating" in warning for warning in found["warnings"])
    assert "  with humans" not in as_text(found)


def test_criteria_arms() -> None:
    found = document("criteria")
    arm = next(arm for arm in found["arms"] if arm["strategy"] == "balanced")
    assert (arm["calls"], arm["n_texts"], arm["n_criteria"]) == (12 * 8, 12, 4)
    assert arm["judgments"]["total"] == 12 * 8 * 4
    effect = arm["criteria"][0]
    assert {"criterion", "positions", "shift", "delta_pos", "friedman"} <= set(effect)
    assert {"statistic", "df", "p", "p_holm", "blocks", "excluded"} <= set(effect["friedman"])
    first = np.mean([effect["shift"][0] for effect in arm["criteria"]])
    assert first > 0.3  # planted: read first, scored higher
    assert arm["significant"]["corrected"] >= 1
    fixed = next(arm for arm in found["arms"] if arm["strategy"] == "fixed")
    assert fixed["significant"]["tested"] == 0
    assert "every criterion stood at one position only" in as_text(found)


def test_pairs_and_lists_have_judges_and_arms() -> None:
    found = document("pairs")
    assert [judge["judge"] for judge in found["judges"]] == ["first", "last", "even"]
    judge = found["judges"][0]
    for name in ("pc", "pf", "error", "rs"):
        assert is_interval(judge[f"{name}_ci"])
    assert {"pc_sd", "rs_sd", "pf_test", "usable", "by_task", "win_rates", "judgments"} <= set(judge)
    assert "points" not in judge
    assert judge["pf"] < 0 < found["judges"][1]["pf"]  # planted primacy and recency
    assert [arm["judgments"]["total"] for arm in found["arms"]] == [60 * 2 * 2] * 3
    assert found["agreement"][0]["judges"] == ["first", "last", "even"]
    assert found["predictors"]
    assert document("lists")["judges"][0]["n_positions"] == 3


def test_forms_of_the_prompt_appear_only_where_they_vary() -> None:
    assert "perturbations" in document("forms")
    assert "perturbations" not in document("options")
    assert "perturbation" not in Findings(data_of("pairs"))
    assert "Forms of the prompt" in as_text(document("forms"))


def test_results_are_the_same_for_the_same_seed() -> None:
    assert results(data_of("plain"), seed=4) == results(data_of("plain"), seed=4)


def test_sweeps_draw_only_lines_with_levels_in_order() -> None:
    data = data_of("sweep")
    assert factors(data.arms) == ("temperature",)
    table = sweep(data, "temperature")
    turned = replace(table, levels=tuple(reversed(table.levels)), points=tuple(reversed(table.points)))
    shown = drawable(turned)
    assert shown.levels == (0.2, 1.0)
    assert [(p.strategy, p.level) for p in shown.points] == [("balanced", 0.2), ("balanced", 1.0)]


# ---------------------------------------------------------------- the HTML file


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {
        kind: html_report([Source(data_of(kind), provenance={"revision": "abc<b>"})])
        for kind in ("options", "criteria", "pairs", "forms")
    }


@pytest.mark.parametrize("kind", ["options", "criteria", "pairs"])
def test_html_is_one_file_with_the_library_once(pages: dict[str, str], kind: str) -> None:
    page = pages[kind]
    outside = re.findall(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']([^"']+)""", page)
    assert outside == []
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    assert page.count('class="plot" role="group"') >= 4
    assert "simulated" in page
    assert "abc&lt;b&gt;" in page


def test_html_gives_every_chart_its_words(pages: dict[str, str]) -> None:
    labels = re.findall(r'class="plot" role="group" aria-label="([^"]*)"', pages["options"])
    assert all(len(unescape(label)) > 20 for label in labels)
    captions = re.findall(r"<figcaption dir=\"auto\">(.*?)</figcaption>", pages["options"])
    assert captions == labels


def test_html_escapes_what_others_wrote(pages: dict[str, str]) -> None:
    data = data_of("plain")
    hostile = '"><script>alert(1)</script>'
    arms = tuple(replace(arm, judge=hostile) for arm in data.arms)
    page = html_report([Source(replace(data, arms=arms, name=hostile))])
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert HOSTILE not in pages["options"]


def test_html_of_a_run_without_readable_judgments() -> None:
    data: RunData = data_of("plain")
    silent = data.judgments.assign(status=1, score=np.nan, position=-1)
    page = html_report([Source(replace(data, judgments=silent, probabilities=None))])
    assert "could be read" in page


@pytest.mark.slow
def test_command_writes_html_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "s.duckdb", tmp_path / "o.html"
    with Store(path) as store:
        run = run_into(store, "plain")["plain"]
    assert command.main(["results", run, "--store", str(path), "--html", str(out), "--json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed)["run"] == run
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert command.main(["results", run, "--store", str(path), "--html", str(tmp_path / "no" / "o.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert plain(float("nan")) is None


def test_html_allows_its_own_two_scripts_and_nothing_else(pages: dict[str, str]) -> None:
    page = pages["options"]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert len(scripts) == 2


def test_html_answers_before_it_shows(pages: dict[str, str]) -> None:
    page = pages["options"]
    heads = [unescape(h) for h in re.findall(r"<h2[^>]*><bdi>(.*?)</bdi></h2>", page)]
    assert heads[:3] == ["What was found", "What to do", "Key numbers"]
    assert heads.index("Read with care") < heads.index("How this was worked out")
    found = data_of("options")
    assert position_sentence(position(found).arms[0]) in unescape(page)
    assert "leaning, even" in page.split("</header>")[0], "simulated judges are named at the top"


def test_html_shows_the_forms_of_the_prompt(pages: dict[str, str]) -> None:
    page = unescape(pages["forms"])
    group = findings(data_of("forms")).of(PERTURBATION)
    assert perturbation_sentence(group.groups[0]) in page
    assert "Mean shift against the baseline: leaning · answers" in page
    assert group.groups[0].most_stable.sentence in page


def test_html_defines_what_it_shows_and_no_more(pages: dict[str, str]) -> None:
    assert term("bias_cost").definition in unescape(pages["options"])
    assert term("pc").definition not in unescape(pages["options"])
    assert term("pc").definition in unescape(pages["pairs"])
    assert term("friedman").definition in unescape(pages["criteria"])
    for key in ("noise_floor", "visible", "holm"):
        assert term(key).sentence in unescape(pages["options"])


@pytest.mark.slow
def test_every_term_of_a_report_is_in_the_glossary() -> None:
    known = {one.key for one in TERMS}
    for kind in KINDS:
        found = findings(data_of(kind))
        used = {key for topic in sections(found) for drawn in topic.drawn for key in drawn.terms}
        used |= {key for shown in key_tables(topics_document(found)) for key in shown.terms}
        assert used | method_terms(found.axes) <= known


@pytest.mark.slow
def test_a_topic_stands_in_the_contents_once() -> None:
    """“Causes and cures” stood there twice: its two halves are not beside each other."""
    titles = [one.title for one in sections(findings(data_of("options")))]
    assert "Causes and cures" in titles
    assert len(set(titles)) == len(titles)


def test_html_leaves_out_what_is_not_wanted() -> None:
    of = Source(data_of("plain"), provenance={"python": "9.9"})
    bare = html_report([of], parts=())
    assert "plotly.js" not in bare
    assert "script-src 'none'" in bare
    assert "How this was worked out" not in bare
    assert "9.9" not in bare
    assert "Read with care" in bare
    assert len(bare) < 60_000


@pytest.mark.slow
def test_html_of_several_runs_begins_with_a_comparison() -> None:
    runs = [Source(data_of(kind)) for kind in ("options", "plain", "criteria")]
    page = unescape(html_report(runs, title="Three of them"))
    assert "<title>Three of them · rubriclab</title>" in page
    heads = re.findall(r"<h2[^>]*><bdi>(.*?)</bdi></h2>", page)
    assert heads[:4] == ["The comparison", "Options", "Plain", "Criteria"]
    first = page.index("The comparison</bdi>")
    table = page[first : page.index("</table>", first)]
    assert table.count('<th scope="row">') == 6 + 2, "all arms of both runs of score options"
    assert "even (simulated) · Plain less even (simulated) · Options" in page, "a difference against the first run"
    assert len(re.findall(r"plotly\.js v\d", page)) == 1


def test_two_runs_of_one_name_are_told_apart() -> None:
    data = data_of("plain")
    page = html_report([Source(data), Source(replace(data, run="plain-other"))], parts=())
    assert f"Plain ({data.run})" in page
    assert "Plain (plain-other)" in page


def test_limits_say_what_a_run_cannot() -> None:
    plain_run = Findings(data_of("plain"))
    told = " ".join(limits(plain_run, Source(plain_run.data, planned=900, done=50)))
    assert "50 of 900 calls" in told
    assert "No item has a human rating" in told
    assert "too few for an interval" in told
    silent = plain_run.data.judgments.assign(status=3, score=np.nan, position=-1)
    cut = Findings(replace(plain_run.data, judgments=silent, probabilities=None))
    assert "cut off" in " ".join(limits(cut, Source(cut.data)))


def test_text_of_others_is_made_visible() -> None:
    template = environment().from_string('<p title="{{ text }}">{{ text }}</p>')

    def shown(text: str) -> str:
        inside = template.render(text=text).removeprefix('<p title="').removesuffix("</p>")
        attribute, between = inside.split('">')
        assert attribute == between
        return between

    assert shown("<b>&\"'") == "&lt;b&gt;&amp;&#34;&#39;"
    assert shown("a\x00\x1b\x7f\x85b") == "a␀␛␡\ufffdb"
    assert shown("\u202eabc\u2066 \ud800") == "\ufffdabc\ufffd \ufffd"
    assert shown("line\nline\ttab") == "line\nline\ttab"
    assert shown("{{ 7 * 7 }}") == "{{ 7 * 7 }}", "text is never a template"


def test_a_name_that_the_template_does_not_get_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()


def test_a_text_word_for_word_keeps_its_line_ends() -> None:
    of = Source(data_of("plain"), shown=Shown(None, "arm", "1", "1 2", (("user", "\n\n  a\n"),), " b "))
    page = html_report([of], parts=("shown",))
    # HTML drops the first line end after <pre>; the text's own come after it.
    assert '<pre dir="auto" tabindex="0" role="group" aria-label="Sent as user">\n\n\n  a\n</pre>' in page
    assert "\n b </pre>" in page


def test_report_of_a_stored_run_shows_rubric_prompt_and_reply() -> None:
    with Store(":memory:") as store:
        run = run_into(store, "criteria")["criteria"]
        of = source(store, run)
        assert of.shown is not None
        assert of.shown.messages
        assert of.shown.reply
        page = unescape(html_report([of], parts=("shown",)))
        assert of.shown.messages[-1][1] in page
        assert page.count("Score options in their canonical order</caption>") == 4
        copy = store.import_run(replace(of.data, name="copy"), provenance={})
        assert source(store, copy).shown is None
        assert "made elsewhere" in html_report([source(store, copy)], parts=("shown",))


# ---------------------------------------------------------------- the command


@pytest.mark.slow
def test_report_command_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page, bundle = tmp_path / "s.duckdb", tmp_path / "o.html", tmp_path / "o.zip"
    with Store(path) as store:
        runs = run_into(store, "plain", "forms")
    asked = ["report", runs["plain"][:8], runs["forms"], "--store", str(path), "--title", "Both"]
    assert command.main([*asked, "--out", str(page), "--out", str(bundle), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runs"] == [runs["plain"], runs["forms"]]
    assert told["files"] == {str(page): page.stat().st_size, str(bundle): bundle.stat().st_size}
    assert "<title>Both · rubriclab</title>" in page.read_text(encoding="utf-8")
    other = tmp_path / "other.duckdb"
    taken = ["import", str(bundle), "--kind", "run", "--store", str(other), "--json"]
    assert command.main(taken) == 0
    assert [one["run"] for one in json.loads(capsys.readouterr().out)] == told["runs"]


def test_report_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.duckdb"
    with Store(path) as store:
        run = run_into(store, "plain")["plain"]
    with pytest.raises(SystemExit) as ended:
        command.main(["report", run, "--store", str(path), "--out", "o.pdf"])
    assert ended.value.code == 2
    assert "should end in .html or .zip" in capsys.readouterr().err
    assert command.main(["report", "nothing", "--store", str(path), "--out", "o.html"]) == 1
    assert "has no run “nothing”" in capsys.readouterr().err
    nowhere = str(tmp_path / "no" / "o.zip")
    assert command.main(["report", run, "--store", str(path), "--out", nowhere]) == 1
    assert "cannot be written" in capsys.readouterr().err
