"""Puts an empty module in place of each name in ``LMCONFORM_STUB_MODULES``, before anything of a release is imported.

The pinned interpreter runs this at its start when this folder is on its import path. A file in the unpacked wheel would not do:
an extension module beside it is found first.
"""  # noqa: INP001 # a folder of the import path, not a package

import os
import sys
import types

for name in filter(None, os.environ.get("LMCONFORM_STUB_MODULES", "").split(",")):
    sys.modules[name] = types.ModuleType(name)
