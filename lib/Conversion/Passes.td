// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/Passes.td: passes that take one stage's form to the next.

#ifndef POLYNEST_CONVERSION_PASSES
#define POLYNEST_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def GuardIntegerDivision : Pass<"polynest-guard-integer-division"> {
  let summary = "Give integer division and remainder defined results";
  let description = [{
    Rewrites `arith.divsi`, `divui`, `remsi`, `remui`, `floordivsi`,
    `ceildivsi` and `ceildivui` so that no operand can raise a signal or be
    undefined: x / 0 is 0, x rem 0 is 0, and INT_MIN / -1 wraps to INT_MIN
    (remainder 0). The divisor is replaced by 1 where it would trap, and the
    result selected. Divisions by a constant other than 0 and -1 stay.
    It is the first pass of S1, before any canonicalization may use the
    undefined cases. Idempotent: a guarded division's divisor is a select
    that excludes the undefined cases.

    Before: `%q = arith.divsi %a, %b : i32`
    After:  a division of selected operands and a select on `%b == 0`.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Divisions guarded">,
    Statistic<"numDeclined", "num-declined",
              "Divisions left alone since their divisor is safe">
  ];
}

def ConvertEntries : Pass<"polynest-convert-entries", "mlir::ModuleOp"> {
  let summary = "Turn tensors at function boundaries into memrefs";
  let description = [{
    Gives every public function the signature of an entry: tensor arguments
    become memrefs (identity layout, or the one that `polynest.strides`
    states), results become trailing arguments with `polynest.result`, and
    `<name>_shapes` computes the dynamic result sizes from the inputs' sizes.
    Entries are marked `polynest.entry` and skipped by a second run.

    A result with `polynest.updates = i` is the new value of input i, a tensor
    of the same type, and is put there in place of an argument of its own; the
    input gets `polynest.updated`. Bufferization makes the new value where the
    old one is, if it finds nothing that reads the old one later; else there is
    a copy at the end.

    Before: `func.func @f(%a: tensor<?xf32>) -> tensor<?xf32>`
    After:  `func.func @f(%a: memref<?xf32>, %r: memref<?xf32>
            {polynest.result}) attributes {polynest.entry}` and
            `func.func @f_shapes(%d: index) -> index`.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::affine::AffineDialect",
    "mlir::bufferization::BufferizationDialect", "mlir::memref::MemRefDialect",
    "mlir::tensor::TensorDialect", "mlir::linalg::LinalgDialect"
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Entries converted">,
    Statistic<"numDeclined", "num-declined", "Functions left as they are">
  ];
}

def HoistAllocas : Pass<"polynest-hoist-allocas", "mlir::func::FuncOp"> {
  let summary = "Move private buffers out of loops";
  let description = [{
    Moves `memref.alloca` of static size from loops and branches to the start of
    the function, where it is a place of the frame; in a loop it would take new
    stack in each iteration until the function returns. In kernels it moves
    `memref.alloc` likewise, whose sizes are constant or arguments, and which would
    be made in each iteration and live until the call ends. Legal if nothing can carry the buffer to another
    iteration.

    Before: `affine.for %i { %b = memref.alloca() : memref<64xf32> ... }`
    After:  `%b = memref.alloca() : memref<64xf32>  affine.for %i { ... }`
  }];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Buffers moved">,
    Statistic<"numDeclined", "num-declined", "Buffers that stay in a loop">
  ];
}

def OutlineKernels : Pass<"polynest-outline-kernels", "mlir::ModuleOp"> {
  let summary = "Outline nests into kernels";
  let description = [{
    Turns every `affine.parallel` with `polynest.grain` that is nested in no
    other such loop into a private function `@<entry>_kernel<K>(%begin: index,
    %end: index, captures...)` and a call of it over the full range, and every
    other outermost nest into one without range and grain, several that only
    fill memory, one behind the other, into one. Constants and views
    are rematerialized in the kernel rather than captured. Of equal kernels one
    is kept.

    Before: `affine.parallel (%i) = (0) to (%n) {...} {polynest.grain = 8}`
    After:  `func.call @f_kernel0(%c0, %n, %a, %b)`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::func::FuncDialect",
                           "mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Kernels outlined">,
    Statistic<"numMerged", "num-merged", "Kernels equal to another one">,
    Statistic<"numDeclined", "num-declined",
              "Marked loops of a form that cannot be outlined">
  ];
}

def WeighBranches : Pass<"polynest-weigh-branches", "mlir::func::FuncOp"> {
  let summary = "Tell LLVM how often loops run";
  let description = [{
    Gives the branch at the head of a loop whose trips are known, or at most a
    known number, the weights of staying and of leaving. LLVM's register
    allocator then spills outside of kernels rather than in them. Runs when
    control flow is flat (after convert-scf-to-cf).

    Before: `cf.cond_br %c, ^body, ^end` with `%c = arith.cmpi slt, %i, %c64`
    After:  `cf.cond_br %c weights([64, 1]), ^body, ^end`
  }];
  let dependentDialects = ["mlir::cf::ControlFlowDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Branches given weights">
  ];
}

def LowerAsserts : Pass<"polynest-lower-asserts", "mlir::ModuleOp"> {
  let summary = "Turn assertions into status returns";
  let description = [{
    Gives entries and kernels an `i32` result, 0 for success, and replaces
    `cf.assert` by an early return of the message's number, counted from 1, in
    the module's table `polynest.asserts`. The status of a kernel call is
    handed on. Runs when control flow is flat (after convert-scf-to-cf).

    Before: `cf.assert %ok, "index out of range"`
    After:  `cf.cond_br %ok, ^next, ^fail` with `^fail: return %c1_i32`
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::cf::ControlFlowDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Assertions lowered">,
    Statistic<"numDeclined", "num-declined", "Functions without a status">
  ];
}

def LowerDots : Pass<"polynest-lower-dots"> {
  let summary = "Multiply groups of narrow elements by the target's units";
  let description = [{
    A `vector.contract` of two vectors [lanes, step] into [lanes] adds up each
    group of neighbours. It becomes calls of the first of `units` that computes
    this for its elements, cut in the width of the unit; without one, plain
    multiplications and additions of accumulators. Other contractions stay.

    Before: `vector.contract {...} ext(%a), ext(%b), %c : vector<8x2xi32>,
    vector<8x2xi32> into vector<8xi32>`
    After: `%s = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%a, %b)`, then
    `arith.addi %c, %s`
  }];
  let options = [
    ListOption<"units", "units", "std::string",
               "Instructions, the best first, as FORM:BITS:HOW:INTRINSIC: a "
               "form such as s16s16x2, the bits of a vector, 'add' if it takes "
               "accumulators or 'sum' if it returns sums alone, and the name, "
               "which begins with 'llvm.'">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::LLVM::LLVMDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Contractions that units compute">,
    Statistic<"numDeclined", "num-declined", "Contractions in plain form">
  ];
}

def LowerTiles : Pass<"polynest-lower-tiles", "mlir::func::FuncOp"> {
  let summary = "Multiply tiles of narrow elements in matrix registers";
  let description = [{
    A `vector.contract` of tiles [m, words, step] times [words, n, step] into
    [m, n], of which both operands are loaded from memory and the sums are
    loaded, carried by loops and stored as wholes, becomes an instruction of the
    target's matrix unit, where `units` has one for these elements and sizes; the
    sums stay in its registers. Without one, loops over rows and words take the
    same sums in memory, and multiply by `vector.contract` of [lanes, step] for
    `polynest-lower-dots`.

    Before: `%t = vector.contract {...} ext(%a), ext(%b), %s :
    vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>`
    After: `%t = llvm.call_intrinsic "llvm.x86.tdpbssd.internal"(16, 64, 64, %s,
    %a, %b)`, of type `!llvm.x86_amx`
  }];
  let options = [
    ListOption<"units", "units", "std::string",
               "Instructions as FORM:ROWSxCOLUMNSxWORDS:INTRINSIC: a form such as "
               "s8s8x4, of which the first side is that of the rows, sizes that "
               "are powers of two from 2 to 64, and the name, which begins with "
               "'llvm.x86.'">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect",
                           "mlir::LLVM::LLVMDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Products that units compute">,
    Statistic<"numDeclined", "num-declined", "Products in plain form, or left">
  ];
}

def LowerEntries : Pass<"polynest-lower-entries", "mlir::ModuleOp"> {
  let summary = "Emit the C symbols of entries and the calls of kernels";
  let description = [{
    Runs on the LLVM dialect. Calls of kernels become `pn_parallel_for` with a
    block of captures; heap allocations become `pn_rt_alloc` of the call's
    context; entries get their C symbols `<name>` and `<name>_packed`, lose the
    arguments that they do not use, and the module gets its description
    `polynest_info`. Functions that fill states, and kernels that only these
    call, become `cold`: LLVM's code generator takes short cuts with them.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Entries and kernels lowered">,
    Statistic<"numDeclined", "num-declined", "Functions left as they are">
  ];
}

def DescribeEntries : Pass<"polynest-describe-entries", "mlir::ModuleOp"> {
  let summary = "Record the signatures of entries in the module";
  let description = [{
    First pass of S5, while signatures still have their types: writes each
    entry's inputs, results and arena size into the module attribute
    `polynest.info`, the text that executables and libraries carry. It fails
    on an argument that no caller could pass. Entries and kernels of which all
    arguments have a static form are marked with `llvm.bareptr`: they take
    addresses, where others take descriptors. The text begins with the target
    and its features, where the options name them: what loads the code compares
    them with the processor.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"\"",
           "Name of the target, or nothing">,
    ListOption<"features", "features", "std::string",
               "Names of the target's features">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Entries described">,
    Statistic<"numDeclined", "num-declined", "Functions without entry mark">
  ];
}

def SettleViews : Pass<"polynest-settle-views"> {
  let summary = "Give slices and reshapes of tensors one meaning";
  let description = [{
    A slice that drops some dimensions of size 1 and keeps others that are, or
    turn out to be, of size 1 too becomes one of full rank and a reshape: once
    sizes are known MLIR drops the first ones of size 1, and takes dropped
    dimensions of memrefs from strides. A `tensor.collapse_shape` that joins a
    dimension of size 0 with one of unknown size becomes an empty tensor, as its
    form on memrefs is refused. Idempotent. Runs before sizes are folded, and again
    where that has made more of them known.

    Before: `tensor.extract_slice %x[0, 0, 2] [%n, %m, 1] ... to tensor<?x?xf32>`
    After:  one `to tensor<?x?x1xf32>`, then
            `tensor.collapse_shape ... [[0], [1, 2]]`.
    Declines: slices that can be read in one way, and other reshapes.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Views rewritten">,
    Statistic<"numDeclined", "num-declined", "Views left as they are">
  ];
}

def SplitInits : Pass<"polynest-split-inits"> {
  let summary = "Give every overwritten tensor its own initial value";
  let description = [{
    Clones `linalg.fill` and `tensor.empty` for each use, so that bufferization
    can compute in place instead of copying a shared initial value. An operation
    of a function's body that overwrites one of its own operands gets an empty
    tensor: bufferization takes time in the cube of the number of operations that
    overwrite one buffer, and in the square of the uses of an input; so each use
    of one that is not written gets a `bufferization.to_tensor`. Idempotent.

    Before: one `linalg.fill` is the `outs` of two matmuls.
    After:  two fills of two empty tensors.
  }];
  let dependentDialects = ["mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Copies of initial values made">,
    Statistic<"numDeclined", "num-declined", "Fills with one use">
  ];
}

def OrderCopies : Pass<"polynest-order-copies", "mlir::func::FuncOp"> {
  let summary = "Put copies to results in an order that is right";
  let description = [{
    A result's buffer may hold an earlier value until the result is copied into
    it. Where that value is another result, or the new value of an input, it must
    be copied out first; where buffers trade places, a value goes through a
    temporary. Bufferization does not see these conflicts, since results are
    memrefs to it. Idempotent.

    Before: `memref.copy %t, %result0` and then
            `memref.copy %result0, %result1`
    After:  the second before the first.
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Functions with reordered copies">,
    Statistic<"numDeclined", "num-declined", "Functions in good order">
  ];
}

def CheckSizes : Pass<"polynest-check-sizes", "mlir::ModuleOp"> {
  let summary = "Assert that the dynamic sizes of operands agree";
  let description = [{
    First pass of S2. Where a structured operation, a copy or a cast of an entry
    needs dynamic sizes to be equal, a window or a slice to lie
    inside of what it is of, or a reshape the parts of a dimension to have as many elements as it has,
    and that does not follow from where the sizes come from, it emits a
    `cf.assert`: at the start of the entry if the sizes come from arguments
    alone, else in front of the operation. Slices at computed places that are proven
    to lie inside, as those that are clamped to a size are, need none. Static sizes cost nothing: a window
    or a slice that certainly reaches past either end, or whose index leaves 64
    bits, is an error. An index that goes both ways with a loop, or is a remainder,
    is computed for each point, in each call, where sizes are not known and what is
    read is not as large as it could get.

    Before: `linalg.add ins(%x, %y : memref<?xf32>, memref<?xf32>) ...`
    After:  `%e = arith.cmpi eq, %dim_x, %dim_y  cf.assert %e, "sizes differ:
            dimension 0 of input 0 and dimension 0 of input 1 must be equal in
            linalg.add"` in front.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::cf::ControlFlowDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Assertions emitted">,
    Statistic<"numDeclined", "num-declined",
              "Functions without a status, and indices that are not understood">
  ];
}

def MarkStage : Pass<"polynest-mark-stage", "mlir::ModuleOp"> {
  let summary = "Record which stage a module is at";
  let description = [{
    Last pass of each stage: sets the module attribute `polynest.stage`, by
    which a dump that is fed back in is recognized.
  }];
  let options = [
    Option<"stage", "stage", "std::string", /*default=*/"",
           "One of s1 to s5">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Modules marked">,
    Statistic<"numDeclined", "num-declined", "Modules that had the mark">
  ];
}

def LowerLinalg : Pass<"polynest-lower-linalg"> {
  let summary = "Lower linalg on memrefs and memref.copy to affine nests";
  let description = [{
    Every structured linalg operation on memrefs, named or generic, becomes one
    perfect nest of `affine.for` over its iteration space, in its order but for
    parallel loops around a reduction, which stand as the result's dimensions do
    where each is one of them. Operands are read by
    `affine.load` at their indexing maps, results written by `affine.store`, the
    region's body stands between them. A `memref.copy` is a nest too; if source
    and target may overlap and are not proven equal or disjoint, it goes through
    a temporary. Loops whose size is no constant and no valid symbol are
    `scf.for`, with `memref.load` and `memref.store`.

    Before: `linalg.transpose ins(%a : memref<2x3xf32>)
             outs(%b : memref<3x2xf32>) permutation = [1, 0]`
    After:  `affine.for %i = 0 to 3 { affine.for %j = 0 to 2 {
             %x = affine.load %a[%j, %i]; affine.store %x, %b[%i, %j] } }`
    Declines, with a remark: operations on tensors, copies of unranked memrefs.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations lowered to nests">,
    Statistic<"numDeclined", "num-declined", "Operations left as they are">
  ];
}

def RaiseScf : Pass<"polynest-raise-scf"> {
  let summary = "Raise scf control flow and plain accesses to affine";
  let description = [{
    Outside in, `scf.for`, `scf.parallel` and `scf.forall` become `affine.for`,
    `scf.if` becomes `affine.if`, `memref.load` and `memref.store` become
    `affine.load` and `affine.store`, where every bound, condition and index is
    an affine function of valid dimensions and symbols. Index arithmetic in
    `arith` on `index` and `i64` is followed; division, remainder and comparison
    only where their operands are known not to overflow.

    Before: `scf.for %i = %c0 to %n step %c1 { %j = arith.addi %i, %c2 : index
             %x = memref.load %a[%j] : memref<?xf32> ... }`
    After:  `affine.for %i = 0 to %n { %x = affine.load %a[%i + 2] ... }`
    Declines, with a remark: data-dependent bounds, conditions and indices.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations raised">,
    Statistic<"numDeclined", "num-declined", "Operations left as they are">
  ];
}

def DecomposeTensorOps : Pass<"polynest-decompose-tensor-ops"> {
  let summary = "Decompose tensor operations before bufferization";
  let description = [{
    Rewrites what bufferization or the lowering to nests would do badly,
    wrongly or not at all. `linalg.map` and named operations that divide
    integers become `linalg.generic`; `linalg.softmax`, pack, unpack, Winograd
    transforms, `tensor.concat`, gather, scatter, splat, generate, reshape and
    bitcast become fills, slices, reshapes and generics. A `tensor.pad` with one
    value is a fill with the source inserted, behind the `tensor.expand_shape` of
    its result where that splits other dimensions than are padded; with a computed
    value it is one generic that tests the index. `bufferization.dealloc_tensor` is dropped.

    Before: `%r = tensor.pad %x low[1] high[2] {... tensor.yield %c ...}`
    After:  `%f = linalg.fill ins(%c) outs(%empty)`, then
            `%r = tensor.insert_slice %x into %f[1] [%n] [1]`.
    Errors: complex, unranked, encoded, signed and odd-width types, at the first
    operation that has one.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::cf::ControlFlowDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations decomposed">,
    Statistic<"numDeclined", "num-declined",
              "Operations on memrefs, left to the next stage">
  ];
}

def MatchReshapes : Pass<"polynest-match-reshapes", "mlir::func::FuncOp"> {
  let summary = "Reshape unknown sizes by groups of dimensions";
  let description = [{
    A chain of `tensor.collapse_shape`, `expand_shape`, `reshape` and casts, some
    sizes of which are not known, becomes one reshape in which groups of
    dimensions become groups of as many elements: none where the shapes are equal
    in the end, else a collapse, an expand, or both.

    Before: `reshape(collapse(%q : ?x?x?xf32) : ?xf32, [%d0 * %d1, %d2])`
    After:  `collapse_shape %q [[0, 1], [2]]` with `%d0` to `%d2` sizes of `%q`

    Legal where the sizes of each group are proven to have one product, by where
    they come from and by `cf.assert` of `arith.cmpi eq` in front. Declines where
    those of some group are not.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Chains that became one">,
    Statistic<"numDeclined", "num-declined", "Reshapes left as they are">
  ];
}

def SimplifySizes : Pass<"polynest-simplify-sizes", "mlir::func::FuncOp"> {
  let summary = "Replace what is computed of sizes by what it always is";
  let description = [{
    Minima, maxima and selections of numbers that are proven to be one of their
    operands become it, comparisons that are proven become constants, and sums the
    number, or the number and the constant, that they are. Proofs take sizes for not
    negative, and follow how numbers are computed of them.

    Before: `%m = arith.minsi %d, %c0  %e = arith.subi %d, %m  %s = arith.maxsi %e, %c0`
            with `%d` a `tensor.dim`
    After:  uses of `%s` use `%d`

    Declines what is not proven, and numbers that could leave 64 bits.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations replaced">,
    Statistic<"numDeclined", "num-declined", "Operations left as they are">
  ];
}

def ExpandReshapes : Pass<"polynest-expand-reshapes"> {
  let summary = "Give dimensions that were joined loops of their own";
  let description = [{
    An operation of linalg whose result is parted by `tensor.expand_shape`, and
    an operand of which was joined alike by `tensor.collapse_shape`, gets a loop
    for each part, and both reshapes go away. Pointwise operations between a
    product and the reshape follow. The last dimension stays whole.

    Before: `expand(batch_matmul(collapse(Q), collapse(K)))`
    After:  a `linalg.generic` over Q and K with loops for batch and head

    Legal if operands name the parted loop alone and no body asks for its index.
    Declines where nothing was joined alike, and where the operation has other
    uses.
  }];
  let dependentDialects = ["mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations given more loops">,
    Statistic<"numDeclined", "num-declined", "Reshapes left as they are">
  ];
}

def FenceStreams : Pass<"polynest-fence-streams", "mlir::LLVM::LLVMFuncOp"> {
  let summary = "Order non-temporal stores before a function returns";
  let description = [{
    Calls `intrinsic`, the store fence of the target, before each return of a
    function that has non-temporal stores, so that whoever waits for the
    function sees them. Targets whose atomics order such stores leave it empty.

    Before: `llvm.store %v, %p {nontemporal} ... llvm.return`
    After:  `llvm.call_intrinsic "llvm.x86.sse.sfence"()`, then `llvm.return`
  }];
  let options = [
    Option<"intrinsic", "intrinsic", "std::string", /*default=*/"\"\"",
           "Name of the fence, which begins with 'llvm.', or nothing">
  ];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Functions with a fence">
  ];
}

def VerifyStage : Pass<"polynest-verify-stage"> {
  let summary = "Check the form that a stage hands to the next";
  let description = [{
    Checks a module against the form that docs/architecture.md gives for the
    output of a stage: which dialects and operations it has, that entries return
    nothing, that kernels take a range, and up to s2 which types occur.
    `stage=input` checks a program before s1, `stage=any` what no text may hold,
    whichever stage it enters: loops with a constant step that is not from 1 to
    2^62. The first operation that does not belong gets an error that says why.
    Changes nothing.

    Before and after: the same.
  }];
  let options = [
    Option<"stage", "stage", "std::string", "\"\"",
           "The stage whose output is checked: any, input, s1, s2, s3, s4 or "
           "s5">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Modules that have the form">,
    Statistic<"numDeclined", "num-declined",
              "Modules not checked; always zero">
  ];
}

def ExpandArith : Pass<"polynest-expand-arith"> {
  let summary = "Expand integer divisions and bf16 casts that LLVM lacks";
  let description = [{
    Expands `ceildivsi`, `ceildivui`, `floordivsi` and the casts between bf16
    and f32 into plain arithmetic, rounding to nearest even. `maximumf` and
    `minimumf` stay, so that -0.0 and +0.0 keep their order.

    Before: `arith.truncf %x : f32 to bf16`
    After:  shifts and adds on the bits of `%x`
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Runs that changed something">,
    Statistic<"numDeclined", "num-declined", "Runs with nothing to expand">
  ];
}

def ConvertToLlvm : Pass<"polynest-convert-to-llvm", "mlir::ModuleOp"> {
  let summary = "Convert all that is left to the LLVM dialect at once";
  let description = [{
    Converts `arith`, `cf`, `func`, `index`, `memref` and `vector` in one
    conversion, with the patterns of the upstream passes. Where there are
    operations of `math`, or vectors that are not of one dimension, masks or
    slices of them, the upstream passes for these run before it. Fields of
    descriptors that are made and read in one function are then read directly,
    and bits are stored as bytes, and loaded so where only bytes are made of them.

    Before: `%y = arith.addi %x, %c : index`
    After:  `%y = llvm.add %x, %c : i64`
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::func::FuncDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::tensor::TensorDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Modules converted">,
    Statistic<"numDeclined", "num-declined",
              "Times that upstream passes ran before">
  ];
}

def AnchorLoopBuffers : Pass<"polynest-anchor-loop-buffers"> {
  let summary = "Keep tensors that loops carry in one buffer";
  let description = [{
    Before bufferization: a tensor that an iteration of an `scf.for` or
    `scf.while` makes anew is written into the loop's argument, so that the loop
    needs one buffer and not one an iteration. Both have the same shape: sizes
    that are not known are proven to be equal, by where they come from and by
    assertions in front of the loop. Tensors made by
    overwriting the argument are left. Arguments that trade places are copied
    through a temporary, since bufferization takes them for one buffer.

    Before: `scf.yield %t : tensor<8xf32>`
    After:  `%m = bufferization.materialize_in_destination %t in %arg`,
            `scf.yield %m`
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Carried tensors anchored">,
    Statistic<"numDeclined", "num-declined",
              "Loops that carry tensors of which none was anchored">
  ];
}

def LowerTmTensor : Pass<"polynest-lower-tm-tensor"> {
  let summary = "Lower torch-mlir's scans, sorts and scatters to loops";
  let description = [{
    `tm_tensor.scan`, `tm_tensor.sort` and `tm_tensor.scatter`, unregistered and
    in the generic form that torch-mlir prints, become `scf.for` loops over
    tensors. Scans run in order, sorts are stable merge sorts, or, where slices
    read the first few elements alone, insertions among those. Scatters apply
    their updates in order and assert their indices. First pass of S1.

    Before: `"tm_tensor.scan"(%x, %out, %acc) <{dimension = 1 : i64, inclusive =
             true}> ({ ^bb0(%a: f32, %b: f32): %s = arith.addf %a, %b : f32
             "tm_tensor.yield"(%s) : (f32) -> () }) : ...`
    After:  `scf.for` over the other dimensions, inside it one over dimension 1
            that carries the sum.
    Errors: other operations of the dialect, and operands of another form.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::bufferization::BufferizationDialect",
    "mlir::cf::ControlFlowDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations lowered">,
    Statistic<"numDeclined", "num-declined",
              "Always zero; what is not lowered is an error">
  ];
}

def LowerViews : Pass<"polynest-lower-views"> {
  let summary = "Replace views that upstream cannot lower";
  let description = [{
    A `memref.expand_shape` with several dynamic sizes in one group becomes a
    `memref.reinterpret_cast` of the same sizes and strides, since
    expand-strided-metadata crashes on it. Other views stay.

    Before: `memref.expand_shape %a [[0, 1]] output_shape [%n, %m]`
    After:  `memref.reinterpret_cast %a to offset: [0], sizes: [%n, %m],
             strides: [%m, 1]`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Views replaced">,
    Statistic<"numDeclined", "num-declined", "Views left to upstream">
  ];
}

def LinearizeAccesses
    : Pass<"polynest-linearize-accesses", "mlir::func::FuncOp"> {
  let summary = "Give affine accesses one index, constants last";
  let description = [{
    Replaces affine loads and stores of memrefs with static strides by those of
    a view of one dimension. The index is a sum: terms of outer loops first, the
    constant last, so that neighbouring accesses share all but the constant.
    Quotients and remainders of numbers that are never negative become unsigned.

    Before: `affine.load %m[%i + 3, %j + 8] : memref<54x144xf32>`
    After:  `memref.load %flat[%s]` with `%s` = `%i * 144 + %j + 440`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Accesses given one index">,
    Statistic<"numDeclined", "num-declined", "Accesses left as they are">
  ];
}

def LowerMath : Pass<"polynest-lower-math"> {
  let summary = "Expand mathematical functions into inline arithmetic";
  let description = [{
    Replaces operations of the math dialect on scalars and vectors by `arith`,
    `math.fma`, `math.sqrt` and rounding operations: no call, no table in memory,
    no fast-math flag, so that loops over them vectorize. exp in f32 looks eight
    numbers up in a register where one of `permutes` can, and so does the f32 sum
    1 + tanh(x) of a tanh that nothing else uses, one function, 2 / (1 + e^-2x);
    y * 0.5 times that is y / (1 + e^-2x). Special values follow
    C's Annex F; `docs/vector-math.md` has the measured errors. f16 and bf16 are
    computed in f32 and rounded once. sin, cos and tan have a branch for huge
    arguments, taken if any lane needs it. Up to four neighbours that are the same
    function of different vectors take turns operation by operation.

    Operations with an instruction of their own stay: `absf`, `absi`,
    `copysign`, `ctlz`, `cttz`, `ctpop`, `fma`, and in f32 and f64 `ceil`,
    `floor`, `round`, `roundeven`, `sqrt`, `trunc`. Other element types and
    tensors are declined with a remark.

    Before: `%y = math.exp %x : vector<8xf32>`
    After:  some twenty `arith` operations and `math.fma`.
  }];
  let options = [
    ListOption<"ops", "ops", "std::string",
               "Mnemonics of the operations to expand; empty means all">,
    ListOption<"permutes", "permutes", "std::string",
               "Instructions that pick words of 32 bits by their places, the "
               "widest first, as BITS:INTRINSIC; the name begins with 'llvm.'">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::LLVM::LLVMDialect",
                           "mlir::math::MathDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations expanded">,
    Statistic<"numDeclined", "num-declined", "Operations left unexpanded">
  ];
}

def InvertDivisors : Pass<"polynest-invert-divisors", "mlir::func::FuncOp"> {
  let summary = "Multiply by the inverse of what a loop does not change";
  let description = [{
    In a loop, divisions of vectors by a scalar from outside of it become a
    product with its inverse, computed once, and two corrections with fused
    multiply-adds, after which the quotient has the same bits. That holds for
    numbers within 2^+-100 and divisors within 2^+-20 (f64: 2^+-900 and 2^+-60);
    up to four divisions at once ask whether all numbers are, and divide if not.
    Where a division of f32 of `vector-width-bits` has the divider for no more than
    `divide-cycles`, some of the four stay divisions, so that it and the units of
    multiply-adds, `fma-ports` a cycle, take equally long. Loops that are known to
    divide fewer than eight vectors stay. Idempotent: the divisions that are left
    are marked, or not directly in a loop.

    Before: `%q = arith.divf %x, %b : vector<8xf32>` in a loop, where `%b` is a
            scalar in all lanes
    After:  `%q = scf.if %inside -> (vector<8xf32>)` of three `math.fma`, or
            the division.
  }];
  let options = [
    Option<"vectorWidthBits", "vector-width-bits", "unsigned", "256",
           "Width of vector registers">,
    Option<"fmaPorts", "fma-ports", "unsigned", "2",
           "Multiply-adds of that width started in a cycle">,
    Option<"divideCycles", "divide-cycles", "unsigned", "0",
           "From one division of that width to the next; 0: unknown, none stays">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Divisions replaced">,
    Statistic<"numDeclined", "num-declined", "Groups of divisions left">
  ];
}

def DeferNans : Pass<"polynest-defer-nans", "mlir::func::FuncOp"> {
  let summary = "Compare plainly in loops of maxima and minima";
  let description = [{
    A loop that carries vectors of `arith.maximumf` or `arith.minimumf` compares
    plainly, which forgets NaN and the sign of zero; it carries besides a mark for
    each lane that saw a NaN, and the sign bits of all values. Both go into the
    result behind the loop, once for all accumulators that are combined there. The
    result is the same. Loops that would then carry more vectors than
    `vector-registers` holds stay. What remains of maxima of vectors with the
    constant +0 is compared plainly, too, unless the target has `exact-extremes`;
    the sum with +0 leaves no negative zero. Idempotent: no such operation is left
    in the loop.

    Before: `%m = arith.maximumf %x, %acc : vector<8xf32>`
    After:  `arith.select` of `arith.cmpf ogt`, an `arith.andi` of the signs, and
            `arith.cmpf uno`, one for two values.

    Before: `%m = arith.maximumf %x, %zero : vector<8xf32>`
    After:  `arith.select` of `arith.cmpf ogt, %zero, %x`, and `arith.addf` of it
            and `%zero`
  }];
  let options = [
    Option<"vectorRegisters", "vector-registers", "unsigned", "16",
           "Vector registers of the target">,
    Option<"exactExtremes", "exact-extremes", "bool", "false",
           "The target has instructions for minima and maxima that keep NaN and "
           "the sign of zero">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied",
              "Accumulators and maxima compared plainly">,
    Statistic<"numDeclined", "num-declined", "Loops left as they are">
  ];
}

#endif // POLYNEST_CONVERSION_PASSES
