"""OCI images as values, byte for byte reproducible: layers, images, layouts, archives.

Knows nothing of kernels or experiments. What decides (names, headers, configs, manifests) takes
values and gives values; files are touched in ``files``, ``tree``, ``layout``, ``archive`` and
``unpack`` only. Why the bytes are made by hand: docs/adr/0002-deterministic-layers.md.
"""
