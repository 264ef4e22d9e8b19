"""Read a judge's key from the environment, and keep keys out of every text."""

import base64
import html
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rubriclab.judges.served import served
from rubriclab.judges.supervisor import PR_SET_DUMPABLE, prctl
from rubriclab.model.consent import (
    NO_CONSENTS,
    Consent,
    Consents,
    NoConsent,
    destination,
    require_consent,
    sent_by,
)
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Reply
from rubriclab.model.text import LabError

MASK = "***"
MIN_SECRET = 8
"""Signs from which on a key is looked for inside words and in replies. A shorter one could be a
word or a score; it is only taken out of error messages, where it stands alone.
"""

KEY_FORMS = (
    (re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?)[^'\"\r\n,}]+"), r"\1***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), r"\1 ***"),
    (re.compile(r"\b(sk|pk|hf|gsk|xai|r8|AIza)[-_][A-Za-z0-9*._-]{6,}"), r"\1-***"),
    (
        re.compile(
            r"(?i)\b(api[-_]?key|token|secret|password)(['\"]?\s*[=:]\s*['\"]?)[^\s'\"&,}]{4,}"
        ),
        r"\1\2***",
    ),
    (re.compile(r"(?i)\b(https?://)[^/\s@]+@"), r"\1***@"),
)
"""What looks like a key, whoever's it is."""


def key_to_send(
    settings: JudgeSettings,
    secrets: Mapping[str, str] | None = None,
    consents: Consents = NO_CONSENTS,
) -> str | None:
    """Return the key that a judge's requests carry. Raises LabError as ``read_key`` does.

    Raises NoConsent where nobody has agreed that it goes to all of the judge's addresses.
    """
    key = read_key(settings, secrets)
    if key is not None:
        require_consent(settings, consents | consents_of_environment())
    return key


def read_key(settings: JudgeSettings, secrets: Mapping[str, str] | None = None) -> str | None:
    """Return the judge's key, from ``secrets`` or the environment; None where the judge names no
    variable.

    To see whether there is one; what is sent comes from ``key_to_send``. Raises LabError, naming
    the variable and never its value, where it may not be sent, is not set or cannot be a header.
    """
    name = settings.key_env
    if not name:
        return None
    if secrets and name in secrets:
        key = secrets[name].strip()
    elif may_be_sent(name):
        key = os.environ.get(name, "").strip()
    else:
        ending = "" if served() else "whose names end in _API_KEY and those "
        raise LabError(
            f"Judge “{settings.name}” may not use the variable {name}. To protect other secrets, "
            f"only variables {ending}listed in RUBRICLAB_KEYS are sent. Rename the variable, or "
            f"start the lab with RUBRICLAB_KEYS={name}."
        )
    if not key:
        raise LabError(
            f"The environment variable {name} is not set, and judge “{settings.name}” needs the "
            f"key in it. Set the variable and restart the lab, or choose another judge."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise LabError(
            f"The key in {name} contains characters that no key has (blanks, line breaks or "
            f"non-ASCII characters). Copy it again."
        )
    return key


def require_consents(
    judges: Iterable[JudgeSettings],
    secrets: Mapping[str, str] | None = None,
    consents: Consents = NO_CONSENTS,
) -> None:
    """Raise one NoConsent for all of these judges, before any of them is opened.

    A judge whose key is not at hand sends nothing; opening it says what is missing.
    """
    given = consents | consents_of_environment()
    missing = []
    for settings in judges:
        wanted = [consent for consent in sent_by(settings) if consent not in given]
        with suppress(LabError):
            if wanted and read_key(settings, secrets) is not None:
                missing += wanted
    if missing:
        raise NoConsent(missing)


def consents_of_environment() -> Consents:
    """Return what the lab's owner has agreed to before the start: entries ``NAME@https://HOST`` in
    RUBRICLAB_KEYS.

    Raises LabError for an entry whose address is none.
    """
    entries = [part.strip().partition("@") for part in listed_keys() if "@" in part]
    return frozenset(Consent(name, destination(address)) for name, _, address in entries)


def listed_keys() -> list[str]:
    """Return the entries of RUBRICLAB_KEYS: a variable, or ``NAME@https://HOST`` for one address
    alone.
    """
    return [part.strip() for part in os.environ.get("RUBRICLAB_KEYS", "").split(",")]


def hide_environment() -> None:
    """Keep other programs of this user from reading this process's keys: on Linux
    ``/proc/PID/environ`` and its memory.

    Own judge code runs as the same user, without the lab's keys in its own environment; it could
    read them from here. Nothing is hidden from root, from a program that the user's shell has given
    the keys to, or on other systems.
    """
    prctl(PR_SET_DUMPABLE, 0)


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what programs that the lab starts may see of the environment: no judge's key."""
    return {name: value for name, value in environment.items() if not may_be_sent(name)}


def may_be_sent(name: str) -> bool:
    """Whether a variable of the environment may hold a judge's key: what may is listed, since
    secrets have no list.

    Visitors of a served lab can name both a variable and an address, so there only its owner says
    which.
    """
    listed = {part.partition("@")[0] for part in listed_keys()}
    return name in listed or (name.upper().endswith("_API_KEY") and not served())


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` of an error or a log without the given keys and without anything that looks like a
    key.
    """
    secrets = tuple(filter(None, secrets))
    text = mask_secrets(text, secrets)
    for secret in secrets:
        if len(secret) < MIN_SECRET:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)
    for form, replacement in KEY_FORMS:
        text = form.sub(replacement, text)
    return text


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the keys themselves, however they are written; a text that holds none stays
    as it is.
    """
    for secret in secrets:
        if len(secret) >= MIN_SECRET:
            text = written_forms(secret).sub(MASK, text)
    return text


def mask_reply(reply: Reply, secrets: tuple[str, ...]) -> Reply:
    """``reply`` as it may be kept: a server that repeats its key must not get it stored. ``note``
    says so.
    """
    if not secrets:
        return reply
    # What holds a key nowhere in all its words holds none in one of them: one look for most
    # replies.
    together = "\n".join(
        (
            reply.text,
            reply.finish,
            reply.model or "",
            reply.error,
            *(token for token, _ in reply.top),
        )
    )
    if mask_secrets(together, secrets) == together:
        return reply
    words = {
        name: value
        for name in ("text", "finish", "model", "error")
        if (value := getattr(reply, name))
    }
    changes: dict[str, Any] = {name: mask_secrets(value, secrets) for name, value in words.items()}
    top = tuple((mask_secrets(token, secrets), value) for token, value in reply.top)
    masked = replace(reply, **changes, top=top)
    return masked.noted("the judge's key stood in the answer and was masked")


SEPARATORS = r"[\s,.;:|'\"*_\u00b7\u200b-]{0,3}"
"""What may stand between the signs of a key that is spelled out, or of its hexadecimal digits."""
ALIKE_IN_BASE64 = {"+": "(?:[+-]|%2B)", "/": "(?:[/_]|%2F)"}
"""How the plain, the URL-safe and the URL-quoted alphabet write the two signs in which they differ.
"""


@lru_cache(maxsize=64)
def written_forms(secret: str) -> re.Pattern[str]:
    """Return a pattern of the ways in which a key may be written.

    Sign by sign, forwards or backwards, run together or spelled out: plain, by %, or escaped for
    JSON or HTML, each also twice; as hexadecimal digits; in base64, alone or inside a longer text
    (“Bearer KEY”), also twice. A server that means to hide a key can always find another way, so
    this is no protection against one that nobody trusts.
    """
    signs = [_sign_forms(sign) for sign in secret]
    # A key's last sign may be followed by anything, so separators stand only between signs.
    spelled = SEPARATORS.join(signs)
    backwards = SEPARATORS.join(reversed(signs))
    digits = SEPARATORS.join(rf"(?:\\x|0x)?{byte:02x}" for byte in secret.encode())
    raw = secret.encode()
    coded = [*_inside_base64(raw), *_inside_base64(base64.b64encode(raw).rstrip(b"="))]
    return re.compile("|".join((spelled, backwards, digits, *coded)), re.IGNORECASE)


def _sign_forms(sign: str) -> str:
    """Return a pattern of one sign as it may be written, escaped once or twice."""
    code = ord(sign)
    quoted = re.escape(html.escape(sign))
    twice = re.escape(html.escape(html.escape(sign)))
    forms = (
        rf"\\{{1,4}}u{code:04x}",
        rf"\\{{0,4}}{re.escape(sign)}",
        f"%(?:25)?{code:02x}",
        f"&(?:amp;)?#{code};",
        f"&(?:amp;)?#x{code:x};",
        quoted,
        twice,
    )
    return f"(?:{'|'.join(dict.fromkeys(forms))})"


def _inside_base64(raw: bytes) -> Iterator[str]:
    """Yield a pattern of these bytes in base64: alone, then at each place that they can have in a
    longer text.

    Three bytes become four signs; signs that hold bits of neighbours are left out.
    """
    whole = base64.b64encode(raw).decode().rstrip("=")
    yield "".join(ALIKE_IN_BASE64.get(sign, re.escape(sign)) for sign in whole)
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        first = -(-before * 8 // 6)
        last = (before + len(raw)) * 8 // 6
        yield "".join(ALIKE_IN_BASE64.get(sign, re.escape(sign)) for sign in text[first:last])
