from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Groups(_message.Message):
    __slots__ = ("gaps", "first", "count")
    GAPS_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    gaps: _containers.RepeatedScalarFieldContainer[int]
    first: int
    count: int
    def __init__(self, gaps: _Optional[_Iterable[int]] = ..., first: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class Rows(_message.Message):
    __slots__ = ("groups", "sums", "weights")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    SUMS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    groups: Groups
    sums: _containers.RepeatedScalarFieldContainer[float]
    weights: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, groups: _Optional[_Union[Groups, _Mapping]] = ..., sums: _Optional[_Iterable[float]] = ..., weights: _Optional[_Iterable[float]] = ...) -> None: ...

class Init(_message.Message):
    __slots__ = ("site", "pane", "rows")
    SITE_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    site: int
    pane: int
    rows: Rows
    def __init__(self, site: _Optional[int] = ..., pane: _Optional[int] = ..., rows: _Optional[_Union[Rows, _Mapping]] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ("site", "number", "pane", "version", "rows", "known")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    version: int
    rows: Rows
    known: int
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., version: _Optional[int] = ..., rows: _Optional[_Union[Rows, _Mapping]] = ..., known: _Optional[int] = ...) -> None: ...

class Fit(_message.Message):
    __slots__ = ("site", "number", "pane", "dimension", "numbers")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    dimension: int
    numbers: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., dimension: _Optional[int] = ..., numbers: _Optional[_Iterable[float]] = ...) -> None: ...

class Request(_message.Message):
    __slots__ = ("site", "number", "pane", "groups")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    groups: Groups
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., groups: _Optional[_Union[Groups, _Mapping]] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("site", "number", "pane", "rows")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    rows: Rows
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., rows: _Optional[_Union[Rows, _Mapping]] = ...) -> None: ...

class AdjustSlack(_message.Message):
    __slots__ = ("site", "version", "pane", "groups", "slacks")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    SLACKS_FIELD_NUMBER: _ClassVar[int]
    site: int
    version: int
    pane: int
    groups: Groups
    slacks: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, site: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., groups: _Optional[_Union[Groups, _Mapping]] = ..., slacks: _Optional[_Iterable[float]] = ...) -> None: ...

class NewEstimate(_message.Message):
    __slots__ = ("site", "version", "pane", "sites", "groups", "estimates", "zone_parts", "zone_numbers", "centres")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    SITES_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    ZONE_PARTS_FIELD_NUMBER: _ClassVar[int]
    ZONE_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    CENTRES_FIELD_NUMBER: _ClassVar[int]
    site: int
    version: int
    pane: int
    sites: int
    groups: Groups
    estimates: _containers.RepeatedScalarFieldContainer[float]
    zone_parts: _containers.RepeatedScalarFieldContainer[int]
    zone_numbers: _containers.RepeatedScalarFieldContainer[float]
    centres: int
    def __init__(self, site: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., sites: _Optional[int] = ..., groups: _Optional[_Union[Groups, _Mapping]] = ..., estimates: _Optional[_Iterable[float]] = ..., zone_parts: _Optional[_Iterable[int]] = ..., zone_numbers: _Optional[_Iterable[float]] = ..., centres: _Optional[int] = ...) -> None: ...

class Broadcast(_message.Message):
    __slots__ = ("site", "origin", "version", "pane", "rows")
    SITE_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    site: int
    origin: int
    version: int
    pane: int
    rows: Rows
    def __init__(self, site: _Optional[int] = ..., origin: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., rows: _Optional[_Union[Rows, _Mapping]] = ...) -> None: ...

class Holding(_message.Message):
    __slots__ = ("site", "rows")
    SITE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    site: int
    rows: Rows
    def __init__(self, site: _Optional[int] = ..., rows: _Optional[_Union[Rows, _Mapping]] = ...) -> None: ...

class Snapshot(_message.Message):
    __slots__ = ("site", "version", "pane", "sites", "estimates", "collected", "slacks", "everyone", "zone_parts", "zone_numbers")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    SITES_FIELD_NUMBER: _ClassVar[int]
    ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    COLLECTED_FIELD_NUMBER: _ClassVar[int]
    SLACKS_FIELD_NUMBER: _ClassVar[int]
    EVERYONE_FIELD_NUMBER: _ClassVar[int]
    ZONE_PARTS_FIELD_NUMBER: _ClassVar[int]
    ZONE_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    site: int
    version: int
    pane: int
    sites: int
    estimates: _containers.RepeatedScalarFieldContainer[float]
    collected: Rows
    slacks: _containers.RepeatedScalarFieldContainer[float]
    everyone: _containers.RepeatedCompositeFieldContainer[Holding]
    zone_parts: _containers.RepeatedScalarFieldContainer[int]
    zone_numbers: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, site: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., sites: _Optional[int] = ..., estimates: _Optional[_Iterable[float]] = ..., collected: _Optional[_Union[Rows, _Mapping]] = ..., slacks: _Optional[_Iterable[float]] = ..., everyone: _Optional[_Iterable[_Union[Holding, _Mapping]]] = ..., zone_parts: _Optional[_Iterable[int]] = ..., zone_numbers: _Optional[_Iterable[float]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("site", "number", "closed", "silent", "version", "idle_panes")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    SILENT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    IDLE_PANES_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    closed: int
    silent: int
    version: int
    idle_panes: int
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., closed: _Optional[int] = ..., silent: _Optional[int] = ..., version: _Optional[int] = ..., idle_panes: _Optional[int] = ...) -> None: ...

class HeartbeatAnswer(_message.Message):
    __slots__ = ("site", "settled", "provisional")
    SITE_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    PROVISIONAL_FIELD_NUMBER: _ClassVar[int]
    site: int
    settled: int
    provisional: int
    def __init__(self, site: _Optional[int] = ..., settled: _Optional[int] = ..., provisional: _Optional[int] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("site", "session", "oldest", "closed")
    SITE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    site: int
    session: int
    oldest: int
    closed: int
    def __init__(self, site: _Optional[int] = ..., session: _Optional[int] = ..., oldest: _Optional[int] = ..., closed: _Optional[int] = ...) -> None: ...

class Leave(_message.Message):
    __slots__ = ("site", "session")
    SITE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    site: int
    session: int
    def __init__(self, site: _Optional[int] = ..., session: _Optional[int] = ...) -> None: ...

class Entries(_message.Message):
    __slots__ = ("keys", "values", "missing")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.RepeatedScalarFieldContainer[float]
    missing: bytes
    def __init__(self, keys: _Optional[_Iterable[str]] = ..., values: _Optional[_Iterable[float]] = ..., missing: _Optional[bytes] = ...) -> None: ...

class Shown(_message.Message):
    __slots__ = ("list", "entries", "border", "relief", "broken")
    LIST_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    BORDER_FIELD_NUMBER: _ClassVar[int]
    RELIEF_FIELD_NUMBER: _ClassVar[int]
    BROKEN_FIELD_NUMBER: _ClassVar[int]
    list: str
    entries: Entries
    border: float
    relief: float
    broken: int
    def __init__(self, list: _Optional[str] = ..., entries: _Optional[_Union[Entries, _Mapping]] = ..., border: _Optional[float] = ..., relief: _Optional[float] = ..., broken: _Optional[int] = ...) -> None: ...

class Sought(_message.Message):
    __slots__ = ("list", "keys", "depth", "relief")
    LIST_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    RELIEF_FIELD_NUMBER: _ClassVar[int]
    list: str
    keys: _containers.RepeatedScalarFieldContainer[str]
    depth: int
    relief: float
    def __init__(self, list: _Optional[str] = ..., keys: _Optional[_Iterable[str]] = ..., depth: _Optional[int] = ..., relief: _Optional[float] = ...) -> None: ...

class Ranked(_message.Message):
    __slots__ = ("list", "keys", "deltas", "flags", "open", "full", "plain", "ranked", "width", "scores")
    LIST_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    DELTAS_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    RANKED_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    list: str
    keys: _containers.RepeatedScalarFieldContainer[str]
    deltas: _containers.RepeatedScalarFieldContainer[float]
    flags: bytes
    open: bool
    full: bool
    plain: bool
    ranked: bool
    width: float
    scores: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, list: _Optional[str] = ..., keys: _Optional[_Iterable[str]] = ..., deltas: _Optional[_Iterable[float]] = ..., flags: _Optional[bytes] = ..., open: _Optional[bool] = ..., full: _Optional[bool] = ..., plain: _Optional[bool] = ..., ranked: _Optional[bool] = ..., width: _Optional[float] = ..., scores: _Optional[_Iterable[float]] = ...) -> None: ...

class Challenge(_message.Message):
    __slots__ = ("site", "number", "pane", "version", "updates", "lists")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPDATES_FIELD_NUMBER: _ClassVar[int]
    LISTS_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    version: int
    updates: int
    lists: _containers.RepeatedCompositeFieldContainer[Shown]
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., version: _Optional[int] = ..., updates: _Optional[int] = ..., lists: _Optional[_Iterable[_Union[Shown, _Mapping]]] = ...) -> None: ...

class Inquiry(_message.Message):
    __slots__ = ("site", "number", "pane", "lists", "version")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    LISTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    lists: _containers.RepeatedCompositeFieldContainer[Sought]
    version: int
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., lists: _Optional[_Iterable[_Union[Sought, _Mapping]]] = ..., version: _Optional[int] = ...) -> None: ...

class Showing(_message.Message):
    __slots__ = ("site", "number", "pane", "updates", "lists")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    UPDATES_FIELD_NUMBER: _ClassVar[int]
    LISTS_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    updates: int
    lists: _containers.RepeatedCompositeFieldContainer[Shown]
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., updates: _Optional[int] = ..., lists: _Optional[_Iterable[_Union[Shown, _Mapping]]] = ...) -> None: ...

class Ranking(_message.Message):
    __slots__ = ("site", "version", "pane", "lists", "again", "whole")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    LISTS_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    site: int
    version: int
    pane: int
    lists: _containers.RepeatedCompositeFieldContainer[Ranked]
    again: bool
    whole: bool
    def __init__(self, site: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., lists: _Optional[_Iterable[_Union[Ranked, _Mapping]]] = ..., again: _Optional[bool] = ..., whole: _Optional[bool] = ...) -> None: ...

class Candidates(_message.Message):
    __slots__ = ("site", "pane", "keys", "values", "own", "list")
    SITE_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    site: int
    pane: int
    keys: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.RepeatedScalarFieldContainer[float]
    own: int
    list: str
    def __init__(self, site: _Optional[int] = ..., pane: _Optional[int] = ..., keys: _Optional[_Iterable[str]] = ..., values: _Optional[_Iterable[float]] = ..., own: _Optional[int] = ..., list: _Optional[str] = ...) -> None: ...

class Nomination(_message.Message):
    __slots__ = ("site", "number", "pane", "version", "candidates")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    version: int
    candidates: _containers.RepeatedCompositeFieldContainer[Candidates]
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., version: _Optional[int] = ..., candidates: _Optional[_Iterable[_Union[Candidates, _Mapping]]] = ...) -> None: ...

class Circular(_message.Message):
    __slots__ = ("site", "version", "pane", "candidates", "again")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    site: int
    version: int
    pane: int
    candidates: _containers.RepeatedCompositeFieldContainer[Candidates]
    again: bool
    def __init__(self, site: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., candidates: _Optional[_Iterable[_Union[Candidates, _Mapping]]] = ..., again: _Optional[bool] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("name", "type")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class TableOffer(_message.Message):
    __slots__ = ("name", "columns", "event_clock")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    EVENT_CLOCK_FIELD_NUMBER: _ClassVar[int]
    name: str
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    event_clock: bool
    def __init__(self, name: _Optional[str] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., event_clock: _Optional[bool] = ...) -> None: ...

class Opening(_message.Message):
    __slots__ = ("version", "release", "site", "instance", "tables")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    version: int
    release: str
    site: str
    instance: str
    tables: _containers.RepeatedCompositeFieldContainer[TableOffer]
    def __init__(self, version: _Optional[int] = ..., release: _Optional[str] = ..., site: _Optional[str] = ..., instance: _Optional[str] = ..., tables: _Optional[_Iterable[_Union[TableOffer, _Mapping]]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("site", "lease_s", "heartbeat_s", "life")
    SITE_FIELD_NUMBER: _ClassVar[int]
    LEASE_S_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_S_FIELD_NUMBER: _ClassVar[int]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    site: int
    lease_s: float
    heartbeat_s: float
    life: str
    def __init__(self, site: _Optional[int] = ..., lease_s: _Optional[float] = ..., heartbeat_s: _Optional[float] = ..., life: _Optional[str] = ...) -> None: ...

class WatchSet(_message.Message):
    __slots__ = ("version", "watches")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    version: int
    watches: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, version: _Optional[int] = ..., watches: _Optional[_Iterable[int]] = ...) -> None: ...

class Measure(_message.Message):
    __slots__ = ("centres", "units")
    CENTRES_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    centres: _containers.RepeatedScalarFieldContainer[float]
    units: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, centres: _Optional[_Iterable[float]] = ..., units: _Optional[_Iterable[float]] = ...) -> None: ...

class Install(_message.Message):
    __slots__ = ("name", "text", "protocol", "paused", "begin", "measure")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    protocol: str
    paused: bool
    begin: int
    measure: Measure
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ..., protocol: _Optional[str] = ..., paused: _Optional[bool] = ..., begin: _Optional[int] = ..., measure: _Optional[_Union[Measure, _Mapping]] = ...) -> None: ...

class Sample(_message.Message):
    __slots__ = ("keys", "columns", "values", "at", "centres")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    CENTRES_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[int]
    columns: int
    values: _containers.RepeatedScalarFieldContainer[float]
    at: _containers.RepeatedScalarFieldContainer[float]
    centres: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, keys: _Optional[_Iterable[int]] = ..., columns: _Optional[int] = ..., values: _Optional[_Iterable[float]] = ..., at: _Optional[_Iterable[float]] = ..., centres: _Optional[_Iterable[float]] = ...) -> None: ...

class Offer(_message.Message):
    __slots__ = ("site", "first", "closed", "problem", "sample")
    SITE_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    site: int
    first: int
    closed: int
    problem: str
    sample: Sample
    def __init__(self, site: _Optional[int] = ..., first: _Optional[int] = ..., closed: _Optional[int] = ..., problem: _Optional[str] = ..., sample: _Optional[_Union[Sample, _Mapping]] = ...) -> None: ...

class There(_message.Message):
    __slots__ = ("pane", "keys")
    PANE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    pane: int
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pane: _Optional[int] = ..., keys: _Optional[_Iterable[str]] = ...) -> None: ...

class Name(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, keys: _Optional[_Iterable[str]] = ...) -> None: ...

class Numbers(_message.Message):
    __slots__ = ("first", "keys")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    first: int
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, first: _Optional[int] = ..., keys: _Optional[_Iterable[str]] = ...) -> None: ...

class Counts(_message.Message):
    __slots__ = ("events", "panes", "late", "full_from", "no_time")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    PANES_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    FULL_FROM_FIELD_NUMBER: _ClassVar[int]
    NO_TIME_FIELD_NUMBER: _ClassVar[int]
    events: int
    panes: int
    late: int
    full_from: int
    no_time: int
    def __init__(self, events: _Optional[int] = ..., panes: _Optional[int] = ..., late: _Optional[int] = ..., full_from: _Optional[int] = ..., no_time: _Optional[int] = ...) -> None: ...

class Clock(_message.Message):
    __slots__ = ("closed",)
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    closed: int
    def __init__(self, closed: _Optional[int] = ...) -> None: ...

class Beats(_message.Message):
    __slots__ = ("site", "watches", "numbers", "closed", "silent", "versions", "idle_panes")
    SITE_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    SILENT_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    IDLE_PANES_FIELD_NUMBER: _ClassVar[int]
    site: int
    watches: _containers.RepeatedScalarFieldContainer[int]
    numbers: _containers.RepeatedScalarFieldContainer[int]
    closed: _containers.RepeatedScalarFieldContainer[int]
    silent: _containers.RepeatedScalarFieldContainer[int]
    versions: _containers.RepeatedScalarFieldContainer[int]
    idle_panes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, site: _Optional[int] = ..., watches: _Optional[_Iterable[int]] = ..., numbers: _Optional[_Iterable[int]] = ..., closed: _Optional[_Iterable[int]] = ..., silent: _Optional[_Iterable[int]] = ..., versions: _Optional[_Iterable[int]] = ..., idle_panes: _Optional[_Iterable[int]] = ...) -> None: ...

class BeatsAnswer(_message.Message):
    __slots__ = ("site", "watches", "settled", "newest", "provisional")
    SITE_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    PROVISIONAL_FIELD_NUMBER: _ClassVar[int]
    site: int
    watches: _containers.RepeatedScalarFieldContainer[int]
    settled: _containers.RepeatedScalarFieldContainer[int]
    newest: _containers.RepeatedScalarFieldContainer[int]
    provisional: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, site: _Optional[int] = ..., watches: _Optional[_Iterable[int]] = ..., settled: _Optional[_Iterable[int]] = ..., newest: _Optional[_Iterable[int]] = ..., provisional: _Optional[_Iterable[int]] = ...) -> None: ...

class Tallies(_message.Message):
    __slots__ = ("watches", "counts")
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    watches: _containers.RepeatedScalarFieldContainer[int]
    counts: _containers.RepeatedCompositeFieldContainer[Counts]
    def __init__(self, watches: _Optional[_Iterable[int]] = ..., counts: _Optional[_Iterable[_Union[Counts, _Mapping]]] = ...) -> None: ...

class Envelope(_message.Message):
    __slots__ = ("version", "watch", "init", "report", "request", "reply", "adjust_slack", "new_estimate", "broadcast", "snapshot", "heartbeat", "heartbeat_answer", "hello", "leave", "counts", "clock", "opening", "welcome", "watch_set", "install", "offer", "names", "numbers", "beats", "beats_answer", "tallies", "there", "fit", "challenge", "inquiry", "showing", "ranking", "candidates", "nomination", "circular")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    ADJUST_SLACK_FIELD_NUMBER: _ClassVar[int]
    NEW_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    BROADCAST_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_ANSWER_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    OPENING_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    WATCH_SET_FIELD_NUMBER: _ClassVar[int]
    INSTALL_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    BEATS_FIELD_NUMBER: _ClassVar[int]
    BEATS_ANSWER_FIELD_NUMBER: _ClassVar[int]
    TALLIES_FIELD_NUMBER: _ClassVar[int]
    THERE_FIELD_NUMBER: _ClassVar[int]
    FIT_FIELD_NUMBER: _ClassVar[int]
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    INQUIRY_FIELD_NUMBER: _ClassVar[int]
    SHOWING_FIELD_NUMBER: _ClassVar[int]
    RANKING_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    NOMINATION_FIELD_NUMBER: _ClassVar[int]
    CIRCULAR_FIELD_NUMBER: _ClassVar[int]
    version: int
    watch: int
    init: Init
    report: Report
    request: Request
    reply: Reply
    adjust_slack: AdjustSlack
    new_estimate: NewEstimate
    broadcast: Broadcast
    snapshot: Snapshot
    heartbeat: Heartbeat
    heartbeat_answer: HeartbeatAnswer
    hello: Hello
    leave: Leave
    counts: Counts
    clock: Clock
    opening: Opening
    welcome: Welcome
    watch_set: WatchSet
    install: Install
    offer: Offer
    names: Name
    numbers: Numbers
    beats: Beats
    beats_answer: BeatsAnswer
    tallies: Tallies
    there: There
    fit: Fit
    challenge: Challenge
    inquiry: Inquiry
    showing: Showing
    ranking: Ranking
    candidates: Candidates
    nomination: Nomination
    circular: Circular
    def __init__(self, version: _Optional[int] = ..., watch: _Optional[int] = ..., init: _Optional[_Union[Init, _Mapping]] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., request: _Optional[_Union[Request, _Mapping]] = ..., reply: _Optional[_Union[Reply, _Mapping]] = ..., adjust_slack: _Optional[_Union[AdjustSlack, _Mapping]] = ..., new_estimate: _Optional[_Union[NewEstimate, _Mapping]] = ..., broadcast: _Optional[_Union[Broadcast, _Mapping]] = ..., snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., heartbeat_answer: _Optional[_Union[HeartbeatAnswer, _Mapping]] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., leave: _Optional[_Union[Leave, _Mapping]] = ..., counts: _Optional[_Union[Counts, _Mapping]] = ..., clock: _Optional[_Union[Clock, _Mapping]] = ..., opening: _Optional[_Union[Opening, _Mapping]] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ..., watch_set: _Optional[_Union[WatchSet, _Mapping]] = ..., install: _Optional[_Union[Install, _Mapping]] = ..., offer: _Optional[_Union[Offer, _Mapping]] = ..., names: _Optional[_Union[Name, _Mapping]] = ..., numbers: _Optional[_Union[Numbers, _Mapping]] = ..., beats: _Optional[_Union[Beats, _Mapping]] = ..., beats_answer: _Optional[_Union[BeatsAnswer, _Mapping]] = ..., tallies: _Optional[_Union[Tallies, _Mapping]] = ..., there: _Optional[_Union[There, _Mapping]] = ..., fit: _Optional[_Union[Fit, _Mapping]] = ..., challenge: _Optional[_Union[Challenge, _Mapping]] = ..., inquiry: _Optional[_Union[Inquiry, _Mapping]] = ..., showing: _Optional[_Union[Showing, _Mapping]] = ..., ranking: _Optional[_Union[Ranking, _Mapping]] = ..., candidates: _Optional[_Union[Candidates, _Mapping]] = ..., nomination: _Optional[_Union[Nomination, _Mapping]] = ..., circular: _Optional[_Union[Circular, _Mapping]] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("envelopes",)
    ENVELOPES_FIELD_NUMBER: _ClassVar[int]
    envelopes: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, envelopes: _Optional[_Iterable[bytes]] = ...) -> None: ...
