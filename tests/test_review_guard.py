"""Attacks on the review page. Each of these fails when the guard against it is taken away."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from pathlib import Path

import numpy as np
import pytest

from pictures import encoded, picture
from reviewing import TOKEN, judged, running, serving, text_review
from simifeat.cli import main
from simifeat.errors import InputError
from simifeat.review.guard import MOST_BYTES, Door, Guard
from simifeat.review.opening import open_review
from simifeat.review.server import Listen, _socket
from simifeat.review.show import one_line, reviewer_name, visible

SECRET = b"the secret of somebody else"


@pytest.fixture(scope="module")
def review(tmp_path_factory):
    return text_review(tmp_path_factory.mktemp("guard"))


@pytest.fixture(scope="module")
def caller(review):
    with serving(review) as caller:
        yield caller


def decision(row=0):
    asked = {"answers": [[row, "keep", -1, "decide"]], "reviewer": "Eve", "request": "r"}
    return json.dumps(asked).encode()


# Who gets in.


def test_it_listens_on_this_machine_alone():
    with _socket(Listen()) as place:
        assert place.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com"])
def test_other_machines_are_let_in_with_tls_or_when_told_to(host):
    with pytest.raises(InputError, match="lets other machines in, and without TLS everybody"):
        Listen(host)
    warning = Listen(host, plain_http=True).exposes(1234)
    assert "see all 1,234 examples" in warning
    assert "unencrypted" in warning
    assert Listen("127.0.0.1").exposes(1234) is None
    assert Listen("localhost").exposes(1234) is None


def test_the_command_refuses_before_it_opens_anything(review, capsys):
    assert main(["review", str(review), "--host", "0.0.0.0", "--no-browser"]) == 2
    assert "--plain-http if the network is yours alone" in capsys.readouterr().err


@pytest.mark.parametrize("cookie", [None, "simifeat-0=wrong", "simifeat-1=" + TOKEN, "simifeat-0="])
@pytest.mark.parametrize("path", ["/", "/api/about", "/api/rows/0/picture", "/static/main.js"])
def test_nothing_is_told_without_the_token(caller, cookie, path):
    found = caller.ask(path, cookie=cookie)
    assert found.status == 403
    assert b"with its token" in found.body


def test_nothing_is_decided_without_the_token(caller):
    assert caller.ask("/api/decide", "POST", decision(), cookie=None).status == 403
    assert caller.views.desk.seq == 0


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "%ff"])
def test_a_wrong_token_opens_no_door(caller, token):
    found = caller.ask(f"/?token={token}", cookie=None)
    assert found.status == 403
    assert found.headers["set-cookie"] is None


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(caller):
    found = caller.ask(f"/?token={TOKEN}", cookie=None)
    assert found.status == 200
    kept = found.headers["set-cookie"].lower()
    assert kept.startswith(f"simifeat-0={TOKEN}")
    assert "httponly" in kept
    assert "samesite=strict" in kept
    assert "domain" not in kept
    assert TOKEN.encode() not in found.body
    assert found.headers["referrer-policy"] == "no-referrer"


def test_over_tls_the_cookie_stays_on_tls(review):
    with serving(review, is_secure=True) as caller:
        found = caller.ask(f"/?token={TOKEN}", cookie=None)
    assert "secure" in found.headers["set-cookie"].lower()


# Other pages in the same browser.


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "", "1.2.3.4"]
)
def test_a_name_made_to_point_here_is_refused(caller, host):
    found = caller.ask("/api/about", host=host.format(port=caller.port))
    assert found.status in (400, 421)  # the server itself refuses a request without a name


def test_two_names_are_refused(caller):
    found = caller.ask("/api/about", headers=[("host", "evil.example")])
    assert found.status in (400, 421)


def test_the_guard_itself_refuses_two_names():
    """Not every HTTP parser below it does."""
    sent = []

    async def refused():
        door = Door(TOKEN, 0, frozenset({"localhost"}))
        hosts = [(b"host", b"localhost"), (b"host", b"evil.example")]
        headers = [*hosts, (b"cookie", f"simifeat-0={TOKEN}".encode())]
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}

        async def send(message):
            sent.append(message)

        await Guard(None, door)({**scope, "headers": headers}, None, send)

    asyncio.run(refused())
    assert sent[0]["status"] == 421


def test_an_open_server_may_be_called_by_an_address_but_by_no_strange_name():
    door = Door("t", 1, frozenset({"box"}), is_open=True)
    assert all(map(door.knows, ["10.0.0.7:80", "[fe80::1]:80", "box:80", "BOX"]))
    assert not any(map(door.knows, ["evil.example", "10.0.0.7.evil.example:80", ""]))


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://{host}", ""])
def test_posts_of_other_pages_are_refused(caller, origin):
    origin = origin and origin.format(host=caller.host)
    found = caller.ask("/api/decide", "POST", decision(), origin=origin)
    assert found.status == 403
    assert caller.views.desk.seq == 0


def test_another_page_cannot_read(caller):
    assert caller.ask("/api/about", origin="http://evil.example").status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_cannot_embed_a_picture_or_a_script(caller, site):
    for path in ("/api/rows/0/picture", "/static/main.js", "/api/about"):
        assert caller.ask(path, sec_fetch_site=site, sec_fetch_mode="no-cors").status == 403
    found = caller.ask("/api/decide", "POST", decision(), sec_fetch_site=site)
    assert found.status == 403


def test_a_link_from_elsewhere_leads_to_the_page_only(caller):
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert caller.ask("/", **link).status == 200
    assert caller.ask("/api/about", **link).status == 403


def test_sockets_are_refused(caller):
    upgrade = [("upgrade", "websocket"), ("sec-websocket-version", "13")]
    found = caller.ask("/api/events", headers=[*upgrade, ("sec-websocket-key", "x")], cookie=None)
    assert found.status in (400, 403, 426)


# What a browser may do with an answer.


@pytest.mark.parametrize("path", ["/", "/api/about", "/nothing", "/static/main.js"])
@pytest.mark.parametrize("cookie", [None, f"simifeat-0={TOKEN}"])
def test_every_answer_carries_the_policies(caller, path, cookie):
    headers = caller.ask(path, cookie=cookie).headers
    policy = dict(
        part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["access-control-allow-origin"] is None


def test_the_page_has_no_inline_script_or_style(caller):
    text = caller.ask("/").body.decode()
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=|javascript:", text)
    assert not re.search(r"https?://", text)
    for name in re.findall(r'"/static/([^"]+)"', text):
        assert caller.ask(f"/static/{name}").status == 200


def test_the_front_end_never_parses_markup(caller):
    for name, (content, _) in _static(caller).items():
        if name.endswith(".js"):
            found = re.search(
                rb"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", content
            )
            assert not found, name


# Files.


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2fversion.py",
        "/static//etc/passwd",
        "/static/",
        "/../../../etc/passwd",
        "/static/index.html%00.png",
    ],
)
def test_only_files_of_the_page_are_served(caller, path):
    found = caller.ask(path)
    assert found.status == 404
    assert b"import" not in found.body


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A table of picture paths of which some lead out; rows 0 to 7 are the bad ones."""
    folder = tmp_path_factory.mktemp("pictures")
    inside = folder / "data"
    inside.mkdir()
    (folder / "secret.png").write_bytes(encoded(picture(1)))
    (folder / "secret.txt").write_bytes(SECRET)
    for n in range(60):
        (inside / f"{n}.png").write_bytes(encoded(picture(n)))
    os.symlink(folder / "secret.png", inside / "link.png")
    os.symlink(folder, inside / "up")
    os.symlink("loop.png", inside / "loop.png")
    (inside / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')
    (inside / "drawing.png").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')
    (inside / "page.jpg").write_text("<!doctype html><script>alert(1)</script>")
    bad = [
        "../secret.png",
        str(folder / "secret.png"),
        "link.png",
        "up/secret.png",
        "loop.png",
        "drawing.svg",
        "drawing.png",
        "page.jpg",
        "nul\0.png",
    ]
    names = [*bad, *(f"{n}.png" for n in range(len(bad), 60))]
    table, path = inside / "table.jsonl", inside / "out.parquet"
    verdicts = judged(path, source=table)
    lines = ({"file": n, "label": str(v)} for n, v in zip(names, verdicts.labels, strict=True))
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path, bad


def test_no_path_and_no_link_gets_out_of_the_dataset(pictures):
    path, bad = pictures
    with serving(path) as caller:
        assert caller.get("/api/about")["kind"] == "image"
        assert caller.ask(f"/api/rows/{len(bad)}/picture").status == 200
        for row, name in enumerate(bad):
            found = caller.ask(f"/api/rows/{row}/picture")
            assert found.status == 415, name
            assert found.headers["content-type"] == "application/json"
            assert SECRET not in found.body
        assert caller.ask("/api/rows/60/picture").status == 400
        assert caller.ask("/api/rows/-1/picture").status == 404


def test_a_picture_is_made_anew_and_is_nothing_else(pictures):
    path, bad = pictures
    row = len(bad)
    file = Path(path.parent / f"{row}.png")
    file.write_bytes(encoded(picture(row, 300), "JPEG", comment=SECRET) + SECRET)
    with serving(path) as caller:
        for size in (64, 100_000):
            found = caller.ask(f"/api/rows/{row}/picture?size={size}")
            assert found.headers["content-type"] in ("image/png", "image/jpeg")
            assert found.body[:4] in (b"\x89PNG", b"\xff\xd8\xff\xe0")
            assert SECRET not in found.body
            assert found.headers["x-content-type-options"] == "nosniff"


def test_a_download_is_never_a_document(caller):
    for name in ("patch", "label-studio", "label-studio-config", "dataset"):
        headers = caller.ask(f"/api/export/{name}").headers
        assert headers["content-type"] == "application/octet-stream"
        assert headers["content-disposition"].startswith('attachment; filename="texts.')
    assert caller.ask("/api/export/../../etc/passwd").status == 404


# Sizes and shapes.


def test_too_much_is_refused_however_it_is_sent(caller):
    body = b"x" * (MOST_BYTES + 1)
    assert caller.ask("/api/decide", "POST", body).status == 413
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    found = caller.ask("/api/decide", "POST", chunk, headers=[("transfer-encoding", "chunked")])
    assert found.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"answers": [], "reviewer": "E", "request": "r"}',
        b'{"answers": [[0, "keep", -1]], "reviewer": "E", "request": "r"}',
        b'{"answers": [[true, "keep", -1, "decide"]], "reviewer": "E", "request": "r"}',
        b'{"answers": [[999, "keep", -1, "decide"]], "reviewer": "E", "request": "r"}',
        b'{"answers": [[0, "clear", -1, "decide"]], "reviewer": "E", "request": "r"}',
        b'{"answers": [[0, "relabel", 77, "decide"]], "reviewer": "E", "request": "r"}',
        b'{"answers": [[0, "keep", -1, "settle"]], "reviewer": "E", "request": "r"}',
        b'{"answers": [[0, "keep", -1, "decide"]], "reviewer": "", "request": "r"}',
        b'{"answers": [[0, "keep", -1, "decide"]], "reviewer": "E", "request": ""}',
        b'{"answers": [[0, "keep", -1, "decide"], [0, "drop", -1, "decide"]],'
        b' "reviewer": "E", "request": "r"}',
    ],
)
def test_a_request_of_another_shape_is_refused_and_changes_nothing(caller, body):
    found = caller.ask("/api/decide", "POST", body)
    assert found.status == 400
    assert found.json["error"]
    assert caller.views.desk.seq == 0


@pytest.mark.parametrize("query", ["p_from=x", "given=x", "states=odd", "order=odd", "scope=odd"])
def test_a_filter_of_another_shape_is_refused(caller, query):
    assert caller.ask(f"/api/rows?{query}").status == 400
    assert caller.ask(f"/api/rows?words={'x' * 501}").status == 400


# Hostile labels, names and texts.

MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&"
BIDI = "abc\u202e\u2066dcba\u200f"
LONG = "\u00e4" * 1_000_000


def test_hostile_labels_and_texts_are_short_and_visible(tmp_path):
    names = np.array([MARKUP, BIDI, LONG], dtype=object)
    texts = [MARKUP, BIDI, LONG, "half \ud83d of a smile", "nul\0", "a\r\nb\nc", "\u2028"] * 9
    path = text_review(tmp_path, texts[:60], names)
    with serving(path) as caller:
        answers = {
            name: caller.ask(name)
            for name in (
                "/api/about",
                "/api/rows?limit=200&scope=all",
                "/api/rows/1",
                "/api/rows/2",
            )
        }
        for name, found in answers.items():
            assert found.status == 200, name
            assert found.headers["content-type"] == "application/json"
            assert not re.search(r"[\u202a-\u202e\u2066-\u2069\u200f\u0000]", str(found.json)), name
        assert len(answers["/api/rows/2"].body) < 300_000
        about = answers["/api/about"].json
        assert sorted(map(len, about["classes"])) == [len(one_line(BIDI)), len(MARKUP), 121]
        assert len(answers["/api/rows/2"].json["text"]) == 20_001
        assert caller.ask("/api/rows/3").status == 200
        for name in ("label-studio", "label-studio-config", "patch", "dataset"):
            assert caller.ask(f"/api/export/{name}").status == 200, name


def test_deceiving_characters_are_spelled_out():
    assert visible("a\u202eb", 10) == "a\\u202eb"
    assert visible("tag \U000e0041", 10) == "tag \\U000e0041"
    assert visible("x" * 50, 10) == "x" * 10 + "…"
    assert visible("\U0001f469\u200d\U0001f33e", 10) == "\U0001f469\u200d\U0001f33e"
    assert one_line("  a \n b\t") == "a b"
    assert one_line(" \n") == "(empty)"
    assert reviewer_name("  <b>An\u202ea\0  " + "x" * 1000) == "<b>Ana " + "x" * 33


def test_a_name_that_shows_nothing_is_no_name(caller):
    asked = {"answers": [[0, "keep", -1, "decide"]], "reviewer": "\u202e\u200b ", "request": "r"}
    found = caller.ask("/api/decide", "POST", json.dumps(asked).encode())
    assert found.json == {"error": "a decision needs the name of who takes it; give one"}


def test_the_address_is_printed_with_a_token_of_its_own(review):
    from simifeat.review.server import serve

    heard = []

    def stop(address):
        heard.append(address)
        raise KeyboardInterrupt

    for _ in range(2):
        with open_review(review) as views, pytest.raises(KeyboardInterrupt):
            serve(views, Listen(), stop)
    tokens = [address.split("?token=")[1] for address in heard]
    assert tokens[0] != tokens[1]
    assert all(len(token) >= 43 for token in tokens)  # 256 bits
    assert all(re.match(r"http://127\.0\.0\.1:\d+/\?token=", address) for address in heard)


def test_a_port_in_use_is_said_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {port}"):
            _socket(Listen(port=port))


def _static(caller):
    from simifeat.review.app import _static_files

    return _static_files()


def test_the_guard_stands_before_everything(review):
    """The application alone would answer anybody; what is run is the guard around it."""
    with open_review(review) as views, running(views) as caller:
        assert caller.ask("/api/about", cookie=None).status == 403
