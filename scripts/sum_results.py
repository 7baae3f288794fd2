# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums JUnit files of all lanes; last line `N passed, N failed, N skipped`.

Usage: sum_results.py FOLDER [FAILED_STEP ...]. A step that failed without a
failed test of its own (a lint, a crash of a runner) counts as one failure.
Exits 1 unless something passed and nothing failed.
"""
import pathlib
import sys
import xml.etree.ElementTree as ET


def count(path):
    """(passed, failed, skipped, names of failed) of one JUnit file."""
    passed = failed = skipped = 0
    names = []
    for case in ET.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            names.append(f"{case.get('classname')}.{case.get('name')}")
        elif case.find("skipped") is not None or case.get("status") in (
                "notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped, names


def main(folder, steps):
    totals = [0, 0, 0]
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        passed, failed, skipped, names = count(path)
        print(f"{path.stem}: {passed} passed, {failed} failed, "
              f"{skipped} skipped")
        for name in names:
            print(f"  failed: {name}")
        totals = [a + b for a, b in zip(totals, (passed, failed, skipped))]
    for step in steps:
        print(f"failed step: {step}")
    if steps and totals[1] == 0:
        totals[1] = len(steps)
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 0 if totals[0] and not totals[1] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
