# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random contractions and convolutions as plain data, and their programs.

A spec is a dictionary of numbers, texts and lists, so that a failing one can be
printed, read back and made smaller. build(spec) makes its Builder and the
functions that make arguments.
"""
import math

import numpy as np

from tensor_builder import (BITS, NARROW, Builder, Lin, Size, Value, is_float,
                            letters, round_to, rounded, tensor, wrap)

SIZES = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 127, 257, 500]
# Long enough for blocks, packs and tiles; SIZES has what they must decline.
LARGE = [7, 8, 15, 16, 17, 31, 33, 63, 65, 127, 257, 500]
SMALL = [1, 2, 3, 4, 5, 7, 8, 9]
BATCHES = [0, 1, 3, 3, 2]
TYPES = ([["f32", "f32", "f32"]] * 10 + [["f64", "f64", "f64"]] * 3
         + [["f16", "f16", "f32"], ["bf16", "bf16", "f32"],
            ["f16", "f16", "f16"], ["bf16", "bf16", "bf16"],
            ["i8", "i8", "i32"], ["i8", "i8", "i32"], ["u8", "i8", "i32"],
            ["u8", "i8", "i32"], ["i32", "i32", "i32"], ["i64", "i64", "i64"],
            ["i16", "i16", "i32"], ["bf16", "f32", "f32"],
            ["f32", "i8", "f32"], ["u8", "u8", "i32"], ["f16", "f16", "f64"]])
FLAVORS = ["normal"] * 5 + ["exact"] * 4 + ["positive"] + ["poison"] * 2
PROLOGUES = ["relu", "scale", "cast", "dequant", "transpose", "pad", "slice",
             "column"]
EPILOGUES = ["relu", "bias", "residual", "scale", "cast", "norm", "transpose",
             "split", "sigmoid", "tanh", "clamp", "column", "requant", "extra",
             "rows", "slice", "pad"]


class Refused(Exception):
    """The spec stands for no program (a shrinker made it)."""


def base_type(name):
    return "i8" if name == "u8" else name


# -- choosing ------------------------------------------------------------------


def common_spec(rng, flavor=None):
    types = rng.choice(TYPES)
    flavor = flavor or rng.choice(FLAVORS)
    if flavor in ("poison", "positive") and not all(map(is_float, types)):
        flavor = "normal"
    return {
        "seed": rng.randrange(1 << 30),
        "flavor": flavor,
        "types": list(types),
        "init": rng.choice(["zero"] * 5 + ["argument", "argument", "constant"]),
        "subtract": rng.random() < 0.1,
        "swap": rng.random() < 0.3,
        "pro": [], "epi": [],
        "layouts": [rng.choice(["plain"] * 5 + ["view", "strides", "end"])
                    for _ in range(2)],
        "result": rng.choice(["plain"] * 6 + ["strided"]),
        "constant": rng.random() < 0.3,
        "numerics": "strict" if rng.random() < 0.15 else "default",
        "runs": 1,
    }


def add_hooks(rng, spec, heavy=False):
    """Prologues as [side, name], epilogues as names."""
    if rng.random() < (0.9 if heavy else 0.2):
        for _ in range(rng.choice([1, 1, 2])):
            spec["pro"].append([rng.randrange(2), rng.choice(PROLOGUES)])
    if rng.random() < (0.9 if heavy else 0.35):
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
            spec["epi"].append(rng.choice(EPILOGUES))


def choose_sizes(rng, names, limit, table):
    """Sizes at random whose product stays under the limit."""
    sizes = {x: rng.choice(table) for x in names}
    while math.prod(max(1, s) for s in sizes.values()) > limit:
        largest = max(sizes, key=sizes.get)
        sizes[largest] = rng.choice([s for s in table if s < sizes[largest]]
                                    or [1])
    return sizes


def limit_of(rng):
    return rng.choice([3000, 50000, 600000, 600000, 3000000, 6000000])


def matmul_spec(rng, heavy=False):
    spec = common_spec(rng)
    spec["kind"] = "contract"
    form = rng.choice(["matmul"] * 6 + ["batch"] * 3
                      + ["matvec", "vecmat", "dot", "outer", "gram"])
    left, right, out = {
        "matmul": ("mk", "kn", "mn"), "batch": ("bmk", "bkn", "bmn"),
        "matvec": ("mk", "k", "m"), "vecmat": ("k", "kn", "n"),
        "dot": ("k", "k", ""), "outer": ("m", "n", "mn"),
        "gram": ("mk", "nk", "mn")}[form]
    shuffle = rng.random() < 0.7
    if shuffle:
        left, right, out = (permuted(rng, x) for x in (left, right, out))
    if form == "batch" and rng.random() < 0.3:
        if rng.random() < 0.5:
            right = right.replace("b", "")
        else:
            left = left.replace("b", "")
    names = "".join(dict.fromkeys(left + right + out))
    is_large = rng.random() < 0.6
    spec["sizes"] = choose_sizes(
        rng, names.replace("b", ""), 4000000 if is_large else limit_of(rng),
        LARGE if is_large else SIZES)
    if "b" in names:
        spec["sizes"]["b"] = rng.choice(BATCHES)
    if form == "gram":
        spec["sizes"]["n"] = spec["sizes"]["m"]
        spec["same"] = rng.random() < 0.7
    spec.update(left=left, right=right, out=out, loops=permuted(rng, names)
                if rng.random() < 0.15 else
                "".join(x for x in "bmnk" if x in names))
    spec["form"] = rng.choice(["generic", "contract", "named"])
    spec["dynamic"] = ""
    if rng.random() < 0.25:
        spec["dynamic"] = rng.choice(["m", "m", "mn", "mnk", "k", "bm", names])
        spec["dynamic"] = "".join(x for x in spec["dynamic"] if x in names)
        spec["runs"] = 3
    add_hooks(rng, spec, heavy)
    return spec


def einsum_spec(rng, heavy=False):
    spec = common_spec(rng)
    spec["kind"] = "contract"
    groups = [rng.choice(["", "", "b", "bc"]), rng.choice(["m", "mp", "mpq"]),
              rng.choice(["n", "no", "no"]), rng.choice(["k", "kl", "klr"])]
    b, m, n, k = groups
    names = b + m + n + k
    spec["left"] = permuted(rng, b + m + k)
    spec["right"] = permuted(rng, b + n + k)
    spec["out"] = permuted(rng, b + m + n)
    if rng.random() < 0.1:  # a loop that moves one operand only
        spec["left"] = permuted(rng, spec["left"] + "s")
        names += "s"
    if rng.random() < 0.08 and b:
        spec["right"] = spec["right"].replace("b", "")
    spec["sizes"] = choose_sizes(
        rng, names, rng.choice([100000, 4000000, 4000000]),
        rng.choice([SMALL, [1, 3, 8, 16, 17, 33], [3, 8, 9, 16, 17, 33],
                    [4, 6, 8, 12, 16], [5, 7, 15, 31]]))
    if rng.random() < 0.05:
        spec["sizes"][rng.choice(names)] = 0
    spec["loops"] = permuted(rng, names) if rng.random() < 0.2 else names
    spec["form"] = rng.choice(["generic", "generic", "contract"])
    if "s" in names:
        spec["form"] = "generic"
    spec["dynamic"] = ""
    if rng.random() < 0.15:
        spec["dynamic"] = "".join(x for x in names if rng.random() < 0.4)
        spec["runs"] = 2
    add_hooks(rng, spec, heavy)
    return spec


def conv_spec(rng, heavy=False):
    spec = common_spec(rng)
    spec["kind"] = "conv"
    nd = rng.choice([1, 2, 2, 2, 2, 3])
    depthwise = rng.random() < 0.25
    spec.update(
        n=rng.choice([1, 1, 2, 3]),
        groups=rng.choice([1, 3, 8, 16, 17]) if depthwise
        else rng.choice([1, 1, 1, 1, 2, 3, 4]),
        ic=1 if depthwise else rng.choice([1, 2, 3, 4, 7, 8, 16, 17, 33]),
        oc=rng.choice([1, 1, 1, 2]) if depthwise
        else rng.choice([1, 3, 7, 8, 15, 16, 17, 31, 33, 64]),
        size=[rng.choice({1: [1, 5, 9, 17, 33, 65], 2: [3, 7, 8, 14, 17, 28],
                          3: [3, 4, 5, 7, 9]}[nd]) for _ in range(nd)],
        kernel=[rng.choice([1, 1, 2, 3, 3, 3, 5, 7][:8 if nd < 3 else 6])
                for _ in range(nd)],
        stride=[rng.choice([1, 1, 1, 2, 3]) for _ in range(nd)],
        dilation=[rng.choice([1, 1, 1, 2, 3]) for _ in range(nd)],
        low=[rng.choice([0, 0, 1, 1, 2, 3]) for _ in range(nd)],
        high=[rng.choice([0, 0, 1, 1, 2, 3]) for _ in range(nd)],
        fill=rng.choice([0, 0, 0, 0, 1]),
        layout=rng.choice(["ncx", "nxc"]),
        weights=rng.choice(["fcx", "xcf", "fxc"]),
        transposed=rng.random() < 0.15,
        grouped=rng.choice(["reshape", "split"]),
        drop=rng.random() < 0.5,
        dynamic=rng.random() < 0.12)
    if rng.random() < 0.3:
        spec["stride"] = [spec["stride"][0]] * nd
        spec["kernel"] = [spec["kernel"][0]] * nd
    if spec["transposed"]:
        spec["fill"] = 0
        spec["dynamic"] = False
    if spec["dynamic"]:
        spec["grouped"] = "split"
        spec["runs"] = 2
    if spec["layouts"] == ["end", "end"]:
        spec["layouts"] = ["plain", "end"]
    # Room for every tap, and bounded work.
    for d in range(nd):
        reach = (spec["kernel"][d] - 1) * spec["dilation"][d] + 1
        whole = spec["size"][d] + spec["low"][d] + spec["high"][d]
        if whole < reach:
            spec["size"][d] += reach - whole
    while conv_work(spec) > 3000000:
        for key, less in (("n", 1), ("groups", 2), ("oc", 17), ("ic", 8),
                          ("oc", 3), ("ic", 3)):
            if spec[key] > less:
                spec[key] = less
                break
        else:
            break
    if rng.random() < 0.02 and not spec["transposed"]:
        spec["n"] = 0
    add_hooks(rng, spec, heavy)
    spec["pro"] = [p for p in spec["pro"] if p[1] in ("relu", "scale", "cast")]
    return spec


def conv_work(spec):
    return (spec["n"] * spec["groups"] * spec["ic"] * spec["oc"]
            * math.prod(spec["size"]) * math.prod(spec["kernel"]))


def permuted(rng, text):
    return "".join(rng.sample(text, len(text)))


FAMILIES = {
    "matmul": matmul_spec,
    "einsum": einsum_spec,
    "conv": conv_spec,
    "hooks": lambda rng: rng.choice([matmul_spec, matmul_spec, einsum_spec,
                                     conv_spec])(rng, heavy=True),
}


# -- building ------------------------------------------------------------------


class Program:
    """A Builder with the recipes of its arguments."""

    def __init__(self, spec):
        self.spec = spec
        self.b = Builder()
        self.recipes = []  # (sizes, dtype, role) by argument; sizes by letter
        self.layouts = []
        self.exact = spec["flavor"] == "exact"

    def argument(self, shape, dtype, role, layout="plain"):
        attributes = []
        if self.spec["constant"] and role in ("weight", "vector"):
            attributes.append("polynest.constant")
        if layout == "strides":
            if any(isinstance(s, Size) for s in shape):
                # Only the innermost stride is known.
                numbers = ["-9223372036854775808"] * len(shape)
                if numbers:
                    numbers[-1] = "2"
            else:
                numbers = [str(s) for s in strides_of("strides", shape)]
            text = ": " + ", ".join(numbers) if numbers else ""
            attributes.append(f"polynest.strides = array<i64{text}>")
        text = " {" + ", ".join(attributes) + "}" if attributes else ""
        value = self.b.argument(shape, dtype, text)
        self.recipes.append((dtype, role))
        self.layouts.append(layout)
        return value

    def array(self, position, sizes, run):
        """float64 or int64 values of an argument."""
        dtype, role = self.recipes[position]
        generator = np.random.default_rng(
            [self.spec["seed"], position, run])
        return fill(generator, dtype, role, self.spec["flavor"], sizes)


def strides_of(layout, shape):
    """Strides in elements of an argument, and None for contiguous."""
    if layout in ("plain", "end"):
        return None
    strides, step = [0] * len(shape), 2 if layout == "strides" else 1
    order = range(len(shape) - 1, -1, -1)
    if layout == "view" and len(shape) > 1:
        order = range(len(shape))  # column-major
    for d in order:
        strides[d] = step
        step *= shape[d] + (3 if layout == "strides" else 1)
        step = max(step, 1)
    return strides


def fill(generator, dtype, role, flavor, sizes):
    if not is_float(dtype):
        half = 1 << (BITS[dtype] - 1)
        if flavor == "exact" or role == "vector":
            value = generator.integers(-4, 5, sizes)
        else:
            value = generator.integers(-half, half - 1, sizes, endpoint=True)
            edges = np.array([0, 1, -1, half - 1, -half], np.int64)
            where = generator.random(sizes) < 0.3
            value = np.where(where, generator.choice(edges, sizes), value)
        return np.asarray(value, np.int64)
    if flavor == "exact":
        value = generator.integers(-4, 5, sizes).astype(np.float64)
    elif flavor == "positive":
        value = generator.uniform(0.5, 1.5, sizes)
    else:
        value = generator.standard_normal(sizes)
    if role == "variance":
        value = abs(value) + 0.5
    if role == "small":
        value = value * 0.25
    value = round_to(np.asarray(value), dtype)
    if flavor == "poison" and role in ("operand", "weight") and value.size:
        # At the ends of rows and columns, where padding lanes are near.
        for bad in generator.choice([np.nan, np.inf, -np.inf],
                                    generator.integers(0, 3)):
            at = tuple(generator.choice([0, s - 1, generator.integers(s)])
                       for s in value.shape)
            value[at] = bad
    return value


def build(spec):
    program = Program(spec)
    result = (conv if spec["kind"] == "conv" else contraction)(program)
    value, extra = epilogue(program, *result)
    program.b.results = [value, *extra]
    program.text = program.b.program()
    return program


def contraction(program):
    spec, b = program.spec, program.b
    kinds = [base_type(t) for t in spec["types"]]
    accumulator = kinds[2]
    check_types(spec)
    sizes = dict(spec["sizes"])
    for x in spec["dynamic"]:
        if x in sizes:
            sizes[x] = ("dynamic", x)
    resolved, sides = {}, []
    program.letters = []  # letters of each argument's dimensions, or numbers
    pairs = list(zip((spec["left"], spec["right"]), kinds, ("operand", "weight"),
                     spec["layouts"]))
    for side, (names, dtype, role, layout) in enumerate(pairs):
        if side == 1 and spec.get("same") and kinds[0] == kinds[1]:
            if spec["sizes"]["m"] != spec["sizes"]["n"] or spec["dynamic"]:
                raise Refused("not square")
            first = {"m": "n", "k": "k"}
            if [first.get(x) for x in spec["left"]] == list(spec["right"]):
                sides.append(sides[0])
                continue
        sides.append(operand(program, side, names, dtype, role, layout, sizes,
                             resolved))
    for x in sizes:
        sizes[x] = resolved.get(x, sizes[x])
    if any(isinstance(s, tuple) for s in sizes.values()):
        raise Refused("a size without an argument")
    init = None
    shape = [sizes[x] for x in spec["out"]]
    if spec["init"] == "argument":
        init = program.argument(shape, accumulator, "residual")
        program.letters.append(list(spec["out"]))
    elif spec["init"] == "constant":
        init = b.filled(shape, accumulator, 3)
    total = math.prod(spec["sizes"][x] for x in spec["loops"]
                      if x not in spec["out"])
    exact = program.exact and accumulator not in NARROW and total < 100000
    result = b.contract(
        sides[0], letters(spec["left"]), sides[1], letters(spec["right"]),
        list(spec["loops"]), sizes, spec["out"], accumulator, init=init,
        subtract=spec["subtract"], swap=spec["swap"],
        unsigned=[t == "u8" for t in spec["types"][:2]], exact=exact,
        written=named_form(spec, accumulator))
    return result, spec["out"], sizes


def check_types(spec):
    """Kinds of mixtures that the generators make but shrinkers might not."""
    kinds = [base_type(t) for t in spec["types"]]
    if not is_float(kinds[2]) and any(map(is_float, kinds[:2])):
        raise Refused("float operands of an integer sum")


def named_form(spec, accumulator):
    """Text of linalg.contract or of a named operation; None for generic."""
    kinds = [base_type(t) for t in spec["types"]]
    if (spec["form"] == "generic" or spec["subtract"] or "u8" in spec["types"]
            or kinds[0] != kinds[1]
            or is_float(kinds[0]) != is_float(accumulator)):
        return None
    names = "".join(x for x in "bcmpqnoklrs" if x in spec["loops"])
    maps = ", ".join(
        f"affine_map<({', '.join(names)}) -> ({', '.join(t)})>"
        for t in (spec["left"], spec["right"], spec["out"]))
    key = (spec["left"], spec["right"], spec["out"])
    op = None
    if spec["form"] == "named":
        op = {("mk", "k", "m"): "matvec", ("k", "kn", "n"): "vecmat",
              ("k", "k", ""): "dot", ("bmk", "bkn", "bmn"): "batch_matmul",
              ("mk", "kn", "mn"): "matmul"}.get(key)
        if op is None and spec["out"] == "mn" and "b" not in names and all(
                sorted(t) in (list("km"), list("kn")) for t in key[:2]):
            op = f"matmul indexing_maps = [{maps}]"
        if op is None and spec["out"] == "bmn" and all(
                t[0] == "b" and len(t) == 3 for t in key[:2]):
            op = f"batch_matmul indexing_maps = [{maps}]"
    if op is None:
        if not any(x not in spec["out"] for x in names):
            return None
        op = f"contract indexing_maps = [{maps}]"

    def written(lhs, rhs, init):
        return (f"linalg.{op} ins({lhs.ssa}, {rhs.ssa} : {lhs.type}, {rhs.type})"
                f" outs({init.ssa} : {init.type}) -> {init.type}")
    return written


def operand(program, side, names, dtype, role, layout, sizes, resolved):
    """An argument with its prologue, at the sizes of its letters."""
    spec, b = program.spec, program.b
    hooks = [h for s, h in spec["pro"] if s == side]
    static = not any(isinstance(sizes[x], tuple) for x in names)
    plain = [sizes[x] for x in names]
    before, kind = list(plain), dtype
    dims = list(names)
    # Hooks that change what the argument is, outermost last.
    changes = []
    for hook in reversed(hooks):
        if hook == "cast" and is_float(kind):
            changes.append(("cast", kind))
            kind = {"f32": "f16", "f64": "f32", "f16": "f32", "bf16": "f32"}[kind]
        elif hook == "dequant" and is_float(kind):
            changes.append(("dequant", kind))
            kind = "i8"
        elif hook == "transpose" and len(dims) > 1:
            order = list(range(len(dims)))
            order = order[1:] + order[:1]
            changes.append(("transpose", order))
            back = [order.index(i) for i in range(len(order))]
            before = [before[i] for i in back]
            dims = [dims[i] for i in back]
        elif hook == "pad" and static and dims and before[0] >= 3:
            d = len(dims) - 1 if before[-1] >= 3 else 0
            low = [0] * len(dims)
            high = [0] * len(dims)
            low[d], high[d] = 1, 1
            changes.append(("pad", (low, high)))
            before[d] -= 2
            dims[d] = before[d]
        elif (hook == "slice" and static and dims and 0 not in before
              and math.prod(2 * s + 1 for s in before) < 1000000):
            changes.append(("slice", list(before)))
            before = [2 * s + 1 for s in before]
            dims = list(before)
        elif hook in ("relu", "scale", "column"):
            changes.append((hook, None))
    shape = []
    for d, size in enumerate(before):
        shape.append(resolved.get(size[1], Size(None, None))
                     if isinstance(size, tuple) else size)
    value = program.argument(shape, kind, role, layout)
    program.letters.append(list(dims))
    # New dynamic letters come from this argument.
    for d, size in enumerate(before):
        if isinstance(size, tuple):
            if size[1] not in resolved:
                resolved[size[1]] = b.dim(value, d)
            value.shape[d] = resolved[size[1]]
    for hook, detail in reversed(changes):
        value = apply_prologue(program, value, hook, detail)
    return value


def apply_prologue(program, value, hook, detail):
    b = program.b
    if hook == "cast":
        return b.cast(value, detail)
    if hook == "dequant":
        # (x - 3) * 0.5, exact in every type for the values of i8.
        def body(names):
            x = b.convert(names[0], "i8", detail)
            x = b.let(f"arith.subf {x}, {b.constant(3, detail)} : {detail}")
            return b.let(f"arith.mulf {x}, {b.constant(0.5, detail)} : {detail}")

        def compute(ins):
            x = (ins[0][0].astype(np.float64) - 3) * 0.5
            return round_to(x, detail), abs(round_to(x, detail) - x)
        return b.unary(value, body, compute, detail)
    if hook == "transpose":
        return b.transpose(value, detail, named=program.spec["swap"])
    if hook == "pad":
        return b.pad(value, *detail, 0)
    if hook == "slice":
        return b.slice(value, [1] * len(detail), detail, [2] * len(detail))
    return pointwise_hook(program, value, hook)


def times(value, factor, dtype):
    """A product by a constant, exact where factor is a power of two."""
    x, bound = value
    if not is_float(dtype):
        return wrap(x * int(factor), dtype), None
    found = x * factor
    if math.frexp(factor)[0] in (0.5, -0.5) and dtype not in NARROW:
        return found, bound * abs(factor)
    return rounded(found, bound * abs(factor), dtype)


def pointwise_hook(program, value, hook):
    """Hooks that may stand on both sides of a contraction."""
    b, dtype = program.b, value.dtype
    real = is_float(dtype)
    if hook == "relu":
        zero = lambda: b.constant(0, dtype)
        op = "maximumf" if real else "maxsi"
        return b.unary(
            value, lambda n: b.let(f"arith.{op} {n[0]}, {zero()} : {dtype}"),
            lambda ins: (np.maximum(ins[0][0], 0), ins[0][1]))
    if hook == "scale":
        factor = 0.5 if program.exact else 0.3
        factor = factor if real else 3
        op = "mulf" if real else "muli"
        stored = float(round_to(np.array(factor), dtype)) if real else factor
        return b.unary(
            value,
            lambda n: b.let(f"arith.{op} {n[0]}, {b.constant(stored, dtype)} : "
                            f"{dtype}"),
            lambda ins: times(ins[0], stored, dtype))
    if hook == "column":  # a factor by the last dimension
        if not value.shape or isinstance(value.shape[-1], Size):
            return value
        size = value.shape[-1]
        vector = program.argument([size], dtype, "vector")
        program.letters.append([size])
        return broadcast_op(program, value, vector, "mul", len(value.shape) - 1)
    raise Refused(hook)


def broadcast_op(program, value, vector, op, d):
    """value op vector along dimension d; vector of the same rank: None."""
    b, dtype = program.b, value.dtype
    real = is_float(dtype)
    names = "defghijk"[:len(value.shape)]
    where = names if d is None else names[d]
    text = f"arith.{op}{'f' if real else 'i'}"

    def compute(ins):
        (x, xe), (y, ye) = ins
        found = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op](x, y)
        if not real:
            return wrap(found, dtype), None
        bound = (abs(x) * ye + abs(y) * xe + xe * ye if op == "mul"
                 else xe + ye)
        if op == "mul":
            bound = np.where(np.isfinite(found), bound, np.inf)
        # Whole numbers stay exact, unless they grow beyond the type.
        if program.exact and not bound.any() and (abs(found) < 200).all():
            return found, bound
        return rounded(found, bound, dtype)
    return b.pointwise(
        [value, vector], [letters(names), letters(where)],
        dict(zip(names, value.shape)), list(names), dtype,
        lambda n: b.let(f"{text} {n[0]}, {n[1]} : {dtype}"), compute)


def epilogue(program, value, names, sizes):
    """The program's results: the value after its epilogues, and extra ones."""
    spec, b = program.spec, program.b
    names, extra = list(names), []
    for hook in spec["epi"]:
        dtype, rank = value.dtype, len(value.shape)
        real = is_float(dtype)
        static = not any(isinstance(s, Size) for s in value.shape)
        if hook in ("relu", "scale"):
            value = pointwise_hook(program, value, hook)
        elif hook in ("bias", "column", "residual"):
            if hook != "residual" and not rank:
                continue
            d = None if hook == "residual" else (
                rank - 1 if spec["seed"] % 2 else 0)
            shape = value.shape if d is None else [value.shape[d]]
            other = program.argument(shape, dtype,
                                     "residual" if d is None else "vector")
            program.letters.append(list(names) if d is None else [names[d]])
            value = broadcast_op(program, value, other,
                                 "mul" if hook == "column" else "add", d)
        elif hook == "norm" and real and rank:
            value = batch_norm(program, value, names)
        elif hook in ("sigmoid", "tanh") and dtype in ("f32", "f64"):
            value = activation(program, value, hook)
        elif hook == "clamp":
            value = clamp(program, value)
        elif hook == "cast":
            target = {"f32": "bf16", "f64": "f32", "f16": "f32", "bf16": "f32",
                      "i32": "i8", "i64": "i32", "i8": "i32", "i16": "i32"}[dtype]
            value = b.cast(value, target)
        elif hook == "requant" and dtype == "i32":
            value = requantize(program, value)
        elif hook == "transpose" and rank > 1:
            order = list(range(rank))[::-1] if spec["seed"] % 3 else (
                list(range(1, rank)) + [0])
            value = b.transpose(value, order, named=spec["swap"])
            names = [names[i] for i in order]
        elif hook == "split" and static and rank:
            value, names = split(program, value, names)
        elif hook == "extra":
            extra.append(value)
        elif hook == "rows" and rank:
            value = b.row_sum(value)
            names = names[:-1]
        elif (hook == "slice" and static and rank and value.shape[-1] > 2
              and 0 not in value.shape):
            offsets = [0] * rank
            shape = list(value.shape)
            offsets[-1], shape[-1] = 1, shape[-1] - 2
            value = b.slice(value, offsets, shape, [1] * rank)
            names[-1] = shape[-1]
        elif hook == "pad" and static and rank:
            value = b.pad(value, [1] + [0] * (rank - 1), [0] * (rank - 1) + [2],
                          0)
            names = list(value.shape)
    return value, extra


def batch_norm(program, value, names):
    """(x - mean) * (1 / sqrt(variance + e)) * gamma + beta by a dimension."""
    b, dtype = program.b, value.dtype
    d = 1 if len(value.shape) > 2 else len(value.shape) - 1
    vectors = []
    for role in ("vector", "variance", "vector", "vector"):
        vectors.append(program.argument([value.shape[d]], dtype, role))
        program.letters.append([names[d]])
    axes = "defghijk"[:len(value.shape)]
    epsilon = float(round_to(np.array(1e-3), dtype))

    def body(n):
        x = b.let(f"arith.subf {n[0]}, {n[1]} : {dtype}")
        v = b.let(f"arith.addf {n[2]}, {b.constant(epsilon, dtype)} : {dtype}")
        v = b.let(f"math.sqrt {v} : {dtype}")
        v = b.let(f"arith.divf {b.constant(1, dtype)}, {v} : {dtype}")
        x = b.let(f"arith.mulf {x}, {v} : {dtype}")
        x = b.let(f"arith.mulf {x}, {n[3]} : {dtype}")
        return b.let(f"arith.addf {x}, {n[4]} : {dtype}")

    def compute(ins):
        (x, xe), (mean, _), (variance, _), (gamma, _), (beta, _) = ins
        inverse = 1 / np.sqrt(variance + epsilon)
        found = (x - mean) * inverse * gamma + beta
        bound = xe * abs(inverse * gamma)
        for part in (((abs(x) + abs(mean)) * abs(inverse * gamma)) * 4, beta):
            bound = rounded(part, bound, dtype)[1]
        return rounded(found, bound, dtype)
    return b.pointwise(
        [value, *vectors], [letters(axes)] + [letters(axes[d])] * 4,
        dict(zip(axes, value.shape)), list(axes), dtype, body, compute)


def activation(program, value, hook):
    b, dtype = program.b, value.dtype

    def body(n):
        if hook == "tanh":
            return b.let(f"math.tanh {n[0]} : {dtype}")
        x = b.let(f"arith.negf {n[0]} : {dtype}")
        x = b.let(f"math.exp {x} : {dtype}")
        one = b.constant(1, dtype)
        x = b.let(f"arith.addf {x}, {one} : {dtype}")
        return b.let(f"arith.divf {one}, {x} : {dtype}")

    def compute(ins):
        x, bound = ins[0]
        found = np.tanh(x) if hook == "tanh" else 1 / (1 + np.exp(-x))
        found = np.asarray(found)
        # exp's relative error grows with its argument, which the result damps.
        bound = np.where(np.isfinite(bound), bound, 0)
        grown = rounded(4 * np.ones_like(found), np.minimum(bound, 2), dtype)[1]
        return found, grown
    return b.unary(value, body, compute)


def clamp(program, value):
    b, dtype = program.b, value.dtype
    low, high = (-2, 3)
    if is_float(dtype):
        ops = ("maximumf", "minimumf")
    else:
        ops = ("maxsi", "minsi")
        low, high = (-100, 90)

    def body(n):
        x = b.let(f"arith.{ops[0]} {n[0]}, {b.constant(low, dtype)} : {dtype}")
        return b.let(f"arith.{ops[1]} {x}, {b.constant(high, dtype)} : {dtype}")
    return b.unary(value, body, lambda ins: (
        np.minimum(np.maximum(ins[0][0], low), high), ins[0][1]))


def requantize(program, value):
    """i32 to i8: (x + 8) >> 4, clamped; integer arithmetic alone."""
    b = program.b

    def body(n):
        x = b.let(f"arith.addi {n[0]}, {b.constant(8, 'i32')} : i32")
        x = b.let(f"arith.shrsi {x}, {b.constant(4, 'i32')} : i32")
        x = b.let(f"arith.maxsi {x}, {b.constant(-128, 'i32')} : i32")
        x = b.let(f"arith.minsi {x}, {b.constant(127, 'i32')} : i32")
        return b.let(f"arith.trunci {x} : i32 to i8")
    return b.unary(value, body, lambda ins: (
        np.clip(wrap(ins[0][0] + 8, "i32") >> 4, -128, 127), None), "i8")


def split(program, value, names):
    """Splits one dimension in two and moves the inner one in front."""
    b = program.b
    for d, size in enumerate(value.shape):
        factor = next((f for f in (2, 3, 4, 7) if size % f == 0 and size), None)
        if factor is None or not size:
            continue
        rank = len(value.shape)
        shape = (value.shape[:d] + [size // factor, factor]
                 + value.shape[d + 1:])
        groups = [[i + (i > d)] if i != d else [d, d + 1] for i in range(rank)]
        value = b.reshape(value, shape, groups, True)
        order = [d + 1] + [i for i in range(rank + 1) if i != d + 1]
        value = b.transpose(value, order)
        return value, list(value.shape)
    return value, names


def conv(program):
    """n, g, c, o: batch, groups, channels and filters a group; one window."""
    spec, b = program.spec, program.b
    check_types(spec)
    kinds = [base_type(t) for t in spec["types"]]
    accumulator = kinds[2]
    nd = len(spec["size"])
    if len({len(spec[k]) for k in ("size", "kernel", "stride", "dilation", "low",
                                   "high")}) != 1 or not nd:
        raise Refused("ranks differ")
    groups, drop = spec["groups"], spec["groups"] == 1 and spec["drop"]
    spatial, taps = "xyz"[:nd], "uvw"[:nd]
    program.letters = []
    n = spec["n"]
    channels_last = spec["layout"] == "nxc"

    def arranged(spatial_items, group_items):
        return ([n_item] + spatial_items + group_items if channels_last
                else [n_item] + group_items + spatial_items)

    # The input, with groups as one dimension or two.
    two = [] if drop else [groups]
    n_item = n
    if spec["dynamic"]:
        n_item = Size(None, None)
    sizes = [Size(None, None) if spec["dynamic"] else s for s in spec["size"]]
    if spec["grouped"] == "reshape" or drop:
        channels = [groups * spec["ic"]]
    else:
        channels = [groups, spec["ic"]]
    image = program.argument(arranged(sizes, channels), kinds[0], "operand",
                             spec["layouts"][0])
    program.letters.append(
        ["n"] + (list(spatial) + channels if channels_last
                 else channels + list(spatial)) if spec["dynamic"]
        else list(image.shape))
    if spec["dynamic"]:
        for d, s in enumerate(image.shape):
            if isinstance(s, Size):
                image.shape[d] = b.dim(image, d)
    first = 1 if channels_last else 1 + len(channels)
    n_item = image.shape[0]
    for s, hook in spec["pro"]:
        if s == 0:
            image = apply_prologue(program, image, *hook_detail(image, hook))
    extents = list(image.shape[first:first + nd])
    # Padding; a transposed convolution spreads its input out first.
    low, high = list(spec["low"]), list(spec["high"])
    steps = list(spec["stride"])
    if spec["transposed"]:
        if 0 in image.shape:
            raise Refused("slices without elements are no slices")
        reach = [(k - 1) * d for k, d in zip(spec["kernel"], spec["dilation"])]
        low = [max(0, r - p) for r, p in zip(reach, low)]
        high = [max(0, r - p) for r, p in zip(reach, high)]
        wide = [(s - 1) * t + 1 + a + c
                for s, t, a, c in zip(extents, steps, low, high)]
        shape = list(image.shape)
        shape[first:first + nd] = wide
        offsets = [0] * len(shape)
        offsets[first:first + nd] = low
        strides = [1] * len(shape)
        strides[first:first + nd] = steps
        zeros = b.filled(shape, image.dtype, 0)
        image = b.insert(image, zeros, offsets, strides)
        extents, steps = wide, [1] * nd
    elif any(low) or any(high):
        a, c = [0] * len(image.shape), [0] * len(image.shape)
        a[first:first + nd], c[first:first + nd] = low, high
        image = b.pad(image, a, c, spec["fill"])
        extents = list(image.shape[first:first + nd])
    if spec["grouped"] == "reshape" and not drop:
        at = len(image.shape) - 1 if channels_last else 1
        shape = image.shape[:at] + [groups, spec["ic"]] + image.shape[at + 1:]
        parts = [[i + (i > at)] if i != at else [at, at + 1]
                 for i in range(len(image.shape))]
        image = b.reshape(image, shape, parts, True)

    # The weights.
    filters = ([] if drop else [groups]) + []
    layout = {"fcx": "f c x", "xcf": "x c f", "fxc": "f x c"}[spec["weights"]]
    weight_shape, weight_index = list(filters), [] if drop else [Lin({"g": 1})]
    flipped = []
    for part in layout.split():
        if part == "f":
            weight_shape.append(spec["oc"])
            weight_index.append(Lin({"f": 1}))
        elif part == "c":
            weight_shape.append(spec["ic"])
            weight_index.append(Lin({"c": 1}))
        else:
            for t, k in zip(taps, spec["kernel"]):
                flipped.append(len(weight_shape))
                weight_shape.append(k)
                weight_index.append(Lin({t: 1}))
    weights = program.argument(weight_shape, kinds[1], "weight",
                               spec["layouts"][1])
    program.letters.append(list(weight_shape))
    for s, hook in spec["pro"]:
        if s == 1:
            weights = apply_prologue(program, weights,
                                     *hook_detail(weights, hook))
    if spec["transposed"]:
        weights = flip(program, weights, flipped)
    # The window.
    sizes = {"n": n_item, "f": spec["oc"], "c": spec["ic"]}
    if not drop:
        sizes["g"] = groups
    window = []
    for x, t, e, k, s, d in zip(spatial, taps, extents, spec["kernel"], steps,
                                spec["dilation"]):
        reach = (k - 1) * d + 1
        if isinstance(e, Size):
            if spec["size"][spatial.index(x)] + sum(
                    spec[p][spatial.index(x)] for p in ("low", "high")) < reach:
                raise Refused("the window is larger than the image")
            sizes[x] = b.computed_size(e, [("subi", reach), ("divui", s),
                                           ("addi", 1)])
        else:
            if e < reach:
                raise Refused("the window is larger than the image")
            sizes[x] = (e - reach) // s + 1
        sizes[t] = k
        window.append(Lin({x: s, t: d}))
    group_index = ([] if drop else [Lin({"g": 1})]) + [Lin({"c": 1})]
    n_item = Lin({"n": 1})
    image_index = arranged(window, group_index)
    group_out = ("" if drop else "g") + "f"
    out = "n" + (spatial + group_out if channels_last else group_out + spatial)
    loops = list(out) + ["c"] + list(taps)
    init = None
    if spec["init"] == "constant":
        init = b.filled([sizes[x] for x in out], accumulator, 3)
    total = spec["ic"] * math.prod(spec["kernel"])
    result = b.contract(
        image, image_index, weights, weight_index, loops, sizes, out, accumulator,
        init=init, subtract=spec["subtract"], swap=spec["swap"],
        unsigned=[t == "u8" for t in spec["types"][:2]],
        exact=program.exact and accumulator not in NARROW and total < 100000,
        written=named_conv(spec, kinds, drop))
    names = [x if isinstance(sizes[x], Size) else sizes[x] for x in out]
    if spec["dynamic"]:
        # Other arguments of the result's size would need computed sizes.
        spec = dict(spec, epi=[h for h in spec["epi"]
                               if h not in ("residual", "bias", "column",
                                            "norm")])
        program.spec = spec
    return result, names, sizes


def flip(program, value, dims):
    """Reverses dimensions: index i reads size - 1 - i."""
    names = "defghijk"[:len(value.shape)]
    index = [Lin({x: -1}, s - 1) if d in dims else Lin({x: 1})
             for d, (x, s) in enumerate(zip(names, value.shape))]
    return program.b.pointwise(
        [value], [index], dict(zip(names, value.shape)), list(names),
        value.dtype, lambda n: n[0], lambda ins: ins[0])


def hook_detail(value, hook):
    """Casts of a convolution's operand keep its type: down and up again."""
    if hook == "cast":
        return "cast", value.dtype
    return hook, None


def named_conv(spec, kinds, drop):
    """linalg's named convolutions, for the layouts that have one."""
    if (spec["swap"] or spec["subtract"] or "u8" in spec["types"] or kinds[0] != kinds[1] or not drop or spec["transposed"]
            or is_float(kinds[0]) != is_float(kinds[2])):
        return None
    nd = len(spec["size"])
    op = {("ncx", "fcx", 1): "conv_1d_ncw_fcw", ("nxc", "xcf", 1):
          "conv_1d_nwc_wcf", ("ncx", "fcx", 2): "conv_2d_nchw_fchw",
          ("nxc", "xcf", 2): "conv_2d_nhwc_hwcf", ("nxc", "fxc", 2):
          "conv_2d_nhwc_fhwc", ("ncx", "fcx", 3): "conv_3d_ncdhw_fcdhw",
          ("nxc", "xcf", 3): "conv_3d_ndhwc_dhwcf"}.get(
              (spec["layout"], spec["weights"], nd))
    if op is None:
        return None

    def dense(numbers):
        return (f"dense<[{', '.join(map(str, numbers))}]> : "
                f"tensor<{nd}xi64>")

    def written(lhs, rhs, init):
        return (f"linalg.{op} {{dilations = {dense(spec['dilation'])}, "
                f"strides = {dense(spec['stride'])}}} "
                f"ins({lhs.ssa}, {rhs.ssa} : {lhs.type}, {rhs.type}) "
                f"outs({init.ssa} : {init.type}) -> {init.type}")
    return written
