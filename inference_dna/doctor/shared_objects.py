"""Rules about the objects that all requests share: model, its configurations, tokenizer, adapters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from inference_dna.doctor.chains import ITEM, Chain
from inference_dna.doctor.finding import Rule
from inference_dna.doctor.module import Module, Scope, bound_above, position
from inference_dna.doctor.writes import CHANGING_METHODS, Write, writes

_CONFIG = "config"
_GENERATION_CONFIG = "generation_config"
_MODEL = re.compile(r"_*(\w+_)?(model|llm|lm|pipe|pipeline|peft_model)\d*(\(\))?", re.IGNORECASE)
_TOKENIZER = re.compile(r"_*(\w+_)?(tokeni[sz]er|tok)(\(\))?", re.IGNORECASE)
_LIBRARIES = (
    "diffusers", "onnxruntime", "peft", "sentence_transformers", "tensorflow", "torch", "transformers", "vllm",
)  # fmt: skip
_TOKENIZER_ATTRIBUTES = frozenset({
    "add_bos_token", "add_eos_token", "additional_special_tokens", "bos_token", "bos_token_id", "chat_template",
    "eos_token", "eos_token_id", "mask_token", "model_max_length", "pad_token", "pad_token_id", "padding_side",
    "sep_token", "truncation_side", "unk_token",
})  # fmt: skip
"""State of a tokenizer by names that nothing else has, whatever the tokenizer is called."""
_TOKENIZER_METHODS = frozenset({
    "add_special_tokens", "add_tokens", "enable_padding", "enable_truncation", "no_padding", "no_truncation",
    "set_truncation_and_padding",
})  # fmt: skip
_MODEL_ATTRIBUTES = re.compile(
    r"_*(past_key_values|(kv_|key_value_)?cache|(last|prev|previous|current|cached|saved)_\w+|inputs?|input_ids|prompts?|"
    r"attention_mask|histor(y|ies)|conversations?|messages|context|outputs?|"
    r"(gen|generate|generation|sampling|default)_?(kwargs|params|parameters|settings|config|args|options|defaults))"
)
"""What requests leave behind."""
_MODEL_METHODS = frozenset({"load_state_dict", "resize_token_embeddings", "set_input_embeddings"})
_ADAPTER_METHODS = frozenset({
    "add_weighted_adapter", "delete_adapter", "disable_adapter_layers", "disable_adapters", "enable_adapter_layers",
    "enable_adapters", "fuse_lora", "load_adapter", "load_lora_weights", "merge_adapter", "set_adapter", "set_adapters",
    "unfuse_lora", "unload_lora_weights", "unmerge_adapter",
})  # fmt: skip


def shared_objects(module: Module) -> Iterator[tuple[Rule, ast.AST, str]]:
    """Find changes of what all requests share: rule, place and what stands there."""
    speaks_of_models = any(path.partition(".")[0] in _LIBRARIES for path in module.imports.values())
    for scope in module.scopes:
        for write in writes(module, scope):
            rule = _rule_of(write, module, scope, speaks_of_models=speaks_of_models)
            if rule is not None and not _is_set_up(write, rule, module, scope):
                verb = "is called" if write.method else "is written to"
                yield rule, write.node, f"{write.shown} {verb}"


def _rule_of(write: Write, module: Module, scope: Scope, *, speaks_of_models: bool) -> Rule | None:
    if _changes_generation_config(write, module):
        return Rule.GENERATION_CONFIG
    if write.method in _ADAPTER_METHODS:
        return None if _restores_adapters(scope) else Rule.ADAPTER
    if _changes_tokenizer(write, module):
        return Rule.TOKENIZER_STATE
    if _changes_model_config(write, module):
        return Rule.MODEL_CONFIG
    if _changes_model(write, module, scope, speaks_of_models=speaks_of_models):
        return Rule.MODEL_STATE
    return None


def _changes_generation_config(write: Write, module: Module) -> bool:
    settings = {_GENERATION_CONFIG, *module.kinds["settings"]}
    if write.method:
        return write.method in CHANGING_METHODS and not settings.isdisjoint(write.chain)
    # `self.generation_config = x` alone makes an attribute of one's own; on a model it replaces what all share.
    return not settings.isdisjoint(write.chain[:-1]) or (
        write.chain[-1] == _GENERATION_CONFIG and len(write.chain) > 1 and bool(_MODEL.fullmatch(write.chain[-2]))
    )


def _changes_tokenizer(write: Write, module: Module) -> bool:
    if write.method:
        known = _is_tokenizer(write.chain[-1], module) or write.method != "add_tokens"
        return known and write.method in _TOKENIZER_METHODS
    owner, attribute = _owner(tuple(part for part in write.chain if part != ITEM))
    if not owner:
        return False
    if any(_is_tokenizer(part, module) for part in owner):
        return True
    return attribute in _TOKENIZER_ATTRIBUTES and owner not in (("self",), ("cls",)) and _CONFIG not in owner[-1]


def _changes_model_config(write: Write, module: Module) -> bool:
    if write.method and write.method not in CHANGING_METHODS:
        return False
    owner = write.chain if write.method else write.chain[:-1]
    return any(part == _CONFIG and place and _is_model(owner[place - 1], module) for place, part in enumerate(owner))


def _changes_model(write: Write, module: Module, scope: Scope, *, speaks_of_models: bool) -> bool:
    if write.method:
        if write.method in _MODEL_METHODS:
            return _is_model(write.chain[-1], module)
        owner, attribute = _owner(write.chain)
        return write.method in CHANGING_METHODS and _leaves_behind(owner, attribute, module, scope)
    owner, attribute = _owner(tuple(part for part in write.chain if part != ITEM))
    if owner and speaks_of_models and ITEM not in write.chain and _is_model(owner[-1], module):
        return True
    return _leaves_behind(owner, attribute, module, scope)


def _leaves_behind(owner: Chain, attribute: str, module: Module, scope: Scope) -> bool:
    """Whether what a request leaves behind lies on a model, or on the object that holds one."""
    if not owner or not _MODEL_ATTRIBUTES.fullmatch(attribute):
        return False
    return _is_model(owner[-1], module) or (owner == ("self",) and _serves(scope))


def _serves(scope: Scope) -> bool:
    """Whether the object has a model: then it is one for all requests, and its constructor comes before them."""
    if scope.owner is None or scope.name in ("__init__", "__new__", "reset", "clear"):
        return False
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _MODEL.fullmatch(node.attr)
        and isinstance(node.value, ast.Name) and node.value.id == "self"
        for node in ast.walk(scope.owner)
    )  # fmt: skip


def _is_set_up(write: Write, rule: Rule, module: Module, scope: Scope) -> bool:
    """Whether nobody else can see it yet: made here, or done before the first request."""
    at = position(write.node)
    if module.is_fresh(write.chain, scope, at) or module.is_fresh(write.raw, scope, at):
        return True
    if scope is module.top:
        # Import happens once; what another file made may be in use by then.
        return bool(bound_above(write.raw, scope, at))
    return scope.is_setup and (rule is not Rule.ADAPTER or not scope.parameters)


def _restores_adapters(scope: Scope) -> bool:
    """Whether a finally block of the function calls an adapter method too."""
    return any(
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in _ADAPTER_METHODS
        for node in scope.nodes if isinstance(node, ast.Try)
        for final in node.finalbody
        for inner in ast.walk(final)
    )  # fmt: skip


def _owner(chain: Chain) -> tuple[Chain, str]:
    return (chain[:-1], chain[-1]) if chain else ((), "")


def _is_model(part: str, module: Module) -> bool:
    return bool(_MODEL.fullmatch(part)) or part in module.kinds["model"]


def _is_tokenizer(part: str, module: Module) -> bool:
    return bool(_TOKENIZER.fullmatch(part)) or part in module.kinds["tokenizer"]
