"""Validation of names, label keys and label values, by apimachinery's rules, and of base64.

Each function named after errors returns a list of them in the words of an API server; it is empty for a valid value.
"""

from __future__ import annotations

import re

__all__ = (
    "condition_reason_errors",
    "dns1035_label_errors",
    "dns1123_label_errors",
    "dns1123_subdomain_errors",
    "is_base64",
    "label_key_errors",
    "label_value_errors",
    "quoted",
    "regex_error",
)

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_NAME_RE = re.compile(_NAME)
_REASON_RE = re.compile(_REASON)
_VALUE_RE = re.compile(_VALUE)
_DNS_LABEL_RE = re.compile(_DNS_LABEL)
_DNS1035_LABEL_RE = re.compile(_DNS1035_LABEL)
# Kubernetes' expression, written so that a long text that does not match is rejected in linear time.
_DNS_SUBDOMAIN_RE = re.compile(r"[a-z0-9]++(?:-++[a-z0-9]++)*+(?:\.[a-z0-9]++(?:-++[a-z0-9]++)*+)*+")

_NAME_TOLD = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_EXAMPLES = ("MyName", "my.name", "123-abc")

_BASE64_RE = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_ESCAPES |= {'"': '\\"', "\\": "\\\\"}


def quoted(text: str) -> str:
    """A text in quotes, as errors of an API server show it: what cannot be seen is escaped, also beyond ASCII."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char.isprintable() or char in _ESCAPES:
        return _ESCAPES.get(char, char)
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def is_base64(text: str) -> bool:
    """Whether it is base64 to Go. Python's decoder also takes padding after a text that needs none."""
    return _BASE64_RE.fullmatch(text) is not None


def label_key_errors(key: str) -> list[str]:
    """The errors of a label's key (a "qualified name"): an optional DNS prefix and ``/``, then a name."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        told = regex_error(f"a valid label key {_NAME_TOLD}", _NAME, *_NAME_EXAMPLES)
        return [f"{told} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in _dns1123_subdomain_errors(prefix, "bytes")]
    if not name:
        errors.append("name part must be non-empty")
    elif _bytes(name) > 63:
        errors.append(f"name part {_max_length_error(63)}")
    if _NAME_RE.fullmatch(name) is None:
        errors.append(f"name part {regex_error(_NAME_TOLD, _NAME, *_NAME_EXAMPLES)}")
    return errors


def condition_reason_errors(reason: str) -> list[str]:
    """The errors of the reason of a condition of the type ``metav1.Condition``."""
    if _REASON_RE.fullmatch(reason) is not None:
        return []
    told = (
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
        "characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    return [regex_error(told, _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")]


def label_value_errors(value: str) -> list[str]:
    """The errors of a label's value."""
    errors = []
    if _bytes(value) > 63:
        errors.append(_max_length_error(63))
    if _VALUE_RE.fullmatch(value) is None:
        told = f"a valid label must be an empty string or {_NAME_TOLD.replace('must consist', 'consist', 1)}"
        errors.append(regex_error(told, _VALUE, "MyValue", "my_value", "12345"))
    return errors


def dns1123_subdomain_errors(name: str) -> list[str]:
    """The errors of a name as most objects have it: lower case, digits, ``-`` and ``.``, up to 253 bytes."""
    return _dns1123_subdomain_errors(name, "characters")


def dns1123_label_errors(name: str) -> list[str]:
    """The errors of a name that is one DNS label, like a namespace's: lower case, digits and ``-``, up to 63 bytes."""
    errors = []
    if _bytes(name) > 63:
        errors.append(_max_length_error(63, "characters"))
    if _DNS_LABEL_RE.fullmatch(name) is None:
        if _DNS_SUBDOMAIN_RE.fullmatch(name) is not None:
            errors.append("must not contain dots")
        else:
            told = (
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
                "and must start and end with an alphanumeric character"
            )
            errors.append(regex_error(told, _DNS_LABEL, "my-name", "123-abc"))
    return errors


def dns1035_label_errors(name: str) -> list[str]:
    """The errors of a name as resources and versions have it: a DNS label that begins with a letter."""
    errors = []
    if _bytes(name) > 63:
        errors.append(_max_length_error(63, "characters"))
    if _DNS1035_LABEL_RE.fullmatch(name) is None:
        told = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character"
        )
        errors.append(regex_error(told, _DNS1035_LABEL, "my-name", "abc-123"))
    return errors


def _max_length_error(length: int, unit: str = "bytes") -> str:
    """Kubernetes' message for a text that is too long. It counts bytes, but says characters for DNS names."""
    return f"must be no more than {length} {unit}"


def regex_error(told: str, pattern: str, *examples: str) -> str:
    """Kubernetes' message for a text that does not match a pattern."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{told} (e.g. {shown}regex used for validation is '{pattern}')"


def _dns1123_subdomain_errors(name: str, unit: str) -> list[str]:
    errors = []
    if _bytes(name) > 253:
        errors.append(_max_length_error(253, unit))
    if _DNS_SUBDOMAIN_RE.fullmatch(name) is None:
        told = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        errors.append(regex_error(told, _DNS_SUBDOMAIN, "example.com"))
    return errors


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
