"""Recording: what a manager was told, what its syncs did, and when, in a file for :mod:`kinformer.simulation.incident`.

In flow the bytes of watches and lists as they arrive, each request of a controller with its answer, and the beginning
and end of each sync. Out flows a file of bounded size that has the last minutes. It promises:

- The event loop never waits for the disk. Recording an event costs the loop a reference to its bytes. Four times a
  second a thread compresses what has come, and writes it. If the disk is slower than the events, a part is left out,
  and a log line says so.
- A process that is killed loses the last quarter of a second, and never the file: it is only appended to.
- The file is a ring of :data:`SEGMENTS` segments: ``FILE`` is the newest, ``FILE.3`` the oldest. Each begins with the
  state of all caches. So the caches at the beginning of any segment can be made again, and the oldest segment can be
  removed when there is a new one. A new process begins a new segment, and the ones of the process before stay in the
  ring.
- Data of Secrets, tokens, and annotations that were asked for never reach the disk. Files have mode 0600.

:mod:`~kinformer.recording.entries` says what is in a file, and :mod:`~kinformer.recording.file` how it is laid out.
Leases and Events are not recorded: no sync depends on them. Not recorded either are what a controller reads from other
places than the API server, and the state of its memory when the window begins.
"""

from kinformer.recording.file import SEGMENTS, Recorded, RecordingUnusable, read_recording
from kinformer.recording.options import Recording
from kinformer.recording.recorder import Recorder

__all__ = ("SEGMENTS", "Recorded", "Recorder", "Recording", "RecordingUnusable", "read_recording")
