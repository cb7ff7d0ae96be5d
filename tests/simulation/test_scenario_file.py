"""Scenarios in YAML: what a user does, and what is expected."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kinformer.simulation import run_world
from kinformer.simulation.explore import explore
from kinformer.simulation.scenario_file import FileScenario, ScenarioFileError, read_scenario
from kinformer.simulation.trial import ScenarioError, Trial

WEB = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, labels: {app: web}}}"
MENDED = "tests.simulation.tiny:make_mended"


def scenario(folder: Path, text: str, controller: str = MENDED) -> FileScenario:
    file = folder / "scenario.yaml"
    file.write_text(text)
    return read_scenario(file, [controller])


def outcome(folder: Path, text: str) -> str:
    """What is wrong with a scenario without faults; nothing, if it is empty."""
    result = run_world(scenario(folder, text))
    texts = [str(result.error)] if result.error is not None else []
    return "; ".join([*texts, *(violation.text for violation in result.violations)])


WHOLE = """
always:
- {objects: configmaps/default, labels: app, most: 1}
eventually:
- {object: configmaps/default/web, gone: true}
steps:
- apply:
  - web.yaml
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
- settle
- expect: {object: configmaps/default/web-child}
- expect: {object: configmaps/default/web, has: {metadata: {annotations: {example.com/begun: "true"}}}}
- expect: {objects: configmaps/default, labels: app=web, count: 1}
- expect: {objects: configmaps, least: 2}
- patch: {object: configmaps/default/other, merge: {data: {a: b}}}
- expect: {object: configmaps/default/other, has: {data: {a: b}}}
- sleep: 60
- delete: configmaps/default/web
- settle: 5
"""


def test_all_steps_are_done_and_what_is_expected_is_there(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)

    assert outcome(tmp_path, WHOLE) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expect: {object: configmaps/default/x}", "step 3: configmaps/default/x is not there"),
        ("expect: {object: configmaps/default/web, gone: true}", "step 3: configmaps/default/web is still there"),
        ("expect: {object: configmaps/default/web, has: {data: {a: b}}}", "data is None, want {'a': 'b'}"),
        ("expect: {objects: configmaps/default, count: 5}", "configmaps/default, want 5"),
        ("expect: {objects: configmaps/default, labels: app=x, least: 1}", "there are 0 of configmaps/default app=x"),
        ("expect: {objects: configmaps/default, most: 0}", "want 0 at most"),
        ("expect: {object: configmap/default/web, gone: true}", "step 3: expect: the server does not serve configmap"),
        ("expect: {object: webs.example.com/default/web, gone: true}", "the server does not serve webs.example.com"),
        ("expect: {objects: configmap/default, count: 0}", "the server does not serve configmap"),
        (
            "expect: {object: configmaps/web, gone: true}",
            "in a namespace: want RESOURCE/NAMESPACE/NAME",
        ),
        ("expect: {object: nodes/default/n1, gone: true}", "in no namespace: want RESOURCE/NAME, not nodes/default/n1"),
    ],
)
def test_what_is_not_as_expected_is_told_with_the_step(tmp_path: Path, text: str, said: str) -> None:
    assert said in outcome(tmp_path, f"- apply: {WEB}\n- settle\n- {text}\n")


@pytest.mark.parametrize("when", ["always", "eventually"])
def test_expectations_can_be_for_always_and_for_the_end(tmp_path: Path, when: str) -> None:
    text = f"{when}: [{{object: configmaps/default/web-child, gone: true}}]\nsteps: [apply: {WEB}]\n"

    assert "what is expected of configmaps/default/web-child does not hold" in outcome(tmp_path, text)


@pytest.mark.parametrize("when", ["always", "eventually"])
@pytest.mark.parametrize("resource", ["configmap", "webs.example.com"])
def test_an_expectation_of_a_resource_that_is_never_served_is_an_error(
    tmp_path: Path, when: str, resource: str
) -> None:
    text = f"{when}: [{{objects: {resource}, most: 0}}]\nsteps: [apply: {WEB}]\n"

    assert f"the server does not serve {resource}" in outcome(tmp_path, text)


CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.example.com}
spec:
  group: example.com
  names: {plural: webs, singular: web, kind: Web, listKind: WebList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


def test_custom_resources_may_be_expected_before_their_definition_exists(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(CRD)
    text = "always: [{objects: webs.example.com, most: 0}]\nsteps: [apply: crd.yaml, settle]\n"

    assert outcome(tmp_path, text) == ""


def test_several_managers_elect_a_leader(tmp_path: Path) -> None:
    text = f"managers: [a, b]\nsteps: [apply: {WEB}, settle, expect: {{object: configmaps/default/web-child}}]\n"

    result = run_world(scenario(tmp_path, text))

    assert result.error is None
    assert {record.actor for record in result.history if record.what == "start"} == {"a", "b"}
    assert len({record.actor for record in result.history if record.what == "sync"}) == 1


def test_a_scenario_can_be_handed_to_another_process(tmp_path: Path) -> None:
    read = scenario(tmp_path, f"always: [{{objects: pods, most: 1}}]\nsteps: [apply: {WEB}]")

    assert pickle.loads(pickle.dumps(read)) == read


def test_a_step_that_the_server_refuses_is_one_line(tmp_path: Path) -> None:
    steps = "- apply: {apiVersion: v1, kind: Confgmap, metadata: {name: web}}\n"

    with pytest.raises(ScenarioError, match=r"scenario\.yaml: step 1: apply: the server does not serve Confgmap of v1"):
        explore(Trial(scenario(tmp_path, steps)), range(1))


MISTAKES = {
    "steps: [": ":1: is not YAML",
    "x: 1": "a scenario has no 'x': it has steps, always, eventually, managers",
    "steps: 1": "steps is a list, not 1",
    "just text": "a scenario has steps, always, eventually, managers; this is 'just text'",
    "[settle, {aply: x}]": "step 2: there is no step 'aply': there are apply, patch, delete",
    "[{apply: x, delete: y}]": "step 1: is one of apply, patch",
    "[apply: nowhere.yaml]": "step 1: .*No such file",
    "[apply: {kind: Pod}]": "step 1: a manifest needs apiVersion, kind and a name",
    "[apply: 5]": "step 1: a manifest needs apiVersion, kind and a name: 5",
    "[apply: []]": "step 1: apply: there is no object",
    "[delete: web]": "step 1: delete names an object, like pods/default/web-0, not 'web'",
    "[patch: {object: pods/default/a}]": "step 1: a patch has an object",
    "[patch: {objekt: pods/default/a}]": "step 1: a patch has no 'objekt'",
    "[sleep: soon]": "step 1: sleep has a number of seconds above zero, not 'soon'",
    "[sleep]": "step 1: sleep has a number of seconds above zero, not None",
    "[settle: -1]": "step 1: settle has a number of seconds above zero, not -1",
    "[expect: {}]": "step 1: an expectation is about one object, or about objects",
    "[expect: {object: pods/default/a, count: 1}]": "of one object it is expected what it has",
    "[expect: {object: web}]": "'web' is not an object",
    "[expect: {objects: pods}]": "of objects a number is expected",
    "[expect: {objects: pods, count: some}]": "count, most and least are whole numbers",
    "[expect: {objects: pods, labels: '=,', count: 1}]": "step 1: ",
    "[expect: {objects: pods, labels: {app: web}, count: 1}]": "labels is a text, not {'app': 'web'}",
    "[expect: {object: 5}]": "object is a text, not 5",
    "[expect: {objects: pods/default/web, count: 0}]": "'pods/default/web' is not objects",
    "[expect: {object: pods/default/a, gone: 'no'}]": "gone is true or false, not 'no'",
    "[apply: {a: 2024-13-45}]": "is not YAML: month must be in 1..12",
    "{steps: [], managers: [a, a]}": "managers is a list of different names",
    "{steps: [], always: [{object: pods/a, hass: 1}]}": "an expectation has no 'hass'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_told_with_the_file_and_the_step(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScenarioFileError, match=rf"scenario\.yaml.*{MISTAKES[text]}") as raised:
        scenario(tmp_path, text)

    assert "\n" not in str(raised.value)
