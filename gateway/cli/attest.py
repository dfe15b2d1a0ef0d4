"""`dna attest`: measure a running engine that nobody can change, and answer `/healthz` for it. Options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output import Stop


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("attest")(attest_command)


def attest_command(
    engine: Annotated[
        str,
        typer.Option(help="vllm, sglang, tgi, triton, llamacpp, llama-cpp-python or transformers.", show_default=False),
    ],
    pid: Annotated[int, typer.Option(help="Process id of the engine.", show_default=False)],
    model: Annotated[Path, typer.Option(help="Folder or file that it has loaded.", show_default=False)],
    model_id: Annotated[str, typer.Option(help="What the contract calls the model.", show_default=False)],
    url: Annotated[str, typer.Option(help="Where the engine listens.")] = "http://127.0.0.1:8000",
    listen: Annotated[str, typer.Option(help="Where to answer /healthz.")] = "127.0.0.1:9100",
    version: Annotated[str | None, typer.Option(help="Its version.", show_default="the folder's name")] = None,
    served_model: Annotated[str | None, typer.Option(help="What the engine calls it.", show_default="asked")] = None,
    api_key_file: Annotated[Path | None, typer.Option(help="File with the API key that the engine wants.")] = None,
    exclude: Annotated[list[str], typer.Option(help="Glob of weight files to leave out. Repeatable.")] = [],  # noqa: B006 - typer's own way
    bind: Annotated[list[str], typer.Option(help="section.member of evidence that decides. Repeatable.")] = [],  # noqa: B006 - typer's own way
    interval: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.05)] = 1.0,
) -> None:
    """Measure a running engine from outside and answer /healthz for it; a contract names that with health_url."""
    from inference_dna.attest.command import Order, attest
    from inference_dna.canonical import Refused

    order = Order(
        engine=engine,
        pid=pid,
        model=model,
        listen=listen,
        url=url,
        model_id=model_id,
        version=version,
        served_model=served_model,
        api_key_file=api_key_file,
        exclude=exclude,
        bind=bind,
        look_s=interval,
    )
    try:
        attest(order)
    except Refused as refused:
        raise Stop(str(refused)) from refused
