"""What can be wrong with a finished release, and what a file says beside its content."""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anonymize.release import storage
from anonymize.release.archives import Found
from anonymize.release.labels import account
from anonymize.release.metadata.written import Groups
from anonymize.release.places import KEY
from anonymize.release.reasons import Code, Reason
from anonymize.release.records import facts
from anonymize.release.records.journal import JOURNAL
from anonymize.release.records.tables import MAP, QUARANTINE
from anonymize.release.sets import state
from anonymize.whole_file import TEMPORARY

PRIVATE = frozenset({JOURNAL, MAP, QUARANTINE, KEY, account.PRIVATE, state.FILE, facts.FILE})
# Extended attributes that somebody may write, and those that file systems give by themselves; not
# looked at: access lists of NFS.
WRITTEN = ("user.", "trusted.", "security.", "system.posix_acl_")
GIVEN = frozenset(f"security.{name}" for name in ("selinux", "SMACK64", "apparmor", "ima", "evm"))
SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


class Flaw(Code):
    """What can be wrong with a release."""

    MANIFEST = "manifest", "the manifest is damaged, or says what no release says"
    MISSING = "missing", "a file of the manifest is not there"
    CHANGED = "changed", "a file has another content than the manifest says"
    FOREIGN = "foreign", "a file that is no output of manifest.csv (its name may tell something)"
    LINK = "link", "a symbolic link"
    HARD_LINK = "hard-link", "a file that has a second name somewhere"
    ATTRIBUTES = "attributes", "extended attributes, or a file with setuid, setgid or sticky bits"
    SIGNATURE = "signature", "no signature by the owner of --public-key of what the manifests say"
    NOT_A_FILE = "not-a-file", "a pipe, socket or device, or a folder that cannot be read"
    UNREADABLE = "unreadable", "a file that cannot be read"
    UNFINISHED = "unfinished", "a file that an interrupted run left; run `anonymize apply` again"
    EMPTY_FOLDER = "empty-folder", "a folder without files, which nothing but its name is left of"
    EMPTY = "empty", "no file in it: none was released, or all wait for `anonymize review`"
    PRIVATE = "private", "a file of the private folder: a key, a journal or a map"
    UNFIT = "unfit", "a file that breaks its format, or holds more than its allow-list names"


@dataclass(frozen=True)
class Finding:
    """One flaw: ``row`` of ``table`` ("manifest.csv" or "labels/manifest.csv"), 0 for none."""

    flaw: Flaw
    table: str = ""
    row: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """What was found. ``files`` counts images and files of labels, ``labels`` the latter;
    ``other_times`` files with another time than a release gives them. ``text_not_looked_for``
    counts images in which nobody looked for burned-in text, ``text_not_told`` those of which the
    manifest does not say. ``groups``: whom its metadata set apart."""

    files: int
    findings: tuple[Finding, ...]
    other_times: int
    labels: int = 0
    text_not_looked_for: int = 0
    text_not_told: int = 0
    groups: Groups | None = None

    @property
    def sound(self) -> bool:
        return not self.findings

    @property
    def counts(self) -> dict[str, int]:
        """Findings by code."""
        return dict(Counter(finding.flaw.value for finding in self.findings))


def beside(path: Path) -> Iterator[Flaw]:
    """What a file or folder says beside its content."""
    try:
        status = path.lstat()
    except OSError:
        return
    try:
        listed = os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []
    except OSError:  # a file system without any
        listed = []
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        yield Flaw.HARD_LINK
    noted = any(name.startswith(WRITTEN) and name not in GIVEN for name in listed)
    if noted or (stat.S_ISREG(status.st_mode) and status.st_mode & SPECIAL):
        yield Flaw.ATTRIBUTES


def stranger(found: Found) -> Finding:
    """The finding of a file that no table names."""
    name = found.path.rpartition("/")[2]
    if name.startswith(TEMPORARY):
        return Finding(Flaw.UNFINISHED)
    if name in PRIVATE:
        return Finding(Flaw.PRIVATE)
    return odd(found) or Finding(Flaw.FOREIGN)


def odd(found: Found) -> Finding | None:
    """The finding of what is no regular file."""
    if found.refusal is None:
        return None
    return Finding(Flaw.LINK if found.refusal is Reason.SYMLINK else Flaw.NOT_A_FILE)


def has_other_time(path: Path) -> bool:
    """Whether a file has another time than a release gives it."""
    try:
        return path.lstat().st_mtime != storage.CONSTANT_TIME
    except OSError:
        return True
