"""A proxy that runs: started on its core, up when the upstream's answer comes through it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.ask import relays
from bench.load.driver import Target
from bench.peers.peer import Peer, Site
from bench.processes import Running, StartError, free_port
from bench.progress import say


@dataclass(frozen=True, slots=True)
class Started:
    """One proxy under its name, with what is needed to load and to watch it."""

    peer: Peer
    site: Site
    running: Running

    @property
    def name(self) -> str:
        """The peer's name."""
        return self.peer.name

    @property
    def target(self) -> Target:
        """Port and processes as of now."""
        return Target(self.site.port, self.running.family)


def start(peer: Peer, folder: Path, upstreams: Sequence[str], *, cores: Sequence[int], stack: ExitStack) -> Started:
    """Start one proxy; the stack stops it.

    Raises:
        StartError: It is not here, ended, or did not relay in time.
    """
    program = peer.program()
    if program is None:
        raise StartError(f"not found; {peer.hint}")
    site = Site(folder / peer.name, free_port(), free_port(), tuple(upstreams))
    site.folder.mkdir(parents=True, exist_ok=True)
    launch = peer.launch(site, program)
    log = site.folder / "output.log"
    running = stack.enter_context(Running(launch.command, cores=cores, log=log, cwd=site.folder, env=launch.env))
    running.wait_until(lambda: relays(site.port), what=f"{peer.name} to relay", timeout_s=peer.start_s)
    return Started(peer, site, running)


@dataclass(frozen=True, slots=True)
class Fleet:
    """The proxies that came up, and why the others did not."""

    started: tuple[Started, ...]
    failed: dict[str, str]


def start_all(
    peers: Sequence[Peer], folder: Path, upstreams: Sequence[str], *, cores: Sequence[int], stack: ExitStack
) -> Fleet:
    """Start those that start; one that does not costs only itself."""
    started, failed = [], {}
    for peer in peers:
        try:
            started.append(start(peer, folder, upstreams, cores=cores, stack=stack))
        except StartError as error:
            failed[peer.name] = str(error)
            say(f"skipping {peer.name}: {error}")
    return Fleet(tuple(started), failed)
