"""Long answers, given aside: in a thread, so that the event loop goes on meanwhile.

The server runs inside people's test processes. To read, check and store 3 MB takes Python the better part of a second,
and for that long nothing else would run in such a process: no timer, no other client. Such a request is answered by a
thread, of which Python lets the loop have its turn every few milliseconds. It is the storage's only guest for that
time: other requests wait for it, as they would have had to on the loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from kinformer.envtest.handlers.bodies import media_type
from kinformer.envtest.handlers.call import Answer, Call
from kinformer.envtest.handlers.views import to_yaml
from kinformer.envtest.storage import Disturbed, Guest, Storage

__all__ = ("Aside", "takes_long", "to_yaml_aside")

T = TypeVar("T")

#: What is shorter than this is read, checked and stored in far less than a tenth of a second.
_LONG: Final = 128 * 1024
_TRIES: Final = 3
_YAML: Final = ("application/yaml", "application/apply-patch+yaml")
_JSON_PATCH: Final = "application/json-patch+json"


def takes_long(call: Call, storage: Storage) -> bool:
    """Whether a write is one of a large object, or may make a large one of a few bytes."""
    body = call.body
    if len(body) > _LONG:
        return True
    if b"&" in body and b"*" in body and media_type(call.content_type) in _YAML:
        return True
    if (b"copy" in body or b"\\u" in body) and media_type(call.content_type) == _JSON_PATCH:
        return True
    if not call.name:
        return False
    stored = storage.get(call.resource.storage, call.namespace, call.name)
    return stored is not None and len(stored.raw) > _LONG


class Aside:
    """The thread for one storage's long answers, one at a time."""

    def __init__(self, storage: Storage):
        self._storage = storage

    async def run(self, function: Callable[[Call], T], call: Call) -> T:
        """
        What a function makes of a request, in a thread; on the loop, if it is disturbed there again and again.

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
                # Who reads while others write may find anything; only an answer to what is stored counts.
                if not isinstance(error, Disturbed) and (not guest.is_disturbed or guest.has_written):
                    raise
                call.warnings[:] = told
            finally:
                self._storage.dismiss()
        return function(call)


def _as_guest(guest: Guest, function: Callable[[Call], T], call: Call) -> T:
    guest.thread = threading.get_ident()
    return function(call)


async def to_yaml_aside(body: bytes, code: int) -> Answer:
    """An answer in YAML instead of JSON; a long one is written in a thread."""
    if len(body) <= _LONG:
        return to_yaml(body, code)
    return await anyio.to_thread.run_sync(to_yaml, body, code)
