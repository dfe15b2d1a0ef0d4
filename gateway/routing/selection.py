"""From what was asked to one version of a model (routing.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.selector import Alias, Exact, Range, Selector, SelectorError, cached_selector
from contracts.terms import Status
from gateway.routing import unroutable
from gateway.routing.decision import NotRouted
from gateway.routing.filters import Terms, has_prefix
from gateway.routing.snapshot import ModelView, VersionView
from gateway.routing.unavailable import none_ready

_ACTIVE, _RETIRED = (
    Status.ACTIVE,
    Status.RETIRED,
)  # on the way of every request, and an enum's members are slow to reach


def agreed(model: ModelView, texts: Sequence[str]) -> Exact | Range | NotRouted:
    """Read every selector of a request; all must ask for the same. Aliases are looked up."""
    try:
        selector = cached_selector(texts[0])
        for text in texts[1:]:
            if not _is_same(selector, cached_selector(text)):
                return unroutable.selector_conflict(texts[0], text)
    except SelectorError as error:
        return unroutable.selector_invalid(str(error))
    return _behind(model, selector) if isinstance(selector, Alias) else selector


def select(
    model: ModelView, selector: Exact | Range, *, dna_prefix: str | None, requested: str
) -> VersionView | NotRouted:
    """Find the version: the one named, or the highest a range matches that can answer."""
    if isinstance(selector, Range):
        return _highest(model, selector, dna_prefix, requested)
    view = model.versions.get(selector.version)
    return unroutable.version_not_found(model, selector) if view is None else in_service(model, view)


def in_service(model: ModelView, view: VersionView) -> VersionView | NotRouted:
    """Refuse a version that is retired; a draining one is refused by the pick, with its candidates."""
    return unroutable.version_retired(model, view) if view.contract.status is _RETIRED else view


def can_answer(view: VersionView, dna_prefix: str | None) -> bool:
    """Say whether a version takes new requests and has a ready instance; full ones count."""
    if view.contract.status is not _ACTIVE or not view.ready:
        return False
    return dna_prefix is None or any(has_prefix(instance, dna_prefix) for instance in view.ready)


def _is_same(a: Selector, b: Selector) -> bool:
    """Say whether two selectors ask for the same, however they are spelled."""
    if isinstance(a, Alias) and isinstance(b, Alias):
        return a.name == b.name
    return a == b


def _behind(model: ModelView, alias: Alias) -> Exact | Range | NotRouted:
    """Look up what an alias stands for; aliases of aliases do not exist."""
    target = model.route.aliases.get(alias.name) if model.route else None
    if target is None or isinstance(target, Alias):
        return unroutable.alias_not_found(model, alias.name)
    return target


def _highest(model: ModelView, selector: Range, dna_prefix: str | None, requested: str) -> VersionView | NotRouted:
    """Take the highest matching version that can answer; usually that is the first one looked at."""
    for view in model.ranked:
        if not view.tied and can_answer(view, dna_prefix) and selector.matches(view.version):
            return view
    matching = [view for view in model.ranked if _could_match(view, selector)]
    if not matching:
        return unroutable.version_not_found(model, selector)
    # Where no instance is ready none can be full: nobody's load is asked for.
    return none_ready(model.model_id, requested, matching, Terms(lambda _: 0, dna_prefix))


def _could_match(view: VersionView, selector: Range) -> bool:
    return not view.tied and view.contract.status is not _RETIRED and selector.matches(view.version)
