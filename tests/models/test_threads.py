from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kinformer.models import V1Pod, V1PodSpec, decoder_for

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", range(4))
def test_many_threads_may_ask_first_for_fields_models_and_decoders(seed: int) -> None:
    # In a process of its own: msgspec with a type that is half made has ended the interpreter.
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.threads_probe", str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr[-2000:]


def test_an_assignment_is_not_undone_by_a_reader_that_began_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = decoder_for(V1Pod).decode(b'{"spec":{"nodeName":"old"}}')
    field = V1Pod.__lazy_fields__["spec"]
    assert decoder_for(V1Pod).decode(b'{"spec":{}}').spec is not None
    read = field._reader
    has_begun, may_go_on = threading.Event(), threading.Event()
    seen: list[object] = []

    def slow(raw: object) -> object:
        has_begun.set()
        may_go_on.wait(60)
        return read(raw)

    monkeypatch.setattr(field, "_reader", slow)
    reader = threading.Thread(target=lambda: seen.append(pod.spec.node_name))
    reader.start()
    has_begun.wait(60)
    pod.spec = V1PodSpec(node_name="new")
    may_go_on.set()
    reader.join()

    assert pod.spec.node_name == "new"
    assert seen == ["new"]
