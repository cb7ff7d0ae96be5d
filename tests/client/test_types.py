"""Options and events: how they are written."""

from __future__ import annotations

from kinformer.client import DeleteOptions, ListOptions, Preconditions, WatchEvent
from kinformer.client.types import write_params


def test_empty_options_say_nothing() -> None:
    assert ListOptions().params() == {}
    assert ListOptions().params(watch=True) == {"watch": "true"}
    assert DeleteOptions().body() is None
    assert write_params({}) == {}


def test_list_options_are_written_as_the_api_names_them() -> None:
    options = ListOptions(
        label_selector="a=b",
        field_selector="spec.nodeName=n",
        resource_version="0",
        resource_version_match="NotOlderThan",
        limit=5,
        continue_token="next",
        timeout_seconds=0,
        allow_watch_bookmarks=True,
        send_initial_events=False,
    )

    assert options.params(watch=True) == {
        "labelSelector": "a=b",
        "fieldSelector": "spec.nodeName=n",
        "resourceVersion": "0",
        "resourceVersionMatch": "NotOlderThan",
        "limit": "5",
        "continue": "next",
        "timeoutSeconds": "0",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "false",
        "watch": "true",
    }


def test_bookmarks_are_only_asked_of_watches() -> None:
    assert ListOptions(allow_watch_bookmarks=True).params() == {}


def test_delete_options_become_a_body() -> None:
    options = DeleteOptions(
        grace_period_seconds=0,
        propagation_policy="Foreground",
        preconditions=Preconditions(uid="u"),
        dry_run=True,
    )

    assert options.body() == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u"},
        "dryRun": ["All"],
    }


def test_write_options_become_a_query() -> None:
    options = {"dry_run": True, "field_manager": "me", "field_validation": "Strict", "force": False}

    assert write_params(options) == {
        "dryRun": "All",
        "fieldManager": "me",
        "fieldValidation": "Strict",
        "force": "false",
    }


def test_an_event_shows_what_it_is() -> None:
    assert repr(WatchEvent("ADDED", {"a": 1})) == "WatchEvent(type='ADDED', object={'a': 1})"
