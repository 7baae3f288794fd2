// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Passes.td: the passes of S3, affine nests to affine nests.

#ifndef POLYNEST_TRANSFORMS_PASSES
#define POLYNEST_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ReplaceScalars : Pass<"polynest-replace-scalars", "mlir::func::FuncOp"> {
  let summary = "Keep memory values in registers across loops and blocks";
  let description = [{
    A location that stands still in an `affine.for`, and is loaded and stored
    in its body, is carried as an iter_args value: loaded before the loop,
    stored after it, through as many loops as it stands still in. Then values
    are forwarded from stores and loads to later loads within a block (and into
    the regions of its operations), and stores are erased that are overwritten
    unread or that write what the location already holds.

    Legal if nothing else in the loop may touch the location. Where a loop may
    not run and the location is not known to exist then, the loop is put under
    an `affine.if` that asks whether it runs.

    Before: `affine.for %k { %c = affine.load %C[%i, %j] ... affine.store }`
    After:  `%c = affine.load; %r = affine.for %k iter_args(%x = %c); affine.store`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Locations carried by a loop">,
    Statistic<"numDeclined", "num-declined",
              "Locations that stand still in a loop but cannot be carried">,
    Statistic<"numForwarded", "num-forwarded", "Loads replaced by a value">,
    Statistic<"numErased", "num-erased", "Stores erased">
  ];
}

#endif // POLYNEST_TRANSFORMS_PASSES
