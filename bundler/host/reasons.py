"""What holds the clocks down, decoded. Pure."""

from __future__ import annotations

import enum


class EventReason(enum.IntFlag):
    """NVML's ``nvmlClocksEventReason…``, before driver 535 ``nvmlClocksThrottleReason…``: the same bits."""

    GPU_IDLE = 0x1
    APPLICATIONS_CLOCKS_SETTING = 0x2
    SW_POWER_CAP = 0x4
    HW_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SW_THERMAL_SLOWDOWN = 0x20
    HW_THERMAL_SLOWDOWN = 0x40
    HW_POWER_BRAKE_SLOWDOWN = 0x80
    DISPLAY_CLOCK_SETTING = 0x100
    BOARD_LIMIT = 0x200
    """Not in NVML's own mask of all event reasons; neither is the next."""
    RELIABILITY = 0x400


def decode(mask: int) -> tuple[str, ...]:
    """The reasons in ``mask``, lowest bit first: ``sw_power_cap``, …; others as ``unknown bit 0x800``."""
    bits = (1 << place for place in range(mask.bit_length()))
    return tuple(_name(bit) for bit in bits if mask & bit)


def _name(bit: int) -> str:
    try:
        return EventReason(bit).name.lower()  # type: ignore[union-attr]
    except (ValueError, AttributeError):
        return f"unknown bit {bit:#x}"
