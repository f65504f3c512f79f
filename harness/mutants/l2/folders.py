"""The reference plugin with another class of folders; what most mutants of what is kept are made of."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.folder import ObjectFolder
from harness.reference.l2.keeper import Keeper


class OverFolder(ReferencePlugin):
    """Keeps objects in a folder of a class of its own."""

    Folder: ClassVar[type[ObjectFolder]]

    def _open_folder(self, root: Path, fragment_size: int, *, durable: bool) -> Keeper:
        return self.Folder(root, fragment_size=fragment_size, durable=durable)
