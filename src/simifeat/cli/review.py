"""``simifeat review``: a page to go through the flags, on this machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from simifeat.errors import require


@click.command()
@click.argument("verdicts", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--port", default=0, show_default=True, help="Where to listen; 0: any that is free.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--source", metavar="SOURCE", help="Where the judged data are now.")
@click.option(
    "--decisions",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The log of decisions; beside OUT by default.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Who may come: see the docs.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Certificate, to speak TLS.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key.")
@click.option("--plain-http", is_flag=True, help="Let other machines in without TLS.")
def command(
    verdicts: Path,
    port: int,
    no_browser: bool,
    source: str | None,
    decisions: Path | None,
    host: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    plain_http: bool,
) -> None:
    """Go through the flagged rows of OUT on a page and decide about them.

    Prints the address of the page with its token; stop with Ctrl+C. Every decision is on disk
    before it is acknowledged; simifeat clean applies them.
    """
    for module in ("starlette", "uvicorn", "PIL"):
        require(module, extra="review")
    from simifeat.review.opening import open_review
    from simifeat.review.server import Listen, serve

    listen = Listen(host, port, tls_cert, tls_key, plain_http)
    with open_review(verdicts, moved_to=source, decisions=decisions) as views:
        warning = listen.exposes(views.desk.sheet.n_rows)
        if warning:
            click.echo(warning, err=True)

        def ready(address: str) -> None:
            click.echo(address)
            click.echo("stop with Ctrl+C; every decision is kept", err=True)
            if not no_browser:
                webbrowser.open(address)

        serve(views, listen, ready)
