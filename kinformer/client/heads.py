"""Heads of events: decides by an object's namespace, uid and controller whether its event has to be decoded at all.

A process that shares the objects of a server out with others needs only its part of a watch. Decoding an event of a pod
of 5 KB takes 10 µs or more, and most of them would be dropped after that. The beginning of a line says enough, and
reading it takes less than 1 µs: Kubernetes writes the type, apiVersion, kind, name, namespace, uid and version of its
own types first, in this order. The references to owners, if they matter, are looked for between these and the spec.
Custom resources have their fields in the order of the alphabet. For these, and for any other order, the JSON is read as
far as these fields, which takes about a third of a decode.

Lines of watches go in, and the lines that are wanted come out, as they were. A line that is not understood here, such
as an ERROR, a bookmark or no JSON at all, is wanted: the decoder deals with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from kinformer.models import DECODE_ERRORS

if TYPE_CHECKING:
    from kinformer.client.pieces import Piece

__all__ = ("Wanted", "keep_wanted")

#: The most namespaces whose answers are remembered.
_MOST_ANSWERS: Final = 2**16


class Wanted:
    """
    Which objects are wanted.

    :param accepts: whether an object with this namespace, this uid and this uid of its controller is wanted
    :param by_namespace: whether the namespace alone decides. Then `accepts` may get ``""`` for the others, and is asked
        once for each namespace until :meth:`forget`
    :param by_owner: whether the controller matters. If not, `accepts` may get ``""`` for it, as for those without one
    """

    __slots__ = ("accepts", "by_namespace", "by_owner", "left_out")

    def __init__(
        self, accepts: Callable[[str, str, str], bool], *, by_namespace: bool = False, by_owner: bool = False
    ) -> None:
        self.accepts = accepts
        self.by_owner = by_owner
        #: How many lines of each namespace were left out, if it alone decides.
        self.left_out: Counter[bytes] = Counter()
        #: The answers for each namespace, if it alone decides.
        self.by_namespace = _Answers(accepts, self.left_out) if by_namespace else None

    def forget(self) -> None:
        """Ask again for each namespace: the answers may be others from now on."""
        if self.by_namespace is not None:
            self.by_namespace.clear()


class _Answers(dict[bytes, bool]):
    """Whether the objects of a namespace are wanted. It is asked for each event, with few different namespaces."""

    __slots__ = ("_accepts", "_left_out")

    def __init__(self, accepts: Callable[[str, str, str], bool], left_out: Counter[bytes]) -> None:
        super().__init__()
        self._accepts = accepts
        self._left_out = left_out

    def __missing__(self, namespace: bytes) -> bool:
        if len(self) >= _MOST_ANSWERS:
            self.clear()
            self._left_out.clear()
        answer = self[namespace] = self._accepts(namespace.decode(), "", "")
        return answer


#: It matches only if namespace, uid and version are ASCII. Any other line is read as JSON, and may be invalid UTF-8.
#: Alternatives with an empty one take 0.15 µs for a pod, optional groups (``?``) 0.7.
_HEAD: Final = re.compile(
    rb'\{"type":"(?:ADDED|MODIFIED|DELETED)","object":\{'
    rb'(?:"kind":"[^"\\]*","apiVersion":"[^"\\]*",|"apiVersion":"[^"\\]*","kind":"[^"\\]*",|)'
    rb'"metadata":\{"name":"[^"\\]*",(?:"generateName":"[^"\\]*",|)'
    rb'(?:"namespace":"([!#-\[\]-~]*)",|)(?:"selfLink":"[^"\\]*",|)"uid":"([!#-\[\]-~]+)",'
    rb'"resourceVersion":"([!#-\[\]-~]*)"'
)
#: An object without a namespace at its place may have it later, in an order that is not Kubernetes'.
_NAMESPACE: Final = b'"namespace":'
#: In the values of labels and annotations, a text like this has its quotes escaped.
_OWNERS: Final = b'"ownerReferences":['
#: What follows the metadata, and may have such references, too.
_SPEC, _DATA = b'"spec":{', b'"data":{'
_CONTROLLER: Final = b'"controller":true'
_UID: Final = re.compile(rb'"uid":"([!#-\[\]-~]*)"')
_CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})


class _Reference(msgspec.Struct):
    uid: str = ""
    controller: bool = False


class _Meta(msgspec.Struct, rename="camel"):
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: list[_Reference] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


class _Event(msgspec.Struct):
    type: str
    object: _Object


_event: Final = msgspec.json.Decoder(_Event)
_NOTHING: Final = (b"", b"", b"", b"")


def keep_wanted(data: bytes, start: int, end: int, wanted: Wanted, kept: list[Piece]) -> bytes:
    """
    Look for the lines of a watch whose objects are wanted. Nothing is copied.

    :param data: has whole lines from `start` to `end`
    :param kept: where the wanted lines are appended, in pieces of one or more lines
    :return: the version of the last line, if that was left out, otherwise empty
    """
    match, find, answers, left_out = _HEAD.match, data.find, wanted.by_namespace, wanted.left_out
    at = begins = start  # the lines from `begins` to `at` are wanted, and not yet in `kept`
    version = b""
    head: re.Match[bytes] | None = None
    while at < end:
        following = find(b"\n", at, end) + 1 or end
        head = match(data, at, following)
        if answers is not None and head is not None and (namespace := head[1]) is not None:
            is_wanted = answers[namespace]
            if not is_wanted:
                left_out[namespace] += 1
        else:
            is_wanted, version = _is_wanted(data, at, following, head, wanted)
            head = None
        if not is_wanted:
            if begins < at:
                kept.append(memoryview(data)[begins:at])
            begins = following
        at = following
    if begins < end:
        kept.append(memoryview(data)[begins:end] if begins or end < len(data) else data)
        return b""
    return version if head is None else head[3]


def _is_wanted(
    data: bytes, at: int, following: int, head: re.Match[bytes] | None, wanted: Wanted
) -> tuple[bool, bytes]:
    """Whether the object of a line is wanted, and its version."""
    owner: bytes | None = b""
    if head is not None and wanted.by_owner:
        owner = _controller_in(data, head.end(), following)
    if head is None or owner is None or (head[1] is None and data.find(_NAMESPACE, head.end(), following) >= 0):
        namespace, uid, version, owner = _read(data[at:following])
    else:
        namespace, uid, version = head.groups(b"")
    if not uid:
        return True, version
    return wanted.accepts(namespace.decode(), uid.decode(), owner.decode()), version


def _controller_in(lines: bytes, begin: int, end: int) -> bytes | None:
    """The uid of the controller of an object; empty if it has none, None if that cannot be told."""
    at = lines.find(_OWNERS, begin, end)
    if at < 0:
        return b""
    controls = lines.find(_CONTROLLER, at, lines.find(b"]", at, end))
    if controls < 0 or lines.find(_SPEC, begin, at) >= 0 or lines.find(_DATA, begin, at) >= 0:
        return None
    uid = _UID.search(lines, lines.rfind(b"{", at, controls), lines.find(b"}", controls, end))
    return uid[1] if uid is not None else None


def _read(line: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """The namespace, uid, version and controller of a change's object; empty if the line is no change or has no uid."""
    try:
        event = _event.decode(line)
    except DECODE_ERRORS:
        return _NOTHING
    if event.type not in _CHANGES:
        return _NOTHING
    meta = event.object.metadata
    owner = next((it.uid for it in meta.owner_references or () if it.controller), "")
    return meta.namespace.encode(), meta.uid.encode(), meta.resource_version.encode(), owner.encode()
