"""Adapters to other libraries, one per file; the folder is the registry.

The file name is the name of the peer, and its class is named alike. An adapter takes a `SerialArm` and returns joint
values; see `comparison/peers/`. A library is imported when its adapter is made.
"""
