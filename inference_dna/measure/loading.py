"""Loads a transformers folder as a worker without settings of its own would, so that it can be measured."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inference_dna.canonical import Refused
from inference_dna.extra import needing
from inference_dna.golden import Generate


def load_transformers(folder: Path, architecture: str | None) -> tuple[Any, Any]:
    """Load model and tokenizer from a folder; nothing is fetched, and no code of the folder is run.

    Args:
        folder: What `from_pretrained` is given.
        architecture: The class that the folder's configuration names, None where it names none.

    Returns:
        The model, on an accelerator where there is one, and the tokenizer.

    Raises:
        Refused: The library is missing, does not know the architecture, or cannot load a file.
    """
    with needing("transformers", "models"):
        import torch
        import transformers
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    kind = getattr(transformers, architecture or "", None)
    if kind is None:
        raise Refused(f"transformers {transformers.__version__} has no class {architecture!a}.")
    try:
        model, told = kind.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, output_loading_info=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    # What a broken file makes the library raise is anything: its readers have errors of their own.
    except Exception as error:
        said = str(error).strip().rstrip(".!")
        raise Refused(f"transformers cannot load {str(folder)!a}: {type(error).__name__}: {said}.") from error
    _check_loaded(told)
    model.eval()
    return model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


def _check_loaded(told: Mapping[str, Any]) -> None:
    """Refuse a model of which a part is random: the library makes up what the files lack, with a warning only."""
    made_up = sorted(map(str, [*told["missing_keys"], *told["mismatched_keys"]]))
    if made_up:
        raise Refused(
            f"The files lack {len(made_up)} of the model's tensors or have them in another shape: {made_up[0]}."
        )


def greedy(model: Any) -> Generate | None:
    """Give the greedy answers of a loaded model; None for one that generates nothing."""
    if not getattr(model, "can_generate", lambda: False)():
        return None

    def generate(input_ids: Sequence[int], most_new_tokens: int) -> Sequence[int]:
        import torch

        prompt = torch.tensor([list(input_ids)], device=model.device)
        with torch.inference_mode():
            answer = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                num_beams=1,
                max_new_tokens=most_new_tokens,
                temperature=None,
                top_p=None,
                top_k=None,
            )
        return [int(token) for token in answer[0][len(input_ids) :]]

    return generate
