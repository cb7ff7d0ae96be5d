from __future__ import annotations

import pytest

from kinformer.meta.validation import (
    dns1123_label_errors,
    dns1123_subdomain_errors,
    is_base64,
    label_key_errors,
    label_value_errors,
    quoted,
)


@pytest.mark.parametrize("key", ["app", "a.B_c-1", "example.com/role", "a/b", "a" * 63, "a." * 126 + "a/" + "b" * 63])
def test_these_are_label_keys(key: str) -> None:
    assert label_key_errors(key) == []


@pytest.mark.parametrize(
    "key", ["", "-a", "a-", "a b", "a/", "/a", "a/b/c", "A/b", "a..b/c", "a" * 64, "\u00fc", "a\n"]
)
def test_these_are_none_and_something_is_said_about_each(key: str) -> None:
    assert all(label_key_errors(key))
    assert label_key_errors(key)


def test_an_empty_name_is_complained_about_twice() -> None:
    missing, wrong = label_key_errors("a.b/")

    assert missing == "name part must be non-empty"
    assert wrong == (
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    )


def test_label_values_may_be_empty_and_63_long() -> None:
    assert label_value_errors("") == label_value_errors("a" * 63) == label_value_errors("1.b_C-d") == []
    assert label_value_errors("a" * 64) == ["must be no more than 63 bytes"]
    assert "a valid label must be an empty string or consist of" in label_value_errors("-")[0]


def test_names_of_objects_are_dns_subdomains() -> None:
    assert dns1123_subdomain_errors("a.b-c.1") == []
    assert dns1123_subdomain_errors("a" * 254) == ["must be no more than 253 characters"]
    for name in ("", "A", "a.", ".a", "a..b", "-a", "a-", "a_b", "a.-b"):
        assert "(e.g. 'example.com', regex" in dns1123_subdomain_errors(name)[0], name


def test_names_of_namespaces_are_dns_labels() -> None:
    assert dns1123_label_errors("a-1") == []
    assert dns1123_label_errors("a.b") == ["must not contain dots"]
    assert dns1123_label_errors("a" * 64) == ["must be no more than 63 characters"]
    assert "RFC 1123 label" in dns1123_label_errors("A")[0]


def test_a_long_wrong_name_is_refused_at_once() -> None:
    assert dns1123_subdomain_errors("a-" * 50_000)
    assert label_key_errors("a" * 100_000 + "!")


@pytest.mark.parametrize("text", ["", "QUJD", "QUI=", "QQ==", "QR==", "+/+/"])
def test_padded_base64_is_base64(text: str) -> None:
    assert is_base64(text)


@pytest.mark.parametrize(
    "text", ["QUJD=", "QUJD====", "QQ=====", "QQ==QQ==", "=", "QUI", "QUI=\n", "QU_D", "\u0663AAA"]
)
def test_base64_with_too_much_or_too_little_padding_is_none(text: str) -> None:
    assert not is_base64(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u00e9 \U0001f600", "\u00e9 \U0001f600"),
        ('a"b\\', 'a\\"b\\\\'),
        ("\t\n\a", "\\t\\n\\a"),
        ("\0\x7f", "\\x00\\x7f"),
        ("a\u00a0\u200b", "a\\u00a0\\u200b"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_a_quoted_text_shows_each_character_that_cannot_be_seen(text: str, shown: str) -> None:
    assert quoted(text) == f'"{shown}"'
