"""Read a judge's key from the environment, and keep keys out of every text."""

import base64
import html
import math
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
    is_pasted,
    require_consent,
    sent_by,
)
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Reply
from rubriclab.model.text import LabError

MASK = "***"
MIN_SECRET = 8
"""The shortest key, in characters, that is looked for inside words and in replies. A shorter one
could be a word or a score, so it is masked only in error messages and only as a whole word."""

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
"""Patterns of text that looks like a key, whether or not it is one of ours."""


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
    """Return the judge's key, from ``secrets`` or the environment; None if it names no variable.

    Use this to see whether there is a key. What is sent comes from ``key_to_send``, which asks for
    consent. Raises LabError if the variable may not be sent, is not set, or holds something that
    cannot be a header. The message names the variable, never its value.
    """
    name = settings.key_env
    if not name:
        return None
    if secrets and name in secrets:
        key = secrets[name].strip()
    elif is_pasted(name):
        raise LabError(
            f"The key of judge “{settings.name}” was pasted in a visit that is over, and pasted "
            "keys are never stored. Paste it again on the page Runs or Set up, or name a variable."
        )
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
    if not valid_key(key):
        raise LabError(
            f"The key in {name} contains characters that no key has (spaces, line breaks or "
            f"non-ASCII characters). Copy it again."
        )
    return key


def valid_key(key: str) -> bool:
    """Return whether this can be a key, as a header may hold it."""
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


def require_consents(
    judges: Iterable[JudgeSettings],
    secrets: Mapping[str, str] | None = None,
    consents: Consents = NO_CONSENTS,
) -> None:
    """Raise one NoConsent for all of these judges, before any of them is opened."""
    given = consents | consents_of_environment()
    missing = []
    for settings in judges:
        wanted = [consent for consent in sent_by(settings) if consent not in given]
        # Without its key a judge sends nothing, so there is nothing to agree to. Opening it fails
        # with a message that says what is missing.
        with suppress(LabError):
            if wanted and read_key(settings, secrets) is not None:
                missing += wanted
    if missing:
        raise NoConsent(missing)


def consents_of_environment() -> Consents:
    """Return what the lab's owner agreed to before the start.

    These are the entries ``NAME@https://HOST`` of RUBRICLAB_KEYS. Raises LabError for an entry with
    an invalid address.
    """
    entries = [part.strip().partition("@") for part in listed_keys() if "@" in part]
    return frozenset(Consent(name, destination(address)) for name, _, address in entries)


def listed_keys() -> list[str]:
    """Return the entries of RUBRICLAB_KEYS.

    An entry is a variable, or ``NAME@https://HOST``, which allows that variable for one address.
    """
    return [part.strip() for part in os.environ.get("RUBRICLAB_KEYS", "").split(",")]


def hide_environment() -> None:
    """Keep other programs of this user from reading this process's keys (Linux only).

    Own judge code runs as the same user. Its own environment has none of the lab's keys, but it
    could read them from this process through ``/proc/PID/environ`` or ``/proc/PID/mem``. Nothing is
    hidden from root, or from a program to which the user's shell has given the keys.
    """
    prctl(PR_SET_DUMPABLE, 0)


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for programs that the lab starts: everything but judges' keys."""
    return {name: value for name, value in environment.items() if not may_be_sent(name)}


def may_be_sent(name: str) -> bool:
    """Return whether the key in a variable of the environment may be sent to a judge.

    A study file could name any variable, for example a database password. Nobody can list all
    secrets, so what may be sent is listed instead. Visitors of a served lab can name both the
    variable and the address, so there only the owner's list counts.
    """
    listed = {part.partition("@")[0] for part in listed_keys()}
    return name in listed or (name.upper().endswith("_API_KEY") and not served())


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Return an error's or a log's text without these keys and without what looks like a key."""
    secrets = tuple(filter(None, secrets))
    text = mask_secrets(text, secrets)
    for secret in secrets:
        if len(secret) < MIN_SECRET:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)
    for form, replacement in KEY_FORMS:
        text = form.sub(replacement, text)
    return text


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` without these keys, in whatever form they are written."""
    for secret in secrets:
        if len(secret) >= MIN_SECRET:
            text = written_forms(secret).sub(MASK, text)
    return text


def mask_reply(reply: Reply, secrets: tuple[str, ...]) -> Reply:
    """Return ``reply`` as the store may keep it: with the judge's key masked, and a note of that.

    A server could repeat its key in a reply, and results are shared.
    """
    if not secrets:
        return reply
    # If the texts joined together hold no key, none of them does. That is one search for almost
    # every reply.
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
    changes: dict[str, Any] = {}
    for name in ("text", "finish", "model", "error"):
        value = getattr(reply, name)
        if value:
            changes[name] = mask_secrets(value, secrets)
    top = tuple((mask_secrets(token, secrets), value) for token, value in reply.top)
    masked = replace(reply, **changes, top=top)
    return masked.noted("the judge's key stood in the answer and was masked")


SEPARATORS = r"[\s,.;:|'\"*_\u00b7\u200b-]{0,3}"
"""What may separate the characters of a key that is spelled out, or its hexadecimal digits."""
ALIKE_IN_BASE64 = {"+": "(?:[+-]|%2B)", "/": "(?:[/_]|%2F)"}
"""The two characters in which the plain, the URL-safe and the URL-quoted alphabets differ."""


@lru_cache(maxsize=64)
def written_forms(secret: str) -> re.Pattern[str]:
    """Return a pattern that matches a key in every form in which it may be written.

    - character by character, forwards or backwards, with or without separators. Each character may
      be plain, percent-encoded, or escaped for JSON or HTML, once or twice;
    - as hexadecimal digits;
    - in base64, once or twice, alone or inside a longer text (“Bearer KEY”).

    A server that wants to hide a key can always find another form. So this does not protect from a
    hostile server; consent does.
    """
    characters = [_character_forms(character) for character in secret]
    # Separators go only between characters: what follows the last one does not belong to the key.
    spelled = SEPARATORS.join(characters)
    backwards = SEPARATORS.join(reversed(characters))
    digits = SEPARATORS.join(rf"(?:\\x|0x)?{byte:02x}" for byte in secret.encode())
    raw = secret.encode()
    coded = [*_inside_base64(raw), *_inside_base64(base64.b64encode(raw).rstrip(b"="))]
    return re.compile("|".join((spelled, backwards, digits, *coded)), re.IGNORECASE)


def _character_forms(character: str) -> str:
    """Return a pattern of one character as it may be written, escaped once or twice."""
    code = ord(character)
    quoted = re.escape(html.escape(character))
    twice = re.escape(html.escape(html.escape(character)))
    forms = (
        rf"\\{{1,4}}u{code:04x}",
        rf"\\{{0,4}}{re.escape(character)}",
        f"%(?:25)?{code:02x}",
        f"&(?:amp;)?#{code};",
        f"&(?:amp;)?#x{code:x};",
        quoted,
        twice,
    )
    return f"(?:{'|'.join(dict.fromkeys(forms))})"


def _inside_base64(raw: bytes) -> Iterator[str]:
    """Yield patterns of these bytes in base64: alone, then inside a longer text.

    Base64 writes three bytes as four characters of 6 bits. So the same bytes look different after
    0, 1 or 2 bytes of other text. Characters that also hold bits of a neighbour are left out.
    """
    yield _in_either_alphabet(base64.b64encode(raw).decode().rstrip("="))
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        first = math.ceil(before * 8 / 6)
        last = (before + len(raw)) * 8 // 6
        yield _in_either_alphabet(text[first:last])


def _in_either_alphabet(text: str) -> str:
    """Return a pattern of base64 text in any of its alphabets."""
    return "".join(ALIKE_IN_BASE64.get(sign, re.escape(sign)) for sign in text)
