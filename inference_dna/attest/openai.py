"""What engines with OpenAI's routes have in common: the list of models, and one token of a greedy answer."""

from __future__ import annotations

from inference_dna.attest.answers import Answers, member
from inference_dna.attest.engine import GOLDEN_PROMPT
from inference_dna.canonical import Json, Refused

_ENTRY = ("id", "root", "parent", "max_model_len")


def models(answers: Answers) -> list[dict[str, Json]]:
    """The models an engine lists, adapters among them, with what does not change while they are served.

    Raises:
        Refused: The engine has no such list.
    """
    listed = member(answers.get("/v1/models"), "data")
    if not isinstance(listed, list):
        raise Refused("The engine has no list of models at /v1/models.")
    return [{name: member(entry, name) for name in _ENTRY} for entry in listed]


def served_model(listed: list[dict[str, Json]], asked: str | None) -> dict[str, Json]:
    """Choose the model that is attested: the one that was named, else the only one that is no adapter.

    Raises:
        Refused: There is none, or several.
    """
    bases = [entry for entry in listed if entry["parent"] is None]
    found = [entry for entry in listed if entry["id"] == asked] if asked is not None else bases
    if len(found) != 1:
        names = ", ".join(str(entry["id"]) for entry in listed)
        raise Refused(f"The engine lists the models {names or 'none'}; say with --served-model which one is attested.")
    return found[0]


def one_token(answers: Answers, model: str) -> Json:
    """Ask for one greedy token; what came, how many tokens the prompt had, and the engine's own label.

    Raises:
        Refused: The engine does not answer it.
    """
    asked: dict[str, Json] = {
        "model": model,
        "prompt": GOLDEN_PROMPT,
        "max_tokens": 1,
        "temperature": 0,
        "stream": False,
    }
    answer = answers.post("/v1/completions", asked)
    choices = member(answer, "choices")
    if not isinstance(choices, list) or not choices:
        raise Refused("The engine did not answer one token at /v1/completions.")
    return {
        "prompt": GOLDEN_PROMPT,
        "text": member(choices[0], "text"),
        "prompt_tokens": member(answer, "usage", "prompt_tokens"),
        "system_fingerprint": member(answer, "system_fingerprint"),
    }
