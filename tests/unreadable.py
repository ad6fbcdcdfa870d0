"""Folders that nobody may list."""

import os


def shut(patch, name):
    """Folders of this name are as those of somebody else."""
    listing = os.scandir

    def refused(path):
        if str(path).endswith(name):
            raise PermissionError(13, "denied")
        return listing(path)

    patch.setattr(os, "scandir", refused)
