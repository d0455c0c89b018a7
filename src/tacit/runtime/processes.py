"""The coordinator and the sites as processes of their own, started again when they end without being told to."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from tacit.runtime.config_models import Config
from tacit.runtime.dialling import client_dialling
from tacit.transport.grpc_client import ask
from tacit.transport.security import ClientTls, TlsFiles
from tacit.vocabulary import TacitError

__all__ = ["Processes"]

_log = logging.getLogger(__name__)

_AGAIN_S = 2.0
_WRONG_INPUT = 2


class Processes:
    """A coordinator and sites of a configuration: commands of this program, by name."""

    def __init__(self, commands: Mapping[str, list[str]], config: Config) -> None:
        self._commands = dict(commands)
        self._dialling, self._tls = client_dialling(config), config.coordinator.tls is not None
        self.silence: str | None = None
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._again: dict[str, float] = {}

    def start(self) -> None:
        """Start all of them."""
        for name in self._commands:
            self._start(name)

    def mind(self) -> None:
        """Start again what has ended; what ended because its input is wrong will not end otherwise."""
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            if code == _WRONG_INPUT:
                raise TacitError(f"{name} cannot run; its message is above")
            due = self._again.setdefault(name, time.monotonic() + _AGAIN_S)
            if time.monotonic() >= due:
                del self._again[name]
                _log.warning("%s ended with %s and is started again", name, code)
                self._start(name)

    def status(self) -> dict[str, Any] | None:
        """What the coordinator says, if it can be asked; else ``silence`` is why it cannot."""
        dialling = self._dialling
        identity = None
        if dialling.certificate is not None and dialling.key is not None:
            identity = TlsFiles(dialling.certificate, dialling.key)
        tls = None if dialling.ca is None and not self._tls else ClientTls(dialling.ca, identity)
        try:
            found = ask(dialling.address, {"status": True}, token=dialling.token, tls=tls, timeout_s=5.0)
        except TacitError as error:
            self.silence = str(error)
            return None
        self.silence = None
        return found

    def stop(self, seconds: float) -> bool:
        """Ask all to end; what has not after so long is killed. Was something?"""
        killed = False
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + seconds
        for process in self._running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed = True
        return killed

    def _start(self, name: str) -> None:
        command = [sys.executable, "-m", "tacit", *self._commands[name]]
        self._running[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL)
