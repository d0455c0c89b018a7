"""Sites and a coordinator on real sockets: frames go both ways in order, and links come back."""

from __future__ import annotations

import asyncio
import random
import socket

import pytest

from tacit.transport import tls_probe
from tacit.transport.backoff import Backoff
from tacit.transport.limits import LinkLimits, ServerLimits
from tacit.vocabulary import MachineError, OptionError
from tacit.wire import encode_frame
from tests.transport.grpc_lab import Site, between, echo, linked, listen, listening, run


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
            await first.stop(10.0)  # it is over as soon as the site has heard of it
            assert await site.until("down") == ("down", "the coordinator stops", False)
            assert not site.link.is_up
            assert not site.link.send(b"lost")
            reason, fatal = (await site.until("down"))[1:]
            while "broke off" in reason:  # it dialled before the port was closed
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
        async with listening() as address, between(address) as proxy, linked(proxy.address) as site:
            await site.until("up")
            await site.is_well()
            proxy.cut()
            _, reason, fatal = await site.until("down")
            assert "broke off" in reason
            assert not fatal
            await site.until("up")
            await site.is_well()

    run(test)


def test_both_ends_notice_that_the_other_is_silent_though_connected():
    quick = {"keepalive_s": 0.5, "keepalive_timeout_s": 1.0}

    async def test():
        gone = asyncio.Event()

        async def wait(link):
            try:
                await echo(link)
            finally:
                gone.set()

        async with listening(on_link=wait, limits=ServerLimits(**quick)) as address:
            async with between(address) as proxy, linked(proxy.address, limits=LinkLimits(**quick)) as site:
                await site.until("up")
                await site.is_well()
                proxy.passes.clear()
                assert "broke off" in (await site.until("down"))[1]
                await gone.wait()
                proxy.passes.set()
                await site.until("up")
                await site.is_well()

    run(test)


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
