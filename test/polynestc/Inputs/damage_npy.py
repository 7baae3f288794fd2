# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages an array in every way that its form allows, and runs the tool.

Usage: damage_npy.py TOOL PROGRAM ARRAY
"""
import subprocess
import sys

tool, program, path = sys.argv[1:]
data = open(path, "rb").read()
cases = [data[:n] for n in (0, 3, 6, 9, 10, 40, len(data) - 1)]
cases += [data + b"x", data.replace(b"(2, 3)", b"(2, 4)")]
cases += [data.replace(b"(2, 3)", b"(-2,3)"), data.replace(b"(2, 3)", b"(2, 3 ")]
cases += [data.replace(b"(2, 3)", b"(99999999999999999999,)")]
cases += [data.replace(b"shape", b"sh\0pe"), data.replace(b"<f4", b"<f5")]
cases += [data.replace(b"'descr'", b"'descR'"), data.replace(b"False", b"Maybe")]
cases += [data[:6] + b"\x07" + data[7:], data[:8] + b"\xff\xff" + data[10:]]
bad = 0
for i, case in enumerate(cases):
    with open(path + ".bad", "wb") as file:
        file.write(case)
    done = subprocess.run(
        [tool, "run", program, "--entry", "f32", "--input", path + ".bad"],
        capture_output=True, text=True)
    if done.returncode != 1 or "error: '" not in done.stderr:
        print(f"case {i}: exit {done.returncode}: {done.stderr}")
        bad += 1
print("all damaged files were refused" if not bad else f"{bad} were not")
