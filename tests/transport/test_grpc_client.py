"""Questions to a coordinator over real sockets, and its refusals as errors of one sentence."""

from __future__ import annotations

import asyncio

import pytest

from tacit.transport import grpc_client
from tacit.transport.certificates import make_certificates
from tacit.transport.grpc_client import ask, follow
from tacit.transport.security import ClientTls, ServerSecurity, TlsFiles, hashed
from tacit.vocabulary import MachineError, SentenceError, TacitError
from tests.transport.grpc_lab import linked, listen, listening, run

TOKENS = ServerSecurity(site_tokens=hashed({"north": "site-token"}), client_tokens=hashed({"desk": "client-token"}))


async def complaint(*args, **options) -> str:
    """What asking ends with, when it is refused."""
    with pytest.raises(TacitError) as caught:
        await asyncio.to_thread(ask, *args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_question_and_its_answer():
    async def test():
        async with listening() as address:
            assert await asyncio.to_thread(ask, address, {"sql": "SHOW WATCHES — ü"}) == {
                "said": {"sql": "SHOW WATCHES — ü"},
                "client": "",
            }

    run(test)


def test_answers_as_they_come():
    async def test():
        async with listening() as address:
            assert await asyncio.to_thread(lambda: [each["number"] for each in follow(address, {"to": 5})]) == [
                *range(5)
            ]

    run(test)


def test_a_follower_that_leaves_ends_its_generator():
    async def test():
        closed = asyncio.Event()

        async def forever(request, client):
            try:
                while True:
                    yield {}
                    await asyncio.sleep(0)
            finally:
                closed.set()

        def look_once(address):
            answers = follow(address, {})
            next(answers)
            answers.close()

        async with listening(on_follow=forever) as address:
            await asyncio.to_thread(look_once, address)
            await closed.wait()

    run(test)


def test_a_follower_is_told_when_the_coordinator_stops():
    async def test():
        begun = asyncio.Event()

        async def once(request, client):
            yield {"number": 1}
            begun.set()
            await asyncio.Event().wait()

        server = await listen(on_follow=once)
        answers = asyncio.create_task(asyncio.to_thread(lambda: list(follow(f"127.0.0.1:{server.port}", {}))))
        await begun.wait()
        await server.stop(5.0)
        with pytest.raises(TacitError, match=r"^the coordinator stops$"):
            await answers

    run(test)


def test_the_coordinators_errors_keep_their_kind():
    async def test():
        async def refuse(request, client):
            raise SentenceError("there is no column named so3", line=2, column=14)

        async def fail(request, client):
            raise MachineError("the disk is full")
            yield {}

        async with listening(on_ask=refuse, on_follow=fail) as address:
            with pytest.raises(SentenceError, match=r"^line 2, column 14: there is no column named so3$") as caught:
                await asyncio.to_thread(ask, address, {})
            assert caught.value.exit_code == 2
            with pytest.raises(MachineError, match=r"^the disk is full$"):
                await asyncio.to_thread(lambda: list(follow(address, {})))

    run(test)


def test_a_defect_is_logged_and_not_told(caplog):
    async def test():
        async def fail(request, client):
            raise RuntimeError("the secret of the house")

        async with listening(on_ask=fail) as address:
            assert "its log says why" in await complaint(address, {})

    run(test)
    assert "the secret of the house" in caplog.text


def test_tokens_of_clients():
    async def test():
        async with listening(security=TOKENS) as address:
            assert (await asyncio.to_thread(ask, address, {}, token="client-token"))["client"] == "desk"
            assert "asks for a token, and none came" in await complaint(address, {})
            assert "is not one that this coordinator accepts" in await complaint(address, {}, token="wrong")
            assert "this is a site's token" in await complaint(address, {}, token="site-token")
            with pytest.raises(TacitError, match="asks for a token"):
                await asyncio.to_thread(lambda: list(follow(address, {"to": 1})))

    run(test)


def test_refused_clients_leave_sites_alone():
    async def test():
        async with listening(security=TOKENS) as address, linked(address, token="site-token") as site:
            await site.until("up")
            await complaint(address, {}, token="wrong")
            await site.is_well()

    run(test)


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(grpc_client, "calling_card", lambda **_: (("tacit-protocol", "9"),))

    async def test():
        async with listening() as address:
            assert "speaks version 9 of tacit's protocol and this coordinator speaks version 4" in await complaint(
                address, {}
            )

    run(test)


def test_no_coordinator_there():
    async def test():
        async with listening() as address:
            pass
        assert await complaint(address, {}) == (
            f"no coordinator listens at {address}; start it with `tacit coordinator`, or check the address"
        )

    run(test)


def test_a_slow_answer_is_not_waited_for_forever():
    async def test():
        async def wait(request, client):
            await asyncio.Event().wait()

        async with listening(on_ask=wait) as address:
            assert "did not answer in time" in await complaint(address, {}, timeout_s=0.1)

    run(test)


def test_over_tls(tmp_path):
    folder = tmp_path / "certs"
    make_certificates(folder)
    make_certificates(tmp_path / "other")
    security = ServerSecurity(TlsFiles(folder / "server.pem", folder / "server.key"))

    async def test():
        async with listening(security=security) as address:
            await asyncio.to_thread(ask, address, {}, tls=ClientTls(folder / "ca.pem"))
            assert "from a CA that is not trusted here" in await complaint(
                address, {}, tls=ClientTls(tmp_path / "other" / "ca.pem")
            )
            assert "speaks TLS" in await complaint(address, {})

    run(test)
