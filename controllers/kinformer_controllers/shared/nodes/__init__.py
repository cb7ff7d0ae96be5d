"""Code that controllers of nodes share. Each part can be used alone.

======================  ==================================================================================
:mod:`taints`           finds, adds, replaces and removes taints in a node's list. No I/O
:mod:`taint_writer`     writes taints and labels to the server, and retries after a conflict
:mod:`zones`            the name of the zone that a node is in
:mod:`node_events`      records Events about nodes
:mod:`cluster_cidrs`    reads the flags that name networks
======================  ==================================================================================

The index of pods by their node is in :mod:`kinformer.controllerutil.owning`.
"""
