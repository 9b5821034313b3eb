"""How a device is recognised in both libraries without publishing what identifies it."""

from __future__ import annotations

import hashlib
import uuid

_PREFIXES = ("GPU-", "MIG-")


def hashed(text: str) -> str:
    """16 hexadecimal digits for a UUID as NVML writes it, prefix ``GPU-`` or ``MIG-`` left out.

    ``printf %s UUID-WITHOUT-PREFIX | sha256sum | cut -c-16`` gives the same. A UUID is random, so
    its hash tells two devices apart and does not lead back to the UUID.
    """
    bare = text.strip().lower()
    for prefix in _PREFIXES:
        bare = bare.removeprefix(prefix.lower())
    return hashlib.sha256(bare.encode()).hexdigest()[:16]


def hashed_bytes(sixteen: bytes) -> str:
    """The same for a UUID as the driver gives it: 16 bytes, with no prefix."""
    return hashed(str(uuid.UUID(bytes=sixteen)))


def bus_id(text: str) -> str:
    """A PCI bus id in one spelling: NVML writes the domain with 8 digits, the driver with 4."""
    domain, _, rest = text.strip().lower().partition(":")
    return f"{domain[-4:].rjust(4, '0')}:{rest}"
