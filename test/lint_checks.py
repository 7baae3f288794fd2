# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds comment lines of lit tests that look like checks but are none.

A misspelt prefix (`CHCEK:`, or one that no RUN line names) silently checks
nothing. Every line `// WORD:` or `// WORD-NEXT:` in capitals must use a prefix
that a RUN line of its file declares.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent
CHECK = re.compile(
    r"^\s*(?://|#)\s*([A-Z][A-Z0-9_-]*?)"
    r"(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?(?:\{LITERAL\})?:")
IGNORED = {"RUN", "REQUIRES", "XFAIL", "UNSUPPORTED", "DEFINE", "REDEFINE",
           "END", "ALLOW_RETRIES", "NOTE"}
FAULT = re.compile(r"B\d{3}")  # a line of the list of faults


def prefixes(text):
    found = set()
    if re.search(r"FileCheck", text):
        found.add("CHECK")
    for names in re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", text):
        found.update(names.split(","))
    return found


def main():
    bad = 0
    for path in sorted(ROOT.rglob("*")):
        if path.suffix not in (".mlir", ".test") or "Inputs" in path.parts:
            continue
        text = path.read_text()
        known = prefixes(text)
        for number, line in enumerate(text.splitlines(), 1):
            match = CHECK.match(line)
            if (match and match[1] not in known | IGNORED
                    and not FAULT.fullmatch(match[1])):
                print(f"{path}:{number}: '{match[1]}' is no check prefix of "
                      "this file", file=sys.stderr)
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
