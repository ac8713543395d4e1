"""The server: where it listens, what it then exposes, and the address it prints."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simifeat.errors import InputError, require
from simifeat.review.guard import Door
from simifeat.review.views import Views

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Listen:
    """Where to listen, and how safely."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    plain_http: bool = False
    """Whether it was asked for to go without TLS beyond this machine."""

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InputError("TLS needs both --tls-cert and --tls-key; give the other one, too")
        if self.tls_cert is not None and self.tls_key is not None:
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.tls_cert, self.tls_key)
            except OSError as error:  # ssl.SSLError is one, too
                raise InputError(f"cannot use {self.tls_cert} for TLS: {error}") from error
        if self.is_open and not self.is_secure and not self.plain_http:
            raise InputError(
                f"--host {self.host} lets other machines in, and without TLS everybody on the way "
                "can read along and decide: give --tls-cert and --tls-key, or --plain-http if the "
                "network is yours alone"
            )

    @property
    def is_open(self) -> bool:
        """Whether other machines can reach it."""
        if self.host == "localhost":
            return False
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return True

    @property
    def is_secure(self) -> bool:
        """Whether it speaks TLS."""
        return self.tls_cert is not None

    def exposes(self, n_rows: int) -> str | None:
        """What others can do here, in one line; None if nobody else can."""
        if not self.is_open:
            return None
        way = "over TLS" if self.is_secure else "unencrypted, so anybody on the way can read along"
        return (
            f"warning: everybody who can reach {self.host} and has the address can see all "
            f"{n_rows:,} examples, their labels and ids, and decide about them ({way})"
        )


def serve(views: Views, listen: Listen, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; ``ready`` is given the address with its token."""
    with _socket(listen) as place:
        port = place.getsockname()[1]
        door = Door(
            token=secrets.token_urlsafe(32),
            port=port,
            names=_LOOPBACK | _own_names(listen),
            is_secure=listen.is_secure,
            is_open=listen.is_open,
        )
        server = make_server(views, door, listen)
        ready(_address(listen, port, door.token))
        server.run(sockets=[place])


def make_server(views: Views, door: Door, listen: Listen) -> Any:
    """A uvicorn ``Server`` of the review behind ``door``."""
    require("starlette", extra="review")
    uvicorn: Any = require("uvicorn", extra="review")
    from simifeat.review.app import create_app
    from simifeat.review.live import Broadcast

    broadcast = Broadcast()
    config = uvicorn.Config(
        create_app(views, door, broadcast),
        log_level="warning",
        access_log=False,  # it would write the token down
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=5,
        ssl_certfile=listen.tls_cert,
        ssl_keyfile=listen.tls_key,
    )
    server = uvicorn.Server(config)
    stop = server.shutdown

    async def shutdown(sockets: list[socket.socket] | None = None) -> None:
        broadcast.close()  # pages that listen for news never hang up by themselves
        await stop(sockets)

    server.shutdown = shutdown
    return server


def _socket(listen: Listen) -> socket.socket:
    """Bound and listening, so that the address printed is open from the first moment."""
    try:
        family = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM)[0][0]
        place = socket.create_server((listen.host, listen.port), family=family)
        # Head and body of an answer are sent apart; asyncio does not set this on our sockets, and
        # the body would then wait 40 ms for the head to be acknowledged.
        place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return place
    except (OSError, OverflowError) as error:
        raise InputError(
            f"cannot listen on {listen.host} port {listen.port}: {error}; choose another one"
        ) from error


def _own_names(listen: Listen) -> frozenset[str]:
    """Names that others may call this machine by."""
    if not listen.is_open:
        return frozenset({listen.host.lower()})
    names = (listen.host, socket.gethostname(), socket.getfqdn())
    return frozenset(name.lower() for name in names if name)


def _address(listen: Listen, port: int, token: str) -> str:
    scheme = "https" if listen.is_secure else "http"
    host = listen.host
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"
