#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sends programs through the stages one by one and compares with the whole.

For each program, a section of a .mlir file of this folder:
  1. polynest-opt with --polynest-s1 to --polynest-s5 in five processes, through
     text, prints at each stage what polynestc dumps there, and at the end what
     one process with all five prints.
  2. polynestc run on the program and on the dump of each stage, with the same
     seed, writes files that are equal bit by bit.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

STAGES = ["s1", "s2", "s3", "s4", "s5"]
OPT_FLAGS = ["--allow-unregistered-dialect"]


class Failure(Exception):
    pass


def programs_of(path):
    """(name, text, arguments of polynestc run) of each section."""
    for text in re.split(r"(?m)^// -----\n", path.read_text()):
        # The entry is the last function.
        name = re.findall(r"(?m)^func\.func (?:private )?@(\w+)", text)[-1]
        words = re.findall(r"(?m)^// arguments: (.+)$", text)
        yield name, text, shlex.split(" ".join(words))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(map(str, command))}\n"
                      f"exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def results_of(tool, path, arguments, folder):
    """The bytes of each result of one run."""
    run([tool, "run", path, *arguments, "--save", folder])
    return [file.read_bytes() for file in sorted(folder.glob("*.npy"))]


def check(tools, program, work):
    opt, polynestc = tools
    name, text, arguments = program
    folder = work / name
    folder.mkdir(parents=True)
    source = folder / f"{name}.mlir"
    source.write_text(text)
    want = results_of(polynestc, source, [*arguments, "--dump-dir", folder],
                      folder / "whole")
    if not want:
        raise Failure("the program has no result")
    whole = run([opt, source, *OPT_FLAGS] + [f"--polynest-{s}" for s in STAGES])
    step = source
    for stage in STAGES:
        printed = run([opt, step, *OPT_FLAGS, f"--polynest-{stage}"])
        step = folder / f"step.{stage}.mlir"
        step.write_text(printed)
        if printed != (folder / f"{name}.{stage}.mlir").read_text():
            raise Failure(f"{stage}: polynest-opt and polynestc print "
                          f"different texts, see {folder}")
    if printed != whole:
        raise Failure("the stages one by one give another text than all at "
                      f"once, see {folder}")
    for stage in STAGES:
        got = results_of(polynestc, folder / f"{name}.{stage}.mlir", arguments,
                         folder / stage)
        if got != want:
            raise Failure(f"{stage}: the dump gives other results than the "
                          f"program, see {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=int, default=0,
                        help="fail with fewer programs than this")
    parser.add_argument("--work", type=pathlib.Path, required=True,
                        help="folder for texts and results")
    parser.add_argument("--only", default="",
                        help="programs with this in their name")
    parser.add_argument("opt")
    parser.add_argument("polynestc")
    args = parser.parse_args()
    subprocess.run(["rm", "-rf", args.work], check=True)
    here = pathlib.Path(__file__).resolve().parent
    programs = [program for path in sorted(here.glob("*.mlir"))
                for program in programs_of(path) if args.only in program[0]]
    if len({name for name, _, _ in programs}) != len(programs):
        sys.exit("error: two programs have one name")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {pool.submit(check, (args.opt, args.polynestc), program,
                               args.work): program[0] for program in programs}
        for future in concurrent.futures.as_completed(futures):
            try:
                future.result()
            except Failure as failure:
                print(f"FAIL {futures[future]}: {failure}")
                failed += 1
    print(f"{len(programs)} programs, {failed} fail")
    return 1 if failed or len(programs) < args.least else 0


if __name__ == "__main__":
    sys.exit(main())
