"""The controller of ReplicaSets and ReplicationControllers: the same code for both kinds.

====================  ====================================================================================
:mod:`kind`           :class:`ReplicaKind`: the differences between the two kinds
:mod:`controller`     :class:`ReplicaController`: the event handlers, and the steps of a sync
:mod:`owners`         the owner of a pod, and the pods of an owner: by owner reference, or by labels alone
:mod:`replicas`       creates missing pods and deletes surplus ones
:mod:`status`         computes the status
====================  ====================================================================================
"""
