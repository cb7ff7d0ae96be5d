"""A work queue's length and items."""

from __future__ import annotations

from typing import Any

from kinformer.workqueue import Queue


def answer(case: Any) -> Any:
    queue: Queue[str] = Queue()
    answers: list[dict[str, Any]] = []
    for op in case["ops"] or ():
        answered: dict[str, Any] = {}
        match op["op"]:
            case "add":
                queue.add(op["item"])
            case "get":
                answered["item"] = queue.get_nowait()
            case "done":
                queue.done(op["item"])
            case "shutdown":
                queue.shut_down()
        answers.append({**answered, "len": len(queue)})
    return answers
