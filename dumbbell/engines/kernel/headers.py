"""The files that modules of a kernel are compiled with (`kernel build --with headers`): headers, scripts and products of its build."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

NAME = "headers"
"""The word of `--with`, and the folder next to a kernel."""
_KEPT = re.compile(
    r"(?:.*/)?(?:Makefile|Kbuild)[^/]*"  # how to compile
    r"|(?:include|scripts|arch/(?:um|x86))/.*(?<!\.o)(?<!\.a)(?<!\.c)(?<!\.S)(?<!\.cmd)"
    r"|scripts/module-common\.c|scripts/.*\.lds"
    r"|tools/include/.*\.h"
    r"|\.config|include/config/.*|Module\.symvers"
)
"""Files of the sources and of the build, by their paths, that compiling a module reads."""
_LEFT = ("source", "Makefile")
"""Entries of a separate folder of objects that stand for the sources."""


def keep(tree: Path, objects: Path, folder: Path) -> None:
    """Copy the files that modules are compiled with into `folder`. `objects` is the folder of the build, the tree itself or another one."""
    symbols = objects / "vmlinux.symvers"
    if symbols.is_file():
        shutil.copy(symbols, objects / "Module.symvers")
    for place in dict.fromkeys((tree, objects)):
        for inside, folders, files in os.walk(place):
            relative = os.path.relpath(inside, place)
            folders[:] = [name for name in folders if name not in (".git", "Documentation", "drivers", "fs", "sound")]
            for name in files:
                path = os.path.normpath(os.path.join(relative, name))
                if not _KEPT.fullmatch(path) or (place != tree and path in _LEFT):
                    continue
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                shutil.copy(os.path.join(inside, name), target, follow_symlinks=False)
