"""OAuth 1.0a: signs requests with oauthlib (`pip install 'tofrom[oauth]'`)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

import httpx
import oauthlib.oauth1

__all__ = ["OAuth1"]


class OAuth1(httpx.Auth):
    """Signs each request for an application that acts for an account.

    The token and its secret come from the steps that docs/oauth.md of the server shows. Every attempt gets a new
    nonce. The signature covers the method, the address and the query; TLS protects the body.
    """

    def __init__(
        self,
        consumer_key: str,
        consumer_secret: str | None,
        token: str,
        token_secret: str,
        *,
        signature_method: str = oauthlib.oauth1.SIGNATURE_HMAC_SHA256,
        rsa_key: str | None = None,
    ) -> None:
        self._signer = oauthlib.oauth1.Client(
            consumer_key,
            client_secret=consumer_secret,
            resource_owner_key=token,
            resource_owner_secret=token_secret,
            signature_method=signature_method,
            rsa_key=rsa_key,
        )

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        # The type stubs list the methods one by one.
        _, headers, _ = self._signer.sign(str(request.url), http_method=cast(Any, request.method))
        request.headers["Authorization"] = headers["Authorization"]
        yield request
