#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged programs: whatever the text, a module or an error, never a crash.

Texts of the tests are cut short, get characters flipped, words exchanged,
numbers made huge, lines dropped or doubled. Each is parsed, and brought to the
last stage where it parses. A child process does the work in batches, so that a
crash or a hang names its seed.

usage: text_fuzz.py [--seed N] [--count N]
       text_fuzz.py --show SEED              print a damaged text
       text_fuzz.py --forever [--keep DIR]   until stopped
POLYNEST_LIBRARY names the library.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ("s1", "s2", "s3", "s4", "s5", "math", "regression", "analysis",
           "polynestc/Inputs", "aot/Inputs")
# A batch that takes longer than this hangs; one text takes milliseconds.
SECONDS = 120
NUMBERS = ("-1", "0", "1", "9223372036854775807", "-9223372036854775808",
           "18446744073709551616", "4294967296", "1e400", "0x7fc00000")


def corpus():
    files = [f for folder in FOLDERS
             for f in sorted((HERE.parent / folder).glob("*.mlir"))]
    texts = []
    for f in files:
        text = f.read_text()
        # One function at a time keeps texts short and what follows reachable.
        parts = re.split(r"(?m)^// -----$", text)
        texts += [p for p in parts if "func" in p and len(p) < 20000]
    return texts


def damage(rng, text):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not text:
            return text
        kind = rng.choice(["cut", "flip", "flip", "word", "word", "number",
                           "number", "drop", "double", "swap", "bytes"])
        at = rng.randrange(len(text))
        lines = text.split("\n")
        if kind == "cut":
            text = text[:at]
        elif kind == "flip":
            text = text[:at] + chr(ord(text[at]) ^ (1 << rng.randrange(7))) + \
                text[at + 1:]
        elif kind == "bytes":
            text = text[:at] + rng.choice(
                ["\0", "\x7f", "\u00e9", "%", "<", ">", "{", "}", "(", "[",
                 "?x", "*", "#", "!", "\""]) + text[at:]
        elif kind in ("drop", "double", "swap"):
            k = rng.randrange(len(lines))
            if kind == "drop":
                del lines[k]
            elif kind == "double":
                lines.insert(k, lines[k])
            else:
                j = rng.randrange(len(lines))
                lines[k], lines[j] = lines[j], lines[k]
            text = "\n".join(lines)
        else:
            pattern = r"-?\d+" if kind == "number" else r"[%@#!]?[A-Za-z_.]\w*"
            words = list(re.finditer(pattern, text))
            if not words:
                continue
            word = rng.choice(words)
            new = (rng.choice(NUMBERS) if kind == "number" else
                   rng.choice(words).group())
            text = text[:word.start()] + new + text[word.end():]
    return text


def damaged(texts, seed):
    rng = random.Random(seed)
    return damage(rng, rng.choice(texts))


def work(seed, count):
    """Runs in the child."""
    sys.path.insert(0, str(HERE.parents[1] / "python"))
    from polynest import errors, handles

    texts = corpus()
    target, compiled = handles.Target("host"), 0
    for one in range(seed, seed + count):
        print(f"seed {one}", flush=True)
        context = handles.Context()
        try:
            with handles.Module(context, damaged(texts, one)) as module:
                module.to_stage("s5", target)
            compiled += 1
        except errors.InternalError as error:
            print(f"FAIL internal error: {error}", flush=True)
        except errors.PolynestError as error:
            if not str(error):
                print("FAIL no message", flush=True)
        except UnicodeEncodeError:
            pass  # not text at all
        finally:
            context.close()
    print(f"compiled {compiled}", flush=True)


def run_batch(seed, count):
    """(failures as (seed, text), number of texts that still compile)."""
    failures, compiled, end = [], 0, seed + count
    while seed < end:
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--work", "--seed", str(seed),
                 "--count", str(end - seed)], capture_output=True, text=True,
                timeout=SECONDS)
            out, code, err = done.stdout, done.returncode, done.stderr
        except subprocess.TimeoutExpired as error:
            out = (error.stdout or b"").decode()
            code, err = "hang", ""
        at = seed
        for line in out.splitlines():
            if line.startswith("seed "):
                at = int(line[5:])
            elif line.startswith("FAIL "):
                failures.append((at, line[5:]))
            elif line.startswith("compiled "):
                compiled += int(line[9:])
        if code == 0:
            break
        failures.append((at, f"ended with {code}: {err[-300:]}"))
        seed = at + 1
    return failures, compiled


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--forever", action="store_true")
    parser.add_argument("--keep", default=tempfile.gettempdir())
    parser.add_argument("--show", type=int)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show is not None:
        print(damaged(corpus(), options.show))
        return 0
    if options.work:
        work(options.seed, options.count)
        return 0
    seed = options.seed
    while True:
        failures, compiled = run_batch(seed, options.count)
        for one, text in failures:
            print(f"seed {one}: {text}", flush=True)
            path = os.path.join(options.keep, f"text-{one}.mlir")
            with open(path, "w") as file:
                file.write(damaged(corpus(), one))
        if not options.forever:
            print(f"{options.count} texts, {compiled} compile, "
                  f"{len(failures)} failures")
            return bool(failures)
        seed += options.count
        print(f"up to {seed}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
