"""The engines that can be attested, and how each is asked. Shapes of their answers: provenance.md section 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from inference_dna.attest.answers import Answers, member
from inference_dna.attest.engine import GOLDEN_PROMPT, Engine, Told
from inference_dna.attest.llama_cpp_python import LLAMA_CPP_PYTHON
from inference_dna.attest.openai import models, one_token, served_model
from inference_dna.canonical import Json, Refused


def engine_named(name: str) -> Engine:
    """Find an engine by its name.

    Raises:
        Refused: There is none of that name.
    """
    if name not in ENGINES:
        raise Refused(f"{name!a} is no engine that can be attested; name one of {', '.join(ENGINES)}.")
    return ENGINES[name]


def _tell_vllm(answers: Answers, asked: str | None) -> Told:
    listed = models(answers)
    served = served_model(listed, asked)
    # Only in its development mode, which is not asked for; where it is on, it tells more.
    resolved = answers.get("/server_info?config_format=json")
    config = member(resolved, "vllm_config")
    return Told(
        version=_required(member(answers.get("/version"), "version"), "its version at /version"),
        model=str(served["id"]),
        dtype=_bare_dtype(member(config, "model_config", "dtype")),
        flags={"max_model_len": served["max_model_len"]},
        root=_text(served["root"]),
        adapters={str(each["id"]): str(each["root"]) for each in listed if each["parent"] is not None},
        evidence={"system_env": member(resolved, "system_env"), "vllm_env": member(resolved, "vllm_env")},
    )


def _tell_sglang(answers: Answers, asked: str | None) -> Told:
    info = answers.get("/get_model_info")
    path = _required(member(info, "model_path"), "its model at /get_model_info")
    server = answers.get("/get_server_info")
    server = answers.get("/server_info") if server is None else server
    return Told(
        version=_required(member(server, "version"), "its version at /get_server_info"),
        model=asked or path,
        dtype=_bare_dtype(member(server, "dtype")),
        values={"preferred_sampling_params": member(info, "preferred_sampling_params")},
        root=path,
        evidence={"weight_version": member(info, "weight_version")},
    )


def _tell_tgi(answers: Answers, asked: str | None) -> Told:
    info = answers.get("/info")
    return Told(
        version=_required(member(info, "version"), "its version at /info"),
        model=asked or _required(member(info, "model_id"), "its model at /info"),
        dtype=_text(member(info, "model_dtype")),
        evidence={name: member(info, name) for name in ("model_sha", "sha", "docker_label", "model_device_type")},
    )


def _tell_triton(answers: Answers, asked: str | None) -> Told:
    server = answers.get("/v2")
    names = sorted({str(member(entry, "name")) for entry in _ready(answers)})
    if asked not in names and (asked is not None or len(names) != 1):
        raise Refused(
            f"Triton has the models {', '.join(names) or 'none'} ready; say with --served-model which one counts."
        )
    model = asked or names[0]
    return Told(
        version=_required(member(server, "version"), "its version at /v2"),
        model=model,
        values={"config": answers.get(f"/v2/models/{model}/config")},
        evidence={"extensions": member(server, "extensions")},
    )


def _tell_llamacpp(answers: Answers, asked: str | None) -> Told:
    props = answers.get("/props")
    defaults = member(props, "default_generation_settings")
    path = _text(member(props, "model_path"))
    return Told(
        version=_required(
            member(props, "build_info"), "its build at /props (the server of llama-cpp-python is another engine)"
        ),
        model=asked or path or "default",
        values={"default_generation_settings": _settled(defaults), "chat_template": member(props, "chat_template")},
        root=path,
        evidence={"total_slots": member(props, "total_slots")},
    )


def _tell_transformers(answers: Answers, asked: str | None) -> Told:
    loaded = _loaded(answers)
    if asked is None and len(loaded) != 1:
        names = ", ".join(loaded) or "none"
        raise Refused(f"The engine has the models {names} loaded; say with --served-model which one is attested.")
    return Told(version=None, model=asked or loaded[0])


def _models_label(answers: Answers) -> Json:
    return cast("Json", models(answers))


def _sglang_label(answers: Answers) -> Json:
    info = answers.get("/get_model_info")
    return {name: member(info, name) for name in ("model_path", "tokenizer_path", "weight_version")}


def _tgi_label(answers: Answers) -> Json:
    info = answers.get("/info")
    return {name: member(info, name) for name in ("model_id", "model_sha", "model_dtype", "version", "sha")}


def _triton_label(answers: Answers) -> Json:
    return [{"name": member(entry, "name"), "version": member(entry, "version")} for entry in _ready(answers)]


def _llamacpp_label(answers: Answers) -> Json:
    props = answers.get("/props")
    return {name: member(props, name) for name in ("model_path", "build_info", "chat_template")}


def _transformers_label(answers: Answers) -> Json:
    return list(_loaded(answers))


def _loaded(answers: Answers) -> tuple[str, ...]:
    """Names of the models that are in memory; this engine lists those on disk too, and drops one that is not used."""
    listed = member(answers.get("/v1/models"), "data")
    entries = listed if isinstance(listed, list) else []
    return tuple(sorted(str(member(each, "id")) for each in entries if member(each, "status", "value") == "loaded"))


def _ready(answers: Answers) -> list[Json]:
    index = answers.post("/v2/repository/index", {})
    return [entry for entry in index if member(entry, "state") == "READY"] if isinstance(index, list) else []


def _encode_vllm(answers: Answers, model: str, text: str) -> Sequence[int] | None:
    return _ids(member(answers.post("/tokenize", {"model": model, "prompt": text}), "tokens"))


def _render_vllm(answers: Answers, model: str, conversation: Sequence[Mapping[str, str]]) -> Sequence[int] | None:
    return _ids(member(answers.post("/tokenize", {"model": model, "messages": list(conversation)}), "tokens"))


def _encode_tgi(answers: Answers, model: str, text: str) -> Sequence[int] | None:
    del model
    tokens = answers.post("/tokenize", {"inputs": text})
    return [cast("int", member(token, "id")) for token in tokens] if isinstance(tokens, list) else None


def _encode_llamacpp(answers: Answers, model: str, text: str) -> Sequence[int] | None:
    del model
    return _ids(member(answers.post("/tokenize", {"content": text, "add_special": True}), "tokens"))


def _render_llamacpp(answers: Answers, model: str, conversation: Sequence[Mapping[str, str]]) -> Sequence[int] | None:
    prompt = member(answers.post("/apply-template", {"messages": list(conversation)}), "prompt")
    return None if prompt is None else _encode_llamacpp(answers, model, str(prompt))


def _golden_tgi(answers: Answers, model: str) -> Json:
    del model
    asked: dict[str, Json] = {"inputs": GOLDEN_PROMPT, "parameters": {"max_new_tokens": 1, "do_sample": False}}
    answer = answers.post("/generate", asked)
    return {"prompt": GOLDEN_PROMPT, "text": _required(member(answer, "generated_text"), "one token at /generate")}


def _golden_triton(answers: Answers, model: str) -> Json:
    """Triton's models take any tensors; whether this one is ready is all that can be asked of every one."""
    answers_ready = answers.get(f"/v2/models/{model}")
    return {"prompt": None, "model": member(answers_ready, "name")}


def _no_encode(answers: Answers, model: str, text: str) -> None:
    del answers, model, text


def _no_render(answers: Answers, model: str, conversation: Sequence[Mapping[str, str]]) -> None:
    del answers, model, conversation


def _settled(defaults: Json) -> Json:
    """The settings of an idle slot without what its last request left there."""
    if not isinstance(defaults, Mapping):
        return None
    passing = {"id", "id_task", "is_processing", "prompt", "next_token", "speculative"}
    return {name: value for name, value in defaults.items() if name not in passing}


def _bare_dtype(value: Json) -> str | None:
    text = _text(value)
    return None if text is None or text == "auto" else text.removeprefix("torch.")


def _ids(tokens: Json) -> Sequence[int] | None:
    return cast("list[int]", tokens) if isinstance(tokens, list) else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _required(value: Json, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise Refused(f"The engine does not tell {what}.")
    return value


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("vllm", _tell_vllm, _models_label, _encode_vllm, _render_vllm, one_token, package="vllm"),
        Engine(
            "sglang", _tell_sglang, _sglang_label, _no_encode, _no_render, one_token,
            package="sglang", library=True, reloads=True,
        ),
        Engine("tgi", _tell_tgi, _tgi_label, _encode_tgi, _no_render, _golden_tgi, package="text-generation-server"),
        Engine("triton", _tell_triton, _triton_label, _no_encode, _no_render, _golden_triton, reloads=True),
        Engine("llamacpp", _tell_llamacpp, _llamacpp_label, _encode_llamacpp, _render_llamacpp, one_token),
        LLAMA_CPP_PYTHON,
        Engine(
            "transformers", _tell_transformers, _transformers_label, _no_encode, _no_render, one_token,
            package="transformers", library=True, reloads=True,
        ),
    )
}  # fmt: skip
