"""The server of llama-cpp-python: `python -m llama_cpp.server` (release 0.3.36).

It has OpenAI's routes and `/extras/tokenize`, and no page that tells its settings. What a request without parameters
gets stands in the description of its own routes, `/openapi.json`: the server fills requests in from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from inference_dna.attest.answers import Answers, member
from inference_dna.attest.engine import Engine, Told
from inference_dna.attest.openai import models, one_token, served_model
from inference_dna.canonical import Json, Refused

_REQUESTS = ("CreateChatCompletionRequest", "CreateCompletionRequest")
_NOT_SETTINGS = ("messages", "model", "prompt", "user")
_VARIABLES = (
    "cache", "cache_size", "cache_type", "chat_format", "chat_template_kwargs", "clip_model_path", "config_file",
    "draft_model", "draft_model_num_pred_tokens", "embedding", "flash_attn", "hf_model_repo_id",
    "hf_pretrained_model_name_or_path", "hf_tokenizer_config_path", "kv_overrides", "last_n_tokens_size", "logits_all",
    "lora_base", "lora_path", "main_gpu", "model", "mul_mat_q", "n_batch", "n_ctx", "n_gpu_layers", "n_threads",
    "n_threads_batch", "n_ubatch", "numa", "offload_kqv", "rope_freq_base", "rope_freq_scale", "rope_scaling_type",
    "rpc_servers", "seed", "split_mode", "tensor_split", "type_k", "type_v", "vocab_only", "yarn_attn_factor",
    "yarn_beta_fast", "yarn_beta_slow", "yarn_ext_factor", "yarn_orig_ctx",
)  # fmt: skip
"""Its options that shape computation: each may be set by an environment variable of the same name, in any case."""


def _tell(answers: Answers, asked: str | None) -> Told:
    served = served_model(models(answers), asked)
    name = str(served["id"])
    return Told(version=None, model=name, values=_defaults(answers), root=name if "/" in name else None)


def _defaults(answers: Answers) -> Json:
    schemas = member(answers.get("/openapi.json"), "components", "schemas")
    found = {request: _defaults_of(member(schemas, request, "properties")) for request in _REQUESTS}
    if not all(found.values()):
        raise Refused(
            "The engine does not tell at /openapi.json what a request without parameters gets; is it the server of "
            "llama-cpp-python?"
        )
    return cast("Json", found)


def _defaults_of(properties: Json) -> dict[str, Json]:
    if not isinstance(properties, Mapping):
        return {}
    return {name: member(described, "default") for name, described in properties.items() if name not in _NOT_SETTINGS}


def _labels(answers: Answers) -> Json:
    return cast("Json", models(answers))


def _encode(answers: Answers, model: str, text: str) -> Sequence[int] | None:
    tokens = member(answers.post("/extras/tokenize", {"model": model, "input": text}), "tokens")
    return cast("list[int]", tokens) if isinstance(tokens, list) else None


def _no_render(answers: Answers, model: str, conversation: Sequence[Mapping[str, str]]) -> None:
    """The server renders conversations where nobody can see it."""
    del answers, model, conversation


LLAMA_CPP_PYTHON = Engine(
    "llama-cpp-python", _tell, _labels, _encode, _no_render, one_token,
    package="llama-cpp-python", variables=_VARIABLES,
)  # fmt: skip
