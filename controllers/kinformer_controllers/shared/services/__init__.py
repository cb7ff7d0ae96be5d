"""Code that the controllers of Endpoints and EndpointSlices share.

=====================  =================================================================================
:mod:`pod`             the fields of a pod that matter to services, read once for each change of the pod
:mod:`selection`       an index of the pods that a service selects, and of the services that select a pod
:mod:`handlers`        event handlers that update this index, and queue the services that a change concerns
:mod:`service`         reads a service: whether it gets endpoints, of which address families, at which ports
:mod:`repacking`       the one normal form of Endpoints subsets
:mod:`syncer`          the steps around a sync that both controllers have
:mod:`trigger_time`    the time of the change that is being written
=====================  =================================================================================
"""
