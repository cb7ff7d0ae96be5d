"""What controllers of nodes share, each part usable alone.

======================  ==================================================================================
:mod:`taints`           a node's list of taints: found, added, replaced, removed. No I/O
:mod:`taint_writer`     taints and labels written to the server, again after a conflict
:mod:`zones`            the name of the zone that a node is in
:mod:`node_events`      Events about nodes, which are known by their name alone
:mod:`pod_conditions`   the condition of a pod that somebody other than its kubelet sets
======================  ==================================================================================

Pods are found by their node with the index in :mod:`kinformer_controllers.shared.owning.index`.
"""
