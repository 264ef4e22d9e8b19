"""Decide whether other people use this lab, and which addresses it may ask then."""

import os
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address


def served() -> bool:
    """Whether other people use this lab: RUBRICLAB_SERVED=1, or left out where the lab has a host
    of its own name.
    """
    setting = os.environ.get("RUBRICLAB_SERVED", "").strip()
    return setting == "1" or (not setting and bool(os.environ.get("RUBRICLAB_HOSTS", "").strip()))


class InwardAddress(OSError):
    """A served lab was asked to send something to its own machine or network."""


def refuse_inward(host: str, resolved: Iterable[str]) -> None:
    """Raises InwardAddress where any of the addresses that ``host`` stands for is not one of the
    open net.
    """
    for text in resolved:
        if not is_public(text.partition("%")[0]):
            raise InwardAddress(
                f"{host} is an address of this machine or of its inner network ({text})"
            )


def in_figures(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is itself; None for a name of one, and for spellings that only a
    socket understands.
    """
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_public(text: str) -> bool:
    """Whether an address in figures is one of the open net, also where it wraps another one."""
    address = in_figures(text)
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in IPv6Network("64:ff9b::/96"):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return address is not None and address.is_global and not address.is_multicast
