"""What is written to objects: no more than what was meant, and to no other object of the name."""

from __future__ import annotations

from kinformer.deletion.heads import Reference
from kinformer_controllers.garbagecollector import objects

ONE = Reference("apps/v1", "ReplicaSet", "one", "1", controller=True, block_owner_deletion=True)
TWO = Reference("v1", "Pod", "two", "2")


def test_a_reference_is_taken_out_by_its_uid_whatever_else_is_there() -> None:
    assert objects.disown("u", ["1", "2"]) == {
        "metadata": {
            "uid": "u",
            "ownerReferences": [{"$patch": "delete", "uid": "1"}, {"$patch": "delete", "uid": "2"}],
        }
    }


def test_custom_resources_get_the_remaining_owners_at_the_version_seen() -> None:
    assert objects.disown_merge("7", [ONE, TWO], ["2"]) == {
        "metadata": {
            "resourceVersion": "7",
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "one",
                    "uid": "1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }
    }
    assert objects.disown_merge("7", [TWO], ["2"])["metadata"]["ownerReferences"] is None


def test_only_references_that_block_are_made_not_to() -> None:
    body = objects.unblock("u", [ONE, TWO])["metadata"]

    assert body["uid"] == "u"
    assert [(one["uid"], one["controller"], one["blockOwnerDeletion"]) for one in body["ownerReferences"]] == [
        ("1", True, False)
    ]


def test_of_custom_resources_no_reference_blocks_afterwards() -> None:
    body = objects.unblock_merge("7", [ONE, TWO])["metadata"]

    assert body["resourceVersion"] == "7"
    assert [(one["uid"], one["blockOwnerDeletion"]) for one in body["ownerReferences"]] == [("1", False), ("2", False)]


def test_a_finalizer_is_taken_out_and_the_others_stay_in_their_order() -> None:
    assert objects.without_finalizer("7", ["b", "orphan", "a"], "orphan") == {
        "metadata": {"resourceVersion": "7", "finalizers": ["b", "a"]}
    }
    assert objects.without_finalizer("7", ["orphan"], "orphan")["metadata"]["finalizers"] is None
