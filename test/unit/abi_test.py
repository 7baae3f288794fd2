#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what a library exports with the checked-in list.

Usage: abi_test.py NM LIBRARY LIST [--update]
"""
import subprocess
import sys


def exported(nm, library):
    text = subprocess.run(
        [nm, "-D", "--defined-only", "--format=posix", library],
        check=True, capture_output=True, text=True).stdout
    return sorted(line.split()[0] for line in text.splitlines() if line)


def main():
    nm, library, path = sys.argv[1:4]
    found = exported(nm, library)
    if "--update" in sys.argv[4:]:
        with open(path, "w") as file:
            file.writelines(name + "\n" for name in found)
        return 0
    with open(path) as file:
        listed = [line.strip() for line in file if not line.startswith("#")]
    for name in sorted(set(found) - set(listed)):
        print(f"{name} is exported but not in {path}")
    for name in sorted(set(listed) - set(found)):
        print(f"{name} is in {path} but not exported")
    print(f"{len(found)} symbols")
    return found != sorted(listed)


sys.exit(main())
