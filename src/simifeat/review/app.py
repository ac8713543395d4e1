"""The review over HTTP: addresses, parameters and answers; what they mean is in ``views``."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from simifeat.errors import InputError, OutputError
from simifeat.io.records import Unreadable
from simifeat.review.answers import Answer, Step
from simifeat.review.exports import FORMATS, Material
from simifeat.review.finished import Finished
from simifeat.review.guard import Door, Guard, TooLarge
from simifeat.review.imports.label_studio import import_results
from simifeat.review.live import Broadcast
from simifeat.review.show import reviewer_name
from simifeat.review.views import Json, Views, filter_of

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
}
_LARGEST_PICTURE = 2048


def create_app(views: Views, door: Door, broadcast: Broadcast) -> Guard:
    """The application behind its guard; pages hear of news by ``broadcast``."""
    routes = _Routes(views, broadcast).table()
    return Guard(Starlette(routes=routes, exception_handlers=_HANDLERS), door)


class _Routes:
    def __init__(self, views: Views, broadcast: Broadcast) -> None:
        self.views, self.desk, self.broadcast = views, views.desk, broadcast
        self.desk.listeners.append(self.broadcast.tell)
        self.page = _static_files()

    def table(self) -> list[Route]:
        return [
            Route("/", self.static),
            Route("/static/{name}", self.static),
            Route("/api/about", self.about),
            Route("/api/rows", self.rows),
            Route("/api/rows/{row:int}", self.row),
            Route("/api/rows/{row:int}/picture", self.picture),
            Route("/api/lead", self.lead),
            Route("/api/progress", self.progress),
            Route("/api/check", self.check),
            Route("/api/events", self.events),
            Route("/api/decide", self.decide, methods=["POST"]),
            Route("/api/exports", self.exports),
            Route("/api/export/{name}", self.export),
            Route("/api/import/label-studio", self.import_label_studio, methods=["POST"]),
            Route("/api/undo", self.undo, methods=["POST"]),
            Route("/api/redo", self.redo, methods=["POST"]),
        ]

    def static(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in self.page:
            raise HTTPException(404, "there is no such file")
        content, kind = self.page[name]
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    def about(self, request: Request) -> Response:
        return JSONResponse(self.views.about())

    def rows(self, request: Request) -> Response:
        query = request.query_params
        offset, limit = _int(query, "offset", 0), _int(query, "limit", 60)
        return JSONResponse(self.views.rows(filter_of(query), offset, limit))

    def row(self, request: Request) -> Response:
        blind = request.query_params.get("blind") == "1"
        row, name = int(request.path_params["row"]), _who(request.query_params)
        found = self.views.row(row, blind=blind)
        if name:
            self.desk.claim(row, name)
        return JSONResponse(found)

    def picture(self, request: Request) -> Response:
        size = max(16, min(_int(request.query_params, "size", 256), _LARGEST_PICTURE))
        content, kind = self.views.picture(int(request.path_params["row"]), size)
        return Response(
            content, media_type=kind, headers={"cache-control": "private, max-age=3600"}
        )

    def lead(self, request: Request) -> Response:
        query = request.query_params
        after = _int(query, "after", -1)
        found = self.views.lead(
            filter_of(query), None if after < 0 else after, query.get("how", "open"), _who(query)
        )
        return JSONResponse(found)

    def progress(self, request: Request) -> Response:
        return JSONResponse(self.views.progress(_who(request.query_params)))

    def check(self, request: Request) -> Response:
        query = request.query_params
        try:
            share = float(query.get("share", "0.1"))
        except ValueError:
            raise InputError("the share to double-check is no number") from None
        return JSONResponse(self.views.check(_who(query), share))

    def exports(self, request: Request) -> Response:
        material = self._material()
        offered = [
            {"name": name, "title": f.title, "text": f.text, "why_not": f.why_not(material)}
            for name, f in FORMATS.items()
        ]
        return JSONResponse({"exports": offered})

    def export(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FORMATS:
            raise HTTPException(404, "there is no such format")
        material = self._material()
        refused = FORMATS[name].why_not(material)
        if refused:
            raise InputError(refused)
        number, place = tempfile.mkstemp(prefix="simifeat-export-")
        path = Path(place)
        try:
            with os.fdopen(number, "wb") as file:
                FORMATS[name].write(material, file)
        except BaseException:
            path.unlink()
            raise
        return FileResponse(
            path,
            media_type="application/octet-stream",  # to keep, never to look at
            filename=f"{_file_stem(self.views.name)}.{name}{FORMATS[name].ending(material)}",
            background=BackgroundTask(path.unlink),
        )

    def _material(self) -> Material:
        with self.desk.lock:
            finished = Finished.of(self.desk.sheet, self.desk.ledger)
        return Material(finished, self.views.examples, self.views.origin, self.views.name)

    async def import_label_studio(self, request: Request) -> Response:
        found = await run_in_threadpool(import_results, self.desk, await request.body())
        return JSONResponse({"added": found.added, "skipped": found.skipped})

    async def events(self, request: Request) -> Response:
        return StreamingResponse(
            self.broadcast.events(self.desk.catch_up), media_type="text/event-stream"
        )

    async def decide(self, request: Request) -> Response:
        asked = await _body(request, "answers", "reviewer", "request")
        answers = [Answer(*values) for values in asked["answers"]]
        said = await run_in_threadpool(self.desk.decide, answers, _who(asked), asked["request"])
        return JSONResponse({"rows": said.rows, "seq": said.seq})

    async def undo(self, request: Request) -> Response:
        return await self._step(request, "undo")

    async def redo(self, request: Request) -> Response:
        return await self._step(request, "redo")

    async def _step(self, request: Request, step: Step) -> Response:
        asked = await _body(request, "reviewer", "request")
        said = await run_in_threadpool(self.desk.step, _who(asked), step, asked["request"])
        return JSONResponse({"rows": said.rows, "seq": said.seq})


_SHAPE: Mapping[str, Callable[[Any], bool]] = {
    "answers": lambda value: isinstance(value, list) and all(map(_is_answer, value)),
    "reviewer": lambda value: isinstance(value, str),
    "request": lambda value: isinstance(value, str) and 0 < len(value) <= 64,
}


def _is_answer(value: Any) -> bool:
    """Row, action, number of the label (-1: none), kind."""
    kinds = (int, str, int, str)
    return isinstance(value, list) and tuple(map(type, value)) == kinds


async def _body(request: Request, *needed: str) -> Json:
    """The JSON object that was sent; its ``needed`` members have the types they must have."""
    try:
        asked = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InputError("what was sent is not JSON") from None
    for name in needed:
        if not isinstance(asked, dict) or name not in asked or not _SHAPE[name](asked[name]):
            raise InputError(f"{name!r} is missing in a request, or has a wrong value")
    return asked


def _who(asked: Mapping[str, Any]) -> str:
    return reviewer_name(asked.get("reviewer", ""))


def _file_stem(name: str) -> str:
    """The name of a dataset as that of a file to save."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", Path(name).stem).strip("-")[:60] or "review"


def _int(query: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(query.get(name, default))
    except ValueError:
        raise InputError(f"{name} is no whole number") from None


def _static_files() -> dict[str, tuple[bytes, str]]:
    folder = files("simifeat.review") / "static"
    return {
        file.name: (file.read_bytes(), _TYPES[file.name[file.name.rindex(".") :]])
        for file in folder.iterdir()
        if file.name.endswith(tuple(_TYPES))
    }


def _answer(status: int) -> Callable[[Request, Exception], Response]:
    return lambda request, error: JSONResponse({"error": str(error)}, status)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(f"{error.detail}\n", error.status_code)


_HANDLERS: Mapping[Any, Callable[[Request, Exception], Response]] = {
    InputError: _answer(400),
    OutputError: _answer(503),
    TooLarge: _answer(413),
    Unreadable: _answer(415),
    HTTPException: _http,
}
