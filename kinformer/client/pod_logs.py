"""Logs of a container, line by line.

``resource.logs(...)`` gives a :class:`LogStream`. A log that is followed goes on until the container ends. If the
connection breaks before that, an error is raised, so a part of a log is never taken for the whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypedDict

from kinformer.client.errors import ClientError, DecodeError
from kinformer.client.keywords import check_names

if TYPE_CHECKING:
    from kinformer.client.transport import BodyStream

__all__ = ("LogOptions", "LogStream", "log_params")

#: Bytes. Container runtimes break lines after 16 KiB. Data without a line end must not fill the memory.
_MAX_LINE: Final = 2**24

_HOW_TO_READ: Final = "write `async with resource.logs(...) as lines:` and then `async for line in lines:`"


class LogOptions(TypedDict, total=False):
    """
    The options of a log: which container, and which part.

    `container` may be left out if the pod has only one. `follow` goes on with lines that are written from now on.
    `previous` reads the log of the container before its last restart. `tail_lines` is the number of lines at most, from
    the end. `limit_bytes` is the number of bytes at most, from the beginning. `since_seconds` and `since_time` say how
    old the oldest line may be; only one of them may be given. `timestamps` adds its time to the beginning of each line.
    """

    container: str
    follow: bool
    previous: bool
    since_seconds: int
    since_time: datetime
    tail_lines: int
    limit_bytes: int
    timestamps: bool


def log_params(options: LogOptions) -> dict[str, str]:
    """
    The options as parameters of the API.

    :raises TypeError: for an option that there is not
    :raises ValueError: if both `since_seconds` and `since_time` are given, or `since_time` has no time zone
    """
    check_names(options, LogOptions)
    params: dict[str, str] = {}
    if container := options.get("container"):
        params["container"] = container
    if options.get("follow"):
        params["follow"] = "true"
    if options.get("previous"):
        params["previous"] = "true"
    if options.get("timestamps"):
        params["timestamps"] = "true"
    if "since_seconds" in options and "since_time" in options:
        raise ValueError("since_seconds and since_time are two ways to say the same: give one of them")
    if "since_seconds" in options:
        params["sinceSeconds"] = str(options["since_seconds"])
    if (since := options.get("since_time")) is not None:
        if since.tzinfo is None:
            raise ValueError("since_time has no time zone: use datetime.now(UTC)")
        params["sinceTime"] = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if "tail_lines" in options:
        params["tailLines"] = str(options["tail_lines"])
    if "limit_bytes" in options:
        params["limitBytes"] = str(options["limit_bytes"])
    return params


class LogStream:
    """
    A log of a container. ``async with`` opens and closes it. ``async for`` gives its lines, without line ends.

    Bytes that are not UTF-8 are replaced. If the connection breaks, the complete lines that have arrived come first,
    and then :exc:`ConnectionLost` is raised. A line that was cut in the middle is dropped.

    :param open_: sends the request and returns its response
    :param url: the URL of the log, for messages
    """

    def __init__(self, open_: Callable[[], Awaitable[BodyStream]], url: str):
        self._open = open_
        self._url = url
        self._stream: BodyStream | None = None
        self._entered = False
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._failure: ClientError | None = None
        self._ended = False

    async def __aenter__(self) -> LogStream:
        """
        Open the log.

        :raises BadRequest: if the container has no log yet, or the pod has several containers and none was named
        :raises NotFound: if there is no such pod
        """
        self._entered = True
        self._stream = await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __await__(self) -> Generator[Any, None, NoReturn]:
        raise RuntimeError(f"a log is not awaited: {_HOW_TO_READ}")

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        """
        The next line.

        :raises StopAsyncIteration: when the log has ended
        :raises ConnectionLost: if the connection broke before that
        """
        while not self._lines:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                raise StopAsyncIteration
            await self._read()
        return self._lines.popleft().decode(errors="replace")

    async def _read(self) -> None:
        if self._stream is None:
            if not self._entered:
                raise RuntimeError(f"the log of {self._url} was not opened: {_HOW_TO_READ}")
            raise ClientError(f"the log of {self._url} is closed")
        try:
            pieces = await self._stream.read() or ()
        except ClientError as error:
            self._failure = error
            return
        if not pieces:
            self._ended = True
            if self._rest:  # the last line may have no line end
                self._lines.append(self._rest)
            return
        *lines, self._rest = b"".join((self._rest, *pieces)).split(b"\n")
        self._lines.extend(lines)
        if len(self._rest) > _MAX_LINE:
            self._failure = DecodeError(f"a line of more than {_MAX_LINE} bytes in the log from {self._url}")
