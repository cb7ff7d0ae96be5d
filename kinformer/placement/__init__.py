"""Which nodes a pod may run on. The DaemonSet controller and the fake nodes go by it. No I/O.

====================  ====================================================================================
:mod:`taints`         what tolerations tolerate, and for how long
:mod:`affinity`       node selectors and the affinity that is required
====================  ====================================================================================
"""
