"""Open judges: one opener for each kind, and a guard around those that other packages bring.

What a kind is, and whether its package can be used, is decided in ``model/judge_kind.py``.
"""

import asyncio
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import key_to_send, mask_reply
from rubriclab.judges.reply import MAX_TEXT
from rubriclab.judges.weights import Progress
from rubriclab.model.consent import NO_CONSENTS, Consents
from rubriclab.model.data import Item, Rubric
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.judge_kind import JudgeKind, kind_named, kind_names
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.study import validated
from rubriclab.model.text import LabError, shorten, storable

if TYPE_CHECKING:
    from httpx2 import AsyncClient

T = TypeVar("T")
Functions = Mapping[str, Callable[..., Any]]
"""By judges' names: the own code that a notebook hands over."""
PATIENCE_SECONDS = 5.0
"""How much longer than its timeout a packaged judge may take. A judge that keeps the timeout itself
says better what was late, so it is given the time to."""


class Asker(Protocol):
    """An open judge; made, asked and closed in one event loop.

    Three further attributes are used where an asker has them. ``ask_together(calls)`` returns a
    list of replies: several calls about one answer go out in one request. ``trouble`` says which of
    several servers do not answer. ``adaptations`` is a list of sentences: what a server refuses,
    and what it is sent instead.
    """

    async def ask(self, call: Call) -> Reply:
        """Ask once. A fault of a call is a Reply with ``error`` and ``kind``, never an exception.

        Raises LabError where the judge as a whole can no longer be asked.
        """

    async def close(self) -> None:
        """Let go of connections and servers; safe to call twice."""


@dataclass(frozen=True)
class Opening:
    """What a judge is handed when it is opened.

    secrets: keys by variable name, looked up before the environment.
    progress: called while weights are downloaded.
    rubric: what a simulated judge may look at.
    items: the run's, for a judge that is the user's own code.
    function: that code, where a notebook hands it over.
    consents: which key may go to which address.
    """

    secrets: Mapping[str, str] | None = None
    progress: Progress | None = None
    rubric: Rubric | None = None
    items: Sequence[Item] = ()
    function: Callable[..., Any] | None = None
    consents: Consents = NO_CONSENTS

    def key(self, settings: JudgeSettings) -> str | None:
        """Return the judge's key, or None if its settings name none.

        Raises LabError where the variable is not set or may not be sent, and NoConsent where nobody
        has agreed that the key goes to all of the judge's addresses.
        """
        return key_to_send(settings, self.secrets, self.consents)

    def client(self, settings: JudgeSettings) -> "AsyncClient":
        """Return an HTTP client that keeps what the lab promises of a judge behind an address.

        It sends the judge's key as a bearer token, keeps its timeout and certificates, bounds what
        a reply may hold, follows no redirects, and asks no inner address from a served lab.
        Whatever goes wrong is raised as a Fault. Close the client with the judge.
        """
        from httpx2 import AsyncClient

        from rubriclab.judges.served import served
        from rubriclab.judges.transport import Transport

        key = self.key(settings)
        transport = Transport(
            timeout=settings.timeout,
            ca_file=settings.ca_file,
            secrets=(key,) if key else (),
            inward=not served(),
        )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # The transport keeps the time, and no proxy or key is taken from the environment.
        return AsyncClient(transport=transport, headers=headers, timeout=None, trust_env=False)


Opener = Callable[[JudgeSettings, Opening], Awaitable[Asker]]


@dataclass(frozen=True, kw_only=True, eq=False)
class PackagedKind(JudgeKind):
    """A kind of judge that another package brings (docs/adding.md).

    open: makes an asker, inside the event loop that will ask it. It raises LabError for settings
        that can never work, before anything is asked.
    check: raises LabError for the same settings without opening, where opening takes long. Without
        it the judge is opened and closed before a run.
    """

    open: Opener
    check: Callable[[JudgeSettings], None] | None = None


# ---------------------------------------------------------------- the lab's own kinds
async def _open_embedded(settings: JudgeSettings, opening: Opening) -> Asker:
    from rubriclab.judges.embedded import EmbeddedJudge

    return await EmbeddedJudge.open(settings, progress=opening.progress)


async def _open_python(settings: JudgeSettings, opening: Opening) -> Asker:
    from rubriclab.judges.python import PythonJudge

    return PythonJudge(settings, opening.items, opening.secrets, opening.function, opening.consents)


async def _open_simulated(settings: JudgeSettings, opening: Opening) -> Asker:
    from rubriclab.judges.simulated import SimulatedJudge

    return SimulatedJudge(settings, opening.rubric)


async def _open_chat(settings: JudgeSettings, opening: Opening) -> Asker:
    from rubriclab.judges.client import ChatClient

    return ChatClient(_with_address(settings), secrets=opening.secrets, consents=opening.consents)


async def _open_decisions(settings: JudgeSettings, opening: Opening) -> Asker:
    if not settings.served:  # a model file in place of a server
        return await _open_embedded(settings, opening)
    from rubriclab.judges.decision_server import DecisionClient

    return DecisionClient(
        _with_address(settings), secrets=opening.secrets, consents=opening.consents
    )


def _with_address(settings: JudgeSettings) -> JudgeSettings:
    """Return the settings with the kind's default address written out."""
    return settings.model_copy(update={"base_urls": settings.addresses})


OPENERS: Mapping[str, Opener] = {
    "embedded": _open_embedded,
    "vllm": _open_chat,
    "openai": _open_chat,
    "decisions": _open_decisions,
    "python": _open_python,
    "simulated": _open_simulated,
}
"""How the lab's own kinds are opened. The libraries that a kind needs are imported only then."""


async def open_judge(
    settings: JudgeSettings,
    *,
    secrets: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    rubric: Rubric | None = None,
    items: Sequence[Item] = (),
    function: Callable[..., Any] | None = None,
    consents: Consents = NO_CONSENTS,
) -> Asker:
    """Open a judge. Call it inside the event loop that will ask it, and ``close`` it there.

    The arguments are those of ``Opening``. Raises LabError for settings that can never work (no
    address, a key that is not set, an unknown model or option) and for weights that cannot be
    downloaded.
    """
    opening = Opening(secrets, progress, rubric, items, function, consents)
    about = settings.about
    if isinstance(about, PackagedKind):
        return await _open_packaged(about, settings, opening)
    return await OPENERS[about.name](settings, opening)


def checked_unopened(settings: JudgeSettings) -> bool:
    """Check a judge that takes long to open, and return whether that was one.

    Raises LabError for settings that can never work. Any other judge is checked by opening it.
    """
    about = settings.about
    if isinstance(about, PackagedKind):
        _check_packaged(about, settings)
        return about.check is not None
    if not about.small_model:
        return False
    from rubriclab.judges.embedded import check_options

    check_options(settings)
    return True


# ---------------------------------------------------------------- kinds of other packages
async def _open_packaged(about: PackagedKind, settings: JudgeSettings, opening: Opening) -> Asker:
    """Open a judge of another package, and hold it to what the lab promises."""
    _check_packaged(about, settings)
    if settings.served and not settings.addresses:
        raise LabError(f"Judge “{settings.name}” has no address. Set its base_urls.")
    # Also where the package never asks for the key: nothing is opened without the user's consent.
    key = opening.key(settings) if about.takes_key else None
    try:
        asker = await about.open(_with_address(settings), opening)
    except LabError:
        raise
    except Exception as fault:
        raise LabError(_failed(about, settings, fault)) from fault
    secrets = (key,) if key else ()
    if hasattr(asker, "ask_together"):
        return GuardedTogether(asker, about, settings, secrets)
    return Guarded(asker, about, settings, secrets)


def _check_packaged(about: PackagedKind, settings: JudgeSettings) -> None:
    """Raise LabError for options that the kind's model refuses, and for what its check refuses."""
    read_options(about.options, settings)
    if about.check is None:
        return
    try:
        about.check(settings)
    except LabError:
        raise
    except Exception as fault:
        raise LabError(_failed(about, settings, fault)) from fault


def _failed(about: PackagedKind, settings: JudgeSettings, fault: Exception) -> str:
    return (
        f"Judge “{settings.name}” could not be opened: the package {about.package} failed "
        f"({type(fault).__name__}: {shorten(str(fault), 200)}). Check the judge's settings, or "
        f"update the package."
    )


class Guarded:
    """An open judge of another package, held to the promises of ``Asker``.

    Exceptions become faults of their call, a call ends after the judge's timeout, and the judge's
    key is masked in every reply: the package's own code need not do any of that.
    """

    def __init__(
        self,
        asker: Asker,
        about: PackagedKind,
        settings: JudgeSettings,
        secrets: tuple[str, ...],
    ) -> None:
        self._asker, self._about, self._settings = asker, about, settings
        self._secrets = secrets

    @property
    def trouble(self) -> str:
        """Which of several servers do not answer."""
        return str(getattr(self._asker, "trouble", ""))

    @property
    def adaptations(self) -> list[str]:
        """What a server refuses, and what it is sent instead."""
        return [str(said) for said in getattr(self._asker, "adaptations", ())]

    async def ask(self, call: Call) -> Reply:
        """Ask once; whatever the package does wrong is a fault of this call."""
        (reply,) = await self._guarded(lambda: self._one(call), 1)
        return reply

    async def _one(self, call: Call) -> list[Reply]:
        return [await self._asker.ask(call)]

    async def _guarded(
        self, work: Callable[[], Awaitable[list[Reply]]], number: int
    ) -> list[Reply]:
        """Return ``number`` replies that are fit to be kept, or as many faults."""
        started = time.perf_counter()
        limit = self._settings.timeout
        try:
            replies = await asyncio.wait_for(work(), limit + PATIENCE_SECONDS)
            self._require_replies(replies, number)
            return [self._kept(reply) for reply in replies]
        except LabError:
            raise
        except TimeoutError:
            fault = Fault("timeout", f"No reply within {limit:g} s", self._secrets)
        except Fault as raised:
            fault = raised
        except Exception as raised:
            words = f"The package {self._about.package} failed ({type(raised).__name__}: {raised})"
            fault = Fault("package_error", words, self._secrets)
        reply = fault.reply(time.perf_counter() - started)
        return [mask_reply(reply, self._secrets)] * number

    def _require_replies(self, replies: object, number: int) -> None:
        """Raise Fault where a package returned something else than its replies."""
        fine = isinstance(replies, list) and all(isinstance(reply, Reply) for reply in replies)
        if not isinstance(replies, list) or not fine or len(replies) != number:
            words = f"The package {self._about.package} returned {shorten(repr(replies), 100)}"
            raise Fault("package_error", words, self._secrets)

    def _kept(self, reply: Reply) -> Reply:
        """Return a reply as the store can hold it, without the key. Raises Fault for a huge one."""
        if len(reply.text) > MAX_TEXT:
            words = f"The reply has {len(reply.text):,} characters; the limit is {MAX_TEXT:,}"
            raise Fault("too_large", words, self._secrets)
        kept = replace(reply, text=storable(reply.text), error=storable(reply.error))
        return mask_reply(kept, self._secrets)

    async def close(self) -> None:
        """Close the package's judge. What it raises then can change no reply, so it is dropped."""
        try:
            await self._asker.close()
        except Exception:
            return


class GuardedTogether(Guarded):
    """A guarded judge that answers several calls in one request."""

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply]:
        """Ask several calls in one request; a failure of the package is a fault of each."""
        asker: Any = self._asker
        return await self._guarded(lambda: asker.ask_together(calls), len(calls))


# ---------------------------------------------------------------- names, threads
_MODEL_AT_URL = re.compile(r"((?:(?!https?://).)*?)@?(https?://\S+)?")


def judge_named(text: str, key_env: str | None = None) -> JudgeSettings:
    """Return the judge that a command line names: a model of the lab, KIND:MODEL, MODEL@URL, URL.

    Raises LabError.
    """
    kind, rest = _kind_before_colon(text)
    match = _MODEL_AT_URL.fullmatch(rest)
    model, address = match.groups() if match else (rest, None)
    if not kind:
        kind = "openai" if address else "embedded"
    values: dict[str, Any] = {
        "name": (model or text)[:100],
        "kind": kind,
        "model": model or text,
        "key_env": key_env,
        "base_urls": [address] if address else [],
    }
    return validated(JudgeSettings, values, f"--judge {shorten(text)}: ")


def _kind_before_colon(text: str) -> tuple[str, str]:
    """Split KIND:MODEL into both; the kind is empty where the colon belongs to a model or a URL."""
    before, colon, rest = text.partition(":")
    if not colon or rest.startswith("//") or before not in kind_names():
        return "", text
    if kind_named(before).runs_code:  # which names a file, by a study file alone
        return "", text
    return before, rest


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of a coroutine, run in a thread of its own.

    The caller may be inside an event loop already, as a notebook is.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(asyncio.run(work()))
        except BaseException as error:
            done.set_exception(error)

    # A daemon, so that nobody waits for it when Ctrl-C ends the program.
    threading.Thread(target=run, daemon=True).start()
    return done.result()
