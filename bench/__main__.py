"""`python -m bench`: measure everything; `python -m bench --help` lists the parts."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import msgspec
import typer

from bench.compare import compare
from bench.cores import available_cores, split
from bench.fleet import INSTANCES, SEED, SIZES, simulate
from bench.growth.rounds import grow
from bench.hashing.compare import compare_hashing
from bench.load.driver import LoadError
from bench.peers.catalogue import UnknownPeer, chosen, missing
from bench.peers.install import PACKAGES, install
from bench.places import LATEST, PAGE
from bench.plan import GROWTH_SIZES, Plan
from bench.processes import StartError
from bench.profiling import ProfilerError, profile
from bench.progress import say
from bench.report.fleet_sheet import fleet_sheets
from bench.report.page import refresh
from bench.report.picture import picture
from bench.report.screen import show
from bench.report.sheet import comparison_sheets, growth_sheet, hashing_sheets, profile_sheets
from bench.results import Results, read_results, write_results
from bench.smoke import BESIDE, PLAN, SMOKE_GB, SMOKE_INSTANCES, SMOKE_SIZES, faults, fleet_faults

app = typer.Typer(add_completion=False, no_args_is_help=False, help="Measure the gateway beside other proxies.")
peers_app = typer.Typer(no_args_is_help=True, help="The proxies that come from the package index.")
app.add_typer(peers_app, name="peers")

Seconds = Annotated[float, typer.Option(help="Length of one measurement.")]
Rounds = Annotated[int, typer.Option(help="Repeats of each measurement, interleaved.")]
Patience = Annotated[float, typer.Option(help="Seconds the run may wait for quiet moments in all.")]
Output = Annotated[Path, typer.Option(help="Where results are written; the comparison's picture goes beside them.")]
Peers = Annotated[list[str] | None, typer.Option("--peer", help="Only this proxy; may be given again.")]


@app.callback(invoke_without_command=True)
def everything(
    context: typer.Context,
    seconds: Seconds = 2,
    rounds: Rounds = 5,
    patience: Patience = 60,
    peer: Peers = None,
    output: Output = LATEST,
) -> None:
    """Without a command: the comparison, growth, the profile, hashing, the fleet, and the page with their tables."""
    if context.invoked_subcommand is not None:
        return
    compare_command(seconds, rounds, patience, peer, output)
    growth_command(rounds=rounds, patience=patience, output=output)
    try:
        profile_command(output=output)
    except ProfilerError as error:
        say(f"no profile: {error}")
    hashing_command(patience=patience, output=output)
    fleet_command(output=output)
    if output == LATEST:
        page_command()


@app.command("compare")
def compare_command(
    seconds: Seconds = 2, rounds: Rounds = 5, patience: Patience = 60, peer: Peers = None, output: Output = LATEST
) -> None:
    """Only the comparison; writes its part of the results and the picture."""
    peers = chosen(peer or [])
    for name, reason in missing(peers).items():
        say(f"{name}: {reason}")
    plan = Plan(seconds=seconds, rounds=rounds, patience_s=patience)
    measured = compare(peers, split(available_cores()), plan)
    show(comparison_sheets(measured))
    _keep(output, comparison=measured)
    output.with_suffix(".svg").write_text(picture(measured), encoding="utf-8")


@app.command("growth")
def growth_command(
    seconds: Seconds = 1,
    rounds: Rounds = 5,
    patience: Patience = 60,
    output: Output = LATEST,
    size: Annotated[list[int] | None, typer.Option(min=1, help="Only this size of fleet; may be given again.")] = None,
) -> None:
    """Ours against the size of its fleet, HAProxy beside it: all sizes are up at once and are measured in turn."""
    plan = Plan(seconds=seconds, rounds=rounds, patience_s=patience)
    measured = grow(split(available_cores()), plan, size or GROWTH_SIZES)
    show([growth_sheet(measured)])
    _keep(output, growth=measured)


@app.command("profile")
def profile_command(
    seconds: Seconds = 8,
    connections: Annotated[int, typer.Option(help="Size of the closed loop.")] = 32,
    output: Output = LATEST,
) -> None:
    """Only ours, under py-spy: where a request's time goes."""
    measured = profile(split(available_cores()), seconds=seconds, connections=connections)
    show(profile_sheets(measured))
    say(f"{measured.requests_per_s:,.0f} requests/s, {measured.cpu_us:.1f} µs of CPU a request")
    _keep(output, profile=measured)


@app.command("hashing")
def hashing_command(
    gigabytes: Annotated[float, typer.Option(help="Size of each folder, 10^9 bytes; needs as much disk.")] = 4,
    rounds: Rounds = 3,
    patience: Patience = 60,
    output: Output = LATEST,
) -> None:
    """Only the hashing of model folders, beside sha256sum and model_signing."""
    plan = Plan(rounds=rounds, patience_s=patience)
    measured = compare_hashing(split(available_cores()), plan, gigabytes)
    show(hashing_sheets(measured))
    _keep(output, hashing=measured)


@app.command("fleet")
def fleet_command(
    size: Annotated[list[int] | None, typer.Option(help="Only this number of gateways; may be given again.")] = None,
    instances: Annotated[int, typer.Option(help="How many instances they share.")] = INSTANCES,
    seed: Annotated[int, typer.Option(help="The same seed gives the same figures.")] = SEED,
    output: Output = LATEST,
) -> None:
    """Only the simulation of many gateways that share verdicts; counts, not speed of this machine."""
    simulated = simulate(size or SIZES, instances=instances, seed=seed)
    show(fleet_sheets(simulated))
    _keep(output, fleet=simulated)


@app.command("smoke")
def smoke_command() -> None:
    """About half a minute; fails only when something is broken."""
    simulated = simulate(SMOKE_SIZES, instances=SMOKE_INSTANCES)
    show(fleet_sheets(simulated))
    show(hashing_sheets(compare_hashing(split(available_cores()), PLAN, SMOKE_GB)))
    measured = compare(
        [each for each in chosen([]) if each.name in {"dna-gateway", BESIDE}], split(available_cores()), PLAN
    )
    show(comparison_sheets(measured)[:-1])  # a run this short judges no goal
    found = [*faults(measured), *fleet_faults(simulated)]
    for fault in found:
        say(f"broken: {fault}")
    raise typer.Exit(1 if found else 0)


@app.command("page")
def page_command() -> None:
    """Write the tables of the last results into docs/performance.md."""
    refresh(PAGE, read_results(LATEST))


@app.command("show")
def show_command(output: Output = LATEST) -> None:
    """Print the tables of results that were written before."""
    results = read_results(output)
    show(comparison_sheets(results.comparison) if results.comparison else [])
    show([growth_sheet(results.growth)] if results.growth else [])
    show(profile_sheets(results.profile) if results.profile else [])
    show(hashing_sheets(results.hashing) if results.hashing else [])
    show(fleet_sheets(results.fleet) if results.fleet else [])


@peers_app.command("install")
def install_command(
    names: Annotated[list[str] | None, typer.Argument(help="Which; all by default.")] = None,
    find_links: Annotated[
        list[str] | None, typer.Option(help="Where wheels may lie already; may be given again.")
    ] = None,
) -> None:
    """Install each into an environment of its own under .cache/bench."""
    unknown = [name for name in names or [] if name not in PACKAGES]
    if unknown:
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; there are: {', '.join(PACKAGES)}")
    failed = False
    for name in names or PACKAGES:
        say(f"installing {PACKAGES[name]}")
        fault = install(name, find_links=find_links or [])
        failed = failed or fault is not None
        say(f"{name}: {fault or 'ready'}")
    raise typer.Exit(1 if failed else 0)


@peers_app.command("list")
def list_command() -> None:
    """Say which proxies are here."""
    absent = missing(chosen([]))
    for each in chosen([]):
        program = each.program()
        print(f"{each.name}: {absent.get(each.name) or each.version(program) if program else absent[each.name]}")


def _keep(output: Path, **part: object) -> None:
    """Replace one part of the results, keep the others."""
    results: Results = msgspec.structs.replace(read_results(output), **part)
    write_results(output, results)


def _stop(number: int, _: FrameType | None) -> None:
    """End through every `finally`, so that nothing that was started outlives us."""
    raise SystemExit(128 + number)


def main() -> None:
    """Run a command; what went wrong outside us is one sentence, not a traceback."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except (StartError, LoadError, ProfilerError, UnknownPeer) as error:
        say(f"error: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
