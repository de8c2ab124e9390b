"""How a client connects: its address, credential, headers and trust."""

from __future__ import annotations

import platform
import ssl
from collections.abc import Generator
from typing import TypeAlias
from urllib.parse import urlsplit

import httpx

from ._version import __version__

Credential: TypeAlias = str | tuple[str, str] | httpx.Auth
"""A key (`tfk_…`), a name and a password, or an `httpx.Auth`."""


class KeyAuth(httpx.Auth):
    """A pre-shared key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["ServicePSK"] = self._key
        yield request


def authorization(credential: Credential) -> httpx.Auth:
    """The credential as httpx sends it."""
    if isinstance(credential, str):
        return KeyAuth(credential)
    return httpx.BasicAuth(*credential) if isinstance(credential, tuple) else credential


def base_address(url: str) -> str:
    """The base address with a slash at its end. A credential must not travel in the clear."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError(f"invalid base address {url!r}: expected https")
    return url.rstrip("/") + "/"


def default_headers(consumer_key: str | None, user_agent: str | None) -> dict[str, str]:
    """The headers of every request; `user_agent` comes before the client's own."""
    own = f"tofrom-python/{__version__} python/{platform.python_version()} httpx/{httpx.__version__}"
    headers = {"Accept": "application/json", "User-Agent": f"{user_agent} {own}" if user_agent else own}
    return headers | ({"ServiceConsumerKey": consumer_key} if consumer_key else {})


def tls(verify: ssl.SSLContext | str | bool) -> ssl.SSLContext | bool:
    """The argument of httpx: a file of certificate authorities becomes an SSL context."""
    return ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify
