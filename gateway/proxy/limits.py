"""The numbers of the data plane (http.md sections 2.1 and 2.2): each a setting, these its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds, sizes in bytes."""

    client_header_timeout_s: float = 10.0
    client_body_idle_s: float = 30.0
    client_body_least_rate: int = KIB
    """Bytes a second a body must bring on average once ten seconds have passed."""
    client_keepalive_s: float = 75.0
    client_max_age_s: float = 900.0
    client_write_stall_s: float = 30.0
    lingering_close_s: float = 2.0
    lingering_close_bytes: int = 256 * KIB
    upstream_keepalive_s: float = 4.0
    admission_wait_s: float = 2.0
    admission_queue_floor: int = 256
    """Requests that may wait for one version at the least; above it, twice the capacity of its ready instances."""
    max_target: int = 8 * KIB
    max_head: int = 32 * KIB
    max_headers: int = 100
    max_trailer: int = 4 * KIB
    max_chunk_extension: int = 4 * KIB
    max_body: int = 32 * MIB
    max_buffered: int = 512 * MIB
    max_worker_head: int = 16 * KIB
    max_worker_headers: int = 100
    stream_buffer_high: int = 64 * KIB
    stream_buffer_low: int = 16 * KIB
    max_pipelined_bytes: int = 64 * KIB
    max_connections: int = 10_000
    max_connections_per_address: int = 1000
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Peers whose forwarding headers are extended in place of replaced."""
    drain_deadline_s: float = 60.0
    drain_accept_s: float = 0.0
