"""Sentences of the answer: every combination of verdicts, of signs and of states; none contradicts
another.
"""

import itertools
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.stopping import asked_in_batches
from rubriclab.core.differences import differences, paired
from rubriclab.core.estimate import Estimate
from rubriclab.core.permutation import Gate
from rubriclab.core.topic import Findings, Row
from rubriclab.core.verdict import (
    MeanVerdict,
    PositionVerdict,
    SingleVerdict,
    Sized,
    Verdict,
    Verdicts,
)
from rubriclab.exports.report import method_lines, report_html
from rubriclab.exports.terminal import findings_text
from rubriclab.figures.pictures import main_picture, share_bars
from rubriclab.figures.tab_pictures import difference_forest
from rubriclab.model.judgment import Condition
from rubriclab.model.passing import PassRate
from rubriclab.words.answer import TITLES, Answer, answers, compose, several_tests
from rubriclab.words.answerable import answerable
from rubriclab.words.contrasts import compare_answer
from rubriclab.words.phrases import MINUS, NBSP
from rubriclab.words.subject import (
    IN_POINTS,
    MEASURE_OF,
    ByPosition,
    Subject,
    settings,
    subject_of,
    subjects_of_orders,
)
from tests.tables import NAMES, ORDERS, choose, criteria, findings, options
from tests.words import made

WORDS = ("effect", "equivalent", "undecided")
ENDS = {"effect": (0.10, 0.20), "equivalent": (0.0, 0.03), "undecided": (0.0, 0.09)}
MEAN_ENDS = {"effect": (0.30, 0.60), "equivalent": (0.0, 0.12), "undecided": (0.0, 0.40)}
COMBINATIONS = list(itertools.product(WORDS, WORDS, WORDS, (0.001, 0.4)))


RECORDS = {"positions": PositionVerdict, "mean": MeanVerdict, "single": SingleVerdict}


def verdict(word: str, question: str, reorder: str = "options", **more: Any) -> Verdict:
    """A verdict with ends that fit its word; ``times`` as many units would decide."""
    points = question == "mean" or (question == "positions" and reorder in IN_POINTS)
    low, high = (MEAN_ENDS if points else ENDS)[word]
    times = more.pop("times", 2.5)
    parts = {
        "word": word,
        "value": (low + high) / 2,
        "low": low,
        "high": high,
        "smallest": 0.25 if points else 0.05,
        "above_zero": word == "effect",
        "more_units": None if math.isnan(times) else int(60 * (times - 1)),
    }
    return RECORDS[question](**parts | more)


def about(
    positions: str = "effect",
    mean: str = "effect",
    single: str = "effect",
    gate: float = 0.001,
    **more: Any,
) -> Subject:
    """A subject of 60 answers with these verdicts.

    ``more``: single verdicts as ``positions_verdict`` and so on; what the records hold (leans,
    decided, line, turn, repeated, gap); other fields of the subject.
    """
    reorder = more.get("reorder", "options")
    there = TITLES["variant" if more.get("variant") else reorder]
    questions = {
        name: more.pop(f"{name}_verdict", None) or verdict(word, name, reorder)
        for name, word in zip(MEASURE_OF, (positions, mean, single), strict=True)
        if name in there
    }
    questions = more.pop("questions", questions)
    large, small = (0.15, -0.05, -0.04, -0.03, -0.03), (0.01, -0.01, 0, 0, 0)
    if reorder == "pairs":
        large, small = (0.15, -0.15), (0.01, -0.01)
    leans = more.pop("leans", large if positions == "effect" else small)
    even = 0.0 if reorder in IN_POINTS or not leans else 1 / len(leans)
    decided = more.pop("decided", (positions == "effect",))
    line, turn = (Sized(more.pop(key, value), -1, 1) for key, value in CONTRASTS.items())
    recorded = {"mean": {"contrasts": {"line": line, "turn": turn}}}
    noise = "all" if more.pop("repeated", True) else "none"
    flips, again = more.pop("flips", (0.40, 0.25))
    recorded["single"] = {"flips": flips, "own_noise": again, "noise": noise}
    questions = {
        name: replace(record, **recorded.get(name, {})) for name, record in questions.items()
    }
    gap = more.pop("gap", None)
    units = more.get("units", 60)
    base = Subject(
        judge="judge-7b",
        condition=0,
        scores=(1, 2, 3, 4, 5),
        calls=1_200,
        asked=1_200,
        planned=1_200,
        items=60,
        units=60,
        verdicts=Verdicts(Gate(p=gate), questions, 1.0, 0, units, 60),
        by_position=ByPosition(
            shares=tuple(even + lean for lean in leans),
            expected=(even,) * len(leans),
            leans=tuple(leans),
            outside=tuple(p for p, surely in enumerate(decided) if surely),
        ),
        gap=gap and Row("largest_gap", Estimate(gap[0], np.zeros(0), np.zeros(0)), ends=gap[1:]),
    )
    return replace(base, **more)


CONTRASTS = {"line": -0.45, "turn": 0.1}


def sentences(answer: Answer) -> str:
    asked = [question.sentence for question in answer.questions]
    return " ".join(
        part for part in (answer.headline, answer.line, *asked, answer.note, answer.advice) if part
    )


@pytest.mark.parametrize("reorder", ["options", "criteria", "responses", "pairs", "lists"])
@pytest.mark.parametrize(("positions", "mean", "single", "gate"), COMBINATIONS)
def test_no_combination_contradicts_itself(
    positions: str, mean: str, single: str, gate: float, reorder: str
) -> None:
    said = compose(about(positions, mean, single, gate, reorder=reorder))
    words = dict(zip(MEASURE_OF, (positions, mean, single), strict=True))
    words = {key: words[key] for key in words if key in TITLES[reorder]}
    unseen = "Not seen yet" if gate > 0.05 else "Can't tell yet"
    badges = {"effect": "Yes", "equivalent": "No", "undecided": unseen}
    assert [asked.badge for asked in said.questions] == [badges[word] for word in words.values()]
    assert [asked.title for asked in said.questions] == list(TITLES[reorder].values())
    assert said.word == word_of_combination(set(words.values()), unseen)
    # One order is advised only where all say No; a bias is named, or denied, only where it is.
    assert (said.advice == "One order is enough.") == (set(words.values()) == {"equivalent"})
    named = any(
        verb in said.headline for verb in ("favours the", "picks the answer", "higher when it is")
    )
    assert named == (positions == "effect")
    assert ("no bias that matters" in said.headline) == (set(words.values()) == {"equivalent"})
    assert ("no sign of bias" in said.headline.lower()) == (said.word == "No bias seen yet")
    _says_what_its_badges_say(said, words)
    for key, asked in zip(words, said.questions, strict=True):
        _only_its_own_ends(
            asked.sentence, about(positions, mean, single, gate, reorder=reorder), key
        )


def word_of_combination(words: set[str], unseen: str) -> str:
    if "effect" in words:
        return "Biased"
    if "undecided" not in words:
        return "No bias that matters"
    return "No bias seen yet" if unseen == "Not seen yet" else "Can't tell yet"


@pytest.mark.parametrize("shift", [0.45, -0.45, math.nan])
@pytest.mark.parametrize(
    ("mean", "single", "gate"), list(itertools.product(WORDS, WORDS, (0.001, 0.4)))
)
def test_no_combination_about_a_variant_contradicts_itself(
    mean: str, single: str, gate: float, shift: float
) -> None:
    subject = about(
        "effect", mean, single, gate, variant="ids = letters", default="ids = arabic", shift=shift
    )
    said = compose(subject)
    assert [asked.verdict for asked in said.questions] == [
        mean,
        single,
    ]  # its orders are another answer's
    assert "position" not in sentences(said)
    assert "order" not in said.headline + said.advice
    small = mean == single == "equivalent"
    assert (said.advice == "Either form will do.") == small
    # A difference that is there, and smaller than matters, never reads as one that matters.
    differs = "judge-7b: ids = letters differs by less than matters"
    assert (said.headline == differs) == (small and gate < 0.05)
    assert any(word in said.headline for word in (" raises ", " lowers ", " changes the mean")) == (
        mean == "effect"
    )
    if mean == "effect":
        way = "changes" if math.isnan(shift) else "raises" if shift > 0 else "lowers"
        assert said.headline == f"judge-7b: ids = letters {way} the mean score"
        assert said.questions[0].sentence.startswith(
            f"ids = letters instead of ids = arabic: 0.45{NBSP}points "
        )
    _says_what_its_badges_say(said, {"mean": mean, "single": single})
    for key, asked in zip(subject.questions, said.questions, strict=True):
        _only_its_own_ends(asked.sentence, subject, key)


def test_a_variant_on_a_scale_of_two_scores_changes_the_pass_rate() -> None:
    said = compose(
        about(
            "effect",
            scores=(0.0, 1.0),
            rate=PassRate("score 1", "score 0", 1.0, 0.0),
            variant="answer = feedback",
            default="answer = score",
            shift=-0.45,
        )
    )
    assert said.headline == "judge-7b: answer = feedback lowers the pass rate"
    assert said.questions[0].title == "Does this form change the pass rate?"
    # 0.45 points of a scale from 0 to 1
    size = f"instead of answer = score: 45.0{NBSP}percentage points lower"
    assert size in said.questions[0].sentence


def _says_what_its_badges_say(said: Answer, words: dict[str, str]) -> None:
    """Neither headline nor advice leaves open what is decided, or decides what is open; no broken
    number.
    """
    decided = "effect" in words.values() or set(words.values()) == {"equivalent"}
    assert bool(re.search("Until then|To be sure", said.advice)) == (not decided)
    if "effect" in words.values():
        assert not re.search("Too few|No sign|no bias", said.headline)
    for asked in said.questions:
        if asked.verdict == "undecided":
            seen = r"Seen: .+\. Up to .+ are possible; .+ would matter\."
            assert re.fullmatch(seen, asked.sentence)
        assert ("possible" in asked.sentence) == (asked.verdict == "undecided")
    for never in ("nan", "unknown", "None", "  ", "-0", " %", "not shown", "no effect", "fine"):
        assert never not in sentences(said)


def _only_its_own_ends(sentence: str, subject: Subject, question: str) -> None:
    """Every interval in a question's sentence is the verdict's own."""
    ends = subject.questions[question].interval
    points = question == "mean" or (question == "positions" and subject.reorder in IN_POINTS)
    decimals = 1 if question == "positions" else 0
    low, high = (f"{end:.2f}" if points else f"{100 * end:.{decimals}f}" for end in ends)
    for found in re.findall(rf"95% CI ([\d.{MINUS}]+) to ([\d.{MINUS}]+)", sentence):
        assert found == (low, high)


def own(word: str, question: str, **more: Any) -> dict[str, Any]:
    return {f"{question}_verdict": verdict(word, question, **more)}


SMALL = own("equivalent", "positions", above_zero=True, value=0.03, low=0.01, high=0.042)
SMALL |= {"leans": (0.03, -0.01, -0.01, -0.005, -0.005), "decided": (True, *(False,) * 4)}
LAST = {"leans": (-0.05, -0.05, -0.02, -0.03, 0.15), "decided": (False,) * 4 + (True,)}
THIRD = {"leans": (0.05, 0.05, -0.2, 0.05, 0.05), "decided": (False, False, True, False, False)}
OPEN = ("undecided", "undecided", "undecided", 0.4)


@pytest.mark.parametrize(
    ("words", "more", "advice"),
    [
        (
            ("effect", "effect", "effect"),
            {},
            "Average the scores of several orders. Don't rely on a single score.",
        ),
        (
            ("effect", "equivalent", "equivalent"),
            {},
            "The bias is too small to matter in scores. Check again when",
        ),
        # What a position adds to criteria is a change of scores.
        (
            ("effect", "equivalent", "equivalent"),
            {"reorder": "criteria"},
            "Ask for one criterion per call, or average several orders of the criteria.",
        ),
        (
            ("effect", "undecided", "undecided"),
            {},
            "Average several orders, or compare only within one order.",
        ),
        (
            ("equivalent", "effect", "undecided"),
            {},
            "Average several orders, or compare only within one order.",
        ),
        (("equivalent", "equivalent", "equivalent"), {}, "One order is enough."),
        # Positions: 60 x ((.09 - .045) / (.05 - .045))^2 = 4,860; the mean: 60 x (.2 / .05)^2.
        (
            ("undecided", "undecided", "equivalent"),
            {"gate": 0.4},
            "Nothing to fix so far. To be sure, run it again with about 4,900 answers, 4,840 more "
            "than here.",
        ),
        # What was seen would matter: 60 answers, 2.5 times as many.
        (
            ("undecided", "equivalent", "equivalent"),
            own("undecided", "positions", value=0.06) | {"gate": 0.4},
            "Run it again with about 150 answers, 90 more than here. Until then, treat this judge "
            "as untested.",
        ),
        (OPEN, own("undecided", "single", why="any_prompt"), "Average several orders or wordings."),
        # Single scores: the number holds noise, so its lower end says nothing.
        (
            ("effect", "equivalent", "effect"),
            {"repeated": False},
            "Average several orders, or compare only within",
        ),
        # All contrasts and single scores small, but two orders lie 1.08 points apart.
        (
            ("equivalent", "equivalent", "equivalent"),
            {"gap": (1.08, 0.98, 1.19)},
            "Average several orders, or compare",
        ),
    ],
)
def test_advice_is_the_first_rule_that_holds(
    words: tuple[str, str, str], more: dict[str, Any], advice: str
) -> None:
    assert compose(about(*words, **more)).advice.startswith(advice)


@pytest.mark.parametrize(
    ("words", "more", "headline"),
    [
        ((), LAST, "judge-7b favours the option listed last"),
        ((), THIRD, "judge-7b avoids the option at position 3"),
        (
            (),
            {"decided": (False,) * 5},
            "The order changes judge-7b's scores",
        ),
        (
            ("equivalent", "equivalent", "equivalent"),
            SMALL,
            "judge-7b leans to the option listed first, too little to matter",
        ),
        (
            ("undecided", "undecided", "effect"),
            {},
            "The order changes single scores of judge-7b",
        ),
        (("undecided", "effect", "effect"), {}, "The direction of the list moves judge-7b's"),
        (OPEN, {}, "No sign of bias in judge-7b so far"),
        (OPEN, {"reorder": "criteria"}, "No sign of bias in judge-7b so far"),
        (OPEN[:3], {}, "The order matters to judge-7b, but it is unclear how"),
        (
            OPEN,
            own("undecided", "mean", value=0.3),
            "Too few answers to say whether judge-7b is biased",
        ),
        (
            OPEN,
            own("undecided", "mean", value=0.3) | {"unit": "prompt"},
            "Too few prompts to say whether judge-7b is biased",
        ),
        (
            OPEN,
            own("undecided", "single", why="any_prompt"),
            "judge-7b changes its scores with any change of the prompt",
        ),
    ],
)
def test_a_headline_names_only_what_is_decided(
    words: Any, more: dict[str, Any], headline: str
) -> None:
    said = compose(about(*words, **more))
    assert said.headline.startswith(headline.replace("{_}", NBSP))
    assert ("Listed " in said.questions[0].sentence) == (more in (LAST, THIRD))


@pytest.mark.parametrize(
    ("words", "more", "question", "sentence"),
    [
        (
            (),
            {"turn": 0.0},
            1,
            "Listing 1 to 5 instead of 5 to 1 lowers the average by 0.45{_}points (95% CI 0.30 to "
            "0.60).",
        ),
        (
            (),
            {},
            2,
            "40 in 100 change in another order, 25 asked again in the same one: 15 beyond noise "
            "(95% CI 10 to 20).",
        ),
        (
            (),
            {"turn": 0.6, "line": 0.1},
            1,
            "Lists that run upwards, from wherever they begin, score 0.45{_}points",
        ),
        (
            (),
            own("effect", "single", value=0.15) | {"flips": (0.15, 0.0)},
            2,
            "15 in 100 change in another order (95% CI 10 to 20). Asked again in the same order, "
            "none did.",
        ),
        # What may be smaller than matters says what would.
        (
            (),
            own("effect", "mean", low=0.04, high=0.57),
            1,
            "Listing 1 to 5 instead of 5 to 1 lowers the average by 0.45{_}points (95% CI 0.04 to "
            "0.57); 0.25 would matter.",
        ),
        ((), {"line": 0.6}, 1, "Listing 1 to 5 instead of 5 to 1 raises the average by"),
        (
            ("equivalent",),
            SMALL,
            0,
            "It is there, at most 4.2{_}percentage points: smaller than matters (5).",
        ),
        # Ends stay on their side of what decides: of the smallest effect, of 0.
        (
            ("equivalent",),
            own("equivalent", "positions", value=0.02, low=0.0, high=0.0496),
            0,
            "No position differs from even by 5{_}percentage points or more (largest: 1.0, 95% CI "
            "0.0 to 4.96).",
        ),
        (
            (),
            own("effect", "positions", low=0.004, high=0.11),
            0,
            "Listed first: 15.0{_}percentage points above even (95% CI 0.4 to 11.0); 5 would "
            "matter.",
        ),
        (
            (),
            own("effect", "positions", low=0.0, high=0.071),
            0,
            "Listed first: 15.0{_}percentage points above even (above 0, at most 7.1); 5 would "
            "matter.",
        ),
        # An estimate below its interval is not shown.
        (
            ("effect", "effect", "equivalent"),
            own("equivalent", "single", value=-0.02, high=0.024),
            2,
            "Fewer than 5 in 100 scores change with the order, beyond noise (95% CI 0 to 2).",
        ),
        # Noise that is not known is said.
        (
            (),
            {"repeated": False},
            2,
            "15 in 100 change in another order, noise included (at most 20).",
        ),
        (
            OPEN,
            {"repeated": False},
            2,
            "Seen: 4{_}in 100. Up to 9 are possible, noise included; 5 would matter.",
        ),
        (
            OPEN,
            own("undecided", "single", why="any_prompt"),
            2,
            "In another order 40 in 100 scores change; asked again in the same order 25 do.",
        ),
    ],
)
def test_a_sentence_says_direction_ends_and_noise(
    words: Any, more: dict[str, Any], question: int, sentence: str
) -> None:
    assert (
        compose(about(*words, **more))
        .questions[question]
        .sentence.startswith(sentence.replace("{_}", NBSP))
    )


FEW = {
    name: verdict(
        "undecided", name, low=math.nan, high=math.nan, why="too_few_units", times=math.nan
    )
    for name in MEASURE_OF
}
BLOCKED = {name: verdict("undecided", name, why="unparsed_by_order") for name in MEASURE_OF}
EARLY = {"finished": False, "asked": 364, "planned": 960}
BARE = {"reorder": "bare", "leans": (), "decided": ()}
CHOSEN = "judge-7b chose the option listed first in 35.0% of 1,200 calls"


@pytest.mark.parametrize(
    ("more", "headline", "line", "sentence", "advice"),
    [
        (
            {"questions": FEW, "units": 4, "gate": 0.3, "unit": "prompt"},
            "Too few prompts to say whether judge-7b is biased",
            "It chose the first option in 35.0% of 1,200 calls.",
            "A confidence interval needs 8 independent prompts. There are 4.",
            "Run it again with at least 8 prompts. Until then,",
        ),
        (
            {"questions": BLOCKED, "asked": 1224},
            "Unparsed replies hide whether the order matters to judge-7b",
            "24 of 1,224 replies could not be parsed. They may go with the order",
            "Unparsed replies may go with the order, so nothing can be said.",
            "Make the replies parse",
        ),
        (
            EARLY,
            f"{CHOSEN} so far",
            "So far, from 364 of 960 calls. The verdict comes at the end.",
            None,
            "",
        ),
        (
            EARLY | {"stopped": True},
            f"{CHOSEN} so far",
            "Stopped after 364 of 960 calls, so there is no verdict.",
            None,
            "",
        ),
        (
            {"calls": 0, "asked": 20},
            "No score of judge-7b could be read",
            "0 of 20 replies could be parsed.",
            None,
            "",
        ),
        (
            BARE,
            "judge-7b scored 60 answers without a list",
            "1,200 calls were parsed. Nothing was listed",
            None,
            "",
        ),
    ],
)
def test_where_nothing_can_be_said_no_question_is_answered(
    more: dict[str, Any], headline: str, line: str, sentence: str | None, advice: str
) -> None:
    said = compose(about(**more, simulated=True))
    assert (said.headline, said.simulated) == (headline, True)
    assert (said.early or said.line).startswith(line)
    assert {(asked.badge, asked.sentence) for asked in said.questions} == (
        {("Can't tell yet", sentence)} if sentence else set()
    )
    assert (advice in said.advice) == (bool(said.advice) == bool(advice)) is True


def test_where_no_position_may_be_named_the_line_says_what_was_seen_and_of_how_few() -> None:
    said = compose(about(decided=(), units=11, unit="prompt"))
    assert said.headline == "The order changes judge-7b's scores"
    assert said.line == (
        "It chose the first option in 35.0% of 1,200 calls. 20.0% would be even. That this "
        "position gains with other prompts, too, is not certain from 11 prompts."
    )
    assert said.strong == "35.0%"


def test_a_small_sure_lean_is_not_named_beside_a_large_one_that_is_not_sure() -> None:
    """Else “avoids the option at position 3” stands above a bar of 71% at position 1."""
    leans = (0.51, -0.155, -0.127, -0.168, -0.06)
    said = compose(about(leans=leans, decided=(False, False, True), units=10))
    assert said.headline == "The order changes judge-7b's scores"
    assert said.line.startswith("It chose the first option in 71.0% of 1,200 calls.")
    assert "The furthest position is 51.0" in said.questions[0].sentence
    near = (0.2, -0.12, -0.03, -0.02, -0.03)
    said = compose(about(leans=near, decided=(False, True)))
    assert said.headline == "judge-7b avoids the option at position 2"
    assert "The furthest position is 20.0" in said.questions[0].sentence


@pytest.mark.parametrize(("lean", "way", "times"), [(1, "favours", "more"), (-1, "avoids", "less")])
def test_a_position_is_named_because_all_units_lean_to_it_and_the_line_says_so(
    lean: int, way: str, times: str
) -> None:
    positions = replace(verdict("effect", "positions"), unanimous=(0,))
    leans = (lean * 0.19, *([-lean * 0.0475] * 4))
    said = compose(
        about(leans=leans, decided=(), units=10, unit="prompt", positions_verdict=positions)
    )
    assert said.headline == f"judge-7b {way} the option listed first"
    assert said.line.endswith(f"it would be 20.0%. It was {times} in each of the 10 prompts.")


def test_criteria_speak_of_points_from_their_own_mean() -> None:
    said = compose(about(reorder="criteria", leans=(0.45, -0.2, -0.25)))
    assert said.headline == "judge-7b scores a criterion higher when it is listed first"
    assert said.line == (
        f"Listed first, a criterion scored 0.45{NBSP}points above its own average; elsewhere "
        f"{MINUS}0.25 to {MINUS}0.20."
    )
    assert said.questions[0].sentence == (
        f"Listed first, criteria score 0.45{NBSP}points higher than their own average (95% CI "
        f"0.30 to 0.60)."
    )
    assert said.questions[1].sentence.startswith(
        "Listing the criteria forward instead of backward "
    )
    none = compose(about("equivalent", "equivalent", "equivalent", 0.5, reorder="criteria"))
    assert none.questions[0].sentence == (
        f"No position raises or lowers the criteria taken together by 0.25{NBSP}points (largest: "
        f"0.06, 95% CI 0.00 to "
        "0.12)."
    )


def test_pairs_speak_of_sides_and_winners() -> None:
    said = compose(
        about(
            reorder="pairs",
            leans=(-0.15, 0.15),
            decided=(True, True),
            judge="evil\n# head " + "x" * 10_000,
        )
    )
    assert re.fullmatch(r"evil.{1,150} picks the answer shown second", said.headline)
    assert said.strong == "65.0%"
    even = "Without position bias it would be 50.0%."
    shown = "60 pairs, each shown both ways round"
    assert said.line == f"It chose the second answer in 65.0% of {shown}. {even}"
    first, second = (asked.sentence for asked in said.questions)
    assert first == f"Shown second: 15.0{NBSP}percentage points above even (95% CI 10.0 to 20.0)."
    assert second.startswith(
        "40 in 100 change in another order, 25 asked again in the same one: 15 beyond noise"
    )
    assert said.advice == "Ask both ways round. Count a win only where both agree."
    none = compose(about("equivalent", "", "equivalent", 0.5, reorder="pairs"))
    assert none.headline == "judge-7b shows no bias that matters"
    assert none.questions[0].sentence.startswith(
        "Neither side wins 5 in 100 more than even (largest: 1"
    )
    assert none.advice == "One order is enough."


def shown_numbers(said: Answer) -> tuple[float, float, float]:
    """(share, even share, lean) as the line and the first question write them."""
    share, even = re.findall(r"([\d.]+)%", said.line)[:2]
    lean = re.search(rf"([\d.]+){NBSP}percentage points (?:above|below) even", sentences(said))
    assert lean is not None
    return float(share), float(even), float(lean[1])


@pytest.mark.parametrize("seed", range(60))
def test_shares_on_one_screen_add_up(seed: int) -> None:
    """The lean is the shown share minus the shown even share, whatever is rounded away."""
    rng = np.random.default_rng(seed)
    size, low = rng.uniform(0.051, 0.7), rng.uniform(0.001, 0.05)
    leans = (size, *(np.full(4, -size / 4)))
    asked = own("effect", "positions", value=size, low=low, high=min(size + low, 0.8))
    said = compose(about(leans=leans, **asked))
    share, even, lean = shown_numbers(said)
    assert round(share - even, 3) == lean
    # It is a rounding of the exact lean, and never on the other side of what matters.
    assert abs(lean - 100 * size) <= 0.5 + 1e-9
    assert lean > 5


def test_shares_are_the_verdict_s_own_where_replies_are_lost() -> None:
    """20 items take the first option and keep every reply, 20 choose evenly and keep 4 of 20."""
    rng = np.random.default_rng(0)
    score = choose(rng, 40, ORDERS, first=0.0, repeats=2).astype(float)
    score[:20] = choose(rng, 20, ORDERS, first=2.5, repeats=2)
    for item in range(20, 40):
        score[item, rng.choice(20, 16, replace=False)] = np.nan
    found = made.findings(options(score, ORDERS))
    own = found.select("favours_positions")[0].counts
    pooled = found.select("position_share", position=1)[0].value
    assert (pooled, own["shares"][0]) == (pytest.approx(0.525), pytest.approx(0.397, abs=0.001))
    subject = subject_of(found)
    assert subject.shares == tuple(own["shares"])
    (said,) = answers(found)
    share, even, lean = shown_numbers(said)
    assert (share, even, lean) == (39.7, 20.2, 19.5)
    assert "480 calls, averaged over answers and orders." in said.line
    picture = share_bars(found, subject)
    assert picture is not None
    first = picture.points[0]
    assert (first.value, first.text) == (own["shares"][0], "39.7%")
    report = report_html(found)
    assert "39.7%" in report
    assert "52.5%" not in report.partition("All numbers")[0]


def test_bars_have_the_intervals_that_the_sentence_speaks_of() -> None:
    """Ten prompts, no bias planted: as far as the sentence says, a bar reaches too."""
    rng = np.random.default_rng(32)
    rows = []
    for _ in range(20):
        level = rng.normal(3.2, 0.8)
        rows.append([np.clip(round(level + rng.normal(0, 0.9)), 1, 5) for _ in ORDERS])
    prompts = [f"prompt {item // 2}" for item in range(20)]
    found = made.findings(options(np.array(rows), ORDERS, prompt=prompts))
    (verdict_of_positions,) = found.select("favours_positions")
    most = verdict_of_positions.interval[1]
    assert most > 0.1
    picture = share_bars(found, subject_of(found))
    assert picture is not None
    furthest = max(
        max(point.high - point.expected, point.expected - point.low) for point in picture.points
    )
    assert furthest == pytest.approx(most, abs=1e-9)
    # Of an effect the named bar has the very ends of its sentence.
    biased = made.findings(made.options_table({"j": made.mostly_first}, items=40))
    bars = share_bars(biased, subject_of(biased))
    assert bars is not None
    low, high = biased.select("favours_positions")[0].interval
    named = bars.points[0]
    assert (named.low - named.expected, named.high - named.expected) == pytest.approx((low, high))


def ten_orders(first: float, last: float, between: float) -> Findings:
    """20 answers: one score in 1 to 5, one in 5 to 1, ``between`` in the eight other orders; each
    asked twice.
    """
    score = np.full((20, len(ORDERS)), between)
    score[:, ORDERS.tolist().index([1, 2, 3, 4, 5])] = first
    score[:, ORDERS.tolist().index([5, 4, 3, 2, 1])] = last
    every = np.concatenate([score, score], axis=1)
    return made.findings(options(every, ORDERS, np.tile(np.arange(len(ORDERS)), 2)))


def test_a_sentence_about_two_orders_is_made_of_these_two() -> None:
    """Eight orders may pull a line anywhere: what is said of 1 to 5 against 5 to 1 is measured in
    these.
    """
    (said,) = answers(ten_orders(first=2, last=4, between=3))
    about_mean = said.questions[1]
    assert about_mean.title == "Does the direction of the list move the average?"
    assert "Listing" not in about_mean.sentence
    assert said.note.startswith(
        f"In these two orders alone, listing 1 to 5 instead of 5 to 1 lowers the mean by "
        f"2.00{NBSP}points"
    )
    assert (
        "It changed 20 of 20 answers. Asked again in the same order, 0 of 20 answers changed."
        in said.note
    )


def test_two_orders_that_agree_are_said_to_though_a_line_through_all_is_not_flat() -> None:
    """Lists that begin with 1 or 2 score 1, the others 3; 1 to 5 and 5 to 1 alike 3."""
    score = np.where(ORDERS[:, 0] <= 2, 1.0, 3.0)
    score[ORDERS.tolist().index([1, 2, 3, 4, 5])] = 3.0
    every = np.tile(np.concatenate([score, score]), (20, 1))
    found = made.findings(options(every, ORDERS, np.tile(np.arange(len(ORDERS)), 2)))
    (said,) = answers(found)
    (row_of_two,) = found.select("reversed_list")
    assert (row_of_two.value, row_of_two.counts["changed"], row_of_two.counts["n"]) == (0, 0, 20)
    assert (
        "Reversing 1 to 5 into 5 to 1, these two orders alone, changed the score of none of 20"
        in said.note
    )
    assert not re.search("Listing 1 to 5|reversing the list", sentences(said))


def test_the_orders_furthest_apart_differ_as_seen_and_as_corrected() -> None:
    reversal = answers(ten_orders(first=2, last=4, between=3))[0].note
    assert "furthest apart" not in reversal, "these two are the list and its reverse"
    score = np.full((20, len(ORDERS)), 3.0)
    others = [row for row, order in enumerate(ORDERS.tolist()) if order[0] not in (1, 5)]
    score[:, others[0]], score[:, others[1]] = 2, 4
    every = np.concatenate([score, score], axis=1)
    (said,) = answers(made.findings(options(every, ORDERS, np.tile(np.arange(len(ORDERS)), 2))))
    assert (
        f"The mean scores of the two orders furthest apart differ by 2.00{NBSP}points, also "
        in said.note
    )
    assert "corrected for being picked out of 10 orders" in said.note


def reversed_list(value: float, low: float, high: float) -> Row:
    """What reversing the list did to 20 answers: 12 changed, and 3 when asked again."""
    counts = {"n": 20, "changed": 12, "again": 20, "noisy": 3}
    estimate = Estimate(value, np.zeros(0), np.zeros(0))
    return Row("reversed_list", estimate, counts=counts, ends=(low, high))


@pytest.mark.parametrize(
    ("value", "low", "high", "sentence"),
    [
        (0.3, 0.1, 0.5, "raises the mean by 0.30{_}points (95% CI 0.10 to 0.50)."),
        (-0.3, -0.5, -0.1, "lowers the mean by 0.30{_}points (95% CI 0.10 to 0.50)."),
        # An interval that holds 0 says no direction.
        (
            0.3,
            -0.1,
            0.7,
            f"could raise or lower the mean (measured: +0.30{{_}}points, 95% CI {MINUS}0.10 to "
            "0.70).",
        ),
        (
            0.0,
            -0.2,
            0.2,
            f"could raise or lower the mean (measured: 0.00{{_}}points, 95% CI {MINUS}0.20 to "
            "0.20).",
        ),
        (0.0, 0.0, 0.0, "leaves the mean where it is (95% CI 0.00 to 0.00)."),
    ],
)
def test_two_orders_have_a_direction_only_where_the_interval_leaves_out_0(
    value: float, low: float, high: float, sentence: str
) -> None:
    measured = reversed_list(value, low, high)
    said = compose(about(trend=True, orders=10, reversed_list=measured))
    head = "In these two orders alone, listing 1 to 5 instead of 5 to 1 "
    assert said.note.startswith(head + sentence.replace("{_}", NBSP))
    assert said.note.endswith(
        "It changed 12 of 20 answers. Asked again in the same order, 3 of 20 answers changed."
    )


def test_a_run_of_a_list_and_its_reverse_alone_says_what_reversing_does() -> None:
    two = np.array([[1, 2, 3], [3, 2, 1]])
    score = np.tile([1.0, 3.0, 1.0, 3.0], (20, 1))
    (said,) = answers(made.findings(options(score, two, np.tile([0, 1], 2))))
    assert said.questions[1].sentence.startswith(
        f"Listing 1 to 3 instead of 3 to 1 lowers the average by 2.00{NBSP}points"
    )
    assert "In these two orders alone" not in said.note


@pytest.mark.parametrize(
    ("reorder", "sentence"),
    [
        ("options", "On a line through all 10 orders, upward lists score 0.45{_}points lower ("),
        (
            "criteria",
            "On a line through all 10 orders, criteria listed forwards score 0.45{_}points",
        ),
    ],
)
def test_a_contrast_over_all_orders_is_worded_as_a_trend(reorder: str, sentence: str) -> None:
    said = compose(about(reorder=reorder, trend=True, orders=10))
    assert said.questions[1].sentence.startswith(sentence.replace("{_}", NBSP))
    assert "instead of" not in said.questions[1].sentence
    none = compose(about("effect", "equivalent", reorder=reorder, trend=True, orders=10))
    assert none.questions[1].sentence.startswith("On a line through all 10 orders, the direction")


def test_shares_that_nothing_changed_have_no_error_bars() -> None:
    """30 answers in 10 orders, twice: each its own score in all 600 calls."""
    own = np.repeat(1.0 + np.arange(30)[:, None] % 5, 20, axis=1)
    found = made.findings(options(own, ORDERS))
    subject = subject_of(found)
    shown = main_picture(found, subject)
    assert shown.picture is not None
    assert {point.text for point in shown.picture.points} == {"20.0%"}
    assert not any(point.has_interval for point in shown.picture.points)
    assert "even by design" in shown.note
    assert all("even by design" in " ".join(point.hover) for point in shown.picture.points)
    # One score in 600 that follows the order is something measured, with an interval.
    own[0, 0] = 6 - own[0, 0] if own[0, 0] != 3 else 1
    moved = made.findings(options(own, ORDERS))
    bars = share_bars(moved, subject_of(moved))
    assert bars is not None
    assert all(point.has_interval for point in bars.points)


def test_settings_of_a_judge_are_told_apart_by_what_differs() -> None:
    one = Condition(
        "j", "A", "balanced", "options", (1.0, 2.0, 3.0), positions=3, variant={"ids": "arabic"}
    )
    letters = replace(one, variant={"ids": "letters"})
    criteria = replace(one, reorder="criteria", targets=("x", "y"), positions=2)
    wide = replace(one, scores=(1.0, 2.0, 3.0, 4.0, 5.0), positions=5)
    other = replace(one, judge="k")
    assert settings([one, replace(one, strategy="fixed"), other], "j", "A") == {"Score options": 0}
    assert settings([one, letters, other], "j", "A") == {"default": 0, "ids = letters": 1}
    assert settings([one, criteria], "j", "A") == {"Score options": 0, "Criteria": 1}
    assert list(settings([one, wide], "j", "A")) == ["scores 1 to 3", "scores 1 to 5"]
    both = settings([one, letters, criteria], "j", "A")
    assert list(both)[1:] == ["Score options · ids = letters", "Criteria · default"]


def test_several_settings_say_which_is_meant() -> None:
    two = [Condition("j", "A", "balanced", variant={"ids": ids}) for ids in ("arabic", "letters")]
    found = made.several(*two, rules={"j": made.mostly_first})
    # The orders of either setting, then letters held against the default.
    assert [answer.about for answer in answers(found)] == [
        "default",
        "ids = letters",
        "ids = letters against ids = arabic",
    ]
    assert answers(found)[1].lines()[0].startswith("[ids = letters] Biased: j ")
    assert subject_of(found, 1).about == "ids = letters"


def test_one_order_says_nothing_of_positions_and_once_why() -> None:
    table = made.options_table({"j": made.by_quality}, items=20)
    (said,) = answers(
        made.findings(replace(table, rows=table.rows[table.rows["ordering"] == 0], planned=(40,)))
    )
    assert said.headline == "j did not judge an answer in two orders"
    assert said.line.endswith(" so this is also about which scores are given.")
    assert {asked.badge for asked in said.questions} == {"Can't tell yet"}
    assert said.cautions == ()
    assert said.advice.startswith("Ask in several orders")


def test_cautions_are_said_once_and_in_the_singular() -> None:
    few = made.options_table({"j": made.always_first}, items=5)
    assert (
        answers(made.findings(few))[0].cautions == ()
    )  # the questions say that there are too few groups

    def one_item_moves(item: int, shown: tuple[Any, ...], repeat: int) -> int:  # noqa: ARG001
        return int(shown[0]) if item == 0 else 2

    moved = answers(made.findings(made.options_table({"j": one_item_moves})))[0].cautions
    on_few = "Only 1 item ever changed their score. Everything about the order rests on them."
    assert on_few in moved


def test_an_answer_under_two_criteria_is_one_answer() -> None:
    table = made.options_table({"j": made.by_quality})
    ids = [f"answer-{k // 2}" for k in range(12)]
    both = replace(table, items=table.items.assign(item_id=ids, criterion=["Clarity", "Depth"] * 6))
    assert [made.findings(one).judgments.arms[0].answers for one in (table, both)] == [12, 6]
    assert answerable(both)[0].startswith("6 answers,")


def test_what_criteria_can_answer_counts_texts_and_calls_not_criteria() -> None:
    """20 texts with three criteria each, one call a text: 20 more calls, in another order."""
    ids = [f"text-{k}" for k in range(20)]
    table = criteria(np.full((20, 1, 3), 3.0), [[0, 1, 2]], item_id=ids)
    head, questions = answerable(table)
    assert head == "20 texts, one order each"
    single, noise = (questions[k] for k in (1, 2))
    assert (single.answered, single.calls) == (False, 20)
    assert (noise.answered, noise.calls) == (False, 20)


def test_no_band_stands_around_a_difference_that_few_groups_leave_undecided() -> None:
    given = made.findings(made.options_table({"a": made.by_quality, "b": made.by_quality}))
    pair = paired(given, 0, given, 1)
    rows = differences(pair)
    assert all(
        "is possible with 12 groups" in asked.sentence
        for asked in compare_answer(pair, ("a", "b"), rows).questions
    )
    for ends, banded in (((-0.05, 0.08), False), ((-0.05, 0.3), True)):
        forest = difference_forest([replace(row, ends=ends) for row in rows], ("a", "b"))
        assert math.isfinite(forest.smallest) == banded


def test_criteria_name_the_one_that_moves_most() -> None:
    """Two of three criteria gain a point where they are first, the third loses two: their mean says
    nothing of it.
    """

    gain = {"clarity": 1, "depth": 1, "style": -2}
    orders = [
        ["clarity", "depth", "style"],
        ["depth", "style", "clarity"],
        ["style", "clarity", "depth"],
    ]
    of_text = [[3 + gain[name] * (order[0] == name) for name in NAMES[:3]] for order in orders]
    score = [of_text] * 40
    codes = [[NAMES.index(name) for name in order] for order in orders]
    (said,) = answers(findings(criteria(score, codes)))
    position = said.questions[0]
    assert said.headline == "Where a criterion is listed changes its score"
    assert "All criteria together score " in said.line
    assert position.badge == "Yes"
    # D of the third: 2 x (1 - 1/3); of all: root((1 + 1 + 4) / 3) x (1 - 1/3).
    assert position.sentence.startswith("By 0.94")
    assert f"most: style, 1.33{NBSP}points." in position.sentence


def test_several_judges_are_said_to_be_tested_each_by_itself() -> None:
    """1 - .95^2 = 9.75%; one judge alone needs no such sentence."""
    one = made.findings(made.options_table({"a": made.by_quality}, items=10))
    two = made.findings(made.options_table({"a": made.by_quality, "b": made.by_quality}, items=10))
    assert several_tests(one) == ""
    assert "none of these 2, at least one Yes would still be said in 10 of 100" in several_tests(
        two
    )
    assert several_tests(two) in findings_text(two)
    assert several_tests(one) not in method_lines(one, subjects_of_orders(one))
    assert several_tests(two) in method_lines(two, subjects_of_orders(two))
    seeds = "fixed seeds (20240607 and 0), so the same judgments give the same numbers: 1,999 deals"
    assert any(seeds in said for said in method_lines(one, subjects_of_orders(one)))


def test_a_run_before_its_first_look_has_no_cautions_about_nothing() -> None:
    whole = asked_in_batches(options(np.ones((40, 2)), np.array([[1, 2], [2, 1]])))
    table = replace(whole, rows=whole.rows.iloc[:6], state="running")
    (said,) = answers(findings(table))
    assert said.headline == "No answer about judge yet"
    assert said.line == "No answer yet. The first look is after 10 answers."
    assert said.cautions == ()


TWO = (0.0, 1.0)
BOTH_WAYS = [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("score", "orders", "said"),
    [
        (np.tile([0.0, 1.0], 10)[:, None], BOTH_WAYS[:1], "did not judge an answer in two orders"),
        (np.tile([0.0, 1.0], 10)[:, None], BOTH_WAYS[1:], "did not judge an answer in two orders"),
        (np.c_[np.tile([0.0, 1.0], 10), np.full(20, np.nan)], BOTH_WAYS, "Unparsed replies hide"),
        (np.ones((20, 2)), BOTH_WAYS, "gave the same score in every call"),
        (np.ones((2, 2)), BOTH_WAYS, "Too few answers"),
    ],
)
def test_two_scores_that_were_not_seen_in_both_orders_have_an_answer_too(
    score: np.ndarray, orders: list[list[int]], said: str
) -> None:
    found = findings(options(score, orders, scores=TWO))
    (answer,) = answers(found)
    assert said in answer.headline
    assert "{" not in findings_text(found)
    assert report_html(found)
