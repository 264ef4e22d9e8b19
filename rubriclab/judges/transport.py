"""What a transport's exception says went wrong with a call, by name (see ``faults``)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable

import aiohttp

from rubriclab.judges.faults import Fault, fault, redact


def from_exception(error: BaseException, *, answering: bool, timeout: float, secrets: Iterable[str] = ()) -> Fault:
    """The fault behind an exception of the transport.

    ``answering``: the server's headers had arrived, so a time-out then is a slow trickle.
    ``timeout``: the judge's limit in seconds, for the message.
    """
    text = redact(str(error) or type(error).__name__, secrets)
    refused = _tls_refusal(error)
    if refused:
        return fault("certificate", redact(refused, secrets))
    if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp.ClientConnectorError):
        return fault("connect", f"No connection: {text}")
    if isinstance(error, asyncio.TimeoutError):
        if answering:
            return fault("slow", f"The answer had begun but was not complete after {timeout:g} s")
        return fault("timeout", f"No answer within {timeout:g} s")
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return fault("reset", f"The server closed the connection before its answer ended: {text}")
    if isinstance(error, aiohttp.ClientResponseError):
        return fault("bad_gateway", f"The server does not speak HTTP here: {text}")
    return fault("reset", f"The connection broke: {text}")


def _tls_refusal(error: BaseException) -> str:
    """Why TLS will not come about however often it is tried; empty where that is not the fault."""
    cause = (
        error.certificate_error
        if isinstance(error, aiohttp.ClientConnectorCertificateError)
        else (error.os_error if isinstance(error, aiohttp.ClientConnectorSSLError) else error)
    )
    if isinstance(cause, ssl.SSLCertVerificationError | ssl.CertificateError):
        detail = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else ""
        return f"The server's certificate is not trusted: {detail or cause}"
    lost = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    if not isinstance(cause, ssl.SSLError) or isinstance(cause, lost):
        return ""
    reason = (cause.reason or str(cause)).replace("_", " ").lower()
    return f"No TLS at this https:// address: {reason}"
