"""The controller of ReplicaSets and of ReplicationControllers: one controller, two kinds.

====================  ====================================================================================
:mod:`kind`           :class:`ReplicaKind`: what tells the two apart
:mod:`controller`     :class:`ReplicaController`: what wakes it, and the order of a sync
:mod:`owners`         whose a pod is, and which pods an owner has: by reference, or by labels alone
:mod:`replicas`       how many pods too few or too many, and which go
:mod:`status`         what the status should be
====================  ====================================================================================
"""
