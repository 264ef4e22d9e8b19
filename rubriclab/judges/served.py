"""Decide whether other people use this lab, and which addresses it may ask then."""

import os
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses whose last 32 bits are an IPv4 address (RFC 6052)."""


def served() -> bool:
    """Return whether other people use this lab.

    RUBRICLAB_SERVED=1 says so. If it is not set, a lab with a host name of its own
    (RUBRICLAB_HOSTS) counts as served: forgetting the variable must not open the machine's network
    to others.
    """
    setting = os.environ.get("RUBRICLAB_SERVED", "").strip()
    if setting:
        return setting == "1"
    return bool(os.environ.get("RUBRICLAB_HOSTS", "").strip())


class InwardAddress(OSError):
    """A served lab was asked to send something to its own machine or network."""


def refuse_inward(host: str, resolved: Iterable[str]) -> None:
    """Raise InwardAddress if any of the addresses that ``host`` resolves to is not public.

    Otherwise a visitor could use the lab to reach servers behind its firewall, for example the one
    that hands out a cloud machine's keys.
    """
    for text in resolved:
        without_interface = text.partition("%")[0]  # fe80::1%eth0
        if not is_public(without_interface):
            raise InwardAddress(
                f"{host} is an address of this machine or of its inner network ({text})"
            )


def in_figures(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host is itself.

    None for a name, and for spellings of an address that only sockets understand.
    """
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_public(text: str) -> bool:
    """Return whether an address in figures is a public one.

    An IPv6 address that wraps an IPv4 address is as public as that one.
    """
    address = in_figures(text)
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return address is not None and address.is_global and not address.is_multicast
