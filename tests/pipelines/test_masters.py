"""Nothing of Spark listens beyond loopback without protection."""

from __future__ import annotations

import pytest

from tacit.pipelines.masters import cluster_settings
from tacit.vocabulary.errors import OptionError

SAFE = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
HERE = {"spark.driver.host": "10.0.0.7"}


@pytest.mark.parametrize(
    "master",
    [
        None,
        "local[4]",
        "local",
        "spark://127.0.0.1:7077",
        "spark://localhost:7077,127.0.0.1:7078",
        "spark://[::1]:7077",
    ],
)
def test_loopback_needs_nothing(master: str | None) -> None:
    settings = cluster_settings(master, {}, ())
    assert settings == {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@pytest.mark.parametrize(
    ("master", "conf", "said"),
    [
        ("spark://cluster:7077", HERE, "listen on 10.0.0.7 for the master spark://cluster:7077 without protection"),
        ("spark://127.0.0.1:1,cluster:7077", HERE, "without protection"),
        ("yarn", HERE | {"spark.authenticate": "true"}, "without protection"),
        ("k8s://https://127.0.0.1", HERE | {"spark.network.crypto.enabled": "true"}, "without protection"),
        (None, {"spark.driver.bindAddress": "0.0.0.0"}, "Spark would listen on 0.0.0.0 without protection"),
        ("spark://127.0.0.1:7077", HERE, "without protection"),
        ("spark://cluster:7077", SAFE, "must reach this one; set spark.driver.host"),
        (None, {"spark.sql.session.timeZone": "CET"}, "tacit's times are UTC"),
        (None, {"driver.host": "x"}, "driver.host is no setting of Spark"),
    ],
)
def test_refused(master: str | None, conf: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        cluster_settings(master, conf, ())


def test_protected_is_fine_and_binds_to_its_own_address() -> None:
    settings = cluster_settings("spark://cluster:7077", SAFE | HERE, ())
    assert settings["spark.driver.bindAddress"] == "10.0.0.7"
    ssl = {"spark.authenticate": "true", "spark.ssl.rpc.enabled": "true"}
    assert cluster_settings("yarn", ssl | HERE, ())["spark.ssl.rpc.enabled"] == "true"


def test_packages_come_together() -> None:
    settings = cluster_settings(None, {"spark.jars.packages": "a:b:1,c:d:2"}, ("c:d:2", "e:f:3"))
    assert settings["spark.jars.packages"] == "a:b:1,c:d:2,e:f:3"
    assert settings["spark.jars.ivy"]
