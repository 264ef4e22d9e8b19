"""Who may use a lab that runs as a server, and what only its owner at the keyboard may do.

All of it is set in the environment before the start, never from a page, a study or a bundle:

``RUBRICLAB_HOSTS``: names by which the lab may be reached, beside those of this machine.
``RUBRICLAB_SERVED``: 1 where other people use the lab, 0 where they do not. Left out, a lab
with a host of its own name counts as served.
``RUBRICLAB_PRIVATE_ADDRESSES``: hosts, addresses or networks of the inner net that a served
lab may send calls to.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from rubriclab.model import LabError
from rubriclab.model.language import tr

HOSTS_VARIABLE = "RUBRICLAB_HOSTS"
SERVED_VARIABLE = "RUBRICLAB_SERVED"
PRIVATE_VARIABLE = "RUBRICLAB_PRIVATE_ADDRESSES"
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


# ---------------------------------------------------------------- who may come in


def allowed_hosts() -> frozenset[str]:
    """The names the lab answers to, in small letters and without port.

    Raises LabError for a name in ``RUBRICLAB_HOSTS`` that is none: a pattern would let in
    whoever owns a name that fits it.
    """
    return _hosts(os.environ.get(HOSTS_VARIABLE, ""))


@lru_cache(maxsize=8)
def _hosts(text: str) -> frozenset[str]:
    named = set()
    for part in filter(None, map(str.strip, text.split(","))):
        host = host_name(part)
        if host is None:
            raise LabError(
                tr(
                    "{setting}: “{part}” is no host name. Give full names with commas between, as "
                    "lab.example.org,192.168.1.20; no *, no http://, no path.",
                    setting=HOSTS_VARIABLE,
                    part=part,
                )
            )
        named.add(host)
    return LOOPBACK_HOSTS | named


def host_name(header: str) -> str | None:
    """The name in a Host header, in small letters, without port or closing dot; None: no name."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # out of range or no number: ValueError
        name = (parts.hostname or "").rstrip(".").encode("idna").decode()
    except (ValueError, UnicodeError):
        return None
    if parts.netloc != header or "@" in header or parts.path or parts.query or parts.fragment:
        return None
    if header.startswith("["):
        return name if _address(name) is not None else None
    return name if _NAME.fullmatch(name) else None


def host_allowed(header: str) -> bool:
    """Whether a request with this Host header is meant for this lab."""
    return host_name(header) in allowed_hosts()


def origin_allowed(header: str) -> bool:
    """Whether a page of this Origin is one of the lab's own; “null” is nobody's."""
    scheme, mark, rest = header.partition("://")
    return bool(mark) and scheme.lower() in ("http", "https") and host_allowed(rest)


# ---------------------------------------------------------------- what a served lab refuses


def served() -> bool:
    """Whether other people use this lab. Raises LabError for a setting that says neither."""
    setting = os.environ.get(SERVED_VARIABLE, "").strip()
    if setting in ("0", "1"):
        return setting == "1"
    if setting:
        raise LabError(
            tr(
                "{name} is “{setting}”: set it to 1 (served) or 0 (for you alone).",
                name=SERVED_VARIABLE,
                setting=setting,
            )
        )
    return allowed_hosts() != LOOPBACK_HOSTS


def why_missing(what: str) -> str:
    """Why a served lab does without ``what`` (the beginning of a sentence), and what to do."""
    return tr(
        "{what} is for whoever sits at the machine: this lab is served to others. Its owner can do it "
        "from the command line there, or with {setting}=0 before the start.",
        what=what,
        setting=SERVED_VARIABLE,
    )


def local_only(what: str) -> None:
    """Raises LabError in a served lab; ``what`` begins the sentence that says so."""
    if served():
        raise LabError(why_missing(what))


def address_refused(host: str, resolved: Iterable[str]) -> str | None:
    """Why a served lab sends nothing to ``host``; None where it may.

    ``resolved``: the addresses its name stands for now; one that is not public refuses all.
    Never refused: a lab that is not served, and what ``RUBRICLAB_PRIVATE_ADDRESSES`` names.
    """
    if not served():
        return None
    names, networks = private_addresses()
    if host.lower().rstrip(".") in names:
        return None
    for text in resolved:
        address = _address(text)
        if address is not None and (_public(address) or any(address in network for network in networks)):
            continue
        return tr(
            "{host} is an address of this machine or its inner network ({text}), and this lab is served to "
            "others: it sends nothing there. Its owner can allow it before the start: "
            "{setting}={host}.",
            host=host,
            text=text,
            setting=PRIVATE_VARIABLE,
        )
    return None


def check_address(url: str, *, resolve: bool = False) -> None:
    """Raises LabError where a served lab may send nothing to ``url``.

    Without ``resolve`` only an address in figures is looked at: names are looked at as they
    are connected to. A name that cannot be resolved is left to the connection to fail.
    """
    if not served():
        return
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # no address at all, which others say better
        return
    figures = host.replace(".", "").isdigit()  # 2130706433 is 127.0.0.1 to a socket
    found = _resolved(host) if resolve or figures or _address(host) is not None else []
    if why := address_refused(host, found):
        raise LabError(why)


def _resolved(host: str) -> list[str]:
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, None)]
    except (OSError, UnicodeError):
        return []


def private_addresses() -> tuple[frozenset[str], tuple[Network, ...]]:
    """The host names and the networks of ``RUBRICLAB_PRIVATE_ADDRESSES``; LabError for neither."""
    return _private(os.environ.get(PRIVATE_VARIABLE, ""))


@lru_cache(maxsize=8)
def _private(text: str) -> tuple[frozenset[str], tuple[Network, ...]]:
    names, networks = set(), []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            networks.append(ipaddress.ip_network(part.strip("[]"), strict=False))
        except ValueError:
            name = host_name(part)
            if name is None or ":" in part:
                raise LabError(
                    tr(
                        "{setting}: “{part}” is no host, address or network. Give them with commas between, as "
                        "gpu.internal,10.0.0.5,10.1.0.0/16; no port, no http://.",
                        setting=PRIVATE_VARIABLE,
                        part=part,
                    )
                ) from None
            names.add(name)
    return frozenset(names), tuple(networks)


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _public(address: Address) -> bool:
    """Whether an address is one of the open net, also where it wraps another one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _public(inner)
    return address.is_global and not address.is_multicast
