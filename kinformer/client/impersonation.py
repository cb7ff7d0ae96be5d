"""Impersonation: acting as somebody else, whom the server then asks about instead.

A kubeconfig says so with ``as``, ``as-groups``, ``as-uid`` and ``as-user-extra``; kubectl with ``--as`` and
``--as-group``. It goes to the server as headers with every request. What says only groups, and no user, is refused
here: the server would not know whom it is to believe in.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from kinformer.client.errors import ConfigError

__all__ = ("Impersonation",)

#: What may stand in the name of a header; the percent sign is what escapes all else.
_HEADER_CHARACTERS: Final = string.ascii_letters + string.digits + "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """
    Whom a client acts as.

    :param extra: what else is known of the user: a list of values for each key
    :raises ConfigError: if there are groups, a uid or extras, and no user
    """

    user: str = ""
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user and (self.groups or self.uid or self.extra):
            raise ConfigError("it asks for groups, a uid or extras of a user to impersonate, and names no user")

    def headers(self) -> Iterator[tuple[str, str]]:
        """The headers that say so, none if nobody is impersonated."""
        if not self.user:
            return
        yield "Impersonate-User", self.user
        if self.uid:
            yield "Impersonate-Uid", self.uid
        for group in self.groups:
            yield "Impersonate-Group", group
        for key, values in self.extra.items():
            for value in values:
                yield f"Impersonate-Extra-{quote(key, safe=_HEADER_CHARACTERS)}", value
