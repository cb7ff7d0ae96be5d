"""Incidents: replay what :mod:`kinformer.recording` has recorded, with the same controllers, in virtual time.

In flow a recording and controllers. Out flow the syncs of the replay, and where they differ from the recorded ones. The
same recording and the same controllers give the same replay. Nothing is sent to any server.

- :mod:`~kinformer.simulation.incident.tape` has the recording in a form that can be asked.
- :mod:`~kinformer.simulation.incident.channels` and :mod:`~kinformer.simulation.incident.server` stand for the API
  server.
- :mod:`~kinformer.simulation.incident.player` goes through the recording, and compares.
- :mod:`~kinformer.simulation.incident.keeping` makes a test of a recorded failure.

What a controller keeps in its memory at the beginning of the recording is not in it, unless the recording begins with
the start of the process. Its in-memory state is then that of a controller whose caches are filled, and which has not
synced any key.
"""

from kinformer.simulation.incident.differences import Difference
from kinformer.simulation.incident.player import SyncRun
from kinformer.simulation.incident.replaying import Replay, replay_recording

__all__ = ("Difference", "Replay", "SyncRun", "replay_recording")
