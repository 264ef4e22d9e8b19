"""Know where a judge's key would go, and whether the user has said yes to that.

A study file, a preset, a run's zip or a judge card may come from anybody. Each of them can name an
address and the variable that holds a key. So a key is sent only if somebody at this machine has
agreed to this variable for this address.
"""

import re
import socket
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple

from pydantic import ValidationError

from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError, digest, shorten

DEFAULT_PORTS = {"http": 80, "https": 443}
"""A URL with the default port and one without a port are the same address."""
HOST_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
AUTHORITY = re.compile(
    r"(?P<scheme>(?i:https?))://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)"
    r"(:(?P<port>[0-9]{1,5}))?(/[^\s?#]*)?"
)
"""URLs that every library reads in the same way. They hold no user, no second host and no character
that some libraries drop, so the host that was agreed to is the host that is asked."""
SOCKET_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
"""A last label that makes sockets read the host as an IPv4 address: ``2130706433``, ``0x7f.1``."""


PASTED = "PASTED_KEY_"
"""How the name of a key begins that was pasted in a visit. It is in no environment."""


class Consent(NamedTuple):
    """One yes: the key in ``variable`` may be sent to ``address``, as ``destination`` writes it."""

    variable: str
    address: str


Consents = frozenset[Consent]
NO_CONSENTS: Consents = frozenset()


class NoConsent(LabError):
    """Keys would go to addresses that nobody has agreed to. ``wanted`` holds those consents."""

    def __init__(self, wanted: Iterable[Consent]) -> None:
        self.wanted = tuple(dict.fromkeys(wanted))
        where = "; ".join(
            f"{_called(variable)} would be sent to {shorten(address, 200)}"
            for variable, address in self.wanted
        )
        super().__init__(
            f"Nothing was sent: {where}. Nobody has agreed to that on this machine. Say yes only "
            "to an address that you trust with this key. To say yes, run the study once with "
            "--trust, or press the button on the page."
        )


def destination(url: str, ca_file: str | None = None) -> str:
    """Return ``scheme://host:port`` of a base URL in one spelling, to compare consents.

    Hosts are in lower case and without a final dot. Addresses in any notation that sockets accept
    become plain figures. Certificates other than the system's are part of the address, because
    whoever made them can answer in its place. Raises LabError for a URL if it is not certain which
    host it means.
    """
    match = AUTHORITY.fullmatch(url.strip())
    try:
        host = _host(match["host"]) if match else ""
    except (ValueError, OSError):
        host = ""
    if match is None or not host:
        raise LabError(
            "It is not certain which host this address means, so no key is sent there. Use "
            "http://HOST:PORT/v1 or https://…, without a user. Write the host with letters, "
            "digits, dots and hyphens (xn--… for other characters)."
        )
    scheme = match["scheme"].lower()
    port = int(match["port"] or DEFAULT_PORTS[scheme])
    authorities = f" (with the certificates of {ca_file})" if ca_file else ""
    return f"{scheme}://{host}:{port}{authorities}"


def pasted_name(address: str) -> str:
    """Return the name of the key that is pasted for this address, as ``destination`` writes it.

    Each address has a name of its own, so a key that is pasted for one cannot go to another.
    """
    return f"{PASTED}{digest(address)[:16].upper()}"


def is_pasted(variable: str | None) -> bool:
    """Return whether this is the name of a pasted key, not of a variable of the environment."""
    return variable is not None and variable.startswith(PASTED)


def _host(text: str) -> str:
    """Return a host in its one spelling. Raises ValueError or OSError if it has none."""
    if text.startswith("["):
        address = IPv6Address(text[1:-1])
        return str(address.ipv4_mapped) if address.ipv4_mapped else f"[{address}]"
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if SOCKET_NUMBER.fullmatch(labels[-1]):
        return str(IPv4Address(socket.inet_aton(name)))
    if not all(HOST_LABEL.fullmatch(label) for label in labels):
        raise ValueError("not the name of a host")
    return name


def sent_by(settings: JudgeSettings) -> tuple[Consent, ...]:
    """Return where a judge's key would go: one entry for each address, none without a key.

    Raises LabError for an address of which it is not certain which host it means.
    """
    if not settings.key_env:
        return ()
    about = settings.about
    if about.runs_code:
        if not settings.options.get("path"):  # a notebook's own function: no key is handed to it
            return ()
        named = f"{settings.options['path']}, {settings.options.get('entry', 'judge')}()"
        return (Consent(settings.key_env, f"own code: {settings.folder or '.'}/{named}"),)
    # Only the package knows where such a judge sends its key.
    if about.takes_key and not about.served:
        return (Consent(settings.key_env, f"package {about.package}"),)
    # A judge of this machine has no addresses: its key is never sent.
    addresses = dict.fromkeys(destination(url, settings.ca_file) for url in settings.addresses)
    return tuple(Consent(settings.key_env, address) for address in addresses)


def require_consent(settings: JudgeSettings, given: Consents) -> None:
    """Raise NoConsent unless the user has agreed to every address that gets this judge's key."""
    missing = [consent for consent in sent_by(settings) if consent not in given]
    if missing:
        raise NoConsent(missing)


def _called(variable: str) -> str:
    return "the pasted key" if is_pasted(variable) else f"the key in {variable}"


def judges_of(study: Mapping[str, Any]) -> list[JudgeSettings]:
    """Return the judges of a kept or imported study; none where they are not settings of judges."""
    try:
        return [JudgeSettings.model_validate(body) for body in study.get("judges") or ()]
    except (ValidationError, TypeError):
        return []


def where_asked(judges: Iterable[JudgeSettings]) -> list[str]:
    """Return a sentence for each judge behind a server: where it would ask, and with which key."""
    said = []
    for judge in judges:
        if not judge.addresses:
            continue
        asks = f"{shorten(judge.name)} would ask " + ", ".join(
            shorten(url, 200) for url in judge.addresses
        )
        if is_pasted(judge.key_env):
            asks += " with a key that you paste. Nothing is sent before you agree."
        elif judge.key_env:
            asks += f" with the key in {judge.key_env}. Nothing is sent before you agree."
        else:
            asks += " without a key."
        said.append(asks)
    return said
