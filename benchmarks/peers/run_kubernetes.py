"""kubernetes' SharedInformer: a thread that fills a cache and calls a handler."""

from __future__ import annotations

import threading

from kubernetes import client
from kubernetes.informer import MODIFIED, SharedInformer
from protocol import Run

run = Run()


def update(pod: client.V1Pod) -> None:
    assert pod.metadata.resource_version
    run.count()


core = client.CoreV1Api(client.ApiClient(client.Configuration(host=run.url)))
informer = SharedInformer(core.list_pod_for_all_namespaces)
informer.add_event_handler(MODIFIED, update)
left = run.objects
everything = threading.Event()


def add(_: client.V1Pod) -> None:
    global left
    left -= 1
    if not left:
        everything.set()


informer.add_event_handler("ADDED", add)
run.list_begins()
informer.start()
everything.wait()
run.synced()
run.begin()
threading.Event().wait()
