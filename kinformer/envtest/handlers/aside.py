"""Run long requests in a thread, so that the event loop goes on.

The server runs inside the test processes of its users. Reading, checking and storing an object of 3 MB takes Python
almost a second. On the loop, no timer and no other client of the process could run during that time. So a thread
answers such a request, and Python switches between the thread and the loop every few milliseconds. Other requests to
the storage wait until the thread has finished, as they would have to wait on the loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from kinformer.envtest.handlers.bodies import media_type
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.storage import Disturbed, Guest, Storage

__all__ = ("Aside", "takes_long")

T = TypeVar("T")

#: The length in bytes. Shorter bodies are read, checked and stored in far less than a tenth of a second.
_LONG: Final = 128 * 1024
_TRIES: Final = 3
_YAML: Final = ("application/yaml", "application/apply-patch+yaml")
_JSON_PATCH: Final = "application/json-patch+json"


def takes_long(call: Call, storage: Storage) -> bool:
    """Whether a write may take long: its body or the stored object is large, or a few bytes may make a large object."""
    body = call.body
    if len(body) > _LONG:
        return True
    if b"&" in body and b"*" in body and media_type(call.content_type) in _YAML:
        return True
    if (b"copy" in body or b"\\u" in body) and media_type(call.content_type) == _JSON_PATCH:
        return True
    if not call.name:
        return False
    stored = storage.get(call.target.resource.storage, call.namespace, call.name)
    return stored is not None and len(stored.raw) > _LONG


class Aside:
    """The thread for long requests to one storage. It answers one request at a time."""

    def __init__(self, storage: Storage):
        self._storage = storage

    async def run(self, function: Callable[[Call], T], call: Call) -> T:
        """
        Call a function with a request in a thread. If other writes disturb it again and again, call it on the loop.

        :raises Exception: whatever the function raises
        """
        for _ in range(_TRIES):
            await self._storage.alone()
            guest = Guest()
            self._storage.receive(guest)
            told = list(call.warnings)
            try:
                return await anyio.to_thread.run_sync(_as_guest, guest, function, call)
            except Exception as error:
                # While another task writes, the thread may read inconsistent data and fail because of it. So an error
                # counts only if nobody has disturbed the thread, or it has written already.
                if not isinstance(error, Disturbed) and (not guest.is_disturbed or guest.has_written):
                    raise
                call.warnings[:] = told
            finally:
                self._storage.dismiss()
        return function(call)


def _as_guest(guest: Guest, function: Callable[[Call], T], call: Call) -> T:
    guest.thread = threading.get_ident()
    return function(call)
