"""How a watch is replayed: the options that the command line, sweeps and the Python API share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.functions.zone_rows import ZONE_KINDS
from tacit.protocols.policies import DEFAULT_POLICY, POLICIES
from tacit.recording.engine import PROTOCOLS
from tacit.vocabulary.errors import OptionError

__all__ = ["ALIASES", "PEERS", "STEPS", "Settings"]

STEPS = ("event", "pane")
PEERS = ("topico", "gossip")  # rankings without a coordinator
ALIASES = {"threshold": "coordinator", "decentralised": "broadcast", "decentralized": "broadcast"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Protocol, step, zone, balancing policy and dice of a replay; ``checked`` before use.

    >>> Settings(protocol="decentralised").checked().protocol
    'broadcast'
    >>> Settings(step="minute").checked()
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: there is no step named 'minute'; choose event or pane
    """

    protocol: str = "auto"
    step: str = "event"
    zone: str = "auto"
    policy: str = DEFAULT_POLICY
    seed: int = 0
    verify: bool = False
    follows: bool = False  # protocol and zone are those that a configuration's coordinator is set to

    def checked(self) -> Settings:
        """The same settings with aliases resolved; OptionError for a name that does not exist."""
        named = replace(self, protocol=ALIASES.get(self.protocol, self.protocol))
        _known("protocol", named.protocol, ("auto", "cheaper", *PROTOCOLS, *PEERS), also=ALIASES)
        _known("step", named.step, STEPS)
        _known("zone", named.zone, (*ZONE_KINDS, "norms"))
        _known("policy", named.policy, tuple(POLICIES))
        if named.protocol == "broadcast" and named.zone == "fitted":
            raise OptionError("fitted zones need a coordinator; leave --protocol broadcast out")
        if named.protocol == "recentre" and named.zone != "auto":
            raise OptionError(
                f"recentring makes zones of its own; leave --zone {named.zone} out, or choose --protocol coordinator"
            )
        if named.seed < 0:
            raise OptionError(f"the seed is {named.seed}, but must be 0 or more")
        return named


def _known(what: str, name: str, choices: Sequence[str], also: Sequence[str] | dict[str, str] = ()) -> None:
    if name not in choices:
        listed = ", ".join([*choices, *also][:-1]) + " or " + [*choices, *also][-1]
        raise OptionError(f"there is no {what} named '{name}'; choose {listed}")
