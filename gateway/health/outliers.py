"""How many instances of a version may be down as outliers, and when their being down is disregarded.

Liveness obeys these caps; identity has none (http.md section 2.4): nothing here may be asked about an ejected instance.
"""

from __future__ import annotations

from gateway.health.liveness import DownBy, Liveness, LivenessState


def may_go_down(verified: int, down_by_outlier: int, up: int) -> bool:
    """Say whether one more verified instance of a version may go down as an outlier.

    At most half of the verified ones, rounded down (1: none, 2: 1, 3: 1, 8: 4), and never the last one up.

    Args:
        verified: Verified instances of the version.
        down_by_outlier: How many of them are down as outliers.
        up: How many of them are up, the one in question included.
    """
    return up > 1 and down_by_outlier < verified // 2


def panics(verified: int, up: int) -> bool:
    """Say whether outliers are used again: fewer than half of a version's verified instances are up."""
    return up * 2 < verified


def may_serve(state: LivenessState, *, panic: bool) -> bool:
    """Say whether liveness allows requests; in panic also to outliers, never to what refused or failed its probes."""
    return state.liveness is Liveness.UP or (panic and state.down_by is DownBy.OUTLIER)
