"""``store=`` and ``judge=``: finished runs are kept, in a store that is opened only for them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastwatch.settings import Settings
    from mastwatch.sinks.recorder import Recorder
    from mastwatch.spans.content import ContentPolicy
    from mastwatch.store.sqlite import SqliteStore
    from mastwatch.watch import Watch

_log = logging.getLogger("mastwatch")


def wanted(settings: Settings) -> bool:
    """Whether finished runs are to be kept: the judge needs a store too."""
    return bool(settings.store or settings.judge)


def open_store(settings: Settings, *, create: bool = True) -> SqliteStore:
    """The store that the settings name; its file is opened when it is first used."""
    # Imported when asked for: without a store nobody pays for sqlite.
    from mastwatch.store.place import place
    from mastwatch.store.retention import Retention
    from mastwatch.store.sqlite import SqliteStore

    keep = Retention(max_days=settings.store_max_days, max_bytes=int(settings.store_max_mb * 2**20))
    return SqliteStore(place(settings.store), keep, create=create)


def start(settings: Settings, watch: Watch, content: ContentPolicy) -> Recorder:
    """Keep finished runs from now on.

    A store that cannot be opened is said at once; recording goes on, as it may only be busy.
    """
    from mastwatch.sinks.recorder import Recorder
    from mastwatch.spans.core import firing_ids
    from mastwatch.store import StoreError

    store = open_store(settings)
    try:
        store.check()
        store.close()  # so that no connection is carried into workers forked from here
    except StoreError as error:
        _log.warning("mastwatch: %s", error)
    recorder = Recorder(
        store,
        content.redacted,
        watch.drop,
        firing_ids,
        {"release": settings.release, "environment": settings.environment},
        max_runs=settings.max_runs,
    )
    watch.add_sink(recorder)
    return recorder
