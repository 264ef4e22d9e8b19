"""Which variables may hold a judge's key, to which addresses a key may be sent, which code may run.

A judge names the variable of its key, and a judge can come from anywhere: a bundle, a study
file, a page. So the name must be one that keys go by, and the user says yes once to each pair
of address and variable before the first call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from rubriclab.judges.serving import served
from rubriclab.model import Judge, LabError
from rubriclab.model.language import tr

KEYS_VARIABLE = "RUBRICLAB_KEYS"
"""Names of further variables that judges may take keys from, with commas between. NAME@ADDRESS
also says yes to sending that key there; in a served lab keys go nowhere else. Set by the user
before the start, never by a page, a study or a bundle."""

_KEY_NAME = re.compile(r"([A-Z][A-Z0-9_]*_)?API_KEY")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


_CODE = "function "


class Destination(NamedTuple):
    """What needs a yes: a key to an address (the base URL of a server, and the variable that holds
    the key), or code to run (the function, and the variable of the key that it gets, if any)."""

    address: str
    variable: str

    @property
    def function(self) -> str:
        """The function that is run, as my_judge:judge; empty where a key goes to a server."""
        return self.address.removeprefix(_CODE) if self.address.startswith(_CODE) else ""

    def __str__(self) -> str:
        if not self.function:
            return tr("sends the key in {variable} to {address}", variable=self.variable, address=self.address)
        gets = tr(" and gives it the key in {variable}", variable=self.variable) if self.variable else ""
        return tr("runs your function {function} on this machine{gets}", function=self.function, gets=gets)


class ConsentNeeded(LabError):
    """Judges that came from elsewhere would send a key, or run code, without the user's yes."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        self.destinations = tuple(destinations)
        codes = all(one.function for one in self.destinations)
        does = tr(", and ").join(map(str, self.destinations))
        super().__init__(
            tr(
                "This {does}. Nobody has said yes to that in this lab yet. If you know what it does, say so: “Go on” "
                "on the Runs page asks, and so does the command line on a terminal (or add --trust). Nothing was run.",
                does=does,
            )
            if codes
            else tr(
                "This {does}. Nobody has said yes to that in this lab yet. If you know this address and mean the key "
                "for it, say so: “Go on” on the Runs page asks, and so does the command line on a terminal (or add "
                "--trust). Nothing was sent.",
                does=does,
            )
        )


class KeepsConsent(Protocol):
    """The part of a store that remembers where keys may go."""

    def consents(self) -> Iterable[tuple[str, str]]: ...

    def judges(self) -> Iterable[Judge]: ...


def check_key(judge: Judge) -> None:
    """Raises LabError where the judge may not take its key from the variable it names.

    In a served lab also where the owner has not said that the key may go to its addresses: what
    any visitor can type is nobody's yes.
    """
    if judge.key_env is None:
        return
    check_key_name(judge.key_env, judge.name)
    if not served():
        return
    for pair in destinations((judge,)):
        if pair not in _owner_said()[1]:
            raise LabError(
                tr(
                    "This lab is served to others: no judge {pair} unless its owner said so before the start: "
                    "{setting}={variable}@{address}",
                    pair=pair,
                    setting=KEYS_VARIABLE,
                    variable=pair.variable,
                    address=pair.address,
                )
            )


def check_key_name(name: str, judge: str) -> None:
    """Raises LabError where ``name`` is no variable that a judge may take its key from."""
    if _KEY_NAME.fullmatch(name) or name in _owner_said()[0]:
        return
    raise LabError(
        tr(
            "Judge “{judge}” asks for the variable {name}, which is none that keys are taken from: its name "
            "must end in _API_KEY, as OPENAI_API_KEY. If it does hold the key for this judge, allow it "
            "before the start: export {setting}={name}",
            judge=judge,
            name=name,
            setting=KEYS_VARIABLE,
        )
    )


def _owner_said() -> tuple[frozenset[str], frozenset[Destination]]:
    """The names in ``RUBRICLAB_KEYS``, and the pairs of those that name an address too.

    Raises LabError for a part that names no variable, or no address behind its @.
    """
    from rubriclab.judges.addresses import base_url

    names, pairs = set(), set()
    for part in filter(None, map(str.strip, os.environ.get(KEYS_VARIABLE, "").split(","))):
        name, mark, address = part.partition("@")
        if not _NAME.fullmatch(name):
            # Not repeated: somebody may have put the key itself there.
            raise LabError(
                tr(
                    "{setting} holds something that is no name of a variable. Give names with commas between, "
                    "as LAB_TOKEN,OTHER_TOKEN@https://gpu.example.org/v1; never a key.",
                    setting=KEYS_VARIABLE,
                )
            )
        names.add(name)
        if mark:
            pairs.add(Destination(base_url(address), name))
    return frozenset(names), frozenset(pairs)


def destinations(judges: Iterable[Judge]) -> tuple[Destination, ...]:
    """Where these judges send keys and which functions they run, each pair once."""
    from rubriclab.judges import JUDGE_KINDS
    from rubriclab.judges.addresses import addresses, base_url

    found: list[Destination] = []
    for judge in judges:
        kind = JUDGE_KINDS[judge.kind]
        if kind.code:
            found.append(Destination(f"{_CODE}{judge.model}", judge.key_env or ""))
        elif judge.key_env and kind.served:
            found += [Destination(base_url(url), judge.key_env) for url in addresses(judge)]
    return tuple(dict.fromkeys(found))


def unconsented(judges: Iterable[Judge], store: KeepsConsent) -> tuple[Destination, ...]:
    """Where these judges send keys, or run code, without a yes: given once, before the start, or by a kept judge.

    A judge on the Judges page was written by the user of this lab, which is a yes.
    """
    asked = destinations(judges)
    if not asked:
        return ()
    known = {Destination(*pair) for pair in store.consents()} | _owner_said()[1]
    known |= set(destinations(store.judges()))
    return tuple(pair for pair in asked if pair not in known)


def require_consent(judges: Iterable[Judge], store: KeepsConsent) -> None:
    """Raises ConsentNeeded where :func:`unconsented` finds a pair."""
    if missing := unconsented(judges, store):
        raise ConsentNeeded(missing)
