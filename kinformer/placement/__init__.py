"""Placement: decides on which nodes a pod may run, for the DaemonSet controller and the fake nodes. No I/O.

====================  ====================================================================================
:mod:`taints`         taints and tolerations
:mod:`affinity`       node selectors and required node affinity
====================  ====================================================================================
"""
