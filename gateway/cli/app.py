"""The commands, their options and their help. What a command does is in a module of its own, imported when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.artifacts import register
from gateway.cli.attest import register as register_attest
from gateway.cli.bound import register as register_bound
from gateway.cli.completion import complete_at_the_first_tab
from gateway.cli.contract import contract_app
from gateway.cli.contract import register as register_contract
from gateway.cli.doctor import register as register_doctor
from gateway.cli.options import Output
from gateway.cli.output import EXIT_CODES, Format, Stop
from gateway.cli.route import register as register_route

app = typer.Typer(
    name="dna",
    help="Run the gateway and its workers, look into a running one, check documents and write them.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(help="Show settings.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(config_app, name="config")
register(app)
register_bound(app)
register_attest(app)
register_doctor(app)
register_contract(app)
register_route(app)

AdminUrl = Annotated[
    str | None,
    typer.Option("--admin", help="Admin port of the gateway.", show_default="http://127.0.0.1:8081, or as set"),
]


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the answer is its exit code."""
    complete_at_the_first_tab(arguments)
    try:
        app(list(arguments), prog_name="dna")
    except Stop as stop:
        if stop.message:
            typer.echo(f"dna: {stop.message}", err=True)
        return stop.code
    except SystemExit as done:  # how typer ends, with help and usage errors told already
        return done.code if isinstance(done.code, int) else 0
    return 0


@app.command("gateway")
def gateway_command(
    source: Annotated[
        str | None,
        typer.Option(help="Where documents come from: file:DIR or consul://HOST:PORT/inference?token_file=FILE."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Data port.", show_default="8080")] = None,
    admin_host: Annotated[str | None, typer.Option(help="Address of the admin port.", show_default="as host")] = None,
    admin_port: Annotated[int | None, typer.Option(help="Admin port.", show_default="8081")] = None,
    probe_interval: Annotated[float | None, typer.Option(help="Seconds between probes.", show_default="5")] = None,
    alert_url: Annotated[str | None, typer.Option(help="Where alerts are posted (Alertmanager API v2).")] = None,
    log_format: Annotated[str | None, typer.Option(help="auto, json or text.", show_default="auto")] = None,
    share_verdicts: Annotated[
        str | None,
        typer.Option(help="Consul to share verdicts through, consul://…, or off.", show_default="the source's Consul"),
    ] = None,
) -> None:
    """Run the gateway. Every option is also a variable GATEWAY_…; `dna config show` lists them all."""
    from gateway.cli.run import run_gateway

    run_gateway(
        source=source,
        host=host,
        port=port,
        admin_host=admin_host,
        admin_port=admin_port,
        probe_interval_s=probe_interval,
        alert_url=alert_url,
        log_format=log_format,
        share_verdicts=share_verdicts,
    )


app.command("serve", hidden=True, help="The same as `dna gateway`.")(gateway_command)


@app.command(
    "worker",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def worker_command(context: typer.Context) -> None:
    """Run a reference worker: `dna worker BUNDLE --port P`. `dna worker --help` lists the options."""
    from gateway.cli.run import run_worker

    run_worker(context.args)


@app.command("digest")
def digest_command(
    genome: Annotated[Path, typer.Argument(help="A genome document; - reads standard input.", show_default=False)],
    input_hash: Annotated[str, typer.Option(help="64 hex of one input; without it, the DNA that /healthz shows.")] = "",
    output: Output = Format.TABLE,
) -> None:
    """Print every digest of a genome and its DNA."""
    from gateway.cli.digest import print_digests

    print_digests(genome, input_hash=input_hash, output=output)


@app.command("status")
def status_command(admin: AdminUrl = None, output: Output = Format.TABLE) -> None:
    """Show documents and instances of a running gateway, what is amiss first."""
    from gateway.cli.status import print_status

    print_status(admin, output=output)


@app.command("explain")
def explain_command(
    model: Annotated[str, typer.Argument(help="Model id.")],
    selector: Annotated[str | None, typer.Option(help="Version, range or alias, as X-Model-Preference.")] = None,
    dna_prefix: Annotated[str | None, typer.Option(help="As X-Inference-DNA-Prefix.")] = None,
    sticky: Annotated[str | None, typer.Option(help="The sticky key of a request.")] = None,
    admin: AdminUrl = None,
    output: Output = Format.TABLE,
) -> None:
    """Tell which version and instance a request would get, and why no other."""
    from gateway.cli.explain import print_explanation

    asked = {"model": model, "preference": selector, "dna_prefix": dna_prefix, "sticky": sticky}
    print_explanation(admin, asked, output=output)


@app.command("health")
def health_command(admin: AdminUrl = None, output: Output = Format.TABLE) -> None:
    """Say whether a gateway runs and is ready; exit 1 where not."""
    from gateway.cli.status import print_health

    print_health(admin, output=output)


@app.command("schema")
def schema_command(kind: Annotated[str, typer.Argument(help="contract or route.", metavar="contract|route")]) -> None:
    """Print the JSON Schema of a document."""
    from gateway.cli.lint import print_schema

    print_schema(kind)


@contract_app.command("prune")
def prune_command(
    confirm: Annotated[bool, typer.Option("--confirm", help="Confirm that what is missing is gone.")] = False,
    admin: AdminUrl = None,
    output: Output = Format.TABLE,
) -> None:
    """Let documents go that vanished from the source and are still served."""
    from gateway.cli.status import prune

    prune(admin, confirm=confirm, output=output)


@config_app.command("show")
def config_command(output: Output = Format.TABLE) -> None:
    """Print every setting: its variable, value, where the value comes from, and what it does."""
    from gateway.cli.config import print_settings

    print_settings(output=output)


def _print_version(wanted: bool) -> None:
    if wanted:
        from gateway.cli.main import main

        raise typer.Exit(main(["--version"]))


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> Any:
    """Run the gateway and its workers, look into a running one, check documents and write them."""
    del version
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
