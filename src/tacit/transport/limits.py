"""How much, how long, how often: the limits of a coordinator's port and of a site's link."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MESSAGE_BYTES", "LinkLimits", "ServerLimits", "oversize"]

MESSAGE_BYTES = 64 << 20
_FRAME = 6  # what a frame adds to the one message in it, at most


def oversize(kind: str, size: int, largest: int) -> str | None:
    """Why a message of so many bytes cannot be sent, and what helps; None when it can.

    >>> oversize("report", 1_000, 2_000)
    >>> print(oversize("report", 2_000, 2_000))
    its report message of 2,000 bytes is larger than a stream takes (2,000 bytes); group by something coarser or ...
    """
    if size + _FRAME <= largest:
        return None
    return (
        f"its {kind} message of {size:,} bytes is larger than a stream takes ({largest:,} bytes); group by something"
        " coarser or narrow it down with WHERE"
    )


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What a coordinator takes and how long it waits."""

    message_bytes: int = MESSAGE_BYTES
    queue_frames: int = 4096  # waiting for one site; more, and the site reads too slowly
    queue_bytes: int = MESSAGE_BYTES
    calls: int = 20_000  # at once, sites and clients together
    handshake_s: float = 10.0  # for TLS, and again for the first frame of a site
    keepalive_s: float = 5.0
    keepalive_timeout_s: float = 5.0
    farewell_s: float = 2.0  # for the last words to a site that may not be reading

    def options(self) -> tuple[tuple[str, int], ...]:
        """The same in the words of gRPC."""
        return (
            *_options(self.message_bytes, self.keepalive_s, self.keepalive_timeout_s),
            ("grpc.server_handshake_timeout_ms", round(self.handshake_s * 1000)),
            # Two coordinators on one port would share the sites between them without a word.
            ("grpc.so_reuseport", 0),
            # Sites ping as often as we do; that is no attack.
            ("grpc.http2.min_ping_interval_without_data_ms", 1000),
            ("grpc.http2.max_ping_strikes", 0),
        )


@dataclass(frozen=True, slots=True)
class LinkLimits:
    """What a site sends at most and how long it waits between attempts."""

    message_bytes: int = MESSAGE_BYTES
    queue_frames: int = 65_536
    queue_bytes: int = 4 * MESSAGE_BYTES
    handshake_s: float = 10.0
    keepalive_s: float = 5.0
    keepalive_timeout_s: float = 5.0
    backoff_first_s: float = 0.5
    backoff_last_s: float = 4.0
    fatal_s: float = 30.0  # between attempts that only an operator can make succeed
    steady_s: float = 5.0  # a link that held so long starts over with short pauses
    farewell_s: float = 2.0

    def options(self) -> tuple[tuple[str, int], ...]:
        """The same in the words of gRPC."""
        return (
            *_options(self.message_bytes, self.keepalive_s, self.keepalive_timeout_s),
            # The link paces its attempts itself; what other links of this process met is none of its business.
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_retries", 0),
        )


def _options(message_bytes: int, keepalive_s: float, keepalive_timeout_s: float) -> tuple[tuple[str, int], ...]:
    return (
        ("grpc.max_receive_message_length", message_bytes),
        ("grpc.max_send_message_length", message_bytes),
        ("grpc.keepalive_time_ms", round(keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", round(keepalive_timeout_s * 1000)),
        # The other one alone is not enough: a peer that is silent though connected would be waited for a minute.
        ("grpc.http2.ping_timeout_ms", round(keepalive_timeout_s * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.enable_http_proxy", 0),  # sites dial what they were told to dial
    )
