"""Test own code as a judge: what it returns, how it fails, and that it leaves nothing behind."""

import asyncio
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rubriclab.judges.kinds import open_judge
from rubriclab.judges.python import function_settings, with_code
from rubriclab.model.consent import NoConsent, sent_by
from rubriclab.model.data import Comparison, Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Ordering, Reply
from rubriclab.model.text import LabError
from rubriclab.study.outcomes import label_probabilities
from tests.judges.kit import gone, option_call

ROOT = Path(__file__).resolve().parents[2]
ITEMS = [Item(f"i{k}", f"answer {k}", f"question {k}", ratings={"someone": 4.0}) for k in range(3)]


def own(folder: Path, body: str, *, name: str = "my_judge.py", **fields: Any) -> JudgeSettings:
    """A judge whose function has this body, with its file in ``folder``."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    (folder / name).write_text(
        f"import os, subprocess, sys, time\n\ndef judge(messages, item):\n{lines}\n", "utf-8"
    )
    memory = fields.pop("memory", 2_000)
    values = {
        "name": "mine",
        "kind": "python",
        "timeout": 20.0,
        "options": {"path": name, "memory": memory},
    }
    return with_code(JudgeSettings(**{**values, **fields}), folder)


def asked(judge: JudgeSettings, *calls: Call, **more: Any) -> list[Reply]:
    """The replies, one after the other, of a judge that is opened for them and closed."""

    async def ask() -> list[Reply]:
        asker = await open_judge(judge, **{"items": ITEMS} | more)
        try:
            return [await asker.ask(call) for call in calls or (option_call(),)]
        finally:
            await asker.close()

    return asyncio.run(ask())


LETTERS = option_call(shown=(3, 1, 2), ordering=Ordering((3, 1, 2), tuple("abc")))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "call", "text"),
    [
        ("return 'Score: 4'", option_call(), "Score: 4"),
        ("return 4", option_call(), "4"),
        (
            "return 4.5",
            option_call(),
            "4.5",
        ),  # no score of the scale: unparsed later, never rounded
        ("return 1", LETTERS, "b"),
        (
            "return item['labels'][0] + item['response'] + item['instruction']",
            LETTERS,
            "aanswer 0question 0",
        ),
        (
            "return messages[0]['content'][:6] + str('ratings' in item)",
            option_call(),
            "Item 0False",
        ),
        ("async def later():\n    return '2'\nreturn later()", option_call(), "2"),
        ("import numpy\nreturn numpy.int64(3)", option_call(), "3"),
        (
            "print('noise', flush=True)\nos.write(1, b'{}')\nreturn sys.stdin.read() + '5'",
            option_call(),
            "5",
        ),
    ],
)
def test_what_it_returns_is_the_reply(tmp_path: Path, body: str, call: Call, text: str) -> None:
    (reply,) = asked(own(tmp_path, body), call)
    assert (reply.error, reply.text, reply.model) == ("", text, "my_judge.py:judge")


def test_probabilities_are_those_of_the_labels(tmp_path: Path) -> None:
    (reply,) = asked(
        own(tmp_path, "return {'text': 'a', 'probabilities': {'a': 0.5, 'b': 0.25, 'c': 0}}"),
        LETTERS,
    )
    assert reply.top == (("a", math.log(0.5)), ("b", math.log(0.25)))
    assert label_probabilities(reply.top, tuple("abc"))[1] == pytest.approx(0.75)


def test_a_comparison_shows_its_answers_without_ratings() -> None:
    answers = tuple(
        Item(f"a{k}", f"text {k}", candidate=name, ratings={"x": 1.0})
        for k, name in enumerate("AB")
    )
    pair = Comparison("q", "", candidate="A|B", answers=answers)
    seen: list[dict[str, Any]] = []

    def judge(_: Any, item: dict[str, Any]) -> str:
        seen.append(item)
        return "A"

    asked(
        function_settings("mine", judge),
        option_call(shown=("B", "A")),
        items=[pair],
        function=judge,
    )
    assert [(one["candidate"], one["response"]) for one in seen[0]["answers"]] == [
        ("A", "text 0"),
        ("B", "text 1"),
    ]
    assert seen[0]["shown"] == ["B", "A"]
    assert "ratings" not in str(seen[0])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("while True: pass", "code_timeout", "no answer within 0.5 s"),
        (
            "import signal\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(60)",
            "code_timeout",
            "no answer",
        ),
        ("while True: print('x' * 999)", "code_timeout", "no answer"),
        ("os.kill(os.getpid(), 9)", "code_ended", "ended its process"),
        ("sys.exit(3)", "code_error", "SystemExit: 3"),
        ("return {}['score']", "code_error", "KeyError: 'score' (my_judge.py, line 4)"),
        ("return 'x' * 3_000_000_000", "code_error", "MemoryError"),
        ("return float('nan')", "code_reply", "float nan"),
        ("return True", "code_reply", "bool True"),
        ("return judge", "code_reply", "function"),
        ("return {'text': '4', 'probabilities': {'4': 2}}", "code_reply", "returned dict"),
        ("return 'x' * 50_000_000", "too_large", "the limit is"),
        ("a = []\nfor _ in range(100_000): a = [a]\nreturn a", "code_reply", "RecursionError"),
        ("class A:\n    def __repr__(self): raise ValueError\nreturn A()", "code_reply", "A"),
        (
            "for fd in range(3, 30):\n    try: os.write(fd, b'junk')\n    except OSError: "
            "pass\nreturn '4'",
            "code_ended",
            "",
        ),
    ],
)
def test_what_it_does_instead_is_a_fault_and_the_next_call_is_answered(
    tmp_path: Path, body: str, kind: str, words: str
) -> None:
    again = f"if item['repeat']: return '5'\n{body}"
    judge = own(tmp_path, again, timeout=0.5 if kind == "code_timeout" else 20.0)
    fault, fine = asked(judge, option_call(), option_call(repeat=1))
    assert (fault.kind, fault.retryable) == (kind, False)
    assert words.replace("line 4", "line 5") in fault.error
    assert (fine.error, fine.text) == ("", "5")


STARTS = """
own = [subprocess.Popen(['sleep', '47'], start_new_session=new).pid for new in (False, True)]
open('pids', 'a').write(' '.join(map(str, [os.getpid(), *own])) + ' ')
"""


@pytest.mark.thorough
@pytest.mark.parametrize("killed", [False, True])
def test_nothing_that_it_started_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """By a judge that is closed, or a lab that is killed while it is asked."""
    monkeypatch.chdir(tmp_path)
    judge = own(tmp_path, f"{STARTS}return '4'" if not killed else f"{STARTS}while True: pass")
    if not killed:
        asked(judge)
    else:
        script = (
            "from tests.judges.test_python import JudgeSettings, asked, with_code\n"
            f"asked(with_code(JudgeSettings(**{judge.model_dump()!r}), {str(tmp_path)!r}, "
            f"trust=True))"
        )
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            [sys.executable, "-c", script], env=environment, start_new_session=True
        ) as lab:
            until = time.monotonic() + 60
            while (
                not (tmp_path / "pids").exists() and lab.poll() is None and time.monotonic() < until
            ):
                time.sleep(0.05)
            time.sleep(0.2)
            os.kill(lab.pid, signal.SIGKILL)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 3
    assert gone(*pids)


def test_it_sees_no_key_but_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MINE_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"):
        monkeypatch.setenv(name, f"secret-of-{name}")
    judge = own(
        tmp_path,
        "return ' '.join(os.environ) + ' ' + os.environ['MINE_API_KEY']",
        key_env="MINE_API_KEY",
    )
    with pytest.raises(NoConsent, match=r"MINE_API_KEY would be sent to own code: .*my_judge\.py"):
        asked(judge)
    (reply,) = asked(judge, consents=frozenset(sent_by(judge)))
    assert "MINE_API_KEY" in reply.text
    assert not {"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"} & set(reply.text.split())
    assert "secret-of" not in reply.text  # a reply never holds the judge's key


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_a_key_of_the_lab_cannot_be_read_from_its_environment() -> None:
    # A process of an ordinary user (root reads everything), and a child of it that looks for the
    # key.
    source = (ROOT / "rubriclab" / "judges" / "supervisor.py").read_text("utf-8")
    look = (
        "import os\ntry:\n    print('SPARE' in open(f'/proc/{os.getppid()}/environ').read())\n"
        "except OSError as fault:\n    print(type(fault).__name__)\n"
    )
    run = f"subprocess.run([sys.executable, '-I', '-c', {look!r}], capture_output=True, text=True)"
    script = (
        f"{source.partition('if __name__')[0]}\n"
        f"def child(): return {run}.stdout.strip()\n"
        "print(child()); prctl(PR_SET_DUMPABLE, 0); print(child())\n"
    )
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or ""
    if os.getuid() != 0:
        python = sys.executable
    if not python:
        pytest.skip("no Python that an ordinary user of this machine can start")
    who: dict[str, Any] = {"user": 65_534, "group": 65_534} if os.getuid() == 0 else {}
    done = subprocess.run(
        [python, "-I", "-c", script],
        env={"SPARE_API_KEY": "secret", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
        **who,
    )
    assert done.stdout.split() == ["True", "PermissionError"], done.stderr


def test_own_code_makes_the_lab_hide_its_environment(tmp_path: Path) -> None:
    import ctypes

    assert asked(own(tmp_path, "return '4'"))[0].text == "4"
    if sys.platform == "linux":
        assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0  # PR_GET_DUMPABLE


def test_the_file_is_part_of_the_identity_and_must_be_the_one_that_was_measured(
    tmp_path: Path,
) -> None:
    first = own(tmp_path, "return '4'")
    assert own(tmp_path, "return '5'").identity() != first.identity()
    assert own(tmp_path, "return '4'", memory=500).identity() == first.identity()
    handed = JudgeSettings(
        **first.model_dump()
    )  # as a study file holds it: with the hash, without the folder
    with pytest.raises(LabError, match=r"from another lab.*judge\(\) of .*my_judge.py.*--trust"):
        with_code(handed, tmp_path)
    assert with_code(handed, tmp_path, trust=True).identity() == first.identity()
    with pytest.raises(LabError, match="--code FOLDER"):
        asked(handed)
    assert asked(with_code(handed, tmp_path, trust=True))[0].text == "4"

    async def change() -> None:
        asker = await open_judge(first)
        own(tmp_path, "return '5'")
        with pytest.raises(LabError, match="has changed since the run began"):
            await asker.ask(option_call())
        await asker.close()

    asyncio.run(change())
    with pytest.raises(LabError, match=r"measured with another my_judge\.py"):
        with_code(handed, tmp_path, trust=True)


def test_files_that_it_imports_are_part_of_the_identity(tmp_path: Path) -> None:
    def code_hash() -> str:
        return own(
            tmp_path, "from scale import (\n    top\n)\n    import rules.strict\n    return top()"
        ).options["sha256"]

    (tmp_path / "rules").mkdir()
    made = [code_hash()]
    for name, text in (
        ("scale.py", "import words\ndef top(): return 4"),
        ("words.py", "A = 1"),
        ("rules/strict.py", "B = 1"),
        ("words.py", "A = 2"),
    ):
        (tmp_path / name).write_text(text)
        made.append(code_hash())
    assert len(set(made)) == 5
    (tmp_path / "other.py").write_text("C = 1")
    assert code_hash() == made[-1], "nothing imports it"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "names no file"),
        ({"path": "../outside.py"}, "Name a file in"),
        ({"path": "/etc/passwd"}, "Name a file in"),
        ({"path": "missing.py"}, "cannot be read"),
        ({"path": "pipe"}, "a pipe or a device"),
        ({"path": "link.py"}, "Name a file in"),
        ({"path": "my_judge.py", "entry": "os.system"}, "entry"),
        ({"path": "my_judge.py", "entry": "other"}, "no function “other”"),
        ({"path": "broken.py"}, "SyntaxError"),
        ({"path": "raises.py"}, "RuntimeError: no weights (raises.py, line 1)"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_words(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    (tmp_path / "outside.py").write_text("def judge(m, i): return 1", "utf-8")
    inner = tmp_path / "study"
    inner.mkdir()
    own(inner, "return '4'")
    os.mkfifo(inner / "pipe")
    (inner / "link.py").symlink_to(tmp_path / "outside.py")
    (inner / "broken.py").write_text("def judge(:", "utf-8")
    (inner / "raises.py").write_text("raise RuntimeError('no weights')", "utf-8")
    with pytest.raises(LabError) as fault:
        asked(with_code(JudgeSettings(name="mine", kind="python", options=options), inner))
    assert words in str(fault.value)


def test_a_function_of_a_notebook_that_hangs_is_given_up() -> None:
    def slow(_: Any, item: Any) -> str:
        time.sleep(0 if item["repeat"] else 5)
        return "4"

    judge = function_settings("mine", slow).model_copy(update={"timeout": 0.3})
    late, fine = asked(judge, option_call(), option_call(repeat=1), function=slow)
    assert (late.kind, fine.text) == ("code_timeout", "4")
    with pytest.raises(LabError, match=r"notebook's function, use rl\.run"):
        asked(judge)
    other = function_settings("mine", lambda *_: "5")
    assert other.identity() != judge.identity()
