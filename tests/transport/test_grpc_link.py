"""Sites and a coordinator on real sockets: frames go both ways in order, links come back, harm stays where it is."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from contextlib import suppress

import grpc
import pytest
from grpc import aio

from tacit.transport import grpc_link, tls_probe
from tacit.transport.admission import calling_card
from tacit.transport.backoff import Backoff
from tacit.transport.limits import LinkLimits, ServerLimits
from tacit.transport.security import ServerSecurity, hashed
from tacit.vocabulary import MachineError, OptionError, ProtocolError
from tacit.wire import encode_frame
from tests.transport.grpc_lab import Site, echo, linked, listen, listening, run

TOKENS = ServerSecurity(
    site_tokens=hashed({"north": "north-token", "south": "south-token"}), client_tokens=hashed({"desk": "desk-token"})
)


def test_frames_go_both_ways_in_order():
    async def test():
        async with listening() as address, linked(address) as site:
            await site.until("up")
            frames = [encode_frame([str(number).encode()]) for number in range(500)]
            assert all(site.link.send(frame) for frame in frames)
            assert [(await site.until("frame"))[1] for _ in frames] == frames

    run(test)


def test_the_coordinator_speaks_first_and_knows_who_is_there():
    async def test():
        async def greet(link):
            link.send(f"hello {link.site} {link.peer.split(':')[0]}".encode())

        async with listening(on_link=greet) as address, linked(address, "Zürich (süd)") as site:
            assert await site.until("frame") == ("frame", "hello Zürich (süd) ipv4".encode())

    run(test)


def test_many_sites_on_one_port():
    async def test():
        async with listening() as address:
            sites = [Site(address, f"site {number}") for number in range(20)]
            tasks = [asyncio.create_task(site.link.run(site.stop)) for site in sites]
            for site in sites:
                await site.until("up")
                await site.is_well()
            for site in sites:
                site.stop.set()
            await asyncio.gather(*tasks)

    run(test)


def test_a_link_comes_back_when_the_coordinator_does():
    async def test():
        first = await listen()
        address = f"127.0.0.1:{first.port}"
        async with linked(address) as site:
            await site.until("up")
            await site.is_well()
            await first.stop(0.1)
            assert await site.until("down") == ("down", "the coordinator stops", False)
            assert not site.link.is_up
            assert not site.link.send(b"lost")
            reason, fatal = (await site.until("down"))[1:]
            assert (reason, fatal) == (
                f"no coordinator listens at {address}; start it with `tacit coordinator`, or check the address",
                False,
            )
            async with listening(address):
                await site.until("up")
                await site.is_well()

    run(test)


def test_a_coordinator_that_vanishes_without_a_word_is_noticed():
    async def test():
        passed = asyncio.Event()
        writers = []

        async def forward(reader, writer):
            writers.append(writer)
            while data := await reader.read(65536):
                writer.write(data)

        async with listening() as address:
            host, port = address.split(":")

            async def proxy(reader, writer):
                far_reader, far_writer = await asyncio.open_connection(host, int(port))
                passed.set()
                await asyncio.gather(
                    forward(reader, far_writer), forward(far_reader, writer), return_exceptions=True
                )  # fmt: skip

            between = await asyncio.start_server(proxy, "127.0.0.1", 0)
            async with linked(f"127.0.0.1:{between.sockets[0].getsockname()[1]}") as site:
                await site.until("up")
                await site.is_well()
                for writer in writers:
                    writer.transport.abort()
                _, reason, fatal = await site.until("down")
                assert "broke off" in reason
                assert not fatal
                await site.until("up")
                await site.is_well()
            between.close()
            for writer in writers:
                writer.transport.abort()

    run(test)


def test_both_ends_notice_that_the_other_is_silent_though_connected():
    quick = {"keepalive_s": 0.2, "keepalive_timeout_s": 0.2}

    async def test():
        gone, held = asyncio.Event(), []

        async def wait(link):
            try:
                await echo(link)
            finally:
                gone.set()

        async with listening(on_link=wait, limits=ServerLimits(farewell_s=0.2, **quick)) as address:
            host, port = address.split(":")
            is_open = asyncio.Event()
            is_open.set()

            async def forward(reader, writer):
                held.append(writer)
                while data := await reader.read(65536):
                    await is_open.wait()
                    writer.write(data)

            async def proxy(reader, writer):
                far_reader, far_writer = await asyncio.open_connection(host, int(port))
                ways = forward(reader, far_writer), forward(far_reader, writer)
                await asyncio.gather(*ways, return_exceptions=True)

            between = await asyncio.start_server(proxy, "127.0.0.1", 0)
            near = f"127.0.0.1:{between.sockets[0].getsockname()[1]}"
            async with linked(near, limits=LinkLimits(**quick)) as site:
                await site.until("up")
                await site.is_well()
                is_open.clear()  # nothing passes, and no connection is closed
                assert "broke off" in (await site.until("down"))[1]
                await gone.wait()
                is_open.set()
                await site.until("up")
                await site.is_well()
            between.close()
            for writer in held:
                writer.transport.abort()

    run(test)


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
                assert "speaks version 1 of tacit's protocol and this coordinator speaks version 2" in said
                assert fatal
            await good.is_well()

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
    limits = ServerLimits(message_bytes=10_000, farewell_s=0.2)

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


def test_a_frame_that_is_too_large_is_not_even_sent():
    async def test():
        limits = LinkLimits(message_bytes=10_000)
        async with listening() as address, linked(address, limits=limits) as site:
            await site.until("up")
            with pytest.raises(ProtocolError, match="20000 bytes is larger than the limit of 10000"):
                site.link.send(bytes(20_000))
            await site.is_well()

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
    limits = ServerLimits(handshake_s=0.05, farewell_s=0.2)

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


def test_a_site_that_vanishes_cancels_its_half_of_the_coordinator():
    async def test():
        gone = asyncio.Event()

        async def wait(link):
            try:
                async for _ in link:
                    pass
            finally:
                gone.set()

        async with listening(on_link=wait) as address:
            site = Site(address)
            task = asyncio.create_task(site.link.run(site.stop))
            await site.until("up")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await gone.wait()

    run(test)


def test_what_was_queued_before_the_stop_arrives():
    async def test():
        heard = asyncio.Queue()

        async def listen_to_the_end(link):
            async for frame in link:
                heard.put_nowait(frame)
            heard.put_nowait(None)

        async with listening(on_link=listen_to_the_end) as address:
            async with linked(address) as site:
                await site.until("up")
                for number in range(100):
                    site.link.send(b"%d" % number)
            assert [await heard.get() for _ in range(101)] == [*(b"%d" % number for number in range(100)), None]

    run(test)


def test_what_the_coordinator_queued_before_it_ended_a_stream_arrives():
    async def test():
        async def farewell(link):
            for number in range(100):
                link.send(b"%d" % number)

        async with listening(on_link=farewell) as address, linked(address) as site:
            assert [(await site.until("frame"))[1] for _ in range(100)] == [b"%d" % number for number in range(100)]
            assert "ended the stream" in (await site.until("down"))[1]

    run(test)


def test_two_coordinators_do_not_share_a_port():
    async def test():
        async with listening() as address:
            with pytest.raises(MachineError, match=r"cannot listen on .* the port is taken"):
                await listen(address)

    run(test)


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost:port", ":::7", "127.0.0.1:99999", ""])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(OptionError, match="is no address"):
        Site(address)


def test_something_else_at_the_address_is_told(monkeypatch):
    monkeypatch.setattr(tls_probe, "PROBE_S", 0.1)

    async def test():
        with socket.create_server(("127.0.0.1", 0)) as mute:
            limits = LinkLimits(handshake_s=0.1)
            async with linked(f"127.0.0.1:{mute.getsockname()[1]}", limits=limits) as site:
                assert "at 127.0.0.1" in (await site.until("down"))[1]

    run(test)


def test_pauses_grow_are_spread_and_start_over():
    limits = LinkLimits(backoff_first_s=1.0, backoff_last_s=8.0)
    backoffs = [Backoff(limits, random.Random(seed)) for seed in range(200)]
    for longest in (1.0, 2.0, 4.0, 8.0, 8.0):
        pauses = [backoff.pause(fatal=False, steady=False) for backoff in backoffs]
        assert all(0 <= pause <= longest for pause in pauses)
        assert min(pauses) < 0.1 * longest
        assert max(pauses) > 0.9 * longest
    assert max(backoff.pause(fatal=False, steady=True) for backoff in backoffs) <= 1.0
