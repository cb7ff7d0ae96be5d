"""client-go for Python's asyncio.

Nothing is imported until it is asked for: :mod:`kinformer.client` to talk to an API server, :mod:`kinformer.informers`
and :mod:`kinformer.cache` for a local copy that follows it, :mod:`kinformer.manager` to write a controller,
:mod:`kinformer.envtest` to test it, :mod:`kinformer.models` for the objects.
"""
