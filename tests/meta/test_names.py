from __future__ import annotations

import pytest

from kinformer.meta.names import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
    ObjectName,
    split_key,
)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("v1", GroupVersion("", "v1")), ("apps/v1", GroupVersion("apps", "v1")), ("", GroupVersion("", ""))],
)
def test_an_api_version_is_read_and_written(text: str, parsed: GroupVersion) -> None:
    assert GroupVersion.parse(text) == parsed
    assert str(parsed) == text


@pytest.mark.parametrize("text", ["a/b/c", "apps/", "/"])
def test_what_is_no_api_version_is_an_error_that_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is not an apiVersion"):
        GroupVersion.parse(text)


def test_names_are_written_as_kubernetes_writes_them() -> None:
    assert str(GroupKind("", "Pod")) == "Pod"
    assert str(GroupKind("apps", "Deployment")) == "Deployment.apps"
    assert str(GroupResource("", "pods")) == "pods"
    assert str(GroupResource("apps", "deployments")) == "deployments.apps"
    assert str(GroupVersionKind("apps", "v1", "Deployment")) == "apps/v1, Kind=Deployment"
    assert str(GroupVersionResource("", "v1", "pods")) == "v1, Resource=pods"


def test_names_can_be_cut_down() -> None:
    assert GroupVersionKind("apps", "v1", "Deployment").group_kind == GroupKind("apps", "Deployment")
    assert GroupVersionKind("apps", "v1", "Deployment").api_version == "apps/v1"
    assert GroupVersionResource("apps", "v1", "deployments").group_resource == GroupResource("apps", "deployments")
    assert GroupVersionResource("", "v1", "pods").api_version == "v1"


@pytest.mark.parametrize(("key", "name"), [("ns/a", ObjectName("ns", "a")), ("a", ObjectName("", "a"))])
def test_a_key_is_read_and_written(key: str, name: ObjectName) -> None:
    assert split_key(key) == name
    assert str(name) == key


def test_a_key_has_one_slash_at_most() -> None:
    with pytest.raises(ValueError, match="unexpected key format: 'a/b/c'"):
        split_key("a/b/c")
