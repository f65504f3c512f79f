"""Makes a package of this folder, whatever else is importable, and runs it: ``python .../host IN OUT``."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

NAME = "lmconform_plugin_host"
NURSERY = "--nursery"


def _module(name: str) -> ModuleType:
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]
    spec = importlib.util.spec_from_file_location(NAME, here / "__init__.py", submodule_search_locations=[str(here)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[NAME] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return importlib.import_module(f"{NAME}.{name}")


if __name__ == "__main__":
    if sys.argv[1] == NURSERY:
        _module("nursery").main(sys.argv[2:])
    else:
        _module("program").main(sys.argv[1:])
