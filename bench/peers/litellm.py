"""LiteLLM's proxy: one worker process, no database, no telemetry."""

from __future__ import annotations

import json
from pathlib import Path

from bench.peers.peer import Launch, Peer, Site, in_venv, packaged_version
from bench.work import MODEL


def _launch(site: Site, program: Path) -> Launch:
    models = [
        {
            "model_name": MODEL,
            "litellm_params": {"model": f"openai/{MODEL}", "api_base": f"{url}/v1", "api_key": "none"},
        }
        for url in site.upstreams
    ]
    config = site.folder / "litellm.json"  # JSON is YAML
    config.write_text(json.dumps({"model_list": models}))
    command = [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(site.port)]
    # The price list would be fetched from the internet at every start.
    env = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOG": "ERROR",
        # No client has a key here, and nobody but this machine can ask.
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    return Launch([*command, "--num_workers", "1", "--telemetry", "False"], env)


LITELLM = Peer(
    name="litellm",
    program=in_venv("litellm", "litellm"),
    hint="python -m bench peers install litellm",
    launch=_launch,
    version=packaged_version("litellm"),
    start_s=120.0,
    share=0.1,
)
