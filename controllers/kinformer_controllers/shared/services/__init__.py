"""Code that the controllers of Endpoints and EndpointSlices share.

=====================  =================================================================================
:mod:`pod`             the fields of a pod that matter to services, read once for each change of the pod
:mod:`selection`       which pods a service selects, and which services a pod: an index, kept by event handlers
:mod:`service`         reads a service: its families and ports; and the time of the change that is being written
:mod:`repacking`       the one normal form of Endpoints subsets
:mod:`syncer`          the steps around a sync that both controllers have
=====================  =================================================================================
"""
