"""The indexer family: an Indexer over dicts with three indexes, asked one thing after the other."""

from __future__ import annotations

from typing import Any

from kinformer.cache import NAMESPACE_INDEX, Indexer, IndexNotFound, namespace_index_func
from kinformer.meta import accessor_for

_POD = accessor_for(dict)


def answer(case: Any) -> Any:
    indexer: Indexer[dict[str, Any]] = Indexer(
        _POD, {NAMESPACE_INDEX: namespace_index_func(_POD), "app": _app, "tags": _tags}
    )
    return [_answer(indexer, step) for step in case["ops"] or ()]


def _answer(indexer: Indexer[dict[str, Any]], step: dict[str, Any]) -> Any:
    index, value = step.get("index", ""), step.get("value", "")
    try:
        match step["op"]:
            case "add":
                indexer.add(_pod(step["obj"]))
            case "update":
                indexer.update(_pod(step["obj"]))
            case "delete":
                indexer.delete(_pod(step["obj"]))
            case "replace":
                indexer.replace([_pod(obj) for obj in step["objs"] or ()])
            case "by_index":
                return _shown(indexer.by_index(index, value))
            case "index":
                return _shown(indexer.index(index, _pod(step["obj"])))
            case "index_keys":
                return sorted(indexer.index_keys(index, value))
            case "list_index_func_values":
                return sorted(indexer.list_index_func_values(index))
            case other:
                raise NotImplementedError(f"unknown op {other!r}")
    except IndexNotFound:
        return "error"
    return None


def _pod(obj: dict[str, Any]) -> dict[str, Any]:
    meta = {name: obj[name] for name in ("name", "namespace", "labels", "annotations")}
    return {"metadata": {**meta, "resourceVersion": obj["rv"]}}


def _app(pod: dict[str, Any]) -> list[str]:
    app = _POD.labels(pod).get("app", "")
    return [app] if app else []


def _tags(pod: dict[str, Any]) -> list[str]:
    return [f"{name}:{value}" for name, value in _POD.annotations(pod).items()]


def _shown(pods: list[dict[str, Any]]) -> list[str]:
    return sorted(f"{_POD.key(pod)}@{_POD.resource_version(pod)}" for pod in pods)
