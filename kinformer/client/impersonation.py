"""Impersonation: a client acts as another user, and the server authorizes that user instead.

A kubeconfig configures it with ``as``, ``as-groups``, ``as-uid`` and ``as-user-extra``, and kubectl with ``--as`` and
``--as-group``. It is sent as headers with every request. Groups without a user are refused here, because the server
could not use them.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from kinformer.client.errors import ConfigError

__all__ = ("Impersonation",)

#: Characters that are allowed in a header's name. All others are escaped with the percent sign.
_HEADER_CHARACTERS: Final = string.ascii_letters + string.digits + "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """
    The user that a client acts as.

    :param extra: other attributes of the user: a list of values for each key
    :raises ConfigError: if there are groups, a uid or extras, but no user
    """

    user: str = ""
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user and (self.groups or self.uid or self.extra):
            raise ConfigError("it asks for groups, a uid or extras of a user to impersonate, and names no user")

    def headers(self) -> Iterator[tuple[str, str]]:
        """The headers of the impersonation; none if there is no user."""
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
