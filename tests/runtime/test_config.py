"""A configuration file: what is read, what is filled in, what is said when it is wrong, and what is never said."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.runtime.config import Config, load_config
from tacit.runtime.config_tables import FileTable, KafkaTable, RateTable, source_of
from tacit.runtime.secret import Secret
from tacit.vocabulary.errors import OptionError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "CONFIGURATION.md").read_text(encoding="utf-8")
BASE = """
[coordinator]
watches = ["watches.sql"]
[coordinator.tokens]
sites = { north = "file:tokens/north", south = "open-sesame" }
[[sinks]]
kind = "log"
[[sinks]]
kind = "webhook"
url = "https://example.org/x"
secret = "hush-hush"
[spark]
conf = { "spark.password" = "spark-pass" }
[tables.air]
source = "files"
path = "data/{site}"
time = "ts"
[sites.north]
[sites.south]
token = "top-secret"
[sites.south.tables.air]
source = "rate"
[sites.south.tables.extra]
source = "kafka"
servers = "a:1"
topic = "t.{site}"
schema = "x INT"
time = "x"
options = { "kafka.sasl" = "kafka-pass" }
"""
SECRETS = ("open-sesame", "hush-hush", "spark-pass", "top-secret", "kafka-pass")
Loader = Callable[[str], Config]


@pytest.fixture
def load(tmp_path: Path) -> Loader:
    def read(text: str) -> Config:
        (tmp_path / "tacit.toml").write_text(text, encoding="utf-8")
        return load_config(tmp_path / "tacit.toml")

    return read


def test_defaults_are_filled_in_and_paths_lie_beside_the_file(load: Loader, tmp_path: Path) -> None:
    config = load(BASE)
    assert config.coordinator.listen == "127.0.0.1:7070"
    assert config.coordinator.state == tmp_path / "state" / "coordinator"
    assert config.coordinator.watches == (tmp_path / "watches.sql",)
    north, south = config.site("north"), config.site("south")
    assert north.coordinator == config.coordinator.listen
    assert (north.state, south.state) == (tmp_path / "state" / "north", tmp_path / "state" / "south")
    air = config.table_of("north", "air")
    assert isinstance(air, FileTable)
    assert (air.path, air.time, air.watermark_us) == (str(tmp_path / "data" / "north"), "ts", 10_000_000)
    other = config.table_of("south", "air")
    assert isinstance(other, RateTable)
    assert other.time == "ts"
    extra = config.table_of("south", "extra")
    assert isinstance(extra, KafkaTable)
    assert (extra.topic, extra.schema_text) == ("t.south", "x INT")


def test_an_empty_file_is_a_coordinator_with_defaults(load: Loader, tmp_path: Path) -> None:
    config = load("")
    assert config.coordinator.state == tmp_path / "state" / "coordinator"
    assert not config.sites


def test_a_site_leaves_a_table_out_and_changes_single_keys(load: Loader) -> None:
    text = BASE + "[sites.west.tables]\nair = false\n[sites.east.tables.air]\nwatermark = '1 minute'\n"
    config = load(text)
    assert list(config.site("west").tables) == []
    assert config.table_of("east", "air").watermark_us == 60_000_000
    assert config.table_of("east", "air").time == "ts"


def test_spark_is_told_what_the_pipelines_ask_for(load: Loader, tmp_path: Path) -> None:
    text = BASE.replace('time = "ts"', 'time = "ts"\noptions = { header = true, n = 3 }\nselect = ["a AS ts"]', 1)
    text += "[sites.west.tables.air]\nsource = 'python'\nfunction = 'm.n:f'\n"
    config = load(text)
    assert source_of(config.table_of("north", "air")) == {
        "kind": "files", "path": str(tmp_path / "data" / "north"), "format": None, "schema": None,
        "files_per_batch": None, "select": ("a AS ts",), "options": {"header": "true", "n": "3"},
    }  # fmt: skip
    assert source_of(config.table_of("south", "extra")) == {
        "kind": "kafka", "servers": "a:1", "topic": "t.south", "format": "json", "schema": "x INT", "select": (),
        "starting": "earliest", "options": {"kafka.sasl": "kafka-pass"},
    }  # fmt: skip
    rate = source_of(config.table_of("south", "air"))
    assert (rate["kind"], rate["rows_per_second"], rate["select"][0]) == ("rate", 10, "timestamp AS ts")
    assert source_of(config.table_of("west", "air")) == {
        "kind": "python", "path": str(tmp_path), "function": "m.n:f", "select": (),
    }  # fmt: skip


def test_data_elsewhere_keeps_its_address(load: Loader) -> None:
    table = load(BASE.replace("data/{site}", "s3a://bucket/{site}/*")).table_of("north", "air")
    assert isinstance(table, FileTable)
    assert table.path == "s3a://bucket/north/*"


def test_a_site_here_dials_loopback_when_the_coordinator_listens_everywhere(load: Loader) -> None:
    text = """
    [coordinator]
    listen = "0.0.0.0:7171"
    tls = { certificate = "c", key = "k" }
    tokens = { sites = { a = "x" } }
    [sites.a]
    """
    assert load(text).site("a").coordinator == "127.0.0.1:7171"


def test_secrets_are_read_when_needed_and_from_where_they_are(
    load: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = load(BASE).coordinator.tokens.sites
    assert sites["south"].reveal() == "open-sesame"
    with pytest.raises(OptionError, match=r"tokens/north does not exist.*write the secret into it"):
        sites["north"].reveal()
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / "north").write_text("  from-a-file\n")
    assert sites["north"].reveal() == "from-a-file"
    with pytest.raises(OptionError, match="environment variable TACIT_NO_SUCH does not exist"):
        Secret("env:TACIT_NO_SUCH").reveal()
    monkeypatch.setenv("TACIT_SOME_TOKEN", "from-the-environment")
    assert Secret("env:TACIT_SOME_TOKEN").reveal() == "from-the-environment"


def test_secrets_are_never_shown(load: Loader) -> None:
    config = load(BASE)
    shown = repr(config) + str(config) + repr(config.coordinator.tokens) + str(config.site("south").token)
    for secret in SECRETS:
        assert secret not in shown
    assert "file:tokens/north" in shown


@pytest.mark.parametrize(
    ("old", "new", "key", "advice"),
    [
        ("watches =", "lease_secs = 3\nwatches =", "coordinator.lease_secs", "did you mean lease_seconds?"),
        ("watches =", "lease_seconds = 'ten'\nwatches =", "coordinator.lease_seconds", 'not "ten"; write lease_sec'),
        ("watches =", "lease_seconds = true\nwatches =", "coordinator.lease_seconds", "must be a number"),
        ("watches =", "lease_seconds = -1\nwatches =", "coordinator.lease_seconds", "must be above 0, not -1"),
        ("watches =", "lease_seconds = 1\nwatches =", "coordinator", "at least 2, twice heartbeat_seconds"),
        ("watches =", "listen = '0.0.0.0:7070'\nwatches =", "coordinator", "needs [coordinator.tls]"),
        ("watches =", "listen = 'here'\nwatches =", "coordinator.listen", "such as 127.0.0.1:7070"),
        ("watches =", "listen = '::1:7070'\nwatches =", "coordinator.listen", "a host and a port"),
        ('["watches.sql"]', '"a.sql"', "coordinator.watches", 'write watches = ["watches.sql"]'),
        ('["watches.sql"]', "[3]", "coordinator.watches[0]", "a path in quotation marks"),
        ("watches =", "protocol = 'brodcast'\nwatches =", "coordinator.protocol", "did you mean broadcast?"),
        ('"open-sesame"', "5", "coordinator.tokens.sites.south", '"file:path" or "env:NAME"'),
        ('kind = "log"', 'kind = "lug"', "sinks[0].kind", "did you mean log?"),
        ('kind = "log"', "", "sinks[0].kind", 'is missing; write kind = "log"'),
        ("https://example.org/x", "ftp://example.org/x", "sinks[1].url", "must be a web address"),
        ("https://example.org/x", "https://me:pw@example.org/x", "sinks[1].url", "must not hold a password"),
        ('time = "ts"', 'tiem = "ts"', "tables.air.tiem", "did you mean time?"),
        ('time = "ts"\n', "", "sites.north.tables.air.time", 'is missing; add time = "ts"'),
        ('time = "ts"', 'time = "ts"\nwatermark = "9 secs"', "tables.air.watermark", "did you mean 9 seconds?"),
        ('time = "ts"', 'time = "ts"\nclock = "sun"', "tables.air.clock", "must be wall or event, not sun"),
        ('time = "ts"', 'time = "ts"\nformat = "cvs"', "tables.air.format", "did you mean csv?"),
        ('source = "rate"', 'source = "flies"', "sites.south.tables.air.source", "did you mean files?"),
        ('token = "top-secret"', "token = 5", "sites.south.token", "must be a text"),
        ('token = "top-secret"', 'coordinator = "far:1"', "sites.south", "so it needs its tls section"),
        ("[sites.north]", '[sites."a b"]', 'sites."a b"', "must be a name of letters"),
        ("[sites.north]", '[sites."../x"]', 'sites."../x"', "must be a name of letters"),
        ("[sites.north]", "[sites.north.tls]\ncertificate = 'x'", "sites.north.tls", "needs both"),
        ("watches =", "tls = { key = 'x' }\nwatches =", "coordinator.tls.certificate", "add certificate ="),
        ("[spark]", "[spark]\nmaster = 'local[two]'", "spark.master", "must be local[*], local[N] with a number"),
        ("[spark]", "[spark]\nmaster = 'lokal'", "spark.master", "or a cluster such as spark://host:7077"),
        ("[coordinator]", "[cordinator]", "cordinator", "did you mean coordinator?"),
        ('topic = "t.{site}"', "topic = 5", "sites.south.tables.extra.topic", "a text in quotation marks, not 5"),
        ("[sites.south]", "[sites.west.tables]\nair = 3\n[sites.south]", "sites.west.tables.air", "must be a section"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_with_the_key(
    load: Loader, tmp_path: Path, old: str, new: str, key: str, advice: str
) -> None:
    assert old in BASE
    with pytest.raises(OptionError) as caught:
        load(BASE.replace(old, new, 1))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'tacit.toml'}: {key} ")
    assert advice in message
    assert "\n" not in message
    for secret in SECRETS:
        assert secret not in message


def test_two_sinks_of_one_name(load: Loader) -> None:
    with pytest.raises(OptionError, match="two sinks called log; give each a name"):
        load(BASE.replace('kind = "log"', 'kind = "log"\n[[sinks]]\nkind = "log"'))


def test_files_that_are_no_configuration(load: Loader, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"there is no configuration .*missing.toml; tacit init FOLDER writes one"):
        load_config(tmp_path / "missing.toml")
    with pytest.raises(OptionError, match="is a folder"):
        load_config(tmp_path)
    with pytest.raises(OptionError, match=r"is not TOML.*line 2"):
        load("[coordinator]\nx = = 3\n")
    (tmp_path / "latin.toml").write_bytes("# gr\u00fc\u00df".encode("latin-1"))
    with pytest.raises(OptionError, match="not a text in UTF-8"):
        load_config(tmp_path / "latin.toml")


def test_unknown_sites_and_tables_name_the_known_ones(load: Loader) -> None:
    config = load(BASE)
    with pytest.raises(OptionError, match="no site east; it has north, south"):
        config.site("east")
    with pytest.raises(OptionError, match="no table water; it has air, extra"):
        config.table_of("south", "water")


def test_a_configuration_does_not_change(load: Loader) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load("").coordinator.listen = "x"  # type: ignore[misc]


def test_the_example_of_the_page_loads(load: Loader) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    config = load(example)
    assert list(config.site("south").tables) == ["air", "load"]
    assert [sink.kind for sink in config.sinks] == ["log", "file", "webhook", "kafka"]


def test_the_page_lists_the_models() -> None:
    command = [sys.executable, str(ROOT / "tools" / "write_configuration.py"), "--check"]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""}, timeout=120, check=False)
    assert done.returncode == 0, "run: make configuration"


def test_every_key_has_a_meaning() -> None:
    from tools.write_configuration import SECTIONS

    for title, model in SECTIONS:
        for name, field in model.model_fields.items():
            assert field.description, f"{title} {name}"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("", None),
        ("backfill = false", ""),
        ('backfill = "old/{site}"', "old/north"),
        ("backfill = true", "must be a text"),
    ],
)
def test_backfill_names_a_place_or_is_turned_off(tmp_path: Path, written: str, kept: str | None) -> None:
    (tmp_path / "tacit.toml").write_text(
        f'[tables.t]\nsource = "files"\npath = "new"\ntime = "ts"\n{written}\n[sites.north]\n'
    )
    if kept == "must be a text":
        with pytest.raises(OptionError, match=r"tables\.t\.backfill must be a text in quotation marks, not true"):
            load_config(tmp_path / "tacit.toml")
        return
    found = load_config(tmp_path / "tacit.toml").table_of("north", "t").backfill
    assert found == (str(tmp_path / kept) if kept else kept)
