"""Check that pasted rubrics are read line by line, and that a line which may be something else is
refused.
"""

import json
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import pytest

from rubriclab.data.rubrics import read_rubric, rubric_notes, rubric_of_text
from rubriclab.model.text import LabError

FILES = Path(__file__).parent / "files"


def levels(text: str) -> list[tuple[str, str, dict[int, str]]]:
    """Return name, description and levels of each criterion, lowest score first."""
    return [
        (part.name, part.description, {option.score: option.description for option in part.options})
        for part in rubric_of_text(text).criteria
    ]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("rubric_range_hyphen.txt", "Line 4, “2-3: Partly”: several scores in one line"),
        ("rubric_range_endash.txt", "Line 2, “9–10: Complete”: several scores in one line"),
        ("rubric_plus.txt", "Line 4, “[+]1: kind”: a score with a plus sign"),
    ],
)
def test_bands_and_signs_are_refused_by_their_line(file: str, line: str) -> None:
    text = (FILES / file).read_text("utf-8")
    with pytest.raises(LabError, match=line):
        rubric_of_text(text)
    with pytest.raises(LabError, match=line):
        read_rubric(text.encode(), file)


def test_a_numbered_heading_is_no_score() -> None:
    text = (FILES / "rubric_numbered_headings.txt").read_text("utf-8")
    assert levels(text) == [
        (
            "Clarity (0–5)",
            "",
            {0: "Cannot be followed", 3: "Can be followed", 5: "Easy to follow"},
        )
    ]
    assert rubric_notes(rubric_of_text(text)) == [
        "“Clarity (0–5)” has the scores 0, 3 and 5, so no answer can get 1, 2 and 4."
    ]


def test_hyphens_between_score_and_text_are_read() -> None:
    text = (FILES / "rubric_paste.txt").read_text("utf-8")
    ((name, about, said),) = levels(text)
    assert (name, about, len(said)) == ("Helpfulness", "", 5)
    assert said[3] == "Partly helpful; some gaps or vague advice"


def test_missing_levels_and_descriptions_are_said() -> None:
    text = (FILES / "rubric_missing.txt").read_text("utf-8")
    assert rubric_notes(rubric_of_text(text)) == [
        "“Helpfulness” has the scores 1, 3 and 5, so no answer can get 2 and 4."
    ]
    file = FILES / "rubric_missing.yaml"
    assert rubric_notes(read_rubric(file)) == [
        "“Helpfulness” has the scores 1, 2 and 5, so no answer can get 3 and 4.",
        "“Helpfulness” has no description of the score 2.",
    ]
    bare = read_rubric(b"name: x\noptions: {1: '', 2: ''}\n", "x.yaml")
    assert rubric_notes(bare) == ["“x” describes none of its scores."]
    wide = rubric_of_text("Share\n0: none\n100: all")
    assert rubric_notes(wide) == ["“Share” has only the scores 0 and 100."]
    assert rubric_notes(rubric_of_text("Tone\n1: rude\n2: kind")) == []


@pytest.mark.parametrize("file", ["rubric2.yaml", "rubric_multi.yaml", "rubric_missing.yaml"])
def test_yaml_and_json_are_read_from_the_same_box(file: str) -> None:
    text = (FILES / file).read_text("utf-8")
    wanted = read_rubric(text.encode(), file)
    body = json.dumps(wanted.document())
    for pasted in (text, f"```yaml\n{text}\n```", body, f"```json\n{body}\n```"):
        assert rubric_of_text(pasted).criteria == wanted.criteria


@pytest.mark.parametrize(
    "text",
    [
        '{"1": "rude", "2": "kind"}',
        '[{"score": 1, "description": "rude"}, {"score": 2, "description": "kind"}]',
        "options:\n  1: rude\n  2: kind",
        "- {score: 1, description: rude}\n- {score: 2, description: kind}",
    ],
)
def test_levels_alone_are_a_rubric_of_one_criterion(text: str) -> None:
    assert [said for _, _, said in levels(text)] == [{1: "rude", 2: "kind"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"1": "a", "1": "b", "2": "c"}', "the key “1” appears twice"),
        (
            "criteria:\n  - name: x\n    options: {1: a, 1: b}",
            "line 3, column 21.*“1” appears twice",
        ),
        (
            "- {score: 1, description: a, b}\n- {score: 2, description: c}",
            "option 1: unknown key 'b'.*Put a text with a comma or a colon in quotes",
        ),
        (
            "name: H\noptions:\n  - {score: 1, description: a: b}\n",
            "line 3.*Put a text with a comma or a colon in quotes",
        ),
    ],
)
def test_what_yaml_would_lose_is_refused(text: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        rubric_of_text(text)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("Level 3 (Good) - clear\nLevel 2 (Fair) - mixed", {2: "Fair: mixed", 3: "Good: clear"}),
        (
            "| Score | Description |\n|---|---|\n| 2 | **good** |\n| 1 | bad |",
            {1: "bad", 2: "good"},
        ),
        ("Score\tDescription\n2\tgood\n1\tbad", {1: "bad", 2: "good"}),
        ("2 points: good\n1 point: bad", {1: "bad", 2: "good"}),
        ("2 → good\n1 => bad", {1: "bad", 2: "good"}),
        ("2：good\n1：bad", {1: "bad", 2: "good"}),
        ("2 (good)\n1 (bad)", {1: "bad", 2: "good"}),
        ("1 = good\n−1 = bad", {-1: "bad", 1: "good"}),
        (
            "2: good\n- cites sources\n- is clear\n1: bad",
            {1: "bad", 2: "good cites sources is clear"},
        ),
        ("2: good\n\n1: bad", {1: "bad", 2: "good"}),
        ("> 2: good\n> 1: bad", {1: "bad", 2: "good"}),
        ("* **2 – good**: clear\n* **1 – bad**: not", {1: "bad: not", 2: "good: clear"}),
        ("2: by 10:30, at 3:1\n1: 4-5 days late", {1: "4-5 days late", 2: "by 10:30, at 3:1"}),
        ("1. Poor\n2. Answers in part\n3. Good", {1: "Poor", 2: "Answers in part", 3: "Good"}),
    ],
)
def test_forms_of_a_level_that_are_certain_are_read(lines: str, wanted: dict[int, str]) -> None:
    ((_, _, said),) = levels(lines)
    assert said == wanted


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2 to 3: partly", "several scores"),
        ("1 or 2: partly", "several scores"),
        ("1, 2: partly", "several scores"),
        ("1..2: partly", "several scores"),
        ("Score 2-3: partly", "several scores"),
        ("90-100%: all", "several scores"),
        ("90%: all", "a percentage"),
        ("4+: good", "more than one score"),
        ("<3: bad", "more than one score"),
        ("≥4: good", "more than one score"),
        (">= 4: good", "more than one score"),
        ("3 or more: good", "more than one score"),
        ("up to 3: bad", "more than one score"),
        ("1 = bad ... 5 = good", "several scores in one line"),
        ("1: bad; 2: fair; 3: good", "several scores in one line"),
        ("5: very good 4: good", "several scores in one line"),
        ("-: cannot be judged", "a level without a score"),
        ("Grade A (90-100): good", "a letter is not a score"),
        ("N/A: cannot be judged", "a level without a score"),
        ("n.a. - cannot: x", "unclear above the scores|neither a score"),
        ("III: good", "a Roman numeral"),
        ("★★★: good", "Write “3: …”"),
        ("A: excellent", "a letter is not a score"),
        ("B+: good", "a letter is not a score"),
        ("2 - 3 errors", "one score or a band"),
        ("4 Good", "a number, but not a score"),
        ("(4) good", "a number, but not a score"),
        ("4th: good", "a number, but not a score"),
        ("4", "a number, but not a score"),
        ("Score 4", "a number, but not a score"),
        ("½: half", "“½” is not a score"),
        ("4/5: good", "“4/5” is not a score"),
        ("Weight: 30%", "weights are not used|neither a score"),
        ("Five: excellent", "unclear above the scores|neither a score"),
        ("Step 1: read it", "unclear above the scores|neither a score"),
    ],
)
def test_a_line_that_is_no_level_for_certain_is_refused(line: str, words: str) -> None:
    """Above the levels, between them and below them: none becomes a name or part of a
    description.
    """
    for text, number in (
        (f"Help\n{line}\n7: yes\n6: no", 2),
        (f"Help\n7: yes\n{line}\n6: no", 3),
        (f"Help\n7: yes\n6: no\n{line}", 4),
    ):
        with pytest.raises(LabError, match=f"Line {number}, .*({words})"):
            rubric_of_text(text)


def test_half_points_come_with_the_scores_to_write_instead() -> None:
    with pytest.raises(
        LabError, match=r"Double the scores \(1, 2, 3\) and put 0.5, 1, 1.5 as labels"
    ):
        rubric_of_text("Quality\n0.5: some\n1: most\n1.5: all")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Steps\n1. Read the answer\n2. Compare it\n3. Give a score",
            "Line 2, “1. Read the answer”: this looks like a step",
        ),
        ("1. Clarity\n5: good\n3: fair", "Line 1, “1. Clarity”: this is numbered, but line 2"),
        ("## 1. Clarity\ntext\n## 2. Depth\ntext", "Line 1, .*a numbered heading"),
        ("Help\n5: yes\n1: no\n\nAnswer with a number.", "Line 5, .*no score follows"),
        ("Help\n5: yes\n1: no\nAnswer with a number.", "Line 4, .*neither a score"),
        (
            "| Aspect | 1 | 2 |\n|---|---|---|\n| Tone | rude | kind |",
            "Line 1, .*columns of this table",
        ),
        ("| Score | Text |\n| 2-3 | x |\n| 1 | y |", "Line 2, .*“2-3” is not a score"),
        ("| Score | Text |\n| 2 | x |\n| 1 | y |\nBe strict.", "Line 4, .*below the table"),
        ("Scale: 1 to 5\n5: yes\n1: no", "Line 1, .*the scores themselves give the scale"),
    ],
)
def test_headings_steps_and_instructions_are_refused(text: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        rubric_of_text(text)


def test_a_text_file_is_read_as_pasted() -> None:
    text = "Tone: is it polite?\n1: rude\n2: kind\n"
    assert read_rubric(text.encode(), "tone.txt") == rubric_of_text(text)
    assert read_rubric(text.encode(), "tone.md") == rubric_of_text(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Help\n1. Is the text clear?\n2. Is it complete?", "Line 2, .*a question to answer"),
        ("1. Clarity: how clear\n2. Depth: how deep", "Line 1, .*a numbered criterion"),
        ("Rubric\n1) Tone - how kind\n2) Style - how neat", "Line 2, .*a numbered criterion"),
    ],
)
def test_numbered_questions_and_criteria_are_no_levels(text: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        rubric_of_text(text)


def test_numbered_levels_are_still_read() -> None:
    levels = rubric_of_text("Help\n1. Clearly wrong\n2. Right").criteria[0].options
    assert [(level.score, level.description) for level in levels] == [
        (1, "Clearly wrong"),
        (2, "Right"),
    ]


GERMAN = """Hilfreichkeit der Antwort
Note 1: Nicht hilfreich, am Thema vorbei
Note 2: Kaum hilfreich
Note 3: Teilweise hilfreich
"""


def test_a_word_of_any_language_before_all_scores_is_read() -> None:
    assert levels(GERMAN) == [
        (
            "Hilfreichkeit der Antwort",
            "",
            {1: "Nicht hilfreich, am Thema vorbei", 2: "Kaum hilfreich", 3: "Teilweise hilfreich"},
        )
    ]
    assert read_rubric(GERMAN.encode(), "note.txt") == rubric_of_text(GERMAN)


@pytest.mark.parametrize(
    "text",
    [
        "Punkte 1 – bad\nPunkte 2 – good",
        "Level 1 = bad\nLevel 2 = good",
        "Stufe 2) good\nStufe 1) bad",
        "Rating of 2: good\nRating of 1: bad",
        "分数 2：good\n分数 1：bad",
        "分数2：good\n分数1：bad",
        "अंक 1: bad\nअंक 2: good",
        "Niveau 1. bad\nNiveau 2. good",
        "Оценка 1: bad\nоценка 2: good",
        "[Note 1] bad\n[Note 2] good",
        "(Note 1): bad\n(Note 2): good",
        "Note (1) - bad\nNote (2) - good",
        "**Note 1:** bad\n**Note 2:** good",
        "* **Note 1** → bad\n* **Note 2** → good",
        "### Note 1: bad\n### Note 2: good",
        "Note 1 (bad)\nNote 2 (good)",
        "Note 1:\nbad\nNote 2:\ngood",
        "1 Punkt: bad\n2 Punkte: good",
        "2 stars - good\n1 star - bad",
        "1 Stern: bad\n2 Sterne: good",
        "1 балл: bad\n2 балла: good",
    ],
)
def test_forms_of_a_word_at_a_score_are_read(text: str) -> None:
    assert [said for _, _, said in levels(text)] == [{1: "bad", 2: "good"}]


def test_descriptions_and_criteria_go_on_behind_a_word() -> None:
    text = (
        "Criterion 1: Klarheit\nNote 1: unklar,\n  kaum zu verstehen\nNote 2: klar\n- mit Beispiel"
        "\n\nTiefe: wie tief?\nNote 1: Answer is flat\nNote 2: Answer is deep\nNote 3: deepest"
    )
    assert levels(text) == [
        ("Klarheit", "", {1: "unklar, kaum zu verstehen", 2: "klar mit Beispiel"}),
        ("Tiefe", "wie tief?", {1: "Answer is flat", 2: "Answer is deep", 3: "deepest"}),
    ]


@pytest.mark.parametrize(
    "word",
    [
        *("Step", "Example", "Good example", "Criterion", "Question", "Rule", "Part", "Point"),
        *("Schritt", "Beispiel", "Kriterium", "Frage", "Regel", "Punkt", "Nr.", "mindestens"),
        *("at least", "Étape", "Pregunta", "Шаг", "步骤", "Add", "Rank"),
    ],
)
def test_words_that_name_no_score_are_refused(word: str) -> None:
    """Alone, and above, between and below scores."""
    lines = f"{word} 1: kind\n{word} 2: kinder"
    for text in (f"Help\n{lines}", f"Help\n{lines}\nNote 1: a\nNote 2: b"):
        with pytest.raises(LabError, match=rf"Line [23], .*“{word}” before a number does not name"):
            rubric_of_text(text)
    for text in (f"Help\n{lines}\nScore 1: a\nScore 2: b", f"Help\n1: a\n2: b\n{lines}"):
        with pytest.raises(LabError, match=r"Line [24], .*(does not name|more than one score)"):
            rubric_of_text(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Note 1: a\nNote 2: b\nStufe 3: c", "Line 3, .*“Stufe” is before a number here, but “No"),
        ("Stufe 3: c\nNote 2: b\nNote 1: a", "Line 2, .*“Note” is before a number here"),
        ("Note 3: c\n2: b\n1: a", "Line 1, .*a score, or the name of what is judged"),
        ("Help\nNote 1 – a\nNote 2 – b\n3: c\n4: d", "Line 3, .*a score, or the name"),
        ("Note 1: a\nNote 2: b\n3: c", "Line 2, .*only if all scores have it"),
        ("Help\nScore 1: a\nScore 2: b\nNote 1: see the manual", "Line 4, .*only if all scores"),
        ("Help\nScore 1: a\nScore 2: b\n- Note 3 – top", "Line 4, .*only if all scores have it"),
        ("Help\nScore 1: a\nScore 2: b\n\nNote 1: see the manual", "Line 5, .*no score follows"),
        ("Help\nNote 1: a", "Line 2, .*only if all scores have it, at least two"),
        ("Note 1: a\nNote 2: b\nNote 2: c", "the score “2” twice"),
        ("Note 1: a\nNote 3: b\nNote 5: c", "“Note” is before 1, 3, 5, but not before 2, 4"),
        ("Note 1: a\nNote 2: b\n\nDepth\nNote 1: a\nNote 4: b", "not before 2, 3"),
        ("- Note 1: a\n- Note 2: b\n- Note 3 c", "Line 3, .*a number, but not a score with its"),
        ("Note 1 – a; Note 2 – b\nNote 3 – c", "Line 1, .*several scores in one line"),
        ("Note 1: a\nNote 2: b\n  (Note 3 – c)", "Line 3, .*several scores in one line"),
        ("Note 1-2: a\nNote 3: b\nNote 4: c", "Line 1, .*several scores in one line"),
        ("Note 1: a\nNote 1,5: b\nNote 2: c", "Line 2, .*Double the scores"),
        ("Note: be strict\nNote 1: a\nNote 2: b", "Line 1, .*a remark or a score"),
        ("Note 1: see the manual\nNote 2: be strict", "Line 1, .*a remark or a score"),
        ("Phrase 1: Compare it\nPhrase 2: Give a mark", "Line 1, .*like a step to follow"),
        ("Note 1: Is it good?\nNote 2: Is it bad?", "Line 1, .*a question to answer"),
        ("Bereich 1: Clarity\nBereich 2: Depth", "Line 1, .*the name of a criterion"),
        ("# Note 1: a\nNote 2: b\nNote 3: c", "Line 2, .*in a heading in some lines"),
        ("Note 1: a\n 1. b\n 2. c\nNote 2: d", "Line 4, .*only if all scores have it"),
        ("Note 1: a\nNote 2: b\nN/A: c", "Line 3, .*a level without a score"),
        ("Q1: a\nQ2: b", "Line 2, .*unclear above the scores"),
        ("Um 10:30 Uhr: a\nUm 11:30 Uhr: b", "No scores found"),
        ("Note: be strict\n1: a\n2: b", "Line 1, .*looks like a remark"),
        ("Help\nNote: Give no points for style\n1: a\n2: b", "Line 2, .*looks like a remark"),
    ],
)
def test_a_word_before_numbers_is_no_score_in_doubt(text: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        rubric_of_text(text)


def test_a_word_with_a_number_may_still_name_what_is_judged() -> None:
    text = "Question 1: clear?\nScore 1: no\nScore 2: yes\n\nAufgabe 2: tief?\n1: no\n3: yes"
    assert levels(text) == [
        ("Question 1", "clear?", {1: "no", 2: "yes"}),
        ("Aufgabe 2", "tief?", {1: "no", 3: "yes"}),
    ]


@pytest.mark.parametrize(
    "line",
    ["1" + "*" * 20_000, "1: " + " " * 9_000 + "x", "Note" + " " * 20_000 + "1", "a'" * 10_000],
)
def test_endless_signs_are_read_at_once(line: str) -> None:
    """A pattern that tries all ways to split them would block the lab for hours."""
    start = perf_counter()
    with suppress(LabError):
        rubric_of_text(f"{line}\n2: y")
    assert perf_counter() - start < 5
