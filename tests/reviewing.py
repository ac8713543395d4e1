"""Small reviews to test with, and a server around one that can be asked anything."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import simifeat
from simifeat.nearest_file import save_nearest
from simifeat.review.guard import Door
from simifeat.review.opening import open_review
from simifeat.review.server import Listen, make_server

NAMES = np.array(["ash", "birch", "cedar"], dtype=object)
TOKEN = "right-token"


def judged(path, n=60, names=NAMES, seed=0, ids=None, source=None):
    """Verdicts on three blobs with a fifth of the labels moved on, saved at ``path``."""
    rng = np.random.default_rng(seed)
    clean = np.arange(n) % 3
    features = np.eye(3)[clean] + 0.1 * rng.normal(size=(n, 3))
    wrong = rng.permutation(n)[: n // 5]
    given = clean.copy()
    given[wrong] = (given[wrong] + 1) % 3
    verdicts = simifeat.detect(features, names[given], ids=ids, k=5, seed=0)
    if source is not None:
        about = {"path": str(source), **dict.fromkeys(("labels", "features", "extractor", "id"))}
        verdicts = replace(verdicts, metadata={**verdicts.metadata, "source": about})
    verdicts.save(path)
    save_nearest(path, verdicts)
    return verdicts


def text_review(folder, texts=None, names=NAMES, n=60):
    """A table of texts and its verdicts; the path of the verdicts."""
    path, table = folder / "out.parquet", folder / "texts.jsonl"
    verdicts = judged(path, n, names, ids=np.arange(100, 100 + n), source=table)
    texts = texts or [f"text number {i}, about trees and their leaves" for i in range(n)]
    lines = (
        {"id": int(i), "text": text, "label": str(label)}
        for i, text, label in zip(verdicts.ids, texts, verdicts.labels, strict=True)
    )
    # Halves of characters survive in JSON alone.
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@contextmanager
def serving(verdicts, **how):
    """A running server around the review of ``verdicts``, as a ``Caller``."""
    with open_review(verdicts) as views, running(views, **how) as caller:
        yield caller


@contextmanager
def running(views, **how):
    door = Door(TOKEN, 0, frozenset({"127.0.0.1", "localhost"}), **how)
    server = make_server(views, door, Listen())
    with socket.create_server(("127.0.0.1", 0)) as place:
        thread = threading.Thread(target=server.run, args=([place],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield Caller(place.getsockname()[1], views)
        finally:
            server.should_exit = True
            thread.join()


class Answer:
    """Status, headers and body of one answer."""

    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Caller:
    """Asks the server as its own page would, but for what a test changes."""

    def __init__(self, port, views=None):
        self.port, self.views = port, views
        self.host = f"127.0.0.1:{port}"
        self.cookie = f"simifeat-0={TOKEN}"

    def ask(self, path, method="GET", body=None, headers=(), **changed):
        """One request; ``headers`` are more, ``changed`` replaces (None: leaves out) one."""
        usual = {"host": self.host, "cookie": self.cookie, "sec-fetch-site": "same-origin"}
        if method != "GET":
            usual["origin"] = f"http://{self.host}"
        usual |= {name.replace("_", "-"): value for name, value in changed.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in [*usual.items(), *headers]:
            if value is not None:
                connection.putheader(name, value)
        if body is not None and "transfer-encoding" not in dict(headers):
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        try:
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path):
        return self.ask(path).json

    def post(self, path, **content):
        found = self.ask(path, "POST", json.dumps(content).encode())
        assert found.status == 200, found.body
        return found.json

    def decide(self, *answers, reviewer="Ana", request=None):
        request = request or f"r{time.monotonic_ns()}"
        return self.post("/api/decide", answers=answers, reviewer=reviewer, request=request)

    def step(self, name, reviewer="Ana"):
        return self.post(f"/api/{name}", reviewer=reviewer, request=f"r{time.monotonic_ns()}")
