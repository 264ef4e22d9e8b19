"""A call in, a reply out: one OpenAI-compatible client; embedded, vLLM and simulated judges.

A new kind is a module here that answers calls (see :class:`Asking`), or none where the client
will do, a line in ``JUDGE_KINDS`` and a word in ``model.JudgeKind``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from rubriclab.judges.base import Asking
from rubriclab.judges.serving import check_address
from rubriclab.model import AnswerMode, Judge, Study
from rubriclab.model.language import msg

__all__ = ["JUDGE_KINDS", "OPENAI_URL", "Asking", "Kind", "Server", "check_running", "check_settings", "open_judge"]

Secrets = Mapping[str, str] | None
Progress = Callable[[int, int, str], None] | None
Server = Literal["vllm", "llama.cpp", "openai", "other"]
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Kind:
    """One kind of judge: how it is had, and what a plan has to know of it.

    ``label``: what it is, in a word (of English, marked with ``msg``) beside a judge's name. ``concurrency``: calls at once where
    the judge names no number. ``served``: it answers the OpenAI protocol somewhere else than in
    this process, so that another route can ask it too and it may cost money. ``own``: it answers
    that protocol in this process. ``server``: what speaks there where it does not say so itself.
    ``code``: it runs a function of the user's, after a yes and from a folder that the user named.
    ``address``: where it is asked where a form names no address; a study has to name one.
    ``model``: its model's name, where there is one alone. ``begun``: answers in score mode are
    begun for it, unless it says otherwise. ``feedback_tokens`` and ``score_tokens``: how long an
    answer of either mode may be where nobody names a number.
    """

    label: str
    concurrency: int
    open: Callable[[Judge, Study, Secrets, Progress], Asking]
    check: Callable[[Judge, Secrets], None]
    served: bool
    own: bool = False
    code: bool = False
    server: Server = "other"
    address: str = ""
    model: str = ""
    begun: bool = False
    feedback_tokens: int = 1024
    score_tokens: int = 16

    @property
    def answers_tests(self) -> bool:
        """There is something that can be asked a question."""
        return self.served or self.own or self.code

    def max_tokens(self, answer: AnswerMode) -> int:
        """How long an answer may be where nobody names a number."""
        return self.feedback_tokens if answer == "feedback" else self.score_tokens


def open_judge(
    judge: Judge,
    study: Study,
    secrets: Mapping[str, str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Asking:
    """The judge, ready to be asked; to be called inside the event loop that will ask it.

    May take as long as loading a model does. Raises LabError, saying what to do, where the
    judge cannot be had: no weights, no key, no address. ``secrets`` are looked up before the
    environment; ``progress`` hears (bytes so far, bytes in all, from where) while weights
    are fetched.
    """
    return JUDGE_KINDS[judge.kind].open(judge, study, secrets, progress)


def check_settings(judge: Judge, secrets: Mapping[str, str] | None = None) -> None:
    """Raises LabError for a judge that can be seen to be unusable before it is opened.

    An unknown option or model, a file that is no GGUF, a missing key, a malformed address, a
    number out of range, a ca_file without certificates: a run of it would only pause at its
    first call.
    """
    from rubriclab.judges.settings import check_numbers

    check_numbers(judge)
    JUDGE_KINDS[judge.kind].check(judge, secrets)


def check_running(judge: Judge, secrets: Mapping[str, str] | None = None) -> None:
    """Raises LabError for what only running it shows: own code that cannot be imported.

    To be called after ``check_settings`` and the user's yes, before anything is kept.
    """
    if JUDGE_KINDS[judge.kind].code:
        from rubriclab.judges.code_judge import import_now

        import_now(judge, secrets)


# ---------------------------------------------------------------- the kinds, imported when used


def _open_embedded(judge: Judge, _study: Study, _secrets: Secrets, progress: Progress) -> Asking:
    from rubriclab.judges.embedded import EmbeddedJudge

    return EmbeddedJudge(judge, progress=progress)


def _check_embedded(judge: Judge, _secrets: Secrets) -> None:
    from rubriclab.judges import embedded

    embedded.check_settings(judge)


def _open_served(judge: Judge, _study: Study, secrets: Secrets, _progress: Progress) -> Asking:
    from rubriclab.judges.client import ChatClient

    return ChatClient(judge, secrets=secrets)


def _check_served(judge: Judge, secrets: Secrets) -> None:
    from rubriclab.judges.addresses import addresses, base_url, read_key
    from rubriclab.judges.wire import trust

    trust(judge.ca_file)
    for url in addresses(judge):
        check_address(base_url(url), resolve=True)
    read_key(judge, secrets)


def _open_simulated(judge: Judge, study: Study, _secrets: Secrets, _progress: Progress) -> Asking:
    from rubriclab.judges.simulated import SimulatedJudge

    return SimulatedJudge(judge, study)


def _check_simulated(judge: Judge, _secrets: Secrets) -> None:
    from rubriclab.judges.effects import read_effects

    read_effects(judge.options)


def _open_code(judge: Judge, study: Study, secrets: Secrets, _progress: Progress) -> Asking:
    from rubriclab.judges.code_judge import CodeJudge

    return CodeJudge(judge, study, secrets)


def _check_code(judge: Judge, secrets: Secrets) -> None:
    from rubriclab.judges.addresses import read_key
    from rubriclab.judges.code_entry import check_code

    check_code(judge)
    read_key(judge, secrets)


JUDGE_KINDS: Mapping[str, Kind] = {
    "embedded": Kind(
        msg("on this machine"),
        1,
        _open_embedded,
        _check_embedded,
        served=False,
        own=True,
        server="llama.cpp",
        begun=True,
        feedback_tokens=320,
        score_tokens=3,
    ),
    "openai": Kind("API", 32, _open_served, _check_served, served=True, address=OPENAI_URL),
    "vllm": Kind("vLLM", 64, _open_served, _check_served, served=True, server="vllm"),
    "python": Kind(msg("own code"), 1, _open_code, _check_code, served=False, code=True),
    "simulated": Kind(msg("simulated"), 64, _open_simulated, _check_simulated, served=False, model="simulated"),
}
