"""Test a judge before a run: is it there, does it answer, does it give probabilities.

Lists the server's models and asks one real question through the client that the run will use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from rubriclab.judges import JUDGE_KINDS, Server
from rubriclab.judges.addresses import addresses, base_url, read_key
from rubriclab.judges.bounded import TooLarge, load_json
from rubriclab.judges.client import ChatClient
from rubriclab.judges.code_judge import CodeJudge
from rubriclab.judges.faults import advice, redact
from rubriclab.judges.request import same_model
from rubriclab.judges.settings import check_numbers
from rubriclab.judges.transport import from_exception
from rubriclab.judges.vllm import ServedModel, models_of, root_of, version_of
from rubriclab.judges.wire import Damaged, fetch, trust
from rubriclab.model import Call, Criterion, Dataset, Item, Judge, LabError, Ordering, Reply, Rubric, ScoreOption, Study
from rubriclab.model.language import tr
from rubriclab.model.wording import did_you_mean

TEST_MESSAGES: tuple[Mapping[str, str], ...] = (
    {
        "role": "user",
        "content": "How good is this answer to “What is 2 + 2?”, on a scale from 1 (wrong) to "
        "5 (right)?\n\nAnswer: 4\n\nReply with one number only.",
    },
)
MODELS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What the test of a judge found.

    ``ok``: a run can be started. ``problems`` stand in its way, ``warnings`` do not; both
    say what to do. ``probabilities``: log-probabilities came with the answer; None where no
    answer came. ``latency`` in seconds; ``context`` in tokens where the server tells.
    """

    ok: bool
    url: str
    server: Server = "other"
    version: str | None = None
    models: tuple[str, ...] = ()
    context: int | None = None
    reply: Reply | None = None
    probabilities: bool | None = None
    latency: float | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def check_judge_now(judge: Judge, **options: Any) -> ProbeReport:
    """``check_judge`` for callers without an event loop, such as a page."""
    return asyncio.run(check_judge(judge, **options))


async def check_judge(
    judge: Judge,
    *,
    secrets: Mapping[str, str] | None = None,
    base_urls: Sequence[str] | None = None,
    messages: Sequence[Mapping[str, str]] = TEST_MESSAGES,
    top_logprobs: int = 20,
    timeout: float = 30.0,
) -> ProbeReport:
    """Look at every server of the judge; the report of the first that fails, else of the first.

    ``messages``: the question, by default a small one of our own. ``timeout``: seconds for each
    request, at most the judge's own. An embedded judge is tested through the server that was
    started for it: its address as ``base_urls``, its key in ``secrets``. Never raises for a
    judge that cannot be used: the report says so.
    """
    if not JUDGE_KINDS[judge.kind].answers_tests:
        return ProbeReport(
            ok=True,
            url="",
            warnings=(
                tr(
                    "A judge of the kind “{label}” has no server: there is nothing to test.",
                    label=tr(JUDGE_KINDS[judge.kind].label),
                ),
            ),
        )
    if JUDGE_KINDS[judge.kind].code:
        return await _check_code(judge, secrets, messages)
    try:
        urls = [base_url(url) for url in base_urls or addresses(judge)]
        key = read_key(judge, secrets)
        check_numbers(judge)
        trust(judge.ca_file)
    except LabError as error:
        return ProbeReport(ok=False, url="", problems=(str(error),))
    patient = replace(judge, timeout=min(timeout, judge.timeout))
    reports = [await _check_server(patient, url, key, secrets, messages, top_logprobs) for url in urls]
    return next((report for report in reports if not report.ok), reports[0])


async def _check_code(
    judge: Judge, secrets: Mapping[str, str] | None, messages: Sequence[Mapping[str, str]]
) -> ProbeReport:
    """Own code answers the question too; it is given an item as a study would give it one."""
    scores = tuple(range(1, 6))
    rubric = Rubric("test", (Criterion("correctness", tuple(ScoreOption(score) for score in scores)),))
    study = Study("test", Dataset("test", (Item("test", "What is 2 + 2?", "4"),)), (judge,), rubric=rubric)
    call = replace(_test_call(judge, messages), ordering=Ordering(scores, tuple(map(str, scores))))
    try:
        asking = CodeJudge(judge, study, secrets)
        try:
            reply = await asking.ask(call)
        finally:
            await asking.close()
    except LabError as error:
        return ProbeReport(ok=False, url="", problems=(str(error),))
    report = ProbeReport(
        ok=reply.error is None,
        url="",
        reply=reply,
        latency=reply.latency,
        probabilities=bool(reply.top_tokens) if reply.error is None else None,
    )
    return report if report.ok else replace(report, problems=(_reply_problem(judge, report, reply),))


async def _check_server(
    judge: Judge,
    url: str,
    key: str | None,
    secrets: Mapping[str, str] | None,
    messages: Sequence[Mapping[str, str]],
    top_logprobs: int,
) -> ProbeReport:
    listed, problem = await _list_models(judge, url, key)
    if problem is not None and listed is None:
        return ProbeReport(ok=False, url=redact(url), problems=(problem,))
    models = listed or ()
    names = tuple(model.name for model in models)
    server, version, context = await _server_of(judge, url, models, key)
    report = ProbeReport(
        ok=True,
        url=redact(url),
        server=server,
        version=version,
        models=names,
        context=context,
        warnings=(problem,) if problem else (),
    )
    offered = any(same_model(judge.model, name) for name in names)
    if names and not JUDGE_KINDS[judge.kind].own and not offered:
        if server != "openai":
            return replace(report, ok=False, problems=(_unknown_model(judge.model, names),))
        report = replace(report, warnings=(*report.warnings, _unknown_model(judge.model, names)))
    return await _ask_once(judge, url, secrets, messages, top_logprobs, report)


async def _list_models(judge: Judge, url: str, key: str | None) -> tuple[tuple[ServedModel, ...] | None, str | None]:
    """The models, and what went wrong. (None, problem): go no further; ((), problem): go on."""
    shown, secrets = redact(url), (key,) if key else ()
    try:
        status, body = await fetch(
            f"{url}/models", key=key, timeout=judge.timeout, ca_file=judge.ca_file, own=JUDGE_KINDS[judge.kind].own
        )
    except LabError as error:  # an address that a served lab does not ask
        return None, str(error)
    except TimeoutError:
        return None, (
            tr(
                "Nothing answers at {shown} within {timeout:g} s: is the server still loading its model? Try "
                "again, or raise the timeout.",
                shown=shown,
                timeout=judge.timeout,
            )
        )
    except (TooLarge, Damaged) as error:
        return (), tr("{shown}/models: {fault}. Check the base URL.", shown=shown, fault=redact(str(error), secrets))
    except (aiohttp.ClientError, OSError) as error:
        return None, _connection_problem(judge, shown, error, secrets)
    if status in (401, 403):
        return None, _key_problem(judge, shown, status)
    return _models_in(status, body, shown, secrets)


def _models_in(
    status: int, body: bytes, shown: str, secrets: tuple[str, ...]
) -> tuple[tuple[ServedModel, ...], str | None]:
    """The models that an answer lists, and what is wrong with it."""
    if not 200 <= status < 300:
        return (), tr(
            "{shown}/models answered HTTP {status}, so the list of models is unknown. Check that the base "
            "URL is right (most end in /v1).",
            shown=shown,
            status=status,
        )
    try:
        listed = load_json(body)
    except ValueError as error:
        reason = redact(str(error), secrets)[:200]
        return (), tr(
            "{shown}/models sent no list of models ({reason}). Check the base URL.", shown=shown, reason=reason
        )
    return models_of(listed), None


def _connection_problem(judge: Judge, shown: str, error: Exception, secrets: tuple[str, ...]) -> str:
    fault = from_exception(error, answering=False, timeout=judge.timeout, secrets=secrets)
    if fault.kind == "certificate":
        return f"{shown}: {fault.message}. {advice('certificate')}"
    return tr(
        "No connection to {shown} ({message}). Is the server running at this address?",
        shown=shown,
        message=fault.message,
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _key_problem(judge: Judge, shown: str, status: int) -> str:
    if judge.key_env:
        return tr(
            "{shown} refuses the key in {key_env} (HTTP {status}). Check that it is complete, still valid, "
            "and meant for this address.",
            shown=shown,
            key_env=judge.key_env,
            status=status,
        )
    return tr(
        "{shown} asks for a key (HTTP {status}). Put it in an environment variable and give the judge "
        "that variable's name.",
        shown=shown,
        status=status,
    )


async def _server_of(
    judge: Judge, url: str, models: Sequence[ServedModel], key: str | None
) -> tuple[Server, str | None, int | None]:
    """What the server is, its version and context length, from its own words where it has any."""
    own = next((m for m in models if m.name == judge.model), models[0] if models else None)
    context = own.max_length if own else None
    says: dict[str, Server] = {"vllm": "vllm", "llamacpp": "llama.cpp"}
    server = says.get(own.owner.lower() if own else "") or JUDGE_KINDS[judge.kind].server
    if urlsplit(url).hostname == "api.openai.com":
        return "openai", None, context
    if server == "vllm":
        version = version_of(await _json_or_none(judge, f"{root_of(url)}/version", key))
        return server, version, context
    if server == "llama.cpp":
        props = await _json_or_none(judge, f"{root_of(url)}/props", key)
        if isinstance(props, dict):
            settings = props.get("default_generation_settings")
            length = settings.get("n_ctx") if isinstance(settings, dict) else None
            build = props.get("build_info")
            return server, str(build) if build else None, _whole(length) or context
    return server, None, context


async def _json_or_none(judge: Judge, url: str, key: str | None) -> Any:
    """A page beside the API, which not every server has."""
    own = JUDGE_KINDS[judge.kind].own
    try:
        status, body = await fetch(url, key=key, timeout=5.0, ca_file=judge.ca_file, own=own)
        return load_json(body) if 200 <= status < 300 else None
    except (LabError, aiohttp.ClientError, OSError, ValueError):
        return None


def _unknown_model(model: str, names: Sequence[str]) -> str:
    more = len(names) - MODELS_SHOWN
    shown = ", ".join(names[:MODELS_SHOWN]) + (tr(" and {more} more", more=more) if more > 0 else "")
    hint = did_you_mean(model, names, cutoff=0.4)
    return tr(
        "The server does not list the model “{model}”.{hint} It lists: {shown}.", model=model, hint=hint, shown=shown
    )


async def _ask_once(
    judge: Judge,
    url: str,
    secrets: Mapping[str, str] | None,
    messages: Sequence[Mapping[str, str]],
    top_logprobs: int,
    report: ProbeReport,
) -> ProbeReport:
    """One real reply with probabilities; without them where the server will not have it."""
    call = _test_call(judge, messages)
    try:
        client = ChatClient(judge, secrets=secrets, base_urls=[url], top_logprobs=top_logprobs)
    except LabError as error:
        return replace(report, ok=False, problems=(str(error),))
    refused = ""
    async with client:
        reply = await client.ask(call)
        if reply.kind == "bad_request" and "logprob" in (reply.error or "").lower():
            refused = tr(" It said: {error}.", error=reply.error)
            reply = await client.ask(replace(call, want_probabilities=False))
    report = replace(report, reply=reply, latency=reply.latency)
    if reply.error is not None:
        return replace(report, ok=False, problems=(_reply_problem(judge, report, reply),))
    return replace(
        report, probabilities=bool(reply.top_tokens), warnings=(*report.warnings, *_reply_warnings(reply, refused))
    )


def _test_call(judge: Judge, messages: Sequence[Mapping[str, str]]) -> Call:
    """The question as a call; short, unless the judge says otherwise or has to think first."""
    sampling = judge.sampling
    if sampling.max_tokens is None and sampling.reasoning_effort is None:
        sampling = replace(sampling, max_tokens=16)
    return Call(
        key="probe",
        judge=0,
        arm=0,
        items=(0,),
        read=0,
        repeat=0,
        ordering=Ordering(()),
        messages=tuple(messages),
        template="probe",
        sampling=sampling,
        want_probabilities=True,
    )


def _reply_problem(judge: Judge, report: ProbeReport, reply: Reply) -> str:
    """What stands behind a question that got no answer, and what to do."""
    if reply.kind == "auth":
        return _key_problem(judge, report.url, 401)
    if reply.kind == "not_found" and report.models:
        return f"{reply.error}. {_unknown_model(judge.model, report.models)}"
    return tr("No answer: {error}. {advice}", error=reply.error, advice=advice(reply.kind))


def _reply_warnings(reply: Reply, refused: str) -> tuple[str, ...]:
    found = []
    if reply.kind == "nan_logprobs":
        found.append(tr("The log-probabilities are not numbers. {advice}", advice=advice("nan_logprobs")))
    elif not reply.top_tokens:
        found.append(
            tr(
                "The server gives no log-probabilities: use feedback mode, or score mode without expected "
                "scores.{refused}",
                refused=refused,
            )
        )
    if not reply.text.strip():
        found.append(tr("The answer was empty: a reasoning model may need more max tokens before it answers."))
    elif reply.finish in ("content_filter", "refusal"):
        found.append(tr("The judge refused the test question."))
    return tuple(found)
