// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Passes.td: the passes of S3, affine nests to affine nests.

#ifndef POLYNEST_TRANSFORMS_PASSES
#define POLYNEST_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def FoldViews : Pass<"polynest-fold-views", "mlir::func::FuncOp"> {
  let summary = "Fold views into the maps of the accesses through them";
  let description = [{
    Rewrites `affine.load` and `affine.store` of a `subview`, `expand_shape`,
    `cast`, `transpose` or simple `collapse_shape` into accesses of its source,
    and erases views that nobody uses any more.

    Before: `%v = memref.subview %a[1, 2] [4, 4] [1, 1]`, `affine.load %v[%i, %j]`
    After:  `affine.load %a[%i + 1, %j + 2]`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Accesses rewritten">,
    Statistic<"numDeclined", "num-declined", "Views that are still used">
  ];
}

def PlanMemory : Pass<"polynest-plan-memory", "mlir::func::FuncOp"> {
  let summary = "Place temporaries at planned offsets of one arena";
  let description = [{
    Replaces the static allocations of an entry by views of a new last argument
    `memref<Nxi8> {polynest.arena}`; allocations that are never alive at the
    same time share bytes. Allocations in loops that run at once move to the
    stack where they are small. Idempotent: an entry with an arena is skipped.

    Before: `%t = memref.alloc() : memref<16xf32>`
    After:  `%t = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>`
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect",
                           "mlir::arith::ArithDialect"];
  let options = [
    Option<"stackLimitKib", "stack-limit-kib", "int64_t", /*default=*/"32",
           "Largest private buffer on the stack, in KiB, 0 to 1024">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Allocations placed">,
    Statistic<"numDeclined", "num-declined", "Allocations left as they are">
  ];
}

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
