"""Finding and claiming the objects that a controller owns. Each part can be used alone.

====================  ====================================================================================
:mod:`identity`       :class:`OwnerId`: an owner's key and uid
:mod:`owners`         finds the owner of a pod by its controller reference: kind, name and uid
:mod:`index`          indexes of objects by their controller (:func:`owned_by`), and of pods by their node
:mod:`claim`          adopts objects that match and releases those that no longer do, by owner reference
:mod:`owned_pods`     the pods of one owner, after adopting and releasing
:mod:`handlers`       queues the owners of a pod that changed, and updates their expectations
:mod:`owner_handler`  queues an owner that changed
:mod:`status`         whether a pod is ready, available, active, terminal or terminating
:mod:`ranking`        the order in which pods are deleted when there are too many
====================  ====================================================================================
"""
