# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that what the documents name exists.

Looks at code spans (`...`) of README.md and docs/*.md:
  polynest-word     a pass flag of a Passes.td, a stage pipeline or a tool
  pn_word, PN_WORD  declared in a header under include/ or lib/
  path/with/slash   a tracked file or folder
  --option          in the sources of the tools, the scripts or the Python
Prints what is missing and exits 1.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout.split()
FOLDERS = {str(parent) for name in TRACKED
           for parent in pathlib.PurePath(name).parents}


def text_of(*suffixes):
    return "\n".join((ROOT / name).read_text(errors="replace")
                     for name in TRACKED
                     if name.endswith(suffixes) and not name.startswith("docs"))


CODE = text_of(".td", ".h", ".c", ".cpp", ".py", ".cmake", "CMakeLists.txt",
               ".inc", ".toml", ".json", "/prepare", "/demo", "/check",
               "/lint", "/generate_docs", "/plant_faults", "/contractions",
               "/fusion", "/models")
# Flags that belong to other programs.
FOREIGN = {"--preset", "--remarks-filter", "--remark-policy", "--gtest"}


def exists(word):
    """True if `word` is none of our business or names something real."""
    if re.fullmatch(r"polynest-[a-z0-9-]+", word):
        return word in CODE
    if re.fullmatch(r"(pn|PN)_[A-Za-z0-9_]+", word):
        return word.endswith("_") or word in CODE
    if re.fullmatch(r"--[a-z][a-z0-9-]*", word):
        return word in FOREIGN or word in CODE or f'"{word[2:]}"' in CODE
    if re.fullmatch(r"(lib|include|tools|test|python|docs|cmake|scripts)/"
                    r"[A-Za-z0-9_./-]*", word):
        name = word.rstrip("/")
        return name in TRACKED or name in FOLDERS
    return True


def main():
    missing = 0
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for span in re.findall(r"`([^`]+)`", line):
                for word in re.split(r"[\s,;()=*{}\[\]\"']+", span):
                    if not exists(word.rstrip(".:")):
                        print(f"{path.relative_to(ROOT)}:{number}: "
                              f"'{word}' does not exist", file=sys.stderr)
                        missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
