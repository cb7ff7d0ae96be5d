from __future__ import annotations

from typing import Any

from tests.golden.reduce import Reducer


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns-1", "uid": "u", "resourceVersion": "5", **metadata}
    spec = {"containers": [{"name": "c", "image": "img", "resources": {}}], "restartPolicy": "Always"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def test_what_differs_from_run_to_run_is_gone() -> None:
    state = Reducer("ns-1").state(
        {"Pod": [pod("web-bcdfg", generateName="web-", deletionTimestamp="2026-01-01T00:00:00Z")]}
    )

    assert state == {
        "Pod": [
            {
                "metadata": {"name": "web-*", "namespace": "<ns>", "generateName": "web-", "deleting": True},
                "spec": {"nodeName": None, "containers": [{"name": "c", "image": "img"}]},
                "status": {"phase": "Running"},
            }
        ]
    }


def test_events_are_a_set_and_name_no_pod_in_particular() -> None:
    reducer = Reducer("ns-1")
    reducer.saw({"kind": "ReplicationController", "metadata": {"name": "web"}})
    events = [
        {
            "type": "Normal",
            "reason": "SuccessfulCreate",
            "involvedObject": {"kind": "ReplicationController", "name": "web"},
            "source": {"component": "replication-controller"},
            "message": f"Created pod: web-{suffix}",
        }
        for suffix in ("bcdfg", "xz245")
    ]

    assert reducer.state({"Event": events, "Service": []}) == {
        "Event": [
            {
                "type": "Normal",
                "reason": "SuccessfulCreate",
                "object": "ReplicationController/web",
                "source": "replication-controller",
                "message": "Created pod: web-*",
            }
        ]
    }


def test_texts_lose_namespaces_names_uids_times_and_addresses() -> None:
    reducer = Reducer("ns-1")
    reducer.saw({"metadata": {"generateName": "web-"}})

    assert reducer.text('pods "web-bcdfg" in ns-1 at 10.1.0.7') == 'pods "web-*" in <ns> at <ip>'
    assert reducer.text("d9f0c3a4-0d5c-4a5e-9c0e-1f2a3b4c5d6e since 2026-01-01T00:00:00Z") == "<uid> since <time>"
    assert reducer.text("web-server at 10.9.0.1") == "web-server at 10.9.0.1"


def test_lists_whose_order_says_nothing_are_sorted() -> None:
    endpoints = {"subsets": [{"addresses": [{"ip": "b"}, {"ip": "a"}], "names": ["z", "y"]}]}

    assert Reducer("ns")._value(endpoints) == {
        "subsets": [{"addresses": [{"ip": "a"}, {"ip": "b"}], "names": ["z", "y"]}]
    }
