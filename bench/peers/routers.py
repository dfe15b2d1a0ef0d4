"""The two inference routers written in Rust. Their runtime makes a thread per core it may use: pinning suffices."""

from __future__ import annotations

from pathlib import Path

from bench.peers.peer import Launch, Peer, Site, in_venv, packaged_version


def _vllm(site: Site, program: Path) -> Launch:
    return Launch([str(program), *_common(site)])


def _sglang(site: Site, program: Path) -> Launch:
    return Launch([str(program), "launch", *_common(site)])


def _common(site: Site) -> list[str]:
    return [
        "--host", "127.0.0.1", "--port", str(site.port), "--prometheus-port", str(site.spare_port),
        "--worker-urls", *site.upstreams, "--policy", "round_robin", "--log-level", "error",
    ]  # fmt: skip


VLLM_ROUTER = Peer(
    name="vllm-router",
    program=in_venv("vllm-router", "vllm-router"),
    hint="python -m bench peers install vllm-router",
    launch=_vllm,
    version=packaged_version("vllm-router"),
)
SGLANG_ROUTER = Peer(
    name="sglang-router",
    program=in_venv("sglang-router", "sglang-router"),
    hint="python -m bench peers install sglang-router",
    launch=_sglang,
    version=packaged_version("sglang-router"),
)
