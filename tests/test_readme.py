"""The README's controller, run as a user would run it: as a program of its own, against an API server."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.models import V1Pod, from_dict

README = Path(__file__).parents[1] / "README.md"


def readme_controller() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return str(block)


def test_the_readmes_controller_has_fewer_than_30_lines() -> None:
    assert len(readme_controller().splitlines()) < 30


async def test_the_readmes_controller_tells_what_happens_to_pods(tmp_path: Path) -> None:
    program, kubeconfig = tmp_path / "watcher.py", tmp_path / "kubeconfig"
    program.write_text(readme_controller())
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        server.write_kubeconfig(kubeconfig)
        pods = client.resource(V1Pod)
        spec = {"containers": [{"name": "c", "image": "nginx"}]}
        await pods.create(from_dict(V1Pod, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}))
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}

        with anyio.fail_after(60):
            async with await anyio.open_process([sys.executable, "-u", str(program)], env=environment) as process:
                assert process.stdout is not None
                lines = BufferedByteReceiveStream(process.stdout)
                while b"default/web Pending" not in await lines.receive_until(b"\n", 10_000):
                    pass
                await pods.delete("web", "default")
                while b"default/web is gone" not in await lines.receive_until(b"\n", 10_000):
                    pass
                process.terminate()
