"""Programs can be started while streams are in use: that is how a site starts Java anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, os, signal, subprocess, threading
import tacit.transport
import grpc
from grpc import aio

ready = threading.Event()


async def echo(frames, context):
    async for frame in frames:
        yield frame


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.stream_stream_rpc_method_handler(echo)


async def main():
    server = aio.server()
    server.add_generic_rpc_handlers((Echo(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()

    async def client():
        stream = aio.insecure_channel(f"127.0.0.1:{port}").stream_stream("/a/b")()
        while True:
            await stream.write(b"frame")
            await stream.read()
            ready.set()

    await asyncio.gather(*(client() for _ in range(3)))


threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
assert ready.wait(60)
quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
started = [  # as PySpark starts Java: Python runs in the child before it becomes another program
    subprocess.Popen(["true"], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), **quiet)
    for _ in range(60)
]
codes = [each.wait(60) for each in started]
assert codes == [0] * 60, codes
os._exit(0)
"""


def test_programs_can_be_started_while_streams_are_in_use() -> None:
    source = Path(__file__).parents[2] / "src"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GRPC_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment | {"PYTHONPATH": str(source)}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
