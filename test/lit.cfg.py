# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lit configuration: one for the whole tree.
import os
import platform
import shutil
import sys

import lit.formats

config.name = "polynest"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "python", "benchmark", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.polynest_source_dir, "test")
config.test_exec_root = os.path.join(config.polynest_build_dir, "test")

path = [os.path.join(config.polynest_build_dir, "bin"), config.llvm_bin_dir]
config.environment["PATH"] = os.pathsep.join(path + [os.environ["PATH"]])
# No test sees code of another run.
config.environment["POLYNEST_CACHE"] = "0"
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%source", config.polynest_source_dir))
config.substitutions.append(
    ("%npy", f"{sys.executable} {config.test_source_root}/npy.py"))
config.substitutions.append(("%build", config.polynest_build_dir))
if shutil.which("cc"):
    config.available_features.add("cc")
if platform.machine() == "x86_64":
    config.available_features.add("x86_64")
# Code for another processor, run under emulation.
if shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc"):
    config.available_features.add("aarch64")
if config.sanitize:
    config.available_features.add("sanitizer")
