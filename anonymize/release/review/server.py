"""The page for the person who looks at a release, on this machine alone. Requests name pictures by
number; no path of a request reaches the file system.
"""

import json
import os
import socket
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from anonymize.release.reasons import Refused
from anonymize.release.records.entries import Entry
from anonymize.release.review import guard, session
from anonymize.release.review.guard import Guard, Keys
from anonymize.release.review.pictures import Pictures, View
from anonymize.release.review.session import Session
from anonymize.release.storage import StorageError
from anonymize.release.workers.worker_pool import WorkerPool, WorkerPoolError

MOST_INPUTS = 99  # of one output, that can be looked at
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
PAGE = "index.html"
ASSETS = (PAGE, "review.css", "icon.svg", "review.js", "api.js", "raster.js", "panes.js", "list.js")
VERDICTS = {"accept": session.ACCEPTED, "quarantine": session.QUARANTINED}
PROBLEMS: dict[type[Exception], Callable[[Request, Any], Response]] = {
    LookupError: lambda request, error: _problem("no such picture", 404),
    Refused: lambda request, error: _problem(_why(error), 409),
    StorageError: lambda request, error: _problem(f"cannot be written: {error}", 507),
    WorkerPoolError: lambda request, error: _problem("no worker can be started", 503),
}


def serve(
    work: Session,
    pool: WorkerPool,
    channel: socket.socket,
    *,
    ready: Callable[[str], None],
    grace: int,
) -> None:
    """Serves the page at ``channel``, which listens, until the reviewer ends it or a signal does.

    Args:
        ready: called with the address to open.
        grace: seconds for what is being answered at the end.

    Raises:
        KeyboardInterrupt: a signal ended it.
    """
    keys = Keys(channel.getsockname()[1])

    def leave() -> None:
        server.should_exit = True

    config = uvicorn.Config(
        application(work, pool, keys, leave),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=grace,
    )
    server = uvicorn.Server(config)
    ready(keys.address)
    server.run(sockets=[channel])


def application(
    work: Session, pool: WorkerPool, keys: Keys, end: Callable[[], None] = lambda: None
) -> Starlette:
    """The page and what it asks for; ``end`` is called where the reviewer has finished."""
    pictures = Pictures(work, pool)
    seen: set[int] = set()  # whose output was shown

    def release(request: Request) -> Response:
        shown = [_listed(number, entry) for number, entry in enumerate(work.entries)]
        return JSONResponse(
            {"pictures": shown, "counts": work.counts, "waits": work.journal.header["review"]}
        )

    def details(request: Request) -> Response:
        number = _number(request, work)
        entry = work.entry(number)
        inputs = [_text(path) for path, _ in work.inputs(number)][:MOST_INPUTS]
        told = {"inputs": inputs, "boxes": entry.boxes, "moved": entry.moved}
        return JSONResponse({**told, "figures": entry.figures or {}, "unfit": entry.unfit})

    def output(request: Request) -> Response:
        number = _number(request, work)
        made = _pixels(pictures.output(number))
        seen.add(number)
        return made

    def source(request: Request) -> Response:
        number, which = _number(request, work), request.path_params["which"]
        if which >= min(len(work.inputs(number)), MOST_INPUTS):
            raise LookupError
        return _pixels(pictures.input(number, which))

    def decide(request: Request) -> Response:
        number, verdict = _number(request, work), VERDICTS[request.path_params["verdict"]]
        if verdict == session.ACCEPTED and number not in seen:
            return _problem("its output was not shown", 409)
        work.decide(number, verdict)
        return JSONResponse({"state": session.state(work.entry(number)), "counts": work.counts})

    async def finish(request: Request) -> Response:
        await run_in_threadpool(work.finish)
        end()
        return Response(status_code=204)

    routes = [
        *(Route("/" if name == PAGE else f"/{name}", _asset(name)) for name in ASSETS),
        Route(guard.SESSION, _exchange(keys), methods=["POST"]),
        Route("/api/release", release),
        Route("/api/pictures/{number:int}", details),
        Route("/api/pictures/{number:int}/output", output),
        Route("/api/pictures/{number:int}/inputs/{which:int}", source),
        Route("/api/pictures/{number:int}/{verdict}", decide, methods=["POST"]),
        Route("/api/end", finish, methods=["POST"]),
    ]
    public = frozenset(f"/{name}" for name in ASSETS) | {"/"}
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, keys=keys, public=public)],
        exception_handlers=PROBLEMS,
    )


def _asset(name: str) -> Callable[[Request], Response]:
    data = (files(__package__) / "page" / name).read_bytes()
    kind = TYPES[name.rpartition(".")[2]]
    return lambda request: Response(data, media_type=kind)


def _exchange(keys: Keys) -> Callable[[Request], Response]:
    """Gives whoever has the token the cookie."""

    def endpoint(request: Request) -> Response:
        answer = Response(status_code=204)
        answer.set_cookie(guard.COOKIE, keys.cookie, httponly=True, samesite="strict")
        return answer

    return endpoint


def _number(request: Request, work: Session) -> int:
    number: int = request.path_params["number"]
    if number >= len(work):
        raise LookupError
    return number


def _listed(number: int, entry: Entry) -> dict:
    figures = entry.figures or {}
    return {
        "number": number,
        "name": _text(entry.output),
        "state": session.state(entry),
        "text": int(figures.get("text_regions") or 0),
        "ssim": figures.get("ssim"),
    }


def _text(path: str) -> str:
    """A path of any bytes, to be read."""
    return os.fsencode(path).decode("utf-8", "replace")


def _pixels(view: View) -> Response:
    """The values, little-endian, and what they are."""
    height, width, channels = view.values.shape
    bits = 8 * view.values.dtype.itemsize
    told = {"width": width, "height": height, "channels": channels, "bits": bits}
    told |= {"low": view.low, "high": view.high, "shrunk": view.shrunk}
    data = np.ascontiguousarray(view.values, f"<u{bits // 8}").tobytes()
    return Response(
        data, headers={"x-view": json.dumps(told)}, media_type="application/octet-stream"
    )


def _why(refusal: Refused) -> str:
    return ": ".join(filter(None, (refusal.reason.meaning, refusal.detail)))


def _problem(words: str, status: int) -> Response:
    return JSONResponse({"problem": words}, status)
