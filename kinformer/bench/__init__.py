"""Benchmarks: how fast informers are, and what they cost, measured the same way for everybody.

A replay server in a process of its own sends what a kube-apiserver would, from bytes that it has ready; the informer
under test runs in another process, which measures its own CPU time and memory.
"""
