"""What stands between the page and everybody else: host, origin, token, size, headers.

Other pages in the same browser are the danger: one that posts here (origin), one whose name was
made to point here (host), one that embeds a picture from here (fetch metadata, resource policy),
and one that gets its own script into this page by a label (content security policy).
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1 << 20
MOST_UPLOADED = 1 << 28
UPLOADS = "/api/import/"
_READS = ("GET", "HEAD")
_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_ENTRANCE = (
    '<!doctype html><html lang="en"><title>simifeat</title>'
    '<link rel="icon" href="/static/icon.png">'
    '<meta http-equiv="refresh" content="0; url=/">'
)


@dataclass(frozen=True)
class Door:
    """Who may come in, and under which name this server goes."""

    token: str
    port: int
    names: frozenset[str]
    """Names a browser may call this server by, in lower case."""
    is_secure: bool = False
    """Whether it speaks TLS."""
    is_open: bool = False
    """Whether it listens beyond this machine; then it may also be called by an address."""

    @property
    def cookie(self) -> str:
        """Cookies are shared by all ports of a machine; the name is not."""
        return f"simifeat-{self.port}"

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server; a rebound name does not."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        return name in self.names or (self.is_open and _is_address(name))

    def is_own(self, origin: str, host: str) -> bool:
        """Whether an Origin header names a page of this server."""
        return origin == f"{'https' if self.is_secure else 'http'}://{host}"

    def admits(self, token: str | None) -> bool:
        """Whether a visitor has the token, compared in the same time for every wrong one."""
        return token is not None and secrets.compare_digest(token.encode(), self.token.encode())


class Guard:
    """Lets through to ``app`` what comes from the page of this server and from nobody else."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            return await refusal(scope, receive, _with_headers(send))
        limit = MOST_UPLOADED if scope["path"].startswith(UPLOADS) else MOST_BYTES
        return await self.app(scope, _limited(receive, limit), _with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that is not let through, or to a first visit."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(headers.getlist("host")) != 1 or not self.door.knows(host):
            return _no(421, "this server does not go by that name")
        reads = scope["method"] in _READS
        if (origin is None and not reads) or (
            origin is not None and not self.door.is_own(origin, host)
        ):
            return _no(403, "requests come from the page of this server only")
        site = headers.get("sec-fetch-site", "none")
        is_visit = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if site not in ("same-origin", "none") and not (reads and is_visit):
            return _no(403, "requests come from the page of this server only")
        length = headers.get("content-length", "0")
        most = MOST_UPLOADED if scope["path"].startswith(UPLOADS) else MOST_BYTES
        if not length.isascii() or not length.isdigit() or int(length) > most:
            return _no(413, f"more than {most} bytes were sent")
        offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        if scope["path"] == "/" and self.door.admits(offered):
            return self._entrance()
        if not self.door.admits(_cookie(headers, self.door.cookie)):
            return _no(403, "open the address that simifeat review printed, with its token")
        return None

    def _entrance(self) -> Response:
        # A page of its own and no redirect: the next request then comes from here, and browsers
        # send a strict cookie along even if the address was followed from somewhere else.
        response = HTMLResponse(_ENTRANCE, headers={"cache-control": "no-store"})
        response.set_cookie(
            self.door.cookie,
            self.door.token,
            httponly=True,
            samesite="strict",
            secure=self.door.is_secure,
        )
        return response


class TooLarge(Exception):
    """More was sent than is taken."""


def _limited(receive: Receive, limit: int) -> Receive:
    """``receive`` that counts: a body may come without saying how long it is."""
    left = limit

    async def counted() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise TooLarge(f"more than {limit} bytes were sent")
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sent


def _cookie(headers: Headers, name: str) -> str | None:
    for pair in headers.get("cookie", "").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _no(status: int, why: str) -> Response:
    return PlainTextResponse(f"refused: {why}\n", status)
