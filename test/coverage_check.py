# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that everything a user can name is named in a test.

  passes        each polynest pass of a Passes.td has a lit file <name>.mlir,
                `polynest-` left off, in a folder of a stage; every option of it
                is given in one of its files <name>*.mlir; where its source has
                a remark that it declines, there is <name>-decline.mlir, or a
                file that checks a `[Missed]`; test/faults.txt has a fault to
                plant in its source
  polynestc     each option of a command is given in a test that runs the
                command; options that commands share, in one that runs any
  C functions   each name of lib/polynest.abi stands in a C program under test/

Prints what is missing and exits 1.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
LIT_FOLDERS = ["s1", "s2", "s3", "s4", "s5", "math"]
missing = []


def read(name):
    path = ROOT / name
    return path.read_text(errors="replace") if path.is_file() else ""


def run_lines(text):
    """RUN lines with continued ones joined."""
    joined = re.sub(r"\\\n\s*(?://)?\s*RUN:", " ", text)
    return re.findall(r"RUN:(.*)", joined)


def passes_of(text):
    """(flag, options) of each pass of a Passes.td."""
    for body in re.split(r"(?m)^def ", text)[1:]:
        flag = re.search(r'Pass<"([^"]+)"', body)
        if flag:
            yield flag[1], re.findall(
                r'(?:List)?Option<"\w+",\s*"([^"]+)"', body)


def check_passes():
    faulty = set(re.findall(r"(?m)^file (\S+)$", read("test/faults.txt")))
    names = [flag.removeprefix("polynest-")
             for name in TRACKED if name.endswith("Passes.td")
             for flag, _ in passes_of(read(name))]
    for table in [n for n in TRACKED if n.endswith("Passes.td")]:
        for flag, options in passes_of(read(table)):
            name = flag.removeprefix("polynest-")
            # The longest name wins: a-b-c.mlir belongs to a-b-c, not to a-b.
            files = []
            for path in TRACKED:
                part = pathlib.PurePath(path)
                if (part.suffix == ".mlir" and len(part.parts) == 3
                        and part.parts[0] == "test"
                        and part.parts[1] in LIT_FOLDERS):
                    stem = part.stem.removeprefix("polynest-")
                    owners = [n for n in names
                              if stem == n or stem.startswith(n + "-")]
                    if owners and max(owners, key=len) == name:
                        files.append((stem, read(path)))
            if not any(stem == name for stem, _ in files):
                missing.append(f"{flag}: no lit file {name}.mlir in a folder "
                               "of a stage")
                continue
            runs = "\n".join(line for _, text in files
                             for line in run_lines(text))
            if flag not in runs:
                missing.append(f"{flag}: its lit files do not run it")
            for option in options:
                if not re.search(rf"(?<![\w-]){re.escape(option)}=", runs):
                    missing.append(f"{flag}: option {option} is in none of its "
                                   "lit files")
            camel = "".join(w.capitalize() for w in name.split("-"))
            path = pathlib.PurePath(table).parent / f"{camel}.cpp"
            source = read(path)
            if str(path) not in faulty:
                missing.append(f"{flag}: test/faults.txt has no fault in "
                               f"{path}")
            if ("RemarkKind::Declined" in source and
                    not any(stem == f"{name}-decline" or "[Missed]" in text
                            for stem, text in files)):
                missing.append(f"{flag}: no lit file checks that it declines")


def check_polynestc():
    tests = [read(n) for n in TRACKED if n.startswith("test/")
             and n.endswith((".test", ".mlir", ".py", ".c"))]
    lines = [line for text in tests for line in text.splitlines()
             if "polynestc" in line]
    whole = "\n".join(lines) + "\n".join(
        text for text in tests if '"polynestc"' in text or "polynestc," in text)
    for name in TRACKED:
        if not re.fullmatch(r"tools/polynestc/\w+\.c", name):
            continue
        command = re.fullmatch(r".*/(\w+)Command\.c", name)
        text = whole
        if command:
            word = command[1].lower()
            text = "\n".join(line for line in lines
                             if re.search(rf"polynestc {word}\b", line))
        options = re.findall(r'\{\s*"(--?[a-z][a-z-]*)",\s*PN_OPTION_',
                             read(name))
        for option in options:
            if not re.search(rf"(?<![\w-]){option}(?![\w-])", text):
                where = f"polynestc {word}" if command else "polynestc"
                missing.append(f"{where}: option {option} is given in no test")


def check_functions():
    programs = "\n".join(read(n) for n in TRACKED
                         if n.startswith("test/") and n.endswith((".c", ".h")))
    words = set(re.findall(r"\bpn_\w+", programs))
    for symbol in read("lib/polynest.abi").split():
        if symbol not in words:
            missing.append(f"{symbol}: no C program under test/ names it")


def main():
    check_passes()
    check_polynestc()
    check_functions()
    for line in missing:
        print(f"coverage: {line}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
