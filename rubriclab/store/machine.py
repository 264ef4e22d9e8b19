"""Seal what is valid on this machine only.

A store that came from elsewhere must not bring its maker's consents. The seal is an HMAC under a
random secret in the user's own folder, which no store, backup or zip ever holds.
"""

import hashlib
import hmac
import os
import secrets
from functools import cache
from pathlib import Path

SECRET_BYTES = 32
"""As long as the output of SHA-256: a longer key would add nothing, a shorter one is easier to
guess."""


def sealed(*parts: str) -> str:
    """Return the seal of these texts: this machine always makes the same one, nobody else can."""
    # With their lengths, so that no two lists of texts make one text: ("ab", "c"), ("a", "bc").
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return hmac.new(_secret(_folder()), text.encode(), hashlib.sha256).hexdigest()


def is_sealed(seal: str, *parts: str) -> bool:
    """Return whether this machine has made the seal of these texts."""
    return hmac.compare_digest(seal.encode(), sealed(*parts).encode())


def _folder() -> Path:
    """Return the user's own folder for what a program keeps."""
    state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state")
    return Path(state, "rubriclab")


@cache
def _secret(folder: Path) -> bytes:
    """Return the secret, made on first use.

    If it cannot be kept, it ends with this process, and so do its seals: the user is asked again.
    """
    try:
        file = folder.expanduser() / "seal"
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = file.with_name(f"seal.{secrets.token_hex(8)}.part")
        if not file.exists():
            # Written aside and linked, which fails if the name exists: of two processes that begin
            # together both then read the first one's secret.
            with os.fdopen(
                os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as new:
                new.write(secrets.token_bytes(SECRET_BYTES))
            try:
                os.link(aside, file)
            except FileExistsError:
                pass
            finally:
                aside.unlink()
        kept = file.read_bytes()
        if len(kept) == SECRET_BYTES:  # a shorter file was cut, and would be easy to guess
            return kept
    except (OSError, RuntimeError):
        pass
    return secrets.token_bytes(SECRET_BYTES)
