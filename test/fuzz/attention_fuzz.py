#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention through torch.compile against eager in float64.

  attention_fuzz.py                      20 cases, seed 1
  attention_fuzz.py --count 100 --seed 7
  attention_fuzz.py --case 7:23          one case again, by seed and number
  attention_fuzz.py --forever            seed after seed until one fails

A case multiplies queries and keys, masks and biases the scores (causal, windows,
masks that add -inf or a large negative number, ALiBi, bits, none), takes the
softmax or something like it, and multiplies by values: with groups of heads,
other numbers of keys than of queries, heads joined in one dimension as models
have them, some elements NaN or infinite. With dynamic sizes one program runs
several sizes, of which two may happen to be equal. NaN has to be where eager has
it, and all else as near to float64 as a few times eager's own distance. With 1, 2
and 3 threads the bits are the same.
Needs torch and torch-mlir; POLYNEST_LIBRARY names the library.
"""
import argparse
import math
import random
import sys

import torch

from polynest import threads, torch_backend

INF = math.inf
SPECIAL = {"nan": math.nan, "inf": INF, "-inf": -INF, "big": 3e38}


def indices(s):
    return (torch.arange(s.shape[-2])[:, None], torch.arange(s.shape[-1])[None])


def apply_mask(kind, s, shift, width):
    """The scores with a mask; `shift` moves its diagonal."""
    i, j = indices(s)
    if kind == "causal":
        return torch.where(j <= i + shift, s, -INF)
    if kind == "fill":
        return s.masked_fill(j > i + shift, -INF)
    if kind == "tril":
        keep = torch.ones(s.shape[-2:], dtype=torch.bool).tril(shift)
        return s.masked_fill(~keep, -INF)
    if kind == "window":
        return torch.where((j <= i + shift) & (i - j < width), s, -INF)
    if kind == "window-or":
        return s.masked_fill((j > i + shift) | (j < i - width), -INF)
    if kind == "both-sides":
        return torch.where((i - j).abs() < width, s, -INF)
    if kind == "front":
        return torch.where(i - j < width, s, -INF)
    if kind == "behind":
        return torch.where(j >= i + shift, s, -INF)
    if kind == "add":
        return s + torch.where(j <= i + shift, 0.0, -INF).to(s.dtype)
    if kind == "add-window":
        keep = (j <= i + shift) & (i - j < width)
        return s + torch.zeros(s.shape[-2:], dtype=s.dtype).masked_fill(
            ~keep, -INF)
    if kind == "large":
        return s + torch.where(j <= i + shift, 0.0, -1e9).to(s.dtype)
    if kind == "alibi":
        s = s - (i - j).abs() * 0.1
        return torch.where(j <= i + shift, s, -INF)
    assert kind == "none"
    return s


MASKS = ["causal", "fill", "tril", "window", "window", "window-or", "both-sides",
         "front", "behind", "add", "add-window", "large", "alibi", "none"]
TAILS = ["softmax", "softmax", "softmax", "divided-behind", "log", "scores",
         "sums", "safe"]


def weigh(kind, s, v):
    """What becomes of scores and values."""
    if kind == "softmax":
        return (torch.softmax(s, -1) @ v,)
    if kind == "divided-behind":
        e = torch.exp(s - s.amax(-1, keepdim=True))
        return ((e @ v) / e.sum(-1, keepdim=True),)
    if kind == "log":
        return (torch.log_softmax(s, -1) @ v,)
    if kind == "scores":
        return torch.softmax(s, -1) @ v, s
    if kind == "sums":
        return torch.softmax(s, -1) @ v, torch.logsumexp(s, -1)
    highest = s.amax(-1, keepdim=True)
    highest = torch.where(highest == -INF, 0.0, highest)
    return (torch.exp(s - highest) @ v,)


class Case:
    """One function, and the shapes it runs with."""

    def __init__(self, seed, number):
        rng = self.rng = random.Random(f"attention {seed} {number}")
        self.mask, self.tail = rng.choice(MASKS), rng.choice(TAILS)
        self.width = rng.choice([1, 17, 40, 130, 256, 300])
        self.shift = rng.choice([0, 0, 0, 1, -1, 5, 64, -64, 100])
        self.groups = rng.choice([1, 1, 1, 2, 3])
        self.joined = rng.random() < 0.3
        self.dynamic = rng.random() < 0.4
        self.shapes = [self.shape()]
        if self.dynamic:
            self.shapes += [self.shape() for _ in range(2)]
            size = self.shapes[0][4]
            self.shapes = [(*s[:4], size) for s in self.shapes]
        self.special = rng.choice([None, None, None, *SPECIAL])
        self.seed = seed * 100003 + number

    def shape(self):
        rng = self.rng
        rows = rng.choice([2, 97, 128, 192, 257, 300, 384, 512])
        columns = rng.choice([rows, rows, rows + rng.randint(1, 200),
                              max(2, rows - rng.randint(1, 90))])
        return (rng.choice([2, 3]), rng.choice([2, 3, 4]), rows, columns,
                rng.choice([4, 8, 16, 24, 32, 64]))

    def __str__(self):
        return (f"{self.mask} shift {self.shift} width {self.width} "
                f"{self.tail} groups {self.groups} joined {self.joined} "
                f"dynamic {self.dynamic} {self.special} {self.shapes}")

    def function(self, q, k, v):
        if self.joined:
            def heads(x, n):
                return x.view(x.shape[0], x.shape[1], n, -1).transpose(1, 2)
            count = q.shape[2] // self.shapes[0][4]
            q, k, v = heads(q, count), heads(k, count), heads(v, count)
        elif self.groups > 1:
            k = k.repeat_interleave(self.groups, 1)
            v = v.repeat_interleave(self.groups, 1)
        s = apply_mask(self.mask, q @ k.transpose(-1, -2) * 0.25, self.shift,
                       self.width)
        out, *more = weigh(self.tail, s, v)
        if self.joined:
            out = out.transpose(1, 2).reshape(out.shape[0], out.shape[2], -1)
        return (out, *more)

    def inputs(self, shape, number):
        batch, heads, rows, columns, size = shape
        torch.manual_seed(self.seed + number)
        if self.joined:
            args = [torch.randn(batch, n, heads * size)
                    for n in (rows, columns, columns)]
        else:
            args = [torch.randn(batch, heads * self.groups, rows, size),
                    torch.randn(batch, heads, columns, size),
                    torch.randn(batch, heads, columns, size)]
        if self.special:
            for t in self.rng.sample(args, self.rng.choice([1, 1, 2])):
                place = [self.rng.randrange(n) for n in t.shape]
                if self.rng.random() < 0.3:
                    place[-2] = slice(place[-2], None)
                t[tuple(place)] = SPECIAL[self.special]
        return args


def differences(got, eager, exact):
    """What is wrong with results, as text; empty if nothing is."""
    for n, (a, e, w) in enumerate(zip(got, eager, exact)):
        if a.shape != e.shape or a.dtype != e.dtype:
            return f"result {n}: {a.shape} {a.dtype} for {e.shape} {e.dtype}"
        if not torch.equal(a.isnan(), e.isnan()):
            return f"result {n}: {a.isnan().sum()} NaN for {e.isnan().sum()}"
        finite = a.isfinite() & e.isfinite() & w.isfinite()
        if not finite.any():
            continue
        away = (a.double() - w)[finite].abs().max().item()
        own = (e.double() - w)[finite].abs().max().item()
        scale = max(w[finite].abs().max().item(), 1)
        if away > max(4 * own, 1e-5 * scale):
            return f"result {n}: {away:.3g} away, eager {own:.3g} of {scale:.3g}"
    return ""


def run_case(case):
    """Why the case fails; empty if it does not."""
    torch._dynamo.reset()
    torch_backend.reset_reports()
    compiled = torch.compile(case.function, backend=torch_backend.polynest,
                             dynamic=case.dynamic or None)
    with torch.no_grad():
        for number, shape in enumerate(case.shapes):
            args = case.inputs(shape, number)
            got = compiled(*args)
            wide = case.function(*[x.double() for x in args])
            why = differences(got, case.function(*args), wide)
            if why:
                return f"{shape}: {why}"
            before = threads.thread_count()
            try:
                for count in (1, 2, 3):
                    threads.set_thread_count(count)
                    for a, b in zip(compiled(*args), got):
                        if not torch.equal(a.nan_to_num(7e7),
                                           b.nan_to_num(7e7)):
                            return f"{shape}: other bits with {count} threads"
            finally:
                threads.set_thread_count(before)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--case", help="SEED:NUMBER, one case alone")
    parser.add_argument("--print", action="store_true",
                        help="write each case before it runs")
    parser.add_argument("--forever", action="store_true")
    options = parser.parse_args()
    failures = cases = 0
    seed, numbers = options.seed, range(options.count)
    if options.case:
        seed, number = map(int, options.case.split(":"))
        numbers = [number]
    while True:
        for number in numbers:
            case = Case(seed, number)
            if options.print:
                print(f"{seed}:{number} {case}", flush=True)
            cases += 1
            try:
                why = run_case(case)
            except Exception as error:
                why = f"{type(error).__name__}: {str(error)[:300]}"
            if why:
                failures += 1
                print(f"FAILED {seed}:{number} {case}: {why}", flush=True)
        if failures or not options.forever:
            break
        seed += 1
    print(f"{cases} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
