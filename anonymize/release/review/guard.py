"""Who may ask: one browser on this machine that was given the token, from the page itself.

Other programs and pages on this machine can reach the port. The Host is ours (no name of a stranger
that resolves to this machine), whoever asks for data shows a token that only the page's own origin
can read and a cookie that no script can read, and what changes something comes from that origin.
"""

import hmac
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
COOKIE, TOKEN = "review", "x-review-token"
SESSION = "/session"  # where the token is exchanged for the cookie
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True)
class Keys:
    """What opens the page at ``port``: the token of its address, and the cookie given for it."""

    port: int
    token: str = field(default_factory=secrets.token_urlsafe)
    cookie: str = field(default_factory=secrets.token_urlsafe)

    @property
    def host(self) -> str:
        """As the browser's Host header has it."""
        return f"{HOST}:{self.port}"

    @property
    def address(self) -> str:
        """What the reviewer opens; the token behind # is never sent as part of an address."""
        return f"http://{self.host}/#{self.token}"


class Guard:
    """Refuses what does not come from the page; every answer forbids to keep or embed it.

    ``public``: paths that say nothing, and are answered without token and cookie.
    """

    def __init__(self, app: ASGIApp, keys: Keys, public: frozenset[str]) -> None:
        self._app, self._keys, self._public = app, keys, public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(Request(scope))

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, request: Request) -> Response | None:
        keys, headers = self._keys, request.headers
        if headers.getlist("host") != [keys.host]:
            return PlainTextResponse("another host", 403)
        reads = request.method == "GET"
        if not reads and headers.get("origin") != f"http://{keys.host}":
            return PlainTextResponse("another origin", 403)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("another site", 403)
        if reads and request.url.path in self._public:
            return None
        if not _same(headers.get(TOKEN), keys.token):
            return PlainTextResponse("no token", 403)
        if request.url.path == SESSION:
            return None
        if not _same(request.cookies.get(COOKIE), keys.cookie):
            return PlainTextResponse("no session", 403)
        return None


def _same(given: str | None, wanted: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())
