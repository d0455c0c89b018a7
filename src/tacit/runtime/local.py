"""Everything of one configuration on this machine: the coordinator and its sites, sharing one Spark."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from tacit.runtime.config_models import Config
from tacit.runtime.config_tables import source_of
from tacit.runtime.coordinator_runner import CoordinatorRunner
from tacit.runtime.dialling import site_address
from tacit.runtime.link_thread import LinkThread
from tacit.runtime.site_runner import SiteRunner, SparkHost
from tacit.vocabulary import OptionError, TacitError

__all__ = ["LocalSites", "LocalSystem"]

_MIND_S = 0.2

_log = logging.getLogger(__name__)


class LocalSites:
    """Some sites of a configuration in this process."""

    def __init__(self, config: Config, names: Iterable[str], *, port: int | None = None) -> None:
        """``port`` is that of a coordinator in this process, where the configuration lets it have any."""
        from tacit.pipelines.live_sources import TableSource, packages_for

        self.names = tuple(names)
        if not self.names:
            raise OptionError("the configuration has no sites; write a section [sites.NAME] for each")
        sources = [source_of(table) for name in self.names for table in config.site(name).tables.values()]
        needed = (package for source in sources for package in packages_for(TableSource(**source)))
        given = " ".join((*config.spark.packages, *(str(value) for value in config.spark.conf.values())))
        # Whoever names a connector himself, as a package or as a jar, has chosen its version.
        packages = tuple(package for package in needed if package.split(":")[1] not in given)
        self.host = SparkHost(config.spark, packages)
        self.links = LinkThread()
        self.runners = []
        for name in self.names:
            address = None if port is None else site_address(config, name, port)
            self.runners.append(SiteRunner(name, config, self.host, self.links, address=address))
        self.spark_up: float | None = None

    def start(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Start Spark, then the sites; a token that is not where it should be is found before that."""
        for runner in self.runners:
            if runner.config.token is not None:
                runner.config.token.reveal()
        tell(f"starting Spark for {', '.join(self.names)}")
        self.host.session()
        self.spark_up = time.monotonic()
        for runner in self.runners:
            tell(f"starting site {runner.name}")
            runner.start()

    def mind(self, stop: threading.Event) -> None:
        """Look after every site once.

        An interrupt that sets ``stop`` cuts short a Spark that is just being started anew: that is an end like any
        other, and whoever set it sees it next.
        """
        try:
            for runner in self.runners:
                runner.mind()
        except KeyboardInterrupt:
            if not stop.is_set():
                raise

    @property
    def failures(self) -> dict[str, TacitError]:
        """The sites that cannot go on, and why."""
        return {runner.name: runner.failure for runner in self.runners if runner.failure is not None}

    def run(self, stop: threading.Event) -> None:
        """Until it is told to stop, or no site can go on."""
        while not stop.wait(_MIND_S):
            self.mind(stop)
            if len(self.failures) == len(self.runners):
                return

    def stop(self) -> None:
        """End the sites and Spark."""
        threads = [threading.Thread(target=_quietly, args=(runner.stop,)) for runner in self.runners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.host.close()
        self.links.stop()


class LocalSystem:
    """Coordinator and sites together."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.coordinator = CoordinatorRunner(config)
        self.sites: LocalSites | None = None

    def start(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Start everything. What stands in the way is raised here, and nothing is left behind."""
        tell("starting the coordinator")
        self.coordinator.start()
        try:
            port = self.coordinator.port
            self.sites = LocalSites(self.config, self.config.sites, port=port)
            self.sites.start(tell)
        except BaseException:
            self.stop()
            raise

    def mind(self, stop: threading.Event) -> None:
        """Look after everything once; as :meth:`LocalSites.mind`."""
        if self.sites is not None:
            self.sites.mind(stop)
        if self.coordinator.ended.is_set() and self.coordinator.failure is not None:
            raise TacitError(f"the coordinator failed: {self.coordinator.failure}")

    def stop(self) -> None:
        """End everything, sites first: they say goodbye to a coordinator that is there."""
        try:
            if self.sites is not None:
                self.sites.stop()
        finally:
            self.coordinator.stop()


def _quietly(work: Callable[[], None]) -> None:
    with suppress(Exception):
        work()
