"""How small the parts of pods become when a cache compresses them, and what it takes.

The pods are of three sources:

- the pods of the other benchmarks, of which no two are alike. They have more in common than those of a cluster;
- pods of 800 random applications: containers, arguments, environment, images, resources, nodes and times are drawn, so
  that most strings occur only in pods of one application, or in one pod;
- the pods of a recorded watch of a kube-apiserver: small ones, without environment.

The figures are percentiles of spec and status together, in bytes with the header of a compressed part, and the
microseconds of CPU time that they take to be compressed and expanded. The dictionary is made of the first pods, as in a
cache.
"""

from __future__ import annotations

import gzip
import random
import string
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from kinformer.bench.measure import Stopwatch
from kinformer.bench.pods import pod as pod_of_others
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.models import Compression, V1Pod, decoder_for, json_of

_STREAM = Path(__file__).parents[1] / "tests" / "golden" / "streams" / "pods_watch.ndjson.gz"
_SHARES = (0.1, 0.5, 0.9, 0.99)
_APPLICATIONS = 800


def unlike() -> Iterator[dict[str, Any]]:
    number = 0
    while True:
        yield pod_of_others(number, "1", alike=False)
        number += 1


def recorded() -> Iterator[dict[str, Any]]:
    for line in gzip.decompress(_STREAM.read_bytes()).splitlines():
        found = msgspec.json.decode(line)["object"]
        if found.get("spec", {}).get("containers"):
            yield found


def varied(seed: int = 7) -> Iterator[dict[str, Any]]:
    """Pods of random applications. Some of these have many pods, and most have few."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 10))) for _ in range(2000)]
    made: dict[int, dict[str, Any]] = {}
    while True:
        number = min(int(rng.paretovariate(0.5)), _APPLICATIONS)
        app = made.get(number) or made.setdefault(number, _application(random.Random(seed + number), words))
        yield _pod(rng, app)


def _application(rng: random.Random, words: list[str]) -> dict[str, Any]:
    def word() -> str:
        return rng.choice(words)

    name = f"{word()}-{word()}"

    def variable() -> dict[str, Any]:
        named = {"name": f"{word()}_{word()}".upper()}
        kind = rng.random()
        if kind < 0.35:
            source = "secretKeyRef" if kind < 0.25 else "configMapKeyRef"
            return {**named, "valueFrom": {source: {"name": f"{name}-{word()}", "key": word()}}}
        if kind < 0.5:
            return {**named, "value": f"https://{word()}.{word()}.svc.cluster.local:{rng.randint(80, 9999)}/{word()}"}
        return {**named, "value": "".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(1, 40)))}

    def container() -> dict[str, Any]:
        return {
            "name": word(),
            "image": f"{word()}.example.com/{word()}/{word()}:v{rng.randint(0, 9)}.{rng.randint(0, 99)}",
            "imagePullPolicy": rng.choice(("IfNotPresent", "Always")),
            "args": [f"--{word()}={word()}{rng.randint(0, 999)}" for _ in range(rng.randint(0, 8))],
            "env": [variable() for _ in range(int(rng.expovariate(1 / 12)))],
            "ports": [{"containerPort": rng.randint(1000, 9999), "name": word()} for _ in range(rng.randint(0, 3))],
            "resources": {
                kind: {"cpu": f"{rng.randint(1, 40) * 50}m", "memory": f"{rng.randint(1, 64) * 32}Mi"}
                for kind in ("limits", "requests")
            },
            "terminationMessagePath": "/dev/termination-log",
            "volumeMounts": [{"mountPath": f"/{word()}/{word()}", "name": word()} for _ in range(rng.randint(0, 4))],
        }

    containers = [container() for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    return {"name": name, "namespace": word(), "containers": containers, "digest": _hex(rng, 64)}


def _pod(rng: random.Random, app: dict[str, Any]) -> dict[str, Any]:
    name = f"{app['name']}-{_hex(rng, 10)}-{_hex(rng, 5)}"
    token = {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": f"kube-api-access-{_hex(rng, 5)}"}
    at = f"2026-{rng.randint(1, 11):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:07Z"
    ip = ".".join(["10", *(str(rng.randint(0, 255)) for _ in range(3))])
    containers = [{**one, "volumeMounts": [*one["volumeMounts"], token]} for one in app["containers"]]
    return {
        "metadata": {"name": name, "namespace": app["namespace"], "uid": _hex(rng, 32)},
        "spec": {
            "containers": containers,
            "dnsPolicy": "ClusterFirst",
            "nodeName": f"ip-10-{rng.randint(0, 3)}-{rng.randint(0, 255)}-{rng.randint(0, 20)}.compute.internal",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": app["name"],
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}
                for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
            ],
            "volumes": [{"name": token["name"], "projected": {"defaultMode": 420, "sources": []}}],
        },
        "status": {
            "conditions": [
                {"lastProbeTime": None, "lastTransitionTime": at, "status": "True", "type": type_}
                for type_ in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {
                    "containerID": f"containerd://{_hex(rng, 64)}",
                    "image": one["image"],
                    "imageID": f"{one['image'].partition(':')[0]}@sha256:{app['digest']}",
                    "lastState": {},
                    "name": one["name"],
                    "ready": True,
                    "restartCount": rng.randint(0, 5),
                    "state": {"running": {"startedAt": at}},
                }
                for one in containers
            ],
            "phase": "Running",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "startTime": at,
        },
    }


def _hex(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("0123456789abcdef", k=length))


SOURCES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "no two alike": unlike,
    "of random applications": varied,
    "recorded": recorded,
}


async def compression(source: str, pods: int) -> Figures:
    """
    :param source: a key of :data:`SOURCES`
    :param pods: how many pods are compressed, after those that the dictionary is made of
    """
    fields = tuple(V1Pod.__lazy_fields__.values())
    objects = [decoder_for(V1Pod).decode(msgspec.json.encode(one)) for one in islice(SOURCES[source](), pods)]

    def sizes() -> list[int]:
        return sorted(sum(len(field.peek(obj)) for field in fields) for obj in objects)

    compression = Compression(V1Pod)
    for obj in objects:
        compression.compress(obj)
        if compression.dictionaries:
            break
    before, watch = sizes(), Stopwatch()
    for obj in objects:
        compression.compress(obj)
    compressed = watch.cpu
    after, watch = sizes(), Stopwatch()
    for obj in objects:
        for field in fields:
            json_of(field.peek(obj))
    return {
        "us CPU in": round(compressed / pods * 1e6, 2),
        "us CPU out": round(watch.cpu / pods * 1e6, 2),
        **{f"p{share * 100:g}": f"{_at(before, share):,} to {_at(after, share):,}" for share in _SHARES},
        "of its size %": round(100 * sum(after) / sum(before), 1),
    }


def _at(values: list[int], share: float) -> int:
    return values[min(int(len(values) * share), len(values) - 1)]


CASES = {
    "compression": Case(
        "Spec and status of pods, compressed as in a cache: bytes",
        compression,
        (*each("source", ("no two alike", "of random applications"), pods=5_000), {"source": "recorded", "pods": 300}),
        each("source", tuple(SOURCES), pods=300),
        ("of its size %",),
        lower_is_better=True,
    ),
}
