"""The controller of ReplicaSets and ReplicationControllers: the same code for both kinds.

====================  ====================================================================================
:mod:`controller`     :class:`ReplicaController`: the event handlers, and the steps of a sync
:mod:`owners`         how the two kinds differ, and whose pods are whose: by owner reference, or by labels alone
:mod:`replicas`       creates missing pods, deletes surplus ones, and computes the status
====================  ====================================================================================
"""
