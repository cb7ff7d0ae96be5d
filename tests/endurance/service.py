"""The quota webhook's replicas as an API server and a Service have them, and how many pods were admitted."""

from __future__ import annotations

import ssl
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, Final

import anyio

from benchmarks.quota_webhook import Asker

__all__ = ("History", "Replicas")

#: Seconds that kube-apiserver waits for a webhook.
TIMEOUT: Final = 10


class Replicas:
    """
    The replicas as a Service has them.

    :param ports: where they listen
    """

    def __init__(self, ports: Sequence[int], tls: ssl.SSLContext) -> None:
        self._ports, self._tls = ports, tls
        self._idle: dict[int, deque[Asker]] = defaultdict(deque)
        self._turn = 0
        #: How many times a request was sent to another replica because the first one was gone.
        self.again = 0

    async def ask(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Ask one after the other until one answers."""
        while True:
            for _ in self._ports:
                self._turn += 1
                port = self._ports[self._turn % len(self._ports)]
                try:
                    with anyio.fail_after(TIMEOUT):
                        asker = self._idle[port].popleft() if self._idle[port] else await Asker.to(port, self._tls)
                        answer = await asker.ask(pod)
                except (OSError, EOFError, TimeoutError):
                    self._idle[port].clear()
                    self.again += 1
                    continue
                self._idle[port].append(asker)
                return answer
            await anyio.sleep(0.05)


class History:
    """How many pods there were in the tight namespace at each version."""

    def __init__(self) -> None:
        self.most = 0
        self._there: set[str] = set()

    def saw(self, type_: str, uid: str) -> None:
        """Take an event of the watch."""
        if type_ == "DELETED":
            self._there.discard(uid)
        else:
            self._there.add(uid)
            self.most = max(self.most, len(self._there))

    def __len__(self) -> int:
        return len(self._there)
