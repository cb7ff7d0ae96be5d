"""Many threads that are the first to read fields, to ask for models and to make decoders: one seed, one order.

Run as a process of its own, since what it tries has ended the interpreter: ``python -m tests.models.threads_probe 1``.
It prints what went wrong, one line each.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from kinformer import models

POD_SPEC = b'{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","emptyDir":{}}]}'
WITH_TEMPLATE = b'{"metadata":{"name":"a"},"spec":{"template":{"spec":%b}}}' % POD_SPEC
KINDS = ("V1Deployment", "V1StatefulSet", "V1Job", "V1DaemonSet", "V1ReplicaSet", "V1ReplicationController")
#: Recursive ones, and ones that share parts with each other.
PARTS = ("V1JSONSchemaProps", "V1CustomResourceDefinition", "V1PodTemplate", "V1CronJob", "V1Container", "V1Volume")


class Projection(msgspec.Struct):
    metadata: models.V1ObjectMeta  # type: ignore[name-defined,unused-ignore]
    spec: Any = None


def reading(obj: Any) -> Callable[[], object]:
    """Reads a spec that other threads read, too; all of them must get the same one."""

    def read() -> object:
        spec = obj.spec
        if spec is not obj.spec:
            raise AssertionError("two readings gave two specs")
        pod_spec = spec if hasattr(spec, "containers") else spec.template.spec
        if type(pod_spec) is not models.V1PodSpec or pod_spec.containers[0].image != "i":
            raise AssertionError("the spec is of another V1PodSpec")
        return spec

    return read


def asking(name: str) -> Callable[[], object]:
    """Asks for a model and decodes one."""

    def ask() -> object:
        model = getattr(models, name)
        models.decode(model, b"{}")
        return model

    return ask


def decoding() -> object:
    return models.decode(Projection, b'{"metadata":{"name":"a"}}').metadata.name == "a"


def main(seed: int) -> int:
    order = random.Random(seed)
    sys.setswitchinterval(order.choice((1e-6, 1e-5)))
    shared = [models.decoder_for(models.V1Pod).decode(b'{"metadata":{"name":"a"},"spec":%b}' % POD_SPEC)]
    shared += [models.decoder_for(getattr(models, kind)).decode(WITH_TEMPLATE) for kind in KINDS]
    # With every second seed only the readers: whoever asks for a model by name makes it before they need it.
    jobs = [reading(obj) for obj in shared] * 3
    if seed % 2:
        jobs += [asking(name) for name in PARTS] * 2 + [decoding] * 2
    order.shuffle(jobs)
    results: dict[int, list[object]] = {}
    wrong: list[str] = []
    start = threading.Barrier(len(jobs))

    def run(number: int, job: Callable[[], object]) -> None:
        start.wait()
        try:
            results.setdefault(id(job), []).append(job())
        except BaseException as error:
            wrong.append(f"job {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=job) for job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong += ["two threads got two objects" for same in results.values() if any(one is not same[0] for one in same)]
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
