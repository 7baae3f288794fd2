# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the compiler's shared library into the wheel.

It is taken from POLYNEST_LIBRARY or from a build folder of the source tree. A
wheel made where neither is found looks the library up when it is used.
"""

import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent.parent
NAME = "libpolynest.so"


def built_library():
    chosen = os.environ.get("POLYNEST_LIBRARY")
    if chosen:
        return Path(chosen)
    for build in ("build-release", "build"):
        path = ROOT / build / "lib" / NAME
        if path.is_file():
            return path
    return None


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        library = built_library()
        if library is not None and not self.editable_mode:
            folder = Path(self.build_lib) / "polynest" / "lib"
            folder.mkdir(parents=True, exist_ok=True)
            # Ahead-of-time libraries are linked with the archive beside it.
            for path in (library, library.with_name("libpolynest_rt.a")):
                if path.is_file():
                    shutil.copyfile(path, folder / path.name)


class PlatformDistribution(Distribution):
    """A wheel with a shared library fits one platform."""

    def has_ext_modules(self):
        return built_library() is not None


setup(
    cmdclass={"build_py": BuildWithLibrary}, distclass=PlatformDistribution
)
