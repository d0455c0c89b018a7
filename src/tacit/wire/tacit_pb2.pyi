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
    __slots__ = ("site", "number", "pane", "version", "rows")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    pane: int
    version: int
    rows: Rows
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., pane: _Optional[int] = ..., version: _Optional[int] = ..., rows: _Optional[_Union[Rows, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("site", "version", "pane", "sites", "groups", "estimates")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    SITES_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    site: int
    version: int
    pane: int
    sites: int
    groups: Groups
    estimates: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, site: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., sites: _Optional[int] = ..., groups: _Optional[_Union[Groups, _Mapping]] = ..., estimates: _Optional[_Iterable[float]] = ...) -> None: ...

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
    __slots__ = ("site", "version", "pane", "sites", "estimates", "collected", "slacks", "everyone")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    SITES_FIELD_NUMBER: _ClassVar[int]
    ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    COLLECTED_FIELD_NUMBER: _ClassVar[int]
    SLACKS_FIELD_NUMBER: _ClassVar[int]
    EVERYONE_FIELD_NUMBER: _ClassVar[int]
    site: int
    version: int
    pane: int
    sites: int
    estimates: _containers.RepeatedScalarFieldContainer[float]
    collected: Rows
    slacks: _containers.RepeatedScalarFieldContainer[float]
    everyone: _containers.RepeatedCompositeFieldContainer[Holding]
    def __init__(self, site: _Optional[int] = ..., version: _Optional[int] = ..., pane: _Optional[int] = ..., sites: _Optional[int] = ..., estimates: _Optional[_Iterable[float]] = ..., collected: _Optional[_Union[Rows, _Mapping]] = ..., slacks: _Optional[_Iterable[float]] = ..., everyone: _Optional[_Iterable[_Union[Holding, _Mapping]]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("site", "number", "closed", "silent", "version")
    SITE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    SILENT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    site: int
    number: int
    closed: int
    silent: int
    version: int
    def __init__(self, site: _Optional[int] = ..., number: _Optional[int] = ..., closed: _Optional[int] = ..., silent: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class HeartbeatAnswer(_message.Message):
    __slots__ = ("site", "settled")
    SITE_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    site: int
    settled: int
    def __init__(self, site: _Optional[int] = ..., settled: _Optional[int] = ...) -> None: ...

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

class Envelope(_message.Message):
    __slots__ = ("version", "watch", "init", "report", "request", "reply", "adjust_slack", "new_estimate", "broadcast", "snapshot", "heartbeat", "heartbeat_answer", "hello", "leave")
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
    def __init__(self, version: _Optional[int] = ..., watch: _Optional[int] = ..., init: _Optional[_Union[Init, _Mapping]] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., request: _Optional[_Union[Request, _Mapping]] = ..., reply: _Optional[_Union[Reply, _Mapping]] = ..., adjust_slack: _Optional[_Union[AdjustSlack, _Mapping]] = ..., new_estimate: _Optional[_Union[NewEstimate, _Mapping]] = ..., broadcast: _Optional[_Union[Broadcast, _Mapping]] = ..., snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., heartbeat_answer: _Optional[_Union[HeartbeatAnswer, _Mapping]] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., leave: _Optional[_Union[Leave, _Mapping]] = ...) -> None: ...
