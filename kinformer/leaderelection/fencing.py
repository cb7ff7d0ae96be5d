"""Fencing: each write carries the term of the lease that it is made under, and the server refuses older terms.

A guard cannot rule out that a write arrives late, when its lease has run out and another process leads. The server can
refuse such a write: a ValidatingAdmissionPolicy compares the term of the write with that of the Lease, which is its
parameter (``docs/deploy/fencing``). This module adds the term, as an annotation, to creations, updates and patches of
the listed resources and of their status. The server ignores it in the status of a custom resource. A deletion has no
object and carries no term.

A lease's term is its ``leaseTransitions``, which rise by one with each new leader. The term of a member of a group of
shards is its own name: it is never used again, and the group's table has it as long as the member owns a range.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kinformer.client import Client
from kinformer.client.wrapping import WrappedTransport
from kinformer.meta.requests import about

if TYPE_CHECKING:
    from kinformer.client.transport import Transport

__all__ = ("TERM_ANNOTATION", "FenceError", "fenced_client")

TERM_ANNOTATION: Final = "kinformer.dev/lease-term"

_VERBS: Final = frozenset({"create", "update", "patch"})
_SUBRESOURCES: Final = frozenset({"", "status"})
_body: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_meta: Final = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_annotations: Final = msgspec.json.Decoder(dict[str, str | None] | None)


class FenceError(ValueError):
    """A write of a fenced resource cannot carry a term."""


def fenced_client(client: Client, resources: Collection[str], term: Callable[[], str]) -> Client:
    """
    Make a client whose writes of some resources carry the term of a lease.

    :param resources: plural and group of each: ``pods``, ``deployments.apps``; if empty, the client itself is returned
    :param term: returns the term
    """
    if not resources:
        return client
    return client.through(lambda transport: _FencedTransport(transport, frozenset(resources), term))


class _FencedTransport(WrappedTransport):
    """A transport that adds the term to what it sends."""

    def __init__(self, transport: Transport, resources: frozenset[str], term: Callable[[], str]) -> None:
        super().__init__(transport)
        self._resources = resources
        self._term = term

    async def request(self, method: str, path: str, *, body: bytes | None = None, **request: Any) -> bytes:
        """
        See :meth:`Transport.request`.

        :raises FenceError: for a JSON patch, in which an annotation cannot be added without knowing the object
        """
        asked = about(method, path)
        if body and asked.resource in self._resources and asked.verb in _VERBS and asked.subresource in _SUBRESOURCES:
            if not body.lstrip().startswith(b"{"):
                raise FenceError(
                    f"{method} {path}: a JSON patch cannot carry the term of the lease; use a merge patch, or do not "
                    f"fence {asked.resource}"
                )
            body = _with_term(body, self._term())
        answer: bytes = await self._transport.request(method, path, body=body, **request)
        return answer


def _with_term(body: bytes, term: str) -> bytes:
    """An object or a patch with the annotation. Its other fields stay as they are, byte for byte."""
    obj = _body.decode(body)
    meta = _meta.decode(obj.get("metadata", b"null")) or {}
    annotations = _annotations.decode(meta.get("annotations", b"null")) or {}
    annotations[TERM_ANNOTATION] = term
    return msgspec.json.encode({**obj, "metadata": {**meta, "annotations": annotations}})
