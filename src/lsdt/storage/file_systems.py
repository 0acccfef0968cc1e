"""Detection of network file systems, where SQLite cannot rely on locks and syncs."""

from __future__ import annotations

import re
from pathlib import Path

_NETWORK = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smbfs",
        "smb3",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "gpfs",
        "beegfs",
        "ocfs2",
        "gfs2",
        "davfs",
        "ncpfs",
        "orangefs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.ceph",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.gcsfuse",
        "fuse.davfs2",
        "fuse.smbnetfs",
    )
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


def network_file_system(path: Path, mounts: str | None = None) -> str:
    """Return the kind of network file system that a path is on; empty if it is local or unknown.

    `mounts` is the table of mounted file systems in the format of ``/proc/mounts``, by default this system's.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text()
        except OSError:
            return ""
    real = path.resolve()
    found, depth = "", -1
    for line in mounts.splitlines():
        words = line.split()
        if len(words) < 3:
            continue
        place = Path(_ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[1]))
        if len(place.parts) >= depth and real.is_relative_to(place):
            found, depth = words[2], len(place.parts)
    return found if found in _NETWORK else ""
