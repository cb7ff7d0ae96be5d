"""Credentials: what a client shows of itself, kept fresh, and renewed once for everybody who finds it refused.

An :class:`Identity` is what one request is sent with: the Authorization header and the TLS context with the client's
certificate. Whoever is refused says what it was sent with. If that is no longer the current identity, there is nothing
to do but to send again; else one renewal is made, and everybody who waits for it gets its outcome. So a hundred
requests whose token has expired start one exec plug-in, and an answer that comes late does not throw a good token away.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeAlias

import anyio

from kinformer.client.errors import ConfigError
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger

__all__ = ("Credentials", "Identity", "Reload", "checked_header")

log = get_logger(__name__)

#: How often credentials are asked whether they are still good; what kubernetes_asyncio and client-go (token files) do.
_REFRESH_EVERY: Final = 60.0


class Identity(NamedTuple):
    """
    What a request is sent with.

    :param header: the Authorization header, ``""`` for none
    :param tls: None: as the endpoint has it
    :param good_for: seconds after which it should be renewed, where that is known
    """

    header: str = ""
    tls: ssl.SSLContext | None = None
    good_for: float | None = None


#: Gives the credentials anew; its argument is whether the server has refused what it gave before.
Reload: TypeAlias = Callable[[bool], Awaitable[Identity | str]]


class Credentials:
    """
    Who a client is.

    :param header: the Authorization header, ``""`` for none
    :param reload: gives it anew, or a whole :class:`Identity`; None if it never changes
    :raises ConfigError: if the header could not be sent
    """

    def __init__(
        self,
        header: str = "",
        reload: Reload | None = None,
        clock: Clock | None = None,
        *,
        identity: Identity | None = None,
    ):
        self.reload = reload
        self.clock = clock or RealClock()
        self._lock = anyio.Lock()
        self._renewals = 0
        self._failure: ConfigError | None = None
        self._told = ""
        #: What requests are sent with now.
        self.identity = identity or Identity(header)
        checked_header(self.identity.header)
        self._due = self._next_check()

    def __repr__(self) -> str:
        return f"<Credentials {'with' if self.identity.header else 'without'} a header>"

    @property
    def header(self) -> str:
        """The Authorization header as it is now."""
        return self.identity.header

    @property
    def is_due(self) -> bool:
        """Whether :meth:`refresh` should be called before they are used."""
        return self.reload is not None and self.clock.monotonic() >= self._due

    async def keep_fresh(self) -> None:
        """
        Ask the source what it has now. What cannot be read is logged: the server may take what there is.

        Nobody else asks meanwhile, nor waits.
        """
        self._due = self._next_check()
        try:
            await self.refresh()
            self._told = ""
        except ConfigError as error:
            if str(error) != self._told:
                log.warning("credentials_not_renewed", error=str(error))
            self._told = str(error)

    async def refresh(self, *, refused: bool = False, used: Identity | None = None) -> bool:
        """
        Ask the source.

        :param refused: the server did not accept what it was sent
        :param used: what that was; the current ones if None
        :return: whether there is something else to send now
        :raises ConfigError: if the source cannot be read, or the plug-in fails
        """
        if self.reload is None:
            return False
        used = used or self.identity
        renewals = self._renewals
        async with self._lock:
            if used is not self.identity:
                return True
            if renewals == self._renewals:
                await self._renew(self.reload, refused)
            elif self._failure is not None:
                raise ConfigError(str(self._failure)) from self._failure
            return used is not self.identity

    async def _renew(self, reload: Reload, refused: bool) -> None:
        """One that is cancelled did not happen: whoever waits next makes it."""
        try:
            found = await reload(refused)
            if isinstance(found, str):
                found = Identity(found, self.identity.tls)
            checked_header(found.header)
        except ConfigError as error:
            self._renewals += 1
            self._failure = error
            raise
        self._renewals += 1
        self._failure = None
        if found[:2] != self.identity[:2]:
            self.identity = found
        self._due = self._next_check(found.good_for)

    def _next_check(self, good_for: float | None = None) -> float:
        good_for = self.identity.good_for if good_for is None else good_for
        # Not more often than once in a second, should a plug-in give what has expired already.
        wait = _REFRESH_EVERY if good_for is None else min(max(good_for, 1.0), _REFRESH_EVERY)
        return self.clock.monotonic() + wait


def checked_header(header: str) -> str:
    """
    A header's value, if it is one.

    :raises ConfigError: if it has a line break or anything else in it that cannot be sent; it is not shown
    """
    if not (header.isascii() and header.isprintable()):
        raise ConfigError(
            "the credentials cannot be sent in a header: there is a line break in them, or another character "
            "that is no printable ASCII"
        )
    return header
