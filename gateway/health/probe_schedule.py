"""When an instance is probed next (http.md section 2.3)."""

from __future__ import annotations

from gateway.health.identity import Identity
from gateway.health.liveness import Liveness

INTERVAL_S = 5.0
QUICK_S = 1.0
JITTER = 0.1


def next_probe_at(
    identity: Identity, liveness: Liveness, *, now: float, draw: float, interval_s: float = INTERVAL_S
) -> float:
    """Say at which monotonic second the next probe is due.

    Every `interval_s`, every second while the instance is down or suspect; both 10 % earlier or later by chance, so
    that probes neither bunch on one gateway nor march in step on several.

    Args:
        identity: What is held of the instance's identity.
        liveness: Whether it is up.
        now: Monotonic second at which the last probe ended.
        draw: Uniform in [0, 1).
        interval_s: Seconds between probes of an instance in good order.
    """
    quick = liveness is Liveness.DOWN or identity is Identity.SUSPECT
    interval = min(interval_s, QUICK_S) if quick else interval_s
    return now + interval * (1 - JITTER + 2 * JITTER * draw)
