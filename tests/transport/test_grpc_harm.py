"""What one site does wrong ends its own stream, with a reason, while another good site's stream goes on unharmed."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack, suppress

import grpc
import pytest
from grpc import aio

from tacit.transport import grpc_link
from tacit.transport.admission import calling_card
from tacit.transport.limits import LinkLimits, ServerLimits
from tacit.transport.security import ServerSecurity, hashed
from tacit.vocabulary import ProtocolError
from tests.transport.grpc_lab import Site, echo, linked, listening, run

TOKENS = ServerSecurity(
    site_tokens=hashed({"north": "north-token", "south": "south-token"}), client_tokens=hashed({"desk": "desk-token"})
)


@pytest.mark.parametrize(
    ("name", "token", "reason"),
    [
        ("north", "wrong", "is not one that this coordinator accepts"),
        ("north", "south-token", "is not one that this coordinator accepts"),
        ("nobody", "north-token", "is not one that this coordinator accepts"),
        ("north", None, "asks for a token, and none came"),
        ("north", "", "asks for a token, and none came"),
        ("north", "desk-token", "a client's token"),
    ],
)
def test_a_site_that_cannot_prove_its_name_is_refused(name, token, reason):
    async def test():
        async with listening(security=TOKENS) as address, linked(address, "south", token="south-token") as good:
            await good.until("up")
            async with linked(address, name, token=token) as bad:
                _, said, fatal = await bad.until("down")
                assert reason in said
                assert "south-token" not in said
                assert fatal
                await bad.until("down")
                assert all(27 <= pause <= 33 for pause in bad.pauses)
            await good.is_well()

    run(test)


def test_a_site_of_another_version_is_refused_and_both_versions_are_named(monkeypatch):
    card = (("tacit-protocol", "1"), *calling_card(token=None, site="old")[1:])

    async def test():
        async with listening() as address, linked(address) as good:
            await good.until("up")
            monkeypatch.setattr(grpc_link, "calling_card", lambda **_: card)
            async with linked(address, "old") as bad:
                _, said, fatal = await bad.until("down")
                assert "speaks version 1 of tacit's protocol and this coordinator speaks version 4" in said
                assert fatal
            await good.is_well()

    run(test)


def test_a_refused_site_is_never_told_that_it_is_up_and_always_why_not(monkeypatch):
    """However the refusal's first and last words fall: a site that wrote in between would lose the reason."""
    card = (("tacit-protocol", "1"), *calling_card(token=None, site="old")[1:])

    async def test():
        monkeypatch.setattr(grpc_link, "calling_card", lambda **_: card)
        async with listening() as address, AsyncExitStack() as held:
            sites = [await held.enter_async_context(linked(address, f"old{number}")) for number in range(50)]
            for site in sites:
                kind, said, _ = await site.told.get()
                assert (kind, "speaks version 1" in said) == ("down", True)

    run(test)


def test_a_site_without_a_name_is_refused():
    async def test():
        async with listening() as address, linked(address, "") as bad:
            assert "must say its name" in (await bad.until("down"))[1]

    run(test)


def test_a_garbled_frame_ends_that_stream_only():
    async def test():
        async with listening() as address, linked(address, "good") as good, linked(address, "bad") as bad:
            await good.until("up")
            await bad.until("up")
            bad.link.send(b"\xff\xff\xff")
            assert await bad.until("down") == ("down", "3 bytes came that are no frame of tacit", False)
            await good.is_well()
            await bad.until("up")
            await bad.is_well()

    run(test)


def test_a_garbled_frame_from_the_coordinator_ends_the_stream_and_the_site_comes_back():
    async def test():
        async def babble(link):
            link.send(b"\xff\xff\xff")
            await echo(link)

        def on_frame(frame):
            raise ProtocolError("this is no frame")

        async with listening(on_link=babble) as address:
            site = Site(address)
            site.link._on_frame = on_frame
            task = asyncio.create_task(site.link.run(site.stop))
            assert await site.until("down") == ("down", "this is no frame", False)
            await site.until("up")
            site.stop.set()
            await task

    run(test)


def test_a_frame_that_is_too_large_ends_that_stream_only():
    limits = ServerLimits(message_bytes=10_000)

    async def test():
        async with listening(limits=limits) as address, linked(address, "good") as good, linked(address, "bad") as bad:
            await good.until("up")
            await bad.until("up")
            bad.link.send(os.urandom(20_000))
            _, said, fatal = await bad.until("down")
            assert "larger than" in said
            assert "10000" in said
            assert not fatal
            await good.is_well()

    run(test)


def test_a_frame_that_is_too_large_is_not_even_sent_and_the_site_comes_back(caplog):
    async def test():
        limits = LinkLimits(message_bytes=10_000)
        async with listening() as address, linked(address, limits=limits) as site:
            await site.until("up")
            assert not site.link.send(bytes(20_000))
            assert not site.link.send(b"more")
            _, said, fatal = await site.until("down")
            assert "a message of 20000 bytes is larger than the limit of 10000 bytes" in said
            assert not fatal
            await site.until("up")
            await site.is_well()

    run(test)
    assert "the link of site north breaks: a message of 20000 bytes" in caplog.text


def test_a_frame_that_is_too_large_for_a_site_ends_its_stream_only(caplog):
    limits = ServerLimits(message_bytes=10_000)

    async def test():
        async def too_much(link):
            if link.site == "good":
                return await echo(link)
            assert not link.send(b"small", bytes(20_000))
            await asyncio.Event().wait()

        async with listening(on_link=too_much, limits=limits) as address, linked(address, "good") as good:
            async with linked(address, "bad") as bad:
                await good.until("up")
                assert "a message of 20000 bytes for site bad is larger" in (await bad.until("down"))[1]
                await good.is_well()

    run(test)
    assert "the link of site bad ends: a message of 20000 bytes" in caplog.text


def test_what_comes_at_once_finds_room_however_much_it_is():
    limits = ServerLimits(queue_bytes=100_000)
    frames = [bytes([number]) * 50_000 for number in range(20)]

    async def test():
        async def much(link):
            assert link.send(*frames)
            await asyncio.Event().wait()

        async with listening(on_link=much, limits=limits) as address, linked(address) as site:
            for frame in frames:
                assert (await site.until("frame"))[1] == frame

    run(test)


def test_a_site_that_does_not_read_is_cut_off_and_no_other():
    limits = ServerLimits(queue_frames=50, farewell_s=0.1)
    noise = os.urandom(100_000)

    async def test():
        cut = asyncio.Event()

        async def flood(link):
            if link.site == "good":
                return await echo(link)
            try:
                while link.send(noise):
                    await asyncio.sleep(0)
                await asyncio.Event().wait()
            finally:
                cut.set()

        async with listening(on_link=flood, limits=limits) as address, linked(address, "good") as good:
            await good.until("up")
            async with aio.insecure_channel(address) as channel:
                slow = channel.stream_stream("/tacit.Tacit/Link")(
                    metadata=aio.Metadata(*calling_card(token=None, site="slow"))
                )
                await slow.initial_metadata()
                await cut.wait()
                await good.is_well()
                with suppress(aio.AioRpcError):
                    while await slow.read() is not aio.EOF:
                        pass
                assert await slow.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                assert "reads too slowly" in await slow.details()

    run(test)


def test_a_coordinator_that_does_not_read_breaks_the_link_and_not_the_sites_memory():
    async def test():
        async def deaf(link):
            await asyncio.Event().wait()

        limits = LinkLimits(queue_frames=20)
        async with listening(on_link=deaf) as address, linked(address, limits=limits) as site:
            await site.until("up")
            while site.link.send(os.urandom(100_000)):
                await asyncio.sleep(0)
            assert "reads too slowly" in (await site.until("down"))[1]

    run(test)


def test_a_site_that_says_nothing_is_let_go():
    limits = ServerLimits(handshake_s=0.05)

    async def test():
        async with listening(limits=limits) as address, linked(address) as site:
            assert "said nothing within 0.05 seconds" in (await site.until("down"))[1]

    run(test)


def test_the_coordinator_can_end_a_link_with_a_reason():
    async def test():
        async def refuse(link):
            link.close("another process has this name")
            await asyncio.Event().wait()

        async with listening(on_link=refuse) as address, linked(address) as site:
            assert await site.until("down") == ("down", "another process has this name", False)

    run(test)


def test_a_defect_of_the_coordinator_is_logged_there_and_not_told_elsewhere(caplog):
    async def test():
        async def fail(link):
            raise RuntimeError("the secret of the house")

        async with listening(on_link=fail) as address, linked(address) as site:
            reason = (await site.until("down"))[1]
            assert "its log says why" in reason
            assert "secret" not in reason

    with caplog.at_level(logging.ERROR):
        run(test)
    assert "the secret of the house" in caplog.text
