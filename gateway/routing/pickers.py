"""Which instance of a version gets a request: the lighter of two drawn at random.

Two draws are enough to keep load even, and looking at two costs the same in a fleet of three and of three hundred.
Only where one of the two may not take the request are the others looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateway.routing.decision import NoInstance, Rejection
from gateway.routing.filters import InFlight, Terms, is_fit, why_not
from gateway.routing.scorers import SLOW_START_S, closest, effective_weight, nearness
from gateway.routing.snapshot import Instance, VersionView
from gateway.routing.unavailable import no_instance
from inference_dna.dna import is_dna

__all__ = ["NoInstance", "Rejection", "passed_over", "pick", "two_of"]


def pick(
    view: VersionView,
    *,
    dna_prefix: str | None,
    dna_wish: str | None,
    in_flight: InFlight,
    excluded: Collection[tuple[str, str, str]] = (),
    draw: float,
    now: float,
    slow_start_s: float = SLOW_START_S,
) -> Instance | NoInstance:
    """Pick one instance of a version.

    Args:
        view: The version the request is pinned to.
        dna_prefix: Hard: only instances whose DNA starts so.
        dna_wish: Soft: prefer those that share the longest beginning; ignored where it is no DNA.
        in_flight: How many requests an instance is answering.
        excluded: Keys of instances this request was sent to already.
        draw: Uniform in [0, 1).
        now: Monotonic second, for slow start.
        slow_start_s: How long an instance takes to its full weight.
    """
    ready = view.ready if view.is_active else ()
    wish = dna_wish if dna_wish is not None and is_dna(dna_wish) else None
    if ready and wish is None:
        place_a, place_b, rest = two_of(len(ready), draw)
        a, b = ready[place_a], ready[place_b]
        count_a, count_b = in_flight(a), in_flight(b)
        if is_fit(a, count_a, dna_prefix, excluded) and is_fit(b, count_b, dna_prefix, excluded):
            return _lighter(a, b, count_a, count_b, rest, now, slow_start_s)
    fit: Sequence[Instance] = [one for one in ready if is_fit(one, in_flight(one), dna_prefix, excluded)]
    if not fit:
        return no_instance(view, Terms(in_flight, dna_prefix, excluded))
    if wish is not None:
        fit = closest(fit, wish)
    place_a, place_b, rest = two_of(len(fit), draw)
    a, b = fit[place_a], fit[place_b]
    return _lighter(a, b, in_flight(a), in_flight(b), rest, now, slow_start_s)


def passed_over(
    view: VersionView,
    *,
    picked: Instance,
    dna_prefix: str | None,
    dna_wish: str | None,
    in_flight: InFlight,
    excluded: Collection[tuple[str, str, str]] = (),
    now: float,
    slow_start_s: float = SLOW_START_S,
) -> tuple[Rejection, ...]:
    """Say of every other instance of the version why it was not picked; arguments as for `pick`."""
    terms = Terms(in_flight, dna_prefix, excluded)
    wish = dna_wish if dna_wish is not None and is_dna(dna_wish) else None

    def reason(instance: Instance) -> str:
        refusal = why_not(view, instance, terms)
        if refusal is not None:
            return str(refusal)
        if wish is not None and nearness(instance, wish) < nearness(picked, wish):
            return "scorer: shares less of the wished DNA"
        if _load(instance, in_flight, now, slow_start_s) > _load(picked, in_flight, now, slow_start_s):
            return "scorer: more in flight for its weight"
        return "picker: not drawn"

    return tuple(
        Rejection(str(instance.version), instance.id, reason(instance))
        for instance in view.instances
        if instance is not picked
    )


def two_of(count: int, draw: float) -> tuple[int, int, float]:
    """Turn one draw into two different places below `count` and what is left of the draw, again in [0, 1).

    The two are the same only where there is but one. No draw below 1 reaches `count`: the product of a double below
    1 with a whole number rounds below that number.
    """
    scaled = draw * count
    first = int(scaled)
    if count == 1:
        return 0, 0, scaled
    scaled = (scaled - first) * (count - 1)
    second = int(scaled)
    return first, second + (second >= first), scaled - second


def _lighter(
    a: Instance, b: Instance, count_a: int, count_b: int, rest: float, now: float, slow_start_s: float
) -> Instance:
    """Choose the one with less in flight for its weight; equals share by weight, or an idle fleet would ignore it."""
    if a is b:
        return a
    weight_a = effective_weight(a, now=now, slow_start_s=slow_start_s)
    weight_b = effective_weight(b, now=now, slow_start_s=slow_start_s)
    # Compared crosswise: the same as in flight / weight, without dividing by a weight of 0.
    load_a, load_b = count_a * weight_b, count_b * weight_a
    if load_a != load_b:
        return a if load_a < load_b else b
    return a if rest * (weight_a + weight_b) < weight_a else b


def _load(instance: Instance, in_flight: InFlight, now: float, slow_start_s: float) -> float:
    weight = effective_weight(instance, now=now, slow_start_s=slow_start_s)
    return in_flight(instance) / weight if weight else float("inf")
