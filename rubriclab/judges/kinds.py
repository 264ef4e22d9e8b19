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
"""Functions that a notebook hands over as judges, by the judge's name."""
PATIENCE_SECONDS = 5.0
"""How much longer than its timeout (seconds) a packaged judge may take.

A judge that keeps the timeout itself can say better what was late. This gives it the time to do so.
"""


class Asker(Protocol):
    """An open judge. Open, ask and close it in the same event loop.

    We use three further attributes where an asker has them. ``ask_together(calls)`` sends several
    calls about one answer in one request, and returns a list of replies. ``trouble`` says which of
    several servers do not answer. ``adaptations`` is a list of sentences that say what a server
    refuses, and what we send it instead.
    """

    async def ask(self, call: Call) -> Reply:
        """Ask once. A call that fails returns a Reply with ``error`` and ``kind``.

        It never raises for a single call. Raises LabError where the judge as a whole can no longer
        be asked.
        """

    async def close(self) -> None:
        """Release connections and servers. It is safe to call this twice."""


@dataclass(frozen=True)
class Opening:
    """What a judge receives when we open it.

    secrets: keys by variable name, which take precedence over the environment.
    progress: called while weights are downloaded.
    rubric: the study's rubric, for a simulated judge.
    items: the run's items, for a judge that is the user's own code.
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
        """Return an HTTP client that keeps what the lab promises about a judge at an address.

        It sends the judge's key as a bearer token, uses its timeout and certificates, limits the
        size of a reply, and follows no redirects. Where the lab is served to others, it asks no
        address inside the network. Every failure is raised as a Fault. Close the client when you
        close the judge.
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
        # The transport has its own timeout. The environment must not bring in a proxy or a key.
        return AsyncClient(transport=transport, headers=headers, timeout=None, trust_env=False)


Opener = Callable[[JudgeSettings, Opening], Awaitable[Asker]]
"""Opens a judge of one kind from its settings."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PackagedKind(JudgeKind):
    """A kind of judge that another package brings (docs/adding.md).

    open: opens a judge, inside the event loop that will ask it. It raises LabError for settings
        that can never work, before any call.
    check: raises LabError for the same settings without opening the judge. Give it where opening
        takes long. Without it, the judge is opened and closed before a run.
    """

    open: Opener
    check: Callable[[JudgeSettings], None] | None = None


# ---------------------------------------------------------------- the lab's own kinds
async def _open_embedded(settings: JudgeSettings, opening: Opening) -> Asker:
    """Open a model file that runs in this process."""
    from rubriclab.judges.embedded import EmbeddedJudge

    return await EmbeddedJudge.open(settings, progress=opening.progress)


async def _open_python(settings: JudgeSettings, opening: Opening) -> Asker:
    """Open a judge that is a function of the user."""
    from rubriclab.judges.python import PythonJudge

    return PythonJudge(settings, opening.items, opening.secrets, opening.function, opening.consents)


async def _open_simulated(settings: JudgeSettings, opening: Opening) -> Asker:
    """Open a judge whose replies are made up."""
    from rubriclab.judges.simulated import SimulatedJudge

    return SimulatedJudge(settings, opening.rubric)


async def _open_chat(settings: JudgeSettings, opening: Opening) -> Asker:
    """Open a judge that is asked by OpenAI chat completions."""
    from rubriclab.judges.client import ChatClient

    return ChatClient(_with_address(settings), secrets=opening.secrets, consents=opening.consents)


async def _open_decisions(settings: JudgeSettings, opening: Opening) -> Asker:
    """Open a judge that is asked typed questions."""
    if not settings.served:  # a model file instead of a server
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
"""How the lab's own kinds are opened. Each imports the libraries that it needs only when called."""


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
    """Open a judge inside the event loop that will ask it. Close it there too.

    ``Opening`` describes the arguments. Raises LabError for settings that can never work (no
    address, a key that is not set, an unknown model or option) and for weights that cannot be
    downloaded.
    """
    opening = Opening(secrets, progress, rubric, items, function, consents)
    about = settings.about
    if isinstance(about, PackagedKind):
        return await _open_packaged(about, settings, opening)
    return await OPENERS[about.name](settings, opening)


def checked_unopened(settings: JudgeSettings) -> bool:
    """Return whether this judge was checked here, without opening it because that takes long.

    Raises LabError for settings that can never work. Check any other judge by opening it.
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
    """Open a judge of another package, and guard it so that it keeps the promises of ``Asker``."""
    _check_packaged(about, settings)
    if settings.served and not settings.addresses:
        raise LabError(f"Judge “{settings.name}” has no address. Set its base_urls.")
    # Look up the key even if the package never asks for it: that checks the user's consent.
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
    """Raise LabError for settings that the kind's options model or its check refuses."""
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
    """Return the error for a package whose judge could not be opened."""
    return (
        f"Judge “{settings.name}” could not be opened: the package {about.package} failed "
        f"({type(fault).__name__}: {shorten(str(fault), 200)}). Check the judge's settings, or "
        f"update the package."
    )


class Guarded:
    """An open judge of another package, guarded so that it keeps the promises of ``Asker``.

    An exception becomes a fault of its call, a call ends after the judge's timeout, and the judge's
    key is masked in every reply. The package's own code need not do any of that.
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
        """Say which of several servers do not answer."""
        return str(getattr(self._asker, "trouble", ""))

    @property
    def adaptations(self) -> list[str]:
        """Say what a server refuses, and what we send it instead."""
        return [str(said) for said in getattr(self._asker, "adaptations", ())]

    async def ask(self, call: Call) -> Reply:
        """Ask once. Whatever the package does wrong is a fault of this call."""
        (reply,) = await self._guarded(lambda: self._one(call), 1)
        return reply

    async def _one(self, call: Call) -> list[Reply]:
        """Ask once without the guard. The list makes it like ``ask_together``."""
        return [await self._asker.ask(call)]

    async def _guarded(
        self, work: Callable[[], Awaitable[list[Reply]]], number: int
    ) -> list[Reply]:
        """Return ``number`` replies that the store can hold, or as many faults."""
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
        """Raise Fault unless a package returned a list of ``number`` replies."""
        fine = isinstance(replies, list) and all(isinstance(reply, Reply) for reply in replies)
        if not isinstance(replies, list) or not fine or len(replies) != number:
            words = f"The package {self._about.package} returned {shorten(repr(replies), 100)}"
            raise Fault("package_error", words, self._secrets)

    def _kept(self, reply: Reply) -> Reply:
        """Return a reply as the store can hold it, without the key. Raises Fault if too long."""
        if len(reply.text) > MAX_TEXT:
            words = f"The reply has {len(reply.text):,} characters; the limit is {MAX_TEXT:,}"
            raise Fault("too_large", words, self._secrets)
        kept = replace(reply, text=storable(reply.text), error=storable(reply.error))
        return mask_reply(kept, self._secrets)

    async def close(self) -> None:
        """Close the package's judge. Ignore what it raises: that can no longer change a reply."""
        try:
            await self._asker.close()
        except Exception:
            return


class GuardedTogether(Guarded):
    """A guarded judge that answers several calls in one request."""

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply]:
        """Send several calls in one request. A failure of the package is a fault of each call."""
        asker: Any = self._asker
        return await self._guarded(lambda: asker.ask_together(calls), len(calls))


# ---------------------------------------------------------------- names, threads
_MODEL_AT_URL = re.compile(r"((?:(?!https?://).)*?)@?(https?://\S+)?")
"""Splits MODEL@URL into both. Either may be missing, and a model's name may contain an @."""


def judge_named(text: str, key_env: str | None = None) -> JudgeSettings:
    """Return the judge that a command line names.

    The text is a model of the lab, KIND:MODEL, MODEL@URL or a URL. ``key_env``: the environment
    variable with the key. Raises LabError where the text gives no usable judge.
    """
    if text in kind_names():
        raise LabError(f"“{shorten(text)}” is a judge kind. Write {text}: or {text}:MODEL.")
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
    """Split KIND:MODEL. The kind is empty where the colon belongs to a model or a URL."""
    before, colon, rest = text.partition(":")
    if not colon or rest.startswith("//") or before not in kind_names():
        return "", text
    if kind_named(before).runs_code:  # only a study file may name a file to run
        return "", text
    return before, rest


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a thread of its own and return its result.

    The caller may already be inside an event loop, for example in a notebook.
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
