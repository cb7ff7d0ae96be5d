"""Functions with which controllers write objects. Each part can be used alone.

====================  ====================================================================================
:mod:`pods`           creates pods from a template, deletes and patches pods, and records the Events
:mod:`slow_start`     makes many calls in batches that grow while the calls succeed
:mod:`batches`        :func:`write_children`: creates and deletes many objects, with expectations
:mod:`conditions`     sets conditions by the rule of Kubernetes' older kinds
:mod:`finalizers`     makes patches that add and remove finalizers
:mod:`pod_conditions` makes patches that set a condition of a pod
:mod:`names`          makes prefixes for generated names
====================  ====================================================================================

Statuses are written with :func:`kinformer.operator.status.write_status`.
"""
