"""A replay ends with the bundler that asked for it, however that one ended: SIGKILL runs no ``finally``.

The asking bundler holds the other end of the replay's stdin and says one byte on it. The system closes that
end when the asker is gone, and the replay, which waits for that, ends as by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from bundler.replay.limits import END_S

HELD = b"\n"
"""What the asker says. Without it a stdin at its end means nothing: it may have been none from the start."""


def end_with_asker(descriptor: int = 0) -> None:
    """End this process once whoever holds the other end of ``descriptor`` is gone."""
    threading.Thread(target=_wait, args=(descriptor,), name="lifeline", daemon=True).start()


def _wait(descriptor: int) -> None:
    try:
        if os.read(descriptor, 1) != HELD:
            return
        while os.read(descriptor, 4096):
            pass
    except OSError:
        return
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_S)
    os._exit(1)
