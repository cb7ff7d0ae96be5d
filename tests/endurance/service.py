"""The quota webhook's replicas as an API server and a Service have them, and how many pods were admitted."""

from __future__ import annotations

import ssl
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import anyio

from benchmarks.quota_webhook import Asker

__all__ = ("History", "Replicas")

#: Seconds that kube-apiserver waits for a webhook.
TIMEOUT: Final = 10
#: Seconds between two looks at replicas that are not ready.
PROBE: Final = 0.2
#: What asking says of a replica that is gone.
GONE: Final = (OSError, EOFError, TimeoutError)


class Replicas:
    """
    The replicas as a Service has them: only those that are ready are asked.

    :param ports: where they listen
    :ivar again: how many times a request was sent to another replica because the first one was gone
    """

    def __init__(self, ports: Sequence[int], tls: ssl.SSLContext) -> None:
        self.again = 0
        self._ports, self._tls = ports, tls
        #: The idle connections to those that are ready.
        self._idle: dict[int, deque[Asker]] = {}
        self._turn = 0

    async def probe(self) -> None:
        """Look at those that are not ready, until cancelled, as a kubelet does."""
        while True:
            for port in self._ports:
                if port not in self._idle and await self._is_ready(port):
                    self._idle[port] = deque()
            await anyio.sleep(PROBE)

    async def _is_ready(self, port: int) -> bool:
        try:
            with anyio.fail_after(1):
                return await (await Asker.to(port, self._tls)).is_ready()
        except GONE:
            return False

    async def ask(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Ask one after the other until one answers."""
        while True:
            ready = list(self._idle)
            if not ready:
                await anyio.sleep(PROBE / 4)
                continue
            self._turn += 1
            port = ready[self._turn % len(ready)]
            idle = self._idle[port]
            try:
                with anyio.fail_after(TIMEOUT):
                    asker = idle.popleft() if idle else await Asker.to(port, self._tls)
                    answer = await asker.ask(pod)
            except GONE:
                self._idle.pop(port, None)
                self.again += 1
                continue
            idle.append(asker)
            return answer


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
