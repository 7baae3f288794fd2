# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles two models through torch.compile and compares them with eager.

ResNet-18 and a four-layer BERT, weights random by seed. For each: whether the
whole graph was compiled, the largest difference to eager, how the first call's
time divides, and the time of a call beside eager's and Inductor's. Exits 1
where a graph was not compiled whole or a difference exceeds the tolerance
table. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any, Callable, Sequence


def _tolerance() -> tuple[float, float, str]:
    """(unit, factor, path) for f32 from the source tree's table."""
    path = Path(__file__).resolve().parents[2] / "test" / "tolerances.json"
    row = json.loads(path.read_text())["dtypes"]["f32"]
    return row["unit"], row["factor"], str(path)


def resnet18(torch: Any, batch: int) -> tuple[Any, tuple, int]:
    """Model, inputs, and the length of its longest reduction."""
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        depths=[2, 2, 2, 2],
        hidden_sizes=[64, 128, 256, 512],
        layer_type="basic",
    )
    model = ResNetForImageClassification(config).eval()
    return model, (torch.randn(batch, 3, 224, 224),), 512 * 3 * 3


def bert4(torch: Any, batch: int) -> tuple[Any, tuple, int]:
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=4)
    model = BertModel(config).eval()
    ids = torch.randint(0, config.vocab_size, (batch, 128))
    return model, (ids,), config.intermediate_size


MODELS = {"resnet18": resnet18, "bert4": bert4}


def _output(result: Any) -> Any:
    for name in ("logits", "last_hidden_state"):
        value = getattr(result, name, None)
        if value is not None:
            return value
    return result


def _best(function: Callable, inputs: tuple, seconds: float) -> float:
    """Least time of a call, in milliseconds, over about `seconds`."""
    best, end, calls = math.inf, time.perf_counter() + seconds, 0
    while calls < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        function(*inputs)
        best = min(best, time.perf_counter() - start)
        calls += 1
    return best * 1e3


def run_model(name: str, options: argparse.Namespace) -> bool:
    import torch

    from polynest import torch_backend

    torch.manual_seed(options.seed)
    torch._dynamo.reset()
    torch_backend.reset_reports()
    model, inputs, reduction = MODELS[name](torch, options.batch)
    compiled = torch.compile(
        model,
        backend=torch_backend.polynest,
        options={"freeze": options.freeze},
    )
    with torch.no_grad():
        start = time.perf_counter()
        first = _output(compiled(*inputs))
        first_s = time.perf_counter() - start
        expected = _output(model(*inputs))
        again = _output(compiled(*inputs))

    found = torch_backend.reports()
    whole = len(found) == 1 and found[0].whole
    frontend_s = sum(r.frontend_s for r in found)
    compile_s = sum(r.compile_s for r in found)
    unit, factor, _ = _tolerance()
    scale = expected.abs() + expected.abs().mean()
    bound = factor * unit * math.sqrt(reduction) * scale
    difference = (first.double() - expected.double()).abs()
    close = bool((difference <= bound).all())
    same = torch.equal(first, again)

    print(f"{name}, batch {options.batch}, {torch.get_num_threads()} threads")
    print(f"  whole graph                 {'yes' if whole else 'no'}")
    print(
        f"  largest difference          {difference.max().item():.2e} of values "
        f"up to {expected.abs().max().item():.2e} "
        f"({'within' if close else 'OVER'} the tolerance)"
    )
    if not same:
        print("  a second call gave OTHER bits than the first")
    ours = frontend_s + compile_s
    print(
        f"  first call                  {first_s:.2f} s: {first_s - ours:.2f} "
        f"Dynamo and AOTAutograd, {frontend_s:.2f} lowering, {compile_s:.2f} "
        "compiling"
        + (", found in the cache" if any(r.cached for r in found) else "")
    )
    if not whole:
        print("  " + torch_backend.report().replace("\n", "\n  "))
    with torch.no_grad():
        rows = [
            (
                "polynest, freeze" if options.freeze else "polynest",
                _best(compiled, inputs, options.seconds),
            ),
            ("eager", _best(model, inputs, options.seconds)),
        ]
        if options.inductor:
            rows.append(_inductor(torch, model, inputs, options.seconds))
    for label, value in rows:
        shown = f"{value:.2f} ms" if isinstance(value, float) else value
        print(f"  {'a call, ' + label:<28}{shown}")
    return whole and close and same


def _inductor(torch: Any, model: Any, inputs: tuple, seconds: float) -> tuple:
    import torch._inductor.config as config

    label = "Inductor, freezing"
    try:
        with config.patch(freezing=True):
            torch._dynamo.reset()
            other = torch.compile(model, backend="inductor")
            other(*inputs)
            return label, _best(other, inputs, seconds)
    except Exception as error:  # needs a C++ compiler, among others
        reason = str(error).strip().splitlines()
        return label, f"not available: {reason[0] if reason else error!r}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m polynest.demo", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--model",
        action="append",
        choices=list(MODELS),
        help="only this one; may be given again",
    )
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds",
        type=float,
        default=2.0,
        help="how long each measurement runs (default: %(default)s)",
    )
    parser.add_argument(
        "--freeze",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="bind weights once, as Inductor does with freezing",
    )
    parser.add_argument(
        "--inductor",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure Inductor too; its compilation takes most of the time",
    )
    options = parser.parse_args(arguments)
    if options.batch < 1 or options.seconds <= 0:
        parser.error("batch and seconds must be above 0")
    good = [run_model(m, options) for m in options.model or MODELS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
