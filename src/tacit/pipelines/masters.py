"""Where Spark runs: here, or on a cluster that others keep; and that nothing of it is open to others unprotected.

Spark's driver listens for its executors. On loopback that is nobody else's business; anywhere else whoever reaches the
port could run code here, so authentication and encryption must be switched on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from tacit._cache import cache_folder
from tacit.vocabulary.errors import OptionError

__all__ = ["cluster_settings"]

_LOOPBACK = "127.0.0.1"
_ENCRYPTION = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled", "spark.ssl.enabled")
_OURS = {
    "spark.app.name": "the session has its own name",
    "spark.sql.session.timeZone": "tacit's times are UTC",
    "spark.driver.memory": "memory says it",
}


def cluster_settings(master: str | None, conf: Mapping[str, str], packages: Sequence[str]) -> dict[str, str]:
    """What a master, a user's own settings and packages come to; OptionError when they are not safe or not for them.

    >>> cluster_settings("spark://127.0.0.1:7077", {"spark.cores.max": "4"}, ())["spark.driver.bindAddress"]
    '127.0.0.1'
    >>> cluster_settings("spark://m:7077", {"spark.driver.host": "10.1.2.3"}, ())
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: Spark would listen on 10.1.2.3 for the master spark://m:7077 without \
protection; set spark.authenticate=true and spark.network.crypto.enabled=true
    """
    for key in conf:
        if key in _OURS:
            raise OptionError(f"{key} cannot be set: {_OURS[key]}")
        if not key.startswith("spark."):
            raise OptionError(f"{key} is no setting of Spark; those start with spark.")
    settings = {key: value for key, value in conf.items() if key != "spark.master"}
    host = settings.setdefault("spark.driver.host", _LOOPBACK)
    settings.setdefault("spark.driver.bindAddress", host)
    _check_protected(master, settings)
    if packages:
        wanted = [each for each in settings.get("spark.jars.packages", "").split(",") if each]
        settings["spark.jars.packages"] = ",".join(dict.fromkeys([*wanted, *packages]))
    if "spark.jars.packages" in settings:
        settings.setdefault("spark.jars.ivy", str(cache_folder() / "ivy"))
    return settings


def _check_protected(master: str | None, settings: Mapping[str, str]) -> None:
    host, address = settings["spark.driver.host"], settings["spark.driver.bindAddress"]
    remote = not all(map(_is_loopback, _hosts(master)))
    if remote and _is_loopback(host):
        raise OptionError(
            f"the master {master} is on another machine and must reach this one; set spark.driver.host to its address"
        )
    if not remote and _is_loopback(host) and _is_loopback(address):
        return
    encrypted = any(_is_on(settings, key) for key in _ENCRYPTION)
    if not (_is_on(settings, "spark.authenticate") and encrypted):
        whom = f" for the master {master}" if master else ""
        raise OptionError(
            f"Spark would listen on {host if _is_loopback(address) else address}{whom} without protection; "
            "set spark.authenticate=true and spark.network.crypto.enabled=true"
        )


def _hosts(master: str | None) -> list[str]:
    """The machines that a master is on; "" for one that is not known to be this one (YARN, Kubernetes)."""
    if master is None or master == "local" or master.startswith(("local[", "local-cluster[")):
        return []
    if not master.startswith("spark://"):
        return [""]
    return [each.rpartition(":")[0] or each for each in master.removeprefix("spark://").split(",")]


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").strip().lower() == "true"
