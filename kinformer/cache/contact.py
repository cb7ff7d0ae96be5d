"""Contact: what a reflector knows of its contact with the server.

It says since when no watch could be opened, when the server was last heard of, and whether the store may lack changes.
The reflector writes it. An informer shows it to its users, taken together over its feeds.
"""

from __future__ import annotations

from kinformer.clock import Clock

__all__ = ("Contact",)


class Contact:
    """
    :ivar lists: how many lists (plain or streaming) have filled the store
    :ivar failure: why the last list or watch failed; None while a watch is open
    :ivar breaks: how often the stream of changes broke, its beginning included
    """

    __slots__ = ("_clock", "_failing_since", "_heard_at", "_mended", "breaks", "failure", "lists")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.lists = 0
        self.failure: Exception | None = None
        self._failing_since: float | None = None
        self._heard_at: float | None = None
        #: How often the stream of changes had broken when the server showed for the last time that nothing is missing.
        self.breaks, self._mended = 1, 0

    @property
    def failing_for(self) -> float:
        """Seconds since watches could no longer be opened. 0 while a watch is open, or nothing has failed yet."""
        return 0.0 if self._failing_since is None else self._clock.monotonic() - self._failing_since

    @property
    def silent_for(self) -> float:
        """
        Seconds since the server last sent anything for this resource; 0 before the first list.

        Lists, events and bookmarks count. A server that has never sent a bookmark may send nothing while no object
        changes, so there the opening of a watch counts as well.
        """
        return 0.0 if self._heard_at is None else self._clock.monotonic() - self._heard_at

    @property
    def is_behind(self) -> bool:
        """
        Whether the store lacks changes, or may lack them since the last break.

        It is True before the first list, and from the moment when a watch broke or could not be opened until a list or
        a bookmark shows that everything since has come. The end of a watch that the server announced is no break.
        """
        return self._mended != self.breaks

    def heard(self) -> None:
        """Note that the server has sent something."""
        self._heard_at = self._clock.monotonic()

    def opened(self) -> None:
        """Note that a watch is open."""
        self._failing_since = self.failure = None

    def broke(self) -> None:
        """Note that changes may be missing."""
        self.breaks += 1

    def failed(self, error: Exception) -> None:
        """Note that a list or watch failed. The stream of changes is broken since."""
        self.failure = error
        self.breaks += 1
        if self._failing_since is None:
            self._failing_since = self._clock.monotonic()

    def mended(self, breaks: int) -> None:
        """
        Note that the store has everything that the server had.

        :param breaks: :attr:`breaks` before the server was asked; if there was another break, the note has no effect
        """
        if breaks == self.breaks:
            self._mended = breaks
