"""What the controllers that turn services into endpoints have in common.

=====================  =================================================================================
:mod:`pod`             what of a pod matters to services, read once each time that the pod changes
:mod:`selection`       which pods a service selects, and which services a pod, kept up to date: two look-ups
:mod:`handlers`        the event handlers that keep it so, and have those services synced that a change concerns
:mod:`service`         what a service asks for: whether it gets endpoints at all, of which family, at which port
:mod:`slices`          what the names of a service's EndpointSlices begin with
:mod:`trigger_time`    since when the change was in the world that is being written now
=====================  =================================================================================
"""
