#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile time against the number of nests.

Compiles programs of n and of 2 n different operations and fails where the second
takes too many times what the first does, less what a program with one takes: 2.5
times the instructions retired, as perf or valgrind count them, or, where perf
cannot, 3 times the processor time. Twice is linear, four times quadratic.
Products go to stage s4, the last before LLVM's own lowerings, with --nests of
them; chains of pointwise operations and sums of rows, one and twenty that share
inputs and feed each other, go to --chain-stage, with --operations. By hand, for
4000 operations down to machine code:

  compile_growth.py build/bin/polynestc --operations 500,1000,2000 \\
      --chain-stage object --only chain

What else runs on the machine only ever adds to a time. So each program's is the
least of several, taken in turns, and as long as the growth is over the limit
they are taken again, up to 12 times: growth that is there stays.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile

LIMITS = {"perf": 2.5, "valgrind": 2.5, "time": 3.0}
RUNS = {"perf": (1, 1), "valgrind": (1, 1), "time": (3, 12)}


def print_program(nests: int, independent: bool) -> str:
    """Products of matrices with pointwise epilogues, in a chain or each for
    itself. Sizes go round, so that no nest costs more than the one before."""
    args, results, types, body = [], [], [], []
    value, rows, columns = "%x", 24, 16
    args.append(f"%x: tensor<{rows}x16xf32>")
    for k in range(nests):
        if independent:
            # No two are equal: those would be compiled once.
            value, rows, columns = f"%x{k}", 24 + k // 13, 16
            args.append(f"{value}: tensor<{rows}x{columns}xf32>")
        wide = 17 + 5 * k % 13
        args.append(f"%w{k}: tensor<{columns}x{wide}xf32>")
        body.append(f"""
  %e{k} = tensor.empty() : tensor<{rows}x{wide}xf32>
  %i{k} = linalg.fill ins(%z : f32) outs(%e{k} : tensor<{rows}x{wide}xf32>)
      -> tensor<{rows}x{wide}xf32>
  %m{k} = linalg.matmul
      ins({value}, %w{k} : tensor<{rows}x{columns}xf32>,
          tensor<{columns}x{wide}xf32>)
      outs(%i{k} : tensor<{rows}x{wide}xf32>) -> tensor<{rows}x{wide}xf32>
  %r{k} = linalg.generic {{indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins(%m{k} : tensor<{rows}x{wide}xf32>)
      outs(%e{k} : tensor<{rows}x{wide}xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %a, %z : f32
    linalg.yield %y : f32
  }} -> tensor<{rows}x{wide}xf32>""")
        value, columns = f"%r{k}", wide
        if independent or k == nests - 1:
            results.append(value)
            types.append(f"tensor<{rows}x{wide}xf32>")
    return (
        "#id = affine_map<(d0, d1) -> (d0, d1)>\n"
        f"func.func @f({', '.join(args)}) -> ({', '.join(types)}) {{\n"
        "  %z = arith.constant 0.0 : f32"
        + "".join(body)
        + f"\n  return {', '.join(results)} : {', '.join(types)}\n}}\n"
    )


def print_step(number: int, kind: int, value: str, other: str,
               given: str) -> str:
    """One operation of a chain, on a value, another one and an input: a sum of
    rows with what is subtracted from them (kind 0), torch's form (2 and 5), or
    arithmetic on whole tensors."""
    x, y = f"%v{number}", "tensor<12x40xf32>"
    if kind == 0:
        return f"""
  %e{number} = tensor.empty() : tensor<12xf32>
  %f{number} = linalg.fill ins(%z : f32) outs(%e{number} : tensor<12xf32>)
      -> tensor<12xf32>
  %s{number} = linalg.generic {{indexing_maps = [#id, #row],
      iterator_types = ["parallel", "reduction"]}}
      ins({value} : {y}) outs(%f{number} : tensor<12xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %o, %a : f32
    linalg.yield %b : f32
  }} -> tensor<12xf32>
  %g{number} = tensor.empty() : {y}
  {x} = linalg.generic {{indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins({other}, %s{number} : {y}, tensor<12xf32>) outs(%g{number} : {y}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.subf %a, %b : f32
    linalg.yield %c : f32
  }} -> {y}"""
    if kind in (2, 5):
        name = "mulf" if kind == 2 else "maximumf"
        return f"""
  %e{number} = tensor.empty() : {y}
  {x} = linalg.generic {{indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins({value}, {other} : {y}, {y}) outs(%e{number} : {y}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.{name} %a, %b : f32
    linalg.yield %c : f32
  }} -> {y}"""
    if kind == 3:
        return f"\n  {x} = arith.negf {value} : {y}"
    name = {1: "addf", 4: "subf", 6: "mulf"}[kind]
    return f"\n  {x} = arith.{name} {value}, {given} : {y}"


def print_chains(operations: int, chains: int,
                 is_arithmetic: bool = False) -> str:
    """Chains side by side of so many operations in all, or of those alone that
    are arithmetic on whole tensors. Now and then one takes a value of the chain
    beside it, so that they are not apart."""
    chains = min(chains, operations)
    ends = [f"%x{k % 4}" for k in range(chains)]
    body = []
    for k in range(operations):
        at = k % chains
        beside = ends[(at + 1) % chains] if k // chains % 5 == 4 else ends[at]
        kind = (1, 4, 3, 6)[k % 4] if is_arithmetic else k % 7
        body.append(print_step(k, kind, ends[at], beside, f"%x{k % 3}"))
        ends[at] = f"%v{k}"
    type = "tensor<12x40xf32>"
    inputs = ", ".join(f"%x{k}: {type}" for k in range(4))
    types = ", ".join([type] * chains)
    return (
        "#id = affine_map<(d0, d1) -> (d0, d1)>\n"
        "#row = affine_map<(d0, d1) -> (d0)>\n"
        f"func.func @f({inputs}) -> ({types}) {{\n"
        "  %z = arith.constant 0.0 : f32"
        + "".join(body)
        + f"\n  return {', '.join(ends)} : {types}\n}}\n"
    )


def print_moves(operations: int) -> str:
    """Differences of tensors and what they are rolled by, then what is left of
    them padded: buffers of several parts, whose seams meet those before."""
    body, value, type = [], "%x", "tensor<12x40xf32>"
    for k in range(operations // 2):
        shift = k % 5 + 1
        rest, cut = f"tensor<12x{40 - shift}xf32>", f"tensor<12x{shift}xf32>"
        body.append(f"""
  %s{k} = tensor.extract_slice {value}[0, {shift}] [12, {40 - shift}] [1, 1]
      : {type} to {rest}""")
        if k % 2:
            body.append(f"""
  %v{k} = tensor.pad %s{k} low[0, 1] high[0, {shift - 1}] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  }} : {rest} to {type}""")
        else:
            body.append(f"""
  %t{k} = tensor.extract_slice {value}[0, 0] [12, {shift}] [1, 1]
      : {type} to {cut}
  %c{k} = tensor.concat dim(1) %s{k}, %t{k} : ({rest}, {cut}) -> {type}
  %v{k} = arith.subf {value}, %c{k} : {type}""")
        value = f"%v{k}"
    return (
        f"func.func @f(%x: {type}) -> {type} {{\n"
        "  %z = arith.constant 0.0 : f32"
        + "".join(body)
        + f"\n  return {value} : {type}\n}}\n"
    )


PROGRAMS = {
    "in a chain": lambda n: print_program(n, False),
    "each for itself": lambda n: print_program(n, True),
    "one chain of operations": lambda n: print_chains(n, 1),
    "twenty chains of operations": lambda n: print_chains(n, 20),
    "arithmetic operations": lambda n: print_chains(n, 1, True),
    "operations that roll and pad": print_moves,
}


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def count_with_perf(command: list[str], path: str) -> float | None:
    """None where there is no perf, or no counter behind it."""
    if not shutil.which("perf"):
        return None
    run(["perf", "stat", "-x,", "-e", "instructions:u", "-o", path, *command])
    with open(path) as file:
        for line in file:
            if ",instructions" in line and not line.startswith("<not"):
                return float(line.split(",")[0])
    return None


def count_with_valgrind(command: list[str], path: str) -> float | None:
    run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={path}",
         *command])
    with open(path) as file:
        for line in file:
            if line.startswith("summary:"):
                return float(line.split()[1])
    return None


def measure_time(command: list[str], path: str) -> float:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    run(command)
    return used() - before


COUNTERS = {"perf": count_with_perf, "valgrind": count_with_valgrind,
            "time": measure_time}


def measure_growth(commands: list[list[str]], counter: str,
                   path: str) -> tuple[list[float], float, int]:
    """The least count of each program, their growth, and how often they were
    counted."""
    least, most = RUNS[counter]
    counts = [float("inf")] * len(commands)
    for turn in range(1, most + 1):
        for i, command in enumerate(commands):
            counts[i] = min(counts[i], COUNTERS[counter](command, path))
        if turn < least:
            continue
        # Noise may be larger than the work of one nest.
        single = max(counts[1] - counts[0], 1e-9)
        growth = (counts[2] - counts[0]) / single
        if growth < LIMITS[counter]:
            break
    return counts, growth, turn


def compile_command(polynestc: str, path: str, stage: str, level: str | None,
                    output: str) -> list[str]:
    form = ["--object"] if stage == "object" else ["--stage", stage]
    return [polynestc, "compile", path, *form, "-o", output,
            *(["--opt-level", level] if level else [])]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("polynestc")
    parser.add_argument("--nests", default="26")
    parser.add_argument("--operations", default="60")
    parser.add_argument("--counter", choices=COUNTERS)
    parser.add_argument("--stage", default="s4")
    parser.add_argument("--chain-stage", default="s4")
    parser.add_argument("--opt-level")
    parser.add_argument("--only", default="", help="part of a program's name")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        count_path = os.path.join(folder, "count")
        counter = options.counter
        if counter is None:
            works = count_with_perf(["true"], count_path) is not None
            counter = "perf" if works else "time"
        for name, print_of in PROGRAMS.items():
            if options.only not in name:
                continue
            is_chain = "operations" in name
            sizes = options.operations if is_chain else options.nests
            stage = options.chain_stage if is_chain else options.stage
            for size in map(int, sizes.split(",")):
                commands = []
                for nests in (1, size, 2 * size):
                    path = os.path.join(folder, f"{nests}.mlir")
                    with open(path, "w") as file:
                        file.write(print_of(nests))
                    commands.append(compile_command(
                        options.polynestc, path, stage, options.opt_level,
                        os.path.join(folder, "out")))
                counts, growth, turns = measure_growth(commands, counter,
                                                       count_path)
                failed |= growth >= LIMITS[counter]
                print(f"{name}: {size} nests {counts[1]:.5g}, "
                      f"{2 * size} nests {counts[2]:.5g}, "
                      f"growth {growth:.2f} ({counter}, {turns} of each)",
                      flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
