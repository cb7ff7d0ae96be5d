"""Credentials: what a client authenticates with. They are kept fresh, and a renewal is shared by all waiting requests.

An :class:`Identity` is what one request is sent with: the Authorization header, and the TLS context with the client's
certificate. A request that was refused says which identity it was sent with. If the current identity is a newer one,
the request only has to be sent again. If not, one renewal is made, and all waiting requests get its result. So a
hundred requests whose token has expired start one exec plug-in, and a late response does not cause a good token to be
dropped.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeAlias

import anyio

from kinformer.client.errors import ConfigError
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger

__all__ = ("Credentials", "Identity", "Reload", "checked_header")

log = get_logger(__name__)

#: Seconds between two reads of the source of credentials, as in kubernetes_asyncio and client-go (token files).
_REFRESH_EVERY: Final = 60.0


class Identity(NamedTuple):
    """
    What one request authenticates with.

    :param header: the Authorization header, ``""`` for none
    :param tls: the TLS context; None for the endpoint's
    :param good_for: seconds after which it should be renewed; None if that is not known
    """

    header: str = ""
    tls: ssl.SSLContext | None = None
    good_for: float | None = None


#: Control characters, and what UTF-8 has no bytes for.
_UNSENDABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]").search

#: Reads the credentials again. Its argument is whether the server has refused the last ones.
Reload: TypeAlias = Callable[[bool], Awaitable[Identity | str]]


class Credentials:
    """
    The credentials of a client.

    :param header: the Authorization header, ``""`` for none
    :param reload: reads the header again, or a whole :class:`Identity`; None if it never changes
    :param missing: whether `reload` must succeed before the first request: `identity` alone is not enough for any
    :raises ConfigError: if the header has characters that cannot be sent
    """

    def __init__(
        self,
        header: str = "",
        reload: Reload | None = None,
        clock: Clock | None = None,
        *,
        identity: Identity | None = None,
        missing: bool = False,
    ):
        self.reload = reload
        self._missing = missing
        self.clock = clock or RealClock()
        self._lock = anyio.Lock()
        self._renewals = 0
        self._failure: ConfigError | None = None
        self._told = ""
        #: The current identity, which requests are sent with.
        self.identity = identity or Identity(header)
        _check_credentials(self.identity.header)
        self._due = self._next_check()

    def __repr__(self) -> str:
        return f"<Credentials {'with' if self.identity.header else 'without'} a header>"

    @property
    def header(self) -> str:
        """The Authorization header as it is now."""
        return self.identity.header

    @property
    def is_due(self) -> bool:
        """Whether :meth:`keep_fresh` should be called before the next request."""
        return self.reload is not None and (self._missing or self.clock.monotonic() >= self._due)

    async def keep_fresh(self) -> None:
        """
        Read the source again. If that fails, the error is logged: the server may accept the present credentials.

        Meanwhile, other requests are sent with the present credentials, and do not wait. If there are none yet, every
        request waits for the first ones.

        :raises ConfigError: if there are no credentials yet, and they cannot be read
        """
        if self._missing:
            await self.refresh()
            return
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
        Read the source again, unless another request has just done so.

        :param refused: whether the server refused a request
        :param used: the identity which that request was sent with; the current one if None
        :return: whether the current identity differs from `used`, so that sending again makes sense
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
        """Renew once. If this is cancelled, nothing has changed, and the next waiting request renews."""
        try:
            found = await reload(refused)
            if isinstance(found, str):
                found = Identity(found, self.identity.tls)
            _check_credentials(found.header)
        except Exception as raised:
            # Whatever a source raises is an error of the requests that need it. Its text may hold a secret.
            error = raised if isinstance(raised, ConfigError) else _unexpected(raised)
            self._renewals += 1
            self._failure = error
            raise error from None
        self._renewals += 1
        self._failure = None
        self._missing = False
        if found[:2] != self.identity[:2]:
            self.identity = found
        self._due = self._next_check(found.good_for)

    def _next_check(self, good_for: float | None = None) -> float:
        good_for = self.identity.good_for if good_for is None else good_for
        # Not more than once a second, even if a plug-in gives credentials that have already expired.
        wait = _REFRESH_EVERY if good_for is None else min(max(good_for, 1.0), _REFRESH_EVERY)
        return self.clock.monotonic() + wait


def _unexpected(error: Exception) -> ConfigError:
    return ConfigError(f"the credentials cannot be renewed: their source raised {type(error).__name__}")


def _check_credentials(header: str) -> None:
    if not (header.isascii() and header.isprintable()):
        raise ConfigError(
            "the credentials cannot be sent in a header: they contain a line break, or another character "
            "that is not printable ASCII"
        )


def checked_header(header: str) -> str:
    """
    Return the header's value, if it can be sent: in UTF-8, as by Go's client. Names of users and groups may need that.

    :raises ConfigError: if it has a control character, such as a line break. The error does not show it.
    """
    if not (header.isascii() and header.isprintable()) and _UNSENDABLE(header):
        raise ConfigError("the value of a header cannot be sent: it contains a line break or another control character")
    return header
