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


def test_hashes_are_told_by_their_label_and_by_their_letters_in_names() -> None:
    reducer = Reducer("ns-1")
    meta = {"generateName": "d-5d8bf6c96-", "labels": {"pod-template-hash": "5d8bf6c96", "app": "5d8bf6c96"}}

    state = reducer.state({"Pod": [pod("d-5d8bf6c96-bcdfg", **meta)]})

    reduced = state["Pod"][0]["metadata"]
    assert reduced["name"] == "d-<hash>-*"
    assert reduced["labels"] == {"pod-template-hash": "<hash>", "app": "5d8bf6c96"}
    # Seven letters are no hash that can be told from a word.
    assert reducer.text("d-5d8bf6c96 and w-7bf98d4") == "d-<hash> and w-7bf98d4"


def test_a_name_that_a_controller_made_from_a_prefix_is_that_prefix() -> None:
    reducer = Reducer("ns-1")
    reducer.state({"Pod": [pod("w-0", generateName="w-")]})

    assert reducer.text("Create Pod w-0 in StatefulSet w successful") == "Create Pod w-* in StatefulSet w successful"
    assert reducer.text("w-01 and aw-0") == "w-01 and aw-0"


def test_a_pod_of_an_indexed_job_keeps_its_index() -> None:
    reducer = Reducer("ns-1")
    reducer.saw({"kind": "Job", "metadata": {"name": "w"}})

    assert reducer.text("Created pod: w-12-bcdfg") == "Created pod: w-12-*"


def test_the_jobs_of_a_cron_job_are_named_after_a_minute() -> None:
    reducer = Reducer("ns-1")
    reducer.saw({"kind": "CronJob", "metadata": {"name": "c"}})

    assert reducer.text("Created job c-29387463") == "Created job c-<minute>"
    assert reducer.text("Created pod: c-29387463-fb7w7") == "Created pod: c-<minute>-*"


def test_secrets_and_the_namespace_in_base64_are_not_compared() -> None:
    secret = {"metadata": {"name": "t"}, "data": {"token": "a", "ca.crt": "b", "namespace": "bnMtMQ==", "key": "c"}}

    assert Reducer("ns-1").state({"Secret": [secret]})["Secret"][0]["data"] == {
        "token": "<any>",
        "ca.crt": "<any>",
        "namespace": "<ns64>",
        "key": "c",
    }


def test_only_the_scenarios_cluster_kinds_are_shown() -> None:
    nodes = [{"metadata": {"name": name, "labels": {"set": name}}} for name in ("ns-1", "other")]

    assert [node["metadata"]["name"] for node in Reducer("ns-1").state({"Node": nodes})["Node"]] == ["<ns>"]


def test_of_a_load_balancer_its_service_shows_what_it_has_become() -> None:
    service = {
        "metadata": {"name": "s", "labels": {"a": "b"}, "finalizers": ["x"]},
        "spec": {"type": "LoadBalancer", "ports": []},
        "status": {"loadBalancer": {}},
    }

    assert Reducer("ns").state({"LoadBalancer": [service]})["LoadBalancer"] == [
        {
            "metadata": {"name": "s", "finalizers": ["x"]},
            "spec": {"type": "LoadBalancer"},
            "status": {"loadBalancer": {}},
        }
    ]
