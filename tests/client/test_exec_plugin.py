"""Exec plug-ins: what they are told, what they may answer, and that none outlives whoever waited for it."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import ConfigError, connect
from kinformer.client.config import load_kubeconfig
from kinformer.clock import FakeClock
from tests.client.authority import Authority
from tests.client.conftest import ScriptedServer, Write, eventually

V1 = "client.authentication.k8s.io/v1"


def credential(**status: Any) -> str:
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})


def script(folder: Path, text: str, name: str = "plug-in") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def plugin(command: str, **more: Any) -> dict[str, Any]:
    return {"exec": {"apiVersion": V1, "command": command, "interactiveMode": "Never", **more}}


async def test_a_relative_command_is_one_of_the_kubeconfigs_folder(
    kubeconfig: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin", f"echo '{credential(token='abc')}'")
    monkeypatch.chdir("/")

    endpoint = await load_kubeconfig(kubeconfig(user=plugin("./bin/plug-in")))

    assert endpoint.credentials.header == "Bearer abc"


async def test_a_command_without_a_slash_is_looked_for_on_the_path(
    kubeconfig: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin", f"echo '{credential(token='abc')}'", "get-token")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)

    assert (await load_kubeconfig(kubeconfig(user=plugin("get-token")))).credentials.header == "Bearer abc"


async def test_what_a_plug_in_is_told(kubeconfig: Write, tmp_path: Path, authority: Authority) -> None:
    out = tmp_path / "out"
    text = f'echo "$KUBERNETES_EXEC_INFO" > {out}; echo "$1 $MORE" >> {out}; echo \'{credential(token="t")}\''
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "me"}}
    cluster = {"certificate-authority": str(authority.ca), "tls-server-name": "kube", "extensions": [extension]}
    more = {"args": ["one"], "env": [{"name": "MORE", "value": "two"}]}
    path = kubeconfig(
        "https://h:1", cluster=cluster, user=plugin(script(tmp_path, text), provideClusterInfo=True, **more)
    )

    await load_kubeconfig(path)

    info, rest = out.read_text().splitlines()
    told = json.loads(info)
    assert rest == "one two"
    assert (told["apiVersion"], told["kind"], told["spec"]["interactive"]) == (V1, "ExecCredential", False)
    about = told["spec"]["cluster"]
    assert (about["server"], about["tls-server-name"], about["config"]) == ("https://h:1", "kube", {"audience": "me"})
    assert about["certificate-authority-data"]


async def test_a_plug_in_gets_cluster_data_only_if_it_asks(kubeconfig: Write, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = f"echo \"$KUBERNETES_EXEC_INFO\" > {out}; echo '{credential(token='t')}'"

    await load_kubeconfig(kubeconfig(user=plugin(script(tmp_path, text))))

    assert "cluster" not in json.loads(out.read_text())["spec"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("echo canary", "prints something that is not JSON"),
        ("printf '%.0s[' $(seq 20000)", "prints something that is not JSON"),
        ("echo '[1]'", "prints something that is not an ExecCredential"),
        (f"echo '{credential(token='canary').replace('/v1', '/v2')}'", "answers in another apiVersion than .*/v1"),
        (f"echo '{credential()}'", "gives neither a token nor a client certificate"),
        (f"echo '{credential(token=None)}'", "gives neither a token nor a client certificate"),
        (f"echo '{credential(token=5)}'", "gives credentials that are not text"),
        (f"echo '{credential(clientCertificateData='canary')}'", "gives a client certificate without a key"),
        (
            f"echo '{credential(token='canary', expirationTimestamp='canary')}'",
            "expirationTimestamp that is not a time",
        ),
        (f"echo '{credential(token='x', expirationTimestamp='2026-01-01T00:00:00')}'", "that is not a time"),
        ("echo canary >&2; exit 3", "failed with exit code 3: run it by hand to see why"),
        ("kill -9 $$", "was ended by signal 9"),
        ("head -c 2000000 /dev/zero", "prints more than 1048576 bytes"),
        ("yes", "prints more than 1048576 bytes"),
        (
            f"cat <<'E'\n{credential(clientCertificateData=chr(0xD800), clientKeyData='canary')}\nE",
            "gives a client certificate or a key that is not in PEM",
        ),
    ],
)
async def test_a_plug_in_without_output_is_named_with_its_user_not_quoted(
    text: str, complaint: str, kubeconfig: Write, tmp_path: Path
) -> None:
    command = script(tmp_path, text)

    with capture_logs() as logs, pytest.raises(ConfigError, match=complaint) as caught:
        await load_kubeconfig(kubeconfig(user=plugin(command)))

    message = str(caught.value)
    assert message.count("user 'u'") == message.count(command) == 1
    assert "canary" not in message
    assert logs == []


async def test_a_missing_plug_in_is_named_with_its_install_hint(kubeconfig: Write) -> None:
    user = plugin("no-such-plug-in", installHint="Get it with:\n\n  apt install it\n")

    with pytest.raises(ConfigError) as caught:
        await load_kubeconfig(kubeconfig(user=user))

    assert str(caught.value).endswith(
        "user 'u': its exec plug-in 'no-such-plug-in' cannot be started: No such file or directory "
        "(Get it with: apt install it)"
    )


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"command": ""}, "has no command"),
        ({"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}, "want client.authentication"),
        ({"command": "x", "interactiveMode": "Maybe"}, "want Never, IfAvailable or Always"),
        ({"command": "x", "args": "one"}, "args and env of its exec plug-in 'x' must be lists"),
        ({"command": "x", "env": [{"value": "one"}]}, "must have a name and a value"),
        ({"command": "cat", "interactiveMode": "Always"}, "needs to ask the user"),
    ],
)
async def test_an_entry_that_makes_no_sense_is_refused(
    entry: dict[str, Any], complaint: str, kubeconfig: Write
) -> None:
    with pytest.raises(ConfigError, match=f"kubeconfig .*: user 'u': .*{complaint}"):
        await load_kubeconfig(kubeconfig(user={"exec": {"apiVersion": V1, **entry}}))


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended (one that nobody has waited for yet has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


HANGS = "sleep 1000 & echo $! > {pids}; echo $$ >> {pids}; echo ready >> {pids}; wait"


async def hanging(kubeconfig: Write, tmp_path: Path) -> tuple[str, Path]:
    pids = tmp_path / "pids"
    return kubeconfig(user=plugin(script(tmp_path, HANGS.format(pids=pids)))), pids


def started(pids: Path) -> list[int]:
    lines = pids.read_text().split() if pids.exists() else []
    return [int(line) for line in lines[:-1]] if lines[-1:] == ["ready"] else []


async def test_a_plug_in_that_hangs_is_killed_with_its_children(
    kubeconfig: Write, tmp_path: Path, clock: FakeClock
) -> None:
    path, pids = await hanging(kubeconfig, tmp_path)
    errors: list[str] = []

    async def load() -> None:
        try:
            await load_kubeconfig(path, clock=clock)
        except ConfigError as error:
            errors.append(str(error))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(load)
        await eventually(lambda: started(pids))
        clock.turn(60)

    assert "did not end within 60 s" in errors[0]
    await eventually(lambda: not any(map(alive, started(pids))))


async def test_a_plug_in_nobody_waits_for_is_killed_with_its_children(kubeconfig: Write, tmp_path: Path) -> None:
    path, pids = await hanging(kubeconfig, tmp_path)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(load_kubeconfig, path)
        await eventually(lambda: started(pids))
        tasks.cancel_scope.cancel()

    await eventually(lambda: not any(map(alive, started(pids))))


async def test_a_child_that_keeps_a_plug_ins_output_is_not_awaited(
    kubeconfig: Write, tmp_path: Path, clock: FakeClock
) -> None:
    pids = tmp_path / "pids"
    text = f"sleep 1000 & echo $! > {pids}; echo ready >> {pids}; exit 0"
    path = kubeconfig(user=plugin(script(tmp_path, text)))

    async with anyio.create_task_group() as tasks:

        async def load() -> None:
            with pytest.raises(ConfigError, match="did not end within 7 s"):
                await load_kubeconfig(path, clock=clock, exec_timeout=7)

        tasks.start_soon(load)
        await eventually(lambda: started(pids))
        clock.turn(7)

    await eventually(lambda: not any(map(alive, started(pids))))


async def test_a_child_outside_the_process_group_delays_nobody(
    kubeconfig: Write, tmp_path: Path, clock: FakeClock
) -> None:
    pids = tmp_path / "pids"
    text = f"setsid sh -c 'echo $$ > {pids}; echo ready >> {pids}; exec sleep 20' & exit 0"
    path = kubeconfig(user=plugin(script(tmp_path, text)))

    async with anyio.create_task_group() as tasks:

        async def load() -> None:
            with pytest.raises(ConfigError, match="did not end within 7 s, or left a child that keeps its output"):
                await load_kubeconfig(path, clock=clock, exec_timeout=7)

        tasks.start_soon(load)
        await eventually(lambda: started(pids))
        clock.turn(7)

    (child,) = started(pids)
    assert alive(child)
    os.kill(child, signal.SIGKILL)


async def test_much_on_standard_error_holds_nobody_up(kubeconfig: Write, tmp_path: Path) -> None:
    command = script(tmp_path, f"head -c 300000 /dev/zero >&2; echo '{credential(token='t')}'")

    assert (await load_kubeconfig(kubeconfig(user=plugin(command)))).credentials.header == "Bearer t"


async def test_a_plug_in_is_asked_again_shortly_before_its_token_expires(
    server: ScriptedServer, kubeconfig: Write, tmp_path: Path, clock: FakeClock
) -> None:
    count = tmp_path / "count"
    text = f"echo x >> {count}; n=$(wc -l < {count}); echo '{credential(token='T', expirationTimestamp='E')}'"
    text = text.replace('"T"', "\"t-'$n'\"").replace('"E"', '"2026-01-01T00:10:00Z"')
    server.answer(times=4)

    async with connect(kubeconfig(server.url, user=plugin(script(tmp_path, text))), clock=clock) as client:
        for wait in (0, 500, 20, 30):
            clock.turn(wait)
            await client.request("GET", "/x")

    tokens = [request.headers["authorization"] for request in server.requests]
    assert tokens == ["Bearer t-1", "Bearer t-1", "Bearer t-1", "Bearer t-2"]
