"""Reading a PKCS#10 request: its subject, its alternative names and its key, as Go's ``crypto/x509`` understands them.

In: a request in PEM. Out: a :class:`Pkcs10`. The API server, its admission plug-ins and most approvers are written in
Go. A signer that sees a name in a request where they see none, or another one, would give away certificates that nobody
has approved. So what Go does not understand is left out here, too: attributes of a subject that are not text,
alternative names of other kinds than DNS, e-mail, IP and URI, and Microsoft's attribute for extensions. What could be
read in two ways is refused: a damaged block of PEM before another one, bytes left over, a second list of names.

The same holds for DER, of which as much is read and written here as the names of certificates need: an element that is
damaged, has bytes left over, or has a length in a form that DER does not allow is an error. So two readers cannot see
different content in the same bytes.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from kinformer.meta.validation import is_base64

__all__ = (
    "DNS",
    "EMAIL",
    "IP",
    "OCTET_STRING",
    "SEQUENCE",
    "SET",
    "URI",
    "Element",
    "Pkcs10",
    "element",
    "identifier",
    "read_pkcs10",
)

SEQUENCE: Final = 0x30
SET: Final = 0x31
_OBJECT_IDENTIFIER: Final = 0x06
OCTET_STRING: Final = 0x04

#: The bits of a tag's number. All of them set: the number follows in further bytes. No name has such a tag.
_NUMBER: Final = 0x1F
#: A length with this bit is the number of the bytes that have the length.
_LONG: Final = 0x80

#: The tags of the alternative names that Go reads.
EMAIL: Final = 0x81
DNS: Final = 0x82
URI: Final = 0x86
IP: Final = 0x87
_BOOLEAN: Final = 0x01
_ATTRIBUTES: Final = 0xA0

#: One block of PEM, without headers.
_PEM: Final = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----[ \t]*\r?\n([A-Za-z0-9+/=\s]*?)\n"
    rb"-----END CERTIFICATE REQUEST-----[ \t]*(?:\r?\n|\Z)"
).match
#: The characters that RFC 3986 allows in a URI, and a host with its port.
_URI: Final = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*").fullmatch
_LABEL: Final = r"[\w\-~!$&'()*+,;=]+"
_HOST: Final = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])?(?::[0-9]*)?", re.ASCII).fullmatch


class Element(NamedTuple):
    """
    One element.

    :param tag: its first byte: class, form and number
    :param raw: all of its bytes
    """

    tag: int
    content: bytes
    raw: bytes


def _read_all(data: bytes) -> list[Element]:
    """
    Read elements that follow each other.

    :raises ValueError: if the bytes are not elements
    """
    found = []
    at = 0
    while at < len(data):
        start, length = _header(data, at)
        stop = start + length
        if stop > len(data):
            raise ValueError("the DER ends early")
        found.append(Element(data[at], data[start:stop], data[at:stop]))
        at = stop
    return found


def _read(data: bytes, tag: int) -> list[Element]:
    """
    Read one element with that tag, and return the elements in it.

    :raises ValueError: if there is another element, or more than one
    """
    found = _read_all(data)
    if len(found) != 1 or found[0].tag != tag:
        raise ValueError(f"want one DER element with the tag {tag:#x}, found {[f'{it.tag:#x}' for it in found]}")
    return _read_all(found[0].content)


def element(tag: int, *contents: bytes) -> bytes:
    """Write an element."""
    content = b"".join(contents)
    length = len(content)
    if length < _LONG:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, _LONG | len(size))) + size + content


def identifier(dotted: str) -> bytes:
    """Write an object identifier, such as ``2.5.4.3``."""
    first, second, *others = map(int, dotted.split("."))
    content = b""
    for number in (first * 40 + second, *others):
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        content += bytes(reversed(digits))
    return element(_OBJECT_IDENTIFIER, content)


def _header(data: bytes, at: int) -> tuple[int, int]:
    """Return where the content of the element at a position starts, and its length."""
    if data[at] & _NUMBER == _NUMBER:
        raise ValueError(f"the DER has a tag of more than one byte: {data[at]:#x}")
    if at + 1 >= len(data):
        raise ValueError("the DER ends early")
    length, start = data[at + 1], at + 2
    if length < _LONG:
        return start, length
    size = data[start : start + length - _LONG]
    value = int.from_bytes(size)
    if not size or len(size) != length - _LONG or not size[0] or value < _LONG:
        raise ValueError("the DER has a length in a form that is not allowed")
    return start + len(size), value


_EXTENSION_REQUEST: Final = identifier("1.2.840.113549.1.9.14")


_ALTERNATIVE_NAMES: Final = identifier("2.5.29.17")


def _printable(value: bytes) -> str:
    if re.fullmatch(rb"[A-Za-z0-9 '()+,\-./:=?*&]*", value) is None:
        raise ValueError("the subject has an invalid PrintableString")
    return value.decode("ascii")


def _numeric(value: bytes) -> str:
    if re.fullmatch(rb"[0-9 ]*", value) is None:
        raise ValueError("the subject has an invalid NumericString")
    return value.decode("ascii")


def _two_bytes(value: bytes) -> str:
    text = value.removesuffix(b"\0\0").decode("utf-16-be")
    if any(ord(character) > 0xFFFF for character in text):
        raise ValueError("the subject has an invalid BMPString")
    return text


#: How the text in an attribute of a subject is decoded, by the attribute's tag.
_TEXTS: Final[dict[int, Callable[[bytes], str]]] = {
    0x0C: lambda value: value.decode("utf-8"),
    0x12: _numeric,
    0x13: _printable,
    0x14: lambda value: value.decode("latin-1"),
    0x16: lambda value: value.decode("ascii"),
    0x1E: _two_bytes,
}


class Pkcs10(NamedTuple):
    """
    A request.

    :param der: the request in DER
    :param subject: the attributes of the subject that are text: object identifiers in DER, and values
    :param names: the alternative names with the tags `EMAIL`, `DNS`, `URI` and `IP`
    :param key: the public key in DER, with its algorithm
    """

    der: bytes
    subject: tuple[tuple[bytes, str], ...]
    names: tuple[Element, ...]
    key: bytes

    def texts_of(self, attribute: bytes) -> tuple[str, ...]:
        """The values of an attribute of the subject."""
        return tuple(value for identifier, value in self.subject if identifier == attribute)

    def names_of(self, tag: int) -> tuple[str, ...]:
        """The alternative names of a kind, as text."""
        return tuple(_text_of(name) for name in self.names if name.tag == tag)

    def with_subject(self, subject: bytes) -> bytes:
        """The request in DER with another subject. Its signature is not valid."""
        information, *others = _read(self.der, SEQUENCE)
        version, _, *rest = _read_all(information.content)
        changed = element(SEQUENCE, version.raw, subject, *(it.raw for it in rest))
        return element(SEQUENCE, changed, *(it.raw for it in others))


def read_pkcs10(pem: bytes) -> Pkcs10:
    """
    Read a request.

    :raises ValueError: if it is damaged, or can be read in two ways
    """
    der = _from_pem(pem)
    information, *_ = _read(der, SEQUENCE)
    _, subject, key, *others = _read_all(information.content)
    if subject.tag != SEQUENCE or key.tag != SEQUENCE or len(others) > 1:
        raise ValueError("the request has no subject, or no key")
    attributes = [it for other in others if other.tag == _ATTRIBUTES for it in _read_all(other.content)]
    return Pkcs10(der, tuple(_subject(subject)), tuple(_alternative_names(attributes)), key.raw)


def _from_pem(pem: bytes) -> bytes:
    """Return the content of the first block. There may be text before it, and anything after it."""
    begin = pem.find(b"-----BEGIN")
    # Go passes over a block that is damaged or does not begin its line, and reads the next one. Here that is an error.
    found = _PEM(pem, begin) if begin == 0 or pem[begin - 1 : begin] == b"\n" else None
    if found is None:
        raise ValueError("want a block of PEM of the type CERTIFICATE REQUEST, without headers, as the first one")
    text = b"".join(found[1].split())
    if not is_base64(text.decode("ascii")):
        raise ValueError("the block of PEM is not base64")
    return base64.b64decode(text)


def _subject(name: Element) -> Iterator[tuple[bytes, str]]:
    for relative in _read_all(name.content):
        if relative.tag != SET:
            raise ValueError("the subject is damaged")
        for attribute in _read_all(relative.content):
            kind, value = _read(attribute.raw, SEQUENCE)
            if decode := _TEXTS.get(value.tag):
                yield kind.raw, decode(value.content)


def _alternative_names(attributes: list[Element]) -> Iterator[Element]:
    asked = []
    for attribute in attributes:
        kind, values = _read(attribute.raw, SEQUENCE)
        if kind.raw == _EXTENSION_REQUEST:
            # Go reads the first value of each such attribute, and refuses an extension that is there twice.
            first, *_ = _read(values.raw, SET)
            asked += _read(first.raw, SEQUENCE)
    seen = set()
    for extension in asked:
        kind, *_, value = parts = _read(extension.raw, SEQUENCE)
        if len(parts) != (3 if parts[1].tag == _BOOLEAN else 2) or value.tag != OCTET_STRING or kind.raw in seen:
            raise ValueError("the request asks for an extension twice, or for a damaged one")
        seen.add(kind.raw)
        if kind.raw == _ALTERNATIVE_NAMES:
            for name in _read(value.content, SEQUENCE):
                if name.tag in (EMAIL, DNS, URI, IP):
                    yield _checked(name)


def _checked(name: Element) -> Element:
    """
    Return an alternative name as Go writes it: schemes of URIs in lower case, IPv4 addresses in four bytes.

    :raises ValueError: if it is not of its kind
    """
    text, content = _text_of(name), name.content
    if name.tag == IP:
        address = ipaddress.ip_address(content)
        content = (getattr(address, "ipv4_mapped", None) or address).packed
    elif name.tag == URI:
        content = _uri(text).encode("ascii")
    return Element(name.tag, content, element(name.tag, content))


def _uri(text: str) -> str:
    scheme = urlsplit(text).scheme if _URI(text) else ""
    if not scheme or _HOST(urlsplit(text).netloc.rpartition("@")[2]) is None:
        raise ValueError(f"the request has an invalid URI: {text!r}")
    written = scheme + text[len(scheme) :]
    # An empty fragment is not part of a URI.
    return written.removesuffix("#") if written.count("#") == 1 else written


def _text_of(name: Element) -> str:
    if name.tag == IP:
        return str(ipaddress.ip_address(name.content))
    return name.content.decode("ascii")
