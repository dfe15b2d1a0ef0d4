"""What a request says about where it wants to go."""

from __future__ import annotations


class RouteRequest:
    """The parts of a request that routing reads (clients.md section 2), as sent.

    Attributes:
        model_id: The model named by path, header or body; None where none of them names one.
        selectors: What path, `X-Model-Preference` and body ask for, in this order, only those that were sent.
        dna_prefix: `X-Inference-DNA-Prefix`: only instances whose DNA starts so may answer.
        dna_wish: `X-Inference-DNA`: among fit instances those sharing the longest prefix come first.
        sticky_key: Key of the canary bucket: what the route's `sticky` names, else the request id.
    """

    __slots__ = ("dna_prefix", "dna_wish", "model_id", "selectors", "sticky_key")

    def __init__(
        self,
        model_id: str | None = None,
        selectors: tuple[str, ...] = (),
        dna_prefix: str | None = None,
        dna_wish: str | None = None,
        sticky_key: str = "",
    ) -> None:
        self.model_id = model_id
        self.selectors = selectors
        self.dna_prefix = dna_prefix
        self.dna_wish = dna_wish
        self.sticky_key = sticky_key
