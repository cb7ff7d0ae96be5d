"""Wire cases: requests that a real kube-apiserver was sent, one after the other, and what it answered.

A script is replayed against a fresh embedded server, or against any server by its URL, and each answer compared with
the recorded one: status, content type, warnings, the body field for field, the events of a watch in order. What differs
from run to run stands as a mask in the recording (:class:`Comparison` knows them).

Texts are compared word for word where somebody acts on them (:data:`WORD_FOR_WORD`). Elsewhere it is enough that the
reason and the fields are the same, unless the run is strict.

What cannot pass is listed with its reason in the table of ``docs/envtest.md``, which is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import anyio.lowlevel

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from tests.golden.run import CasesError, difference

__all__ = ("Comparison", "Script", "StepFailure", "WireOutcome", "excuses", "read_script", "run_script")

#: Reasons whose texts clients or people act on.
WORD_FOR_WORD = frozenset(
    {"AlreadyExists", "Conflict", "Expired", "Forbidden", "Gone", "NotFound", "Timeout", "TooManyRequests"}
)
#: What the recorded server says of itself: how it was built, and where it stood.
RECORDED_VERSION = {
    "gitVersion": "v0.0.0-master+$Format:%H$",
    "gitCommit": "$Format:%H$",
    "goVersion": "go1.27.3",
}
RECORDED_ADDRESS = "192.0.2.2:16443"

_DOCS = Path(__file__).parents[2] / "docs" / "envtest.md"
_EXCUSE = re.compile(r"^\| *(\w+) *\| *(\d+) *\| *(.+?) *\|$", re.MULTILINE)
_MASK = re.compile(r"<match:(?P<regex>.*)>|<(?P<name>uid|n)>", re.DOTALL)
_MASKS = {
    "uid": "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "n": "[0-9]+",
}
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Script:
    """The steps of one file, on a server that nothing has happened on."""

    name: str
    steps: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StepFailure:
    """
    A step that was answered differently.

    :param number: the step's place in its file, from 0
    """

    script: str
    number: int
    asked: str
    note: str
    want: Any
    got: Any

    def report(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"--- {self.script} step {self.number}{note}\n{self.asked}\n{difference(self.got, self.want)}"


@dataclass(slots=True)
class WireOutcome:
    """
    What came of a file.

    :param excused: failures that the table lists
    :param unlisted: steps that the table lists and that pass all the same
    """

    passed: int = 0
    failures: list[StepFailure] = field(default_factory=list)
    excused: list[StepFailure] = field(default_factory=list)
    unlisted: list[int] = field(default_factory=list)


def read_script(file: Path) -> Script:
    """
    :raises CasesError: if it is not a file of steps
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CasesError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise CasesError(f"{file}: not JSON: {error}") from error
    steps = data.get("steps") if isinstance(data, dict) else None
    if not isinstance(steps, list) or not steps:
        raise CasesError(f"{file}: no steps in it")
    return Script(str(data.get("name", file.stem)), steps)


def excuses(text: str | None = None) -> dict[tuple[str, int], str]:
    """The steps that are known to differ, with the reason: by script and number."""
    if text is None:
        text = _DOCS.read_text(encoding="utf-8") if _DOCS.exists() else ""
    return {(name, int(number)): reason for name, number, reason in _EXCUSE.findall(text)}


class Comparison:
    """
    Whether an answer is what was recorded.

    :param strict: whether every text is compared word for word
    """

    def __init__(self, strict: bool = False):
        self._strict = strict

    def same(self, got: Any, want: Any) -> bool:
        """
        ``<any>`` is any value that is not empty; ``<uid>``, ``<n>`` and ``<match:REGEX>`` stand for a part of a text.
        """
        if want == "<any>":
            return got not in (None, "", [], {})
        if isinstance(want, dict):
            if not isinstance(got, dict):
                return False
            loose = not self._strict and _is_status(want) and want.get("reason") not in WORD_FOR_WORD
            got = {key: value for key, value in got.items() if key != "managedFields"}
            if got.keys() != want.keys():
                return False
            return all(self._field(key, got[key], want[key], loose) for key in want)
        if isinstance(want, list):
            return (
                isinstance(got, list)
                and len(got) == len(want)
                and all(self.same(one, other) for one, other in zip(got, want, strict=True))
            )
        if isinstance(want, str) and isinstance(got, str) and "<" in want:
            return _pattern(want).fullmatch(got) is not None
        return type(got) is type(want) and bool(got == want)

    def _field(self, key: str, got: Any, want: Any, loose: bool) -> bool:
        if loose and key == "message":
            return isinstance(got, str) and bool(got)
        if loose and key == "details":
            return self.same(_without_texts(got), _without_texts(want))
        return self.same(got, want)


def _is_status(body: dict[str, Any]) -> bool:
    return body.get("kind") == "Status" and body.get("status") == "Failure"


def _without_texts(details: Any) -> Any:
    if not isinstance(details, dict) or not isinstance(details.get("causes"), list):
        return details
    causes = [{**cause, "message": ""} if isinstance(cause, dict) else cause for cause in details["causes"]]
    return {**details, "causes": causes}


def _pattern(text: str) -> re.Pattern[str]:
    parts, end = [], 0
    for mask in _MASK.finditer(text):
        parts += [re.escape(text[end : mask.start()]), mask["regex"] or _MASKS[mask["name"]]]
        end = mask.end()
    return re.compile("".join([*parts, re.escape(text[end:])]), re.DOTALL)


class Target:
    """A server to replay against."""

    def __init__(self, session: aiohttp.ClientSession, url: str):
        self._session = session
        self._url = url

    async def request(self, asked: dict[str, Any]) -> dict[str, Any]:
        headers = {}
        data = None
        if "body" in asked or "rawBody" in asked:
            data = asked["rawBody"].encode() if "rawBody" in asked else json.dumps(asked["body"]).encode()
            headers["Content-Type"] = asked.get("contentType", "application/json")
        if "accept" in asked:
            headers["Accept"] = asked["accept"]
        url = f"{self._url}{asked['path']}"
        async with self._session.request(asked["method"], url, data=data, headers=headers) as response:
            return await _answer(response)

    async def watch(self, asked: dict[str, Any]) -> dict[str, Any]:
        path = asked["path"]
        url = f"{self._url}{path}{'&' if '?' in path else '?'}watch=1&timeoutSeconds={asked['timeoutSeconds']}"
        async with self._session.get(url) as response:
            if response.status != 200:
                return await _answer(response)
            text = await response.text()
        return {"status": 200, "events": [json.loads(line) for line in text.splitlines()]}

    async def compact(self) -> dict[str, Any]:
        """
        Have the server drop its history, which only an embedded one can be asked to.

        :return: what it said, if it could not
        """
        async with self._session.post(f"{self._url}/kinformer/compact") as response:
            return {} if response.status == 200 else {"status": response.status}


class EmbeddedTarget(Target):
    """The embedded server, with its clock in hand: nobody waits for a watch to end."""

    def __init__(self, session: aiohttp.ClientSession, server: ApiServer, clock: FakeClock):
        super().__init__(session, server.url)
        self._server = server
        self._clock = clock

    async def watch(self, asked: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                answer.update(await super(EmbeddedTarget, self).watch(asked))

            group.start_soon(ask)
            watches = self._server.watches
            while not answer:
                if watches.open and watches.idle:
                    self._clock.turn(float(asked["timeoutSeconds"]))
                await anyio.lowlevel.checkpoint()
        return answer

    async def compact(self) -> dict[str, Any]:
        self._server.storage.compact()
        return {}


async def _answer(response: aiohttp.ClientResponse) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": response.status, "contentType": response.headers.get("Content-Type", "")}
    if warnings := response.headers.getall("Warning", []):
        answer["warning"] = ", ".join(warnings)
    text = await response.text()
    try:
        answer["body"] = json.loads(text)
    except ValueError:
        answer["text"] = text
    return answer


@asynccontextmanager
async def _target(url: str | None, token: str) -> Any:
    if url is not None:
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
            yield Target(session, url.rstrip("/"))
        return
    clock = FakeClock()
    # The recorded server ran alone: nobody collected garbage or emptied namespaces.
    server = ApiServer(clock=clock, controllers=False, version=RECORDED_VERSION, advertise=RECORDED_ADDRESS)
    async with (
        server,
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {server.token}"}) as session,
    ):
        yield EmbeddedTarget(session, server, clock)


async def run_script(
    script: Script,
    *,
    url: str | None = None,
    token: str = "",
    strict: bool = False,
    known: dict[tuple[str, int], str] | None = None,
) -> WireOutcome:
    """
    Replay a script from its first step on.

    :param url: a server to ask in place of a fresh embedded one
    :param known: the steps that are known to differ
    """
    outcome = WireOutcome()
    known = excuses() if known is None else known
    comparison = Comparison(strict)
    async with _target(url, token) as target:
        for number, asked, want, got in _Replay(script, target).results():
            answer = await got
            want = {key: want[key] for key in want if key in answer or key != "contentType"}
            relevant = {key: answer[key] for key in answer if key in want or key not in ("contentType",)}
            listed = (script.name, number) in known
            if comparison.same(relevant, want):
                outcome.passed += 1
                if listed:
                    outcome.unlisted.append(number)
                continue
            step = script.steps[number]
            failure = StepFailure(script.name, number, asked, step.get("note", ""), want, relevant)
            (outcome.excused if listed else outcome.failures).append(failure)
    return outcome


class _Replay:
    """The steps in order, each with the values that earlier answers gave."""

    def __init__(self, script: Script, target: Target):
        self._script = script
        self._target = target
        self._saved: dict[str, str] = {}

    def results(self) -> Iterator[tuple[int, str, Any, Any]]:
        for number, step in enumerate(self._script.steps):
            if "watch" in step:
                asked = self._fill(step["watch"])
                yield number, f"WATCH {asked['path']}", step["response"], self._target.watch(asked)
            elif "request" in step:
                asked = self._fill(step["request"])
                text = f"{asked['method']} {asked['path']} {json.dumps(asked.get('body', asked.get('rawBody', '')))}"
                yield number, text, step["response"], self._ask(asked, step.get("save", {}))
            else:
                yield number, str(step.get("do")), {}, self._do(str(step.get("do")))

    async def _ask(self, asked: dict[str, Any], save: dict[str, str]) -> dict[str, Any]:
        answer = await self._target.request(asked)
        for name, path in save.items():
            value: Any = answer.get("body")
            for part in path.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            self._saved[name] = str(value)
        return answer

    async def _do(self, what: str) -> dict[str, Any]:
        if what != "compact":
            return {"unknown": what}
        return await self._target.compact()

    def _fill(self, value: Any) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(lambda match: self._saved.get(match[1], match[0]), value)
        if isinstance(value, list):
            return [self._fill(one) for one in value]
        if isinstance(value, dict):
            return {key: self._fill(one) for key, one in value.items()}
        return value
