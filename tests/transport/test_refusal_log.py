"""Callers that are not let in leave a trace in the log, without their token and without filling the disk."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tacit.transport.admission import calling_card
from tacit.transport.grpc_client import ask
from tacit.transport.refusal_log import RefusalLog
from tacit.transport.security import ServerSecurity, hashed
from tacit.vocabulary import TacitError
from tests.transport.grpc_lab import linked, listening, run

TOKENS = ServerSecurity(site_tokens=hashed({"north": "north-token"}), client_tokens=hashed({"desk": "desk-token"}))


def test_a_rejected_token_is_logged_with_its_caller_and_never_itself(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def test() -> None:
        async with listening(security=TOKENS) as address:
            async with linked(address, "north", token="stolen-token") as bad:
                await bad.until("down")
            with pytest.raises(TacitError):
                await asyncio.to_thread(ask, address, {"status": True}, token="guessed-token", timeout_s=20.0)

    run(test)
    lines = [record.getMessage() for record in caplog.records if "is refused" in record.getMessage()]
    assert [line.partition(" is refused: ")[0] for line in lines] == ["a call from ipv4:127.0.0.1"] * 2
    assert "came with site 'north'" in lines[0]
    assert "came with a client" in lines[1]
    assert not any("stolen" in line or "guessed" in line for line in caplog.messages)
    assert calling_card(token="stolen-token", site="north")  # the token did travel


def test_lines_are_few_however_many_calls_there_are(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log = RefusalLog(clock=lambda: now)
    for port in range(1_000):
        log.note(f"ipv4:10.0.0.1:{port}", "wrong token")
    assert caplog.messages == ["a call from ipv4:10.0.0.1 is refused: wrong token"]
    now = 61.0
    log.note("ipv4:10.0.0.1:7", "wrong token")
    assert caplog.messages[1:] == [
        "a call from ipv4:10.0.0.1 is refused: wrong token (999 more times since the last line)"
    ]
    for host in range(5_000):
        log.note(f"ipv4:10.1.{host // 250}.{host % 250}:1", "wrong token " * 1_000)
    assert len(caplog.messages) < 110
    assert max(map(len, caplog.messages)) < 500
