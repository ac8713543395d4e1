"""A server killed without warning: what it acknowledged is there, and nothing is there twice."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from itertools import chain

import numpy as np
import pytest

from reviewing import TOKEN, judged
from simifeat.review.log import log_path, read_log
from simifeat.review.opening import open_review

N_KILLS, N_ROWS = 100, 60
_ACTIONS = ("keep", "drop", "skip")


def serve_for_ever(path, told):
    """Runs in a process of its own: the real server with the real log."""
    from simifeat.review import server

    server.secrets.token_urlsafe = lambda n: TOKEN
    with open_review(path) as views:
        server.serve(views, server.Listen(), lambda address: told.send(address))


class Page:
    """Decides one row after the other, as fast as it is answered."""

    def __init__(self, address, asks):
        self.port = int(re.search(r":(\d+)/", address)[1])
        self.asks, self.acknowledged, self.in_flight = asks, [], None
        self.first = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        headers = {
            "Cookie": f"simifeat-{self.port}={TOKEN}",
            "Origin": f"http://127.0.0.1:{self.port}",
            "Content-Type": "application/json",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            for asked in self.asks:
                self.in_flight = asked
                connection.request("POST", "/api/decide", json.dumps(asked), headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200
                self.acknowledged.append(asked)
                self.in_flight = None
                self.first.set()
        except (OSError, http.client.HTTPException):
            pass  # the server is gone
        finally:
            self.first.set()
            connection.close()


def endless(rng, counter):
    while True:
        counter[0] += 1
        row, action = int(rng.integers(N_ROWS)), _ACTIONS[rng.integers(3)]
        answers = [[row, action, -1, "decide"]]
        yield {"answers": answers, "reviewer": "Ana", "request": f"r{counter[0]}"}


def said(entry):
    return (entry.request, entry.row, entry.action)


def asked_for(asked):
    ((row, action, _, _),) = asked["answers"]
    return (asked["request"], row, action)


@pytest.mark.slow
def test_no_decision_is_lost_in_a_hundred_kills(tmp_path):
    path = tmp_path / "out.parquet"
    judged(path, N_ROWS)
    with open_review(path) as views:
        fingerprint = views.desk.sheet.fingerprint
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(
        [
            "pandas",
            "simifeat.review.opening",
            "simifeat.review.server",
            "simifeat.review.app",
            "uvicorn.protocols.http.h11_impl",
            "uvicorn.loops.asyncio",
        ]
    )
    rng = np.random.default_rng(0)
    counter, in_flight, acknowledged, n_between = [0], None, [], 0
    asks = endless(rng, counter)
    for _ in range(N_KILLS):
        heard, told = processes.Pipe(duplex=False)
        server = processes.Process(target=serve_for_ever, args=(path, told), daemon=True)
        server.start()
        assert heard.poll(60)
        again = [in_flight] if in_flight else []  # sent again first, as the page does
        page = Page(heard.recv(), chain(again, asks))
        page.thread.start()
        page.first.wait(60)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(server.pid, signal.SIGKILL)
        page.thread.join(30)
        server.join(30)
        acknowledged += page.acknowledged
        in_flight = page.in_flight
        n_between += in_flight is not None
        # All that was acknowledged is there, in order; at most the one in flight follows it.
        found = [said(entry) for entry in read_log(log_path(path), fingerprint)]
        wanted = [asked_for(asked) for asked in acknowledged]
        if in_flight is not None:
            assert found in (wanted, [*wanted, asked_for(in_flight)])
        else:
            assert found == wanted
        heard.close()
        told.close()
    assert len(acknowledged) >= N_KILLS
    assert n_between >= N_KILLS // 4  # killed while it was writing, and not only between


@pytest.mark.slow
def test_the_command_itself_may_be_killed(tmp_path):
    path = tmp_path / "out.parquet"
    judged(path, N_ROWS)
    command = [sys.executable, "-m", "simifeat", "review", str(path), "--no-browser"]
    for kept in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert select.select([server.stdout], [], [], 60)[0]
            address = server.stdout.readline()
            port, token = re.search(r":(\d+)/\?token=(\S+)", address).groups()
            headers = {"Cookie": f"simifeat-{port}={token}", "Origin": f"http://127.0.0.1:{port}"}
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
            connection.request("GET", "/api/progress?reviewer=Ana", headers=headers)
            assert json.loads(connection.getresponse().read())["seq"] == kept
            body = {
                "answers": [[kept, "drop", -1, "decide"]],
                "reviewer": "Ana",
                "request": f"{kept}",
            }
            connection.request("POST", "/api/decide", json.dumps(body), headers)
            assert connection.getresponse().status == 200
            server.kill()
            connection.close()
