"""Where a judge is asked, with which key, and which model may answer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.faults import redact
from rubriclab.judges.keys import check_key
from rubriclab.judges.request import same_model
from rubriclab.judges.serving import check_address
from rubriclab.model import Judge, LabError
from rubriclab.model.language import msg, tr


def addresses(judge: Judge) -> tuple[str, ...]:
    """The judge's servers; the usual one of its kind where it names none.

    Raises LabError where a judge needs an address and has none, or one that a served lab
    may not ask.
    """
    for url in judge.base_urls:
        check_address(url)
    if judge.base_urls:
        return judge.base_urls
    if usual := JUDGE_KINDS[judge.kind].address:
        return (usual,)
    raise LabError(
        tr("Judge “{name}” has no address: give its base URL, for example http://127.0.0.1:8000/v1.", name=judge.name)
    )


def base_url(url: str) -> str:
    """A base URL in one form: no trailing slash, no ``/chat/completions``.

    Raises LabError for anything that is not an http(s) address, or that holds a secret or a query.
    """
    text = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").encode("idna").decode()
        usable = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"\s", text):
        raise LabError(
            tr(
                "“{url}” is not a base URL: give one that starts with http:// or https://, for example "
                "http://127.0.0.1:8000/v1.",
                url=redact(url),
            )
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise LabError(
            tr(
                "The base URL “{url}” holds a name, a password or a query. Leave them out: a key belongs in "
                "an environment variable that the judge names.",
                url=redact(text.partition("?")[0]),
            )
        )
    return text


def with_scheme(typed: str) -> str:
    """An address as people type it, “localhost:8000/v1”, with what it begins with.

    http:// where a port is named, as the servers on one's own machine and net are; else https://.
    What begins with a scheme, or is no host at all, stays as it is.
    """
    text = typed.strip()
    host = text.partition("/")[0]
    if "://" in text or not re.fullmatch(r"(?:[\w-]+(?:\.[\w-]+)*|\[[0-9a-fA-F:]+\])(?::\d+)?", host):
        return text
    if not ("." in host or ":" in host or host == "localhost"):
        return text
    own = re.search(r":\d+$", host) or host == "localhost"
    return f"{'http' if own else 'https'}://{text}"


def read_key(judge: Judge, secrets: Mapping[str, str] | None = None) -> str | None:
    """The judge's key from ``secrets`` or the environment; None when it names no variable.

    Raises LabError, naming the variable, when it is none that keys are taken from, is unset
    or cannot be a header.
    """
    name = judge.key_env
    if not name:
        return None
    check_key(judge)
    key = (secrets[name] if secrets and name in secrets else os.environ.get(name, "")).strip()
    if not key:
        unset = (
            msg(
                "Judge “{name}” takes its key from {variable}, which is not set. Set it before the start, for "
                "example: export {variable}=…, or add it to .streamlit/secrets.toml."
            )
            if judge.name
            else msg(
                "The key is to come from {variable}, which is not set. Set it before the start, for example: export "
                "{variable}=…, or add it to .streamlit/secrets.toml."
            )
        )
        raise LabError(tr(unset, name=judge.name, variable=name))
    if not key.isascii() or not key.isprintable() or " " in key:
        raise LabError(
            tr(
                "The key in {name} holds characters that no key has (spaces, line breaks or non-ASCII); copy it again.",
                name=name,
            )
        )
    return key


def answers_as(judge: Judge, served: str) -> bool:
    """Whether ``served`` is the model that was asked for, give or take a date or a path."""
    if JUDGE_KINDS[judge.kind].own or judge.options.get("served_model") in ("*", served):
        return True
    return same_model(judge.model, served)
