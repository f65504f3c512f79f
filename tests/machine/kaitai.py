"""The real compiler of Kaitai Struct, installed once, and parsers that it made."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import types
from pathlib import Path

import yaml

from fixturegen.lock import locked
from fixturegen.settings import cache_directory

NPM = Path(__file__).with_name("npm")
LANGUAGES = ("cpp_stl", "csharp", "go", "java", "javascript", "lua", "nim", "perl", "php", "python", "ruby", "rust")


def installed():
    """The folder with the compiler in it: npm fetches what the lock file names, once for all runs on this machine."""
    lock = (NPM / "package-lock.json").read_bytes()
    home = cache_directory() / f"kaitai-{hashlib.sha256(lock).hexdigest()[:12]}"
    with locked(home.with_suffix(".lock")):
        if not home.is_dir():
            with tempfile.TemporaryDirectory(dir=home.parent) as folder:
                place = Path(folder, "kaitai")
                shutil.copytree(NPM, place)
                words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
                done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False, timeout=300)
                if done.returncode:
                    raise OSError(f"npm ci: {done.stderr.strip()[-500:]}")
                place.rename(home)
    return home


class CompileError(Exception):
    pass


def node(home, script, question):
    environment = {"PATH": os.environ["PATH"], "NODE_PATH": str(home / "node_modules")}
    done = subprocess.run(
        ["node", str(NPM / script)],
        input=json.dumps(question), capture_output=True, text=True, check=False, timeout=120, env=environment,
    )  # fmt: skip
    if done.returncode:
        raise CompileError(done.stderr)
    return json.loads(done.stdout)


class Compiler:
    """Compiles descriptions; each is a text or what YAML makes of it."""

    def __init__(self, home):
        self.home = home

    def files(self, descriptions, *languages):
        """The files of the parsers, by name."""
        read = [described(one) if isinstance(one, str) else one for one in descriptions]
        return node(self.home, "compile.cjs", {"descriptions": read, "languages": languages})

    def read_in_javascript(self, folder, frames):
        return node(self.home, "read.cjs", {"folder": str(folder), "frames": frames})


def described(text):
    """A description as YAML makes it; the loader in C takes a tenth of the time."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def classes(files):
    """Classes in Python out of the files of a compiler, by the name of the description."""
    return {Path(name).stem: loaded(name, text) for name, text in files.items() if name.endswith(".py")}


def loaded(name, text):
    module = types.ModuleType(Path(name).stem)
    exec(compile(text, name, "exec"), module.__dict__)
    (found,) = (value for key, value in vars(module).items() if key.startswith("LmcacheLm"))
    return found
