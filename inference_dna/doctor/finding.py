"""What the doctor may find: the rules by name, each with why it matters and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """Names of the rules, as they stand in the output and behind `# dna: allow`."""

    GENERATION_CONFIG = "generation-config"
    MODEL_CONFIG = "model-config"
    MODEL_STATE = "model-state"
    TOKENIZER_STATE = "tokenizer-state"
    ADAPTER = "adapter"
    SHARED_CONTAINER = "shared-container"
    MUTABLE_DEFAULT = "mutable-default"
    GLOBAL_MODEL = "global-model"
    CACHED_ANSWER = "cached-answer"
    GLOBAL_SEED = "global-seed"
    VERSION_BRANCH = "version-branch"
    ENVIRONMENT_BRANCH = "environment-branch"
    ALLOW = "allow"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Advice:
    """Why a rule matters and what to do, a sentence each."""

    why: str
    do: str


ADVICE = {
    Rule.GENERATION_CONFIG: Advice(
        "All requests share it, so every later request inherits what this one wrote.",
        "Pass the settings to generate() as arguments, merged into a value of the request's own (SharedModel does).",
    ),
    Rule.MODEL_CONFIG: Advice(
        "All requests share the model's configuration, so every later one computes with what this one wrote.",
        "Set it once where the model is loaded; what differs between requests belongs into their arguments.",
    ),
    Rule.MODEL_STATE: Advice(
        "The model is shared: what one request leaves on it, the next one finds, or overwrites while it is in use.",
        "Keep it in a local variable of the request, or in a session that is handed in.",
    ),
    Rule.TOKENIZER_STATE: Advice(
        "All requests share the tokenizer, so every later text becomes other token ids.",
        "Set it once where the tokenizer is loaded, and pass padding and truncation with each call.",
    ),
    Rule.ADAPTER: Advice(
        "An adapter that is left switched on answers the requests of everybody else too.",
        "Serve each adapter from a model of its own, or switch back in a finally block under a lock.",
    ),
    Rule.SHARED_CONTAINER: Advice(
        "It lives as long as the process: requests read what others wrote, and it grows for ever.",
        "Keep it in the request, or in a bounded store with the conversation's own key.",
    ),
    Rule.MUTABLE_DEFAULT: Advice(
        "A default is made once, so every call without this argument goes on with what the last one left in it.",
        "Write None as the default and make a new value inside the function.",
    ),
    Rule.GLOBAL_MODEL: Advice(
        "Two requests at once load it twice, and a request in progress may find another one than it began with.",
        "Load once behind a lock, before the first request or on first use (SharedModel.get does).",
    ),
    Rule.CACHED_ANSWER: Advice(
        "The cache answers with what was made under other settings, another model or another user's request.",
        "Cache the loading of the model, never its answers; or name everything that changes an answer in the key.",
    ),
    Rule.GLOBAL_SEED: Advice(
        "The generator of random numbers is the process's: a seed of one request changes what all others draw.",
        "Draw with a generator of the request's own: torch.Generator, random.Random, numpy.random.default_rng.",
    ),
    Rule.VERSION_BRANCH: Advice(
        "Which code answers hangs on a label, so the same weights answer otherwise under another label.",
        "Bind post-processing to the weights: one artifact per version, packed with them (dna generator pack).",
    ),
    Rule.ENVIRONMENT_BRANCH: Advice(
        "One version answers otherwise on a machine where this variable is another or missing.",
        "Make it a constant of the version's artifact, or at least part of what is measured.",
    ),
    Rule.ALLOW: Advice(
        "A comment that silences a line must say what and why, or nobody can judge it later.",
        "Write `# dna: allow <rule> <reason>` with one of the rules of this output.",
    ),
    Rule.UNREADABLE: Advice(
        "Nothing can be said of a file that cannot be read as Python.",
        "Mend the file, or leave it out of what is looked through.",
    ),
}


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One place: file relative to what was looked through, line from 1 on (0: the whole file), what stands there."""

    file: str
    line: int
    rule: Rule
    what: str

    @property
    def why(self) -> str:
        """Why it matters."""
        return ADVICE[self.rule].why

    @property
    def do(self) -> str:
        """What to do about it."""
        return ADVICE[self.rule].do
