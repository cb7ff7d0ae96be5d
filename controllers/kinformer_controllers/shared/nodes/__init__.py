"""Which nodes a pod may run on, as the scheduler and the DaemonSet controller see it. No I/O.

====================  ====================================================================================
:mod:`taints`         what tolerations tolerate, and for how long
:mod:`affinity`       node selectors and the affinity that is required
====================  ====================================================================================
"""
