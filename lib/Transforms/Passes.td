// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Passes.td: the passes of S3, affine nests to affine nests.

#ifndef POLYNEST_TRANSFORMS_PASSES
#define POLYNEST_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"polynest-assign-layouts", "mlir::func::FuncOp"> {
  let summary = "Order the dimensions of private buffers";
  let description = [{
    Chooses which dimension of each private buffer is contiguous. Contractions
    with an operand that is bound once (`polynest.constant`) want the other
    operand contiguous along the reduction and the result along the loops of the
    constant; nests that index two buffers alike carry the wish over. The
    dimension is moved last, and the loops around its accesses run in the order
    in which memory lies.

    Before: `C[n,o,y,x] = sum c,u,v: P[n,c,y+u,x+v] * W[o,c,u,v]`
    After:  `C[n,y,x,o] = sum u,v,c: P[n,y+u,x+v,c] * W[o,c,u,v]`

    Legal for allocations that only affine loads and stores touch. Loops change
    places if all are parallel, or if they make up the reduction of a
    contraction. Remarks: `applied` with dimension and rank; `declined` where
    loops have to stay.

    A constant that has no loops of its own beside the other operand's (the
    window of each channel of a depthwise convolution) is copied so that it is
    contiguous along the loop in which the result is: `W[c,u,v]` becomes
    `W[u,v,c]`. Remark: `applied` with the number of elements.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Buffers with another layout">,
    Statistic<"numCopied", "num-copied", "Constants copied into another layout">
  ];
}

def BlockContractions
    : Pass<"polynest-block-contractions", "mlir::func::FuncOp"> {
  let summary = "Pack, block and register-tile sums of products";
  let description = [{
    Recognizes nests that sum products of two operands of which each is reused
    in loops of its own (matrix products and convolutions, however their
    operands lie) and rewrites them into blocks: for each block of the result a
    private buffer of accumulators, for each block of the reduction the operand
    that runs in lanes packed row by row, the other one packed or read where it
    is, and a micro-kernel of vector FMAs over a register tile. Lanes run along
    the result, unless that gathers windows (the gradient of a convolution's
    weights), which are then read where they are. Two loops of
    unknown sizes that are rows of all buffers become one before. Packs evaluate all that is computed from one operand alone; those of constant inputs are
    made for the whole nest in front of it. What the sums start from and what is
    done with them becomes a nest over the block each, or over the tile where
    the reduction is one block.

    Before: `for i, j { r = for k iter_args(x) { x + A[i,k] * B[k,j] }; C[i,j] = r }`
    After:  `for jb, ib { S = init; for kb { pack B; for j, i { for k
            iter_args(x0, ..., x11) {...} } }; C = S }`

    Where both operands are numbers that narrow elements hold, as extensions of
    them are, and `dots` has a form for these, packs put `step` iterations of the
    reduction side by side, the last ones filled up with zeros, and a step of the
    micro-kernel is a `vector.contract` of [lanes, step] into [lanes], which
    `polynest-lower-dots` turns into the target's instruction.

    Where one of `tiles` holds the operands and needs fewer cycles, both are
    packed in words, with zeros up to whole tiles, and a step of the micro-kernel
    is a `vector.contract` of tiles, [rows, words, step] times [words, columns,
    step] into [rows, columns], which `polynest-lower-tiles` turns into the
    target's instruction.

    Where columns are bound once and rows are one loop that runs any number of
    times, the nest gets two forms, which share the packed columns: the blocks, and
    one for at most as many rows as the tile has, under a condition on their number.

    A long reduction with fewer blocks of sums than `cores` is cut in parts first,
    which a loop sums up apart; the nest adds up the parts in order.

    Columns are not packed where they are a plain load, contiguous along whole
    panels, and L1 holds all from the first to the last row of a block of the
    reduction; but for those that are bound once.

    Packed columns that outgrow 32 times L2 are packed for a block of columns at a
    time, inside of its loop and in front of that over blocks of rows; where these
    are few, a long reduction is cut in parts for it.

    Rows that are windows of a padded image read only zeros at some taps. Where a
    block of the reduction holds one tap, those rows are left out of it: a table
    that each block fills names the rows that stay and the places of their sums.
    Legal where columns are integers, or finite, which is found out for columns that
    are bound and packed once: the sum of their products with zero is zero. If it
    is not, the tables hold all rows. The image is a buffer with constant shape of
    which all stores are known, and those of values other than zero lie in a box.

    Legal if no loop around the reduction carries a dependence. Sizes come from
    a model of registers, L1 and L2; the seven options from `tile-rows` on
    replace them, so that the model can be compared with a sweep
    (test/benchmark/sweep). Sizes that are not legal for a nest, or a way of
    packing that it does not allow, are an error. Remarks: `applied` with tile,
    blocks and the share of multiply-adds that are not padding; `declined` with
    the reason.
    Where rows are marked with `polynest.idle_tail`, the depth of a micro-tile ends
    where its last row is idle. The micro-kernel is marked `polynest.vectorized` and
    `polynest.tiled_registers`; a second run changes nothing.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
  let options = [
    Option<"vectorWidthBits", "vector-width-bits", "int64_t", /*default=*/"256",
           "Bits of a vector register, a power of two from 64 to 2048">,
    Option<"vectorRegisters", "vector-registers", "int64_t", /*default=*/"16",
           "Number of vector registers, 8 to 256">,
    Option<"fmaLatencyCycles", "fma-latency-cycles", "int64_t",
           /*default=*/"4", "Latency of a multiply-add, 1 to 64">,
    Option<"fmaPorts", "fma-ports", "int64_t", /*default=*/"2",
           "Multiply-adds started a cycle, 1 to 16">,
    Option<"loadPorts", "load-ports", "int64_t", /*default=*/"2",
           "Vector loads a cycle, 1 to 16">,
    Option<"l1SizeKib", "l1-size-kib", "int64_t", /*default=*/"32",
           "One core's first-level data cache, 4 to 65536">,
    Option<"l2SizeKib", "l2-size-kib", "int64_t", /*default=*/"512",
           "One core's second-level cache, 16 to 1048576">,
    Option<"cores", "cores", "int64_t", /*default=*/"1",
           "Cores of the target: blocks enough for all of them, 1 to 65536">,
    Option<"tileRows", "tile-rows", "int64_t", /*default=*/"0",
           "Rows of the register tile, 1 to 12, in place of the model's; with "
           "tile-vectors">,
    Option<"tileVectors", "tile-vectors", "int64_t", /*default=*/"0",
           "Vectors of the register tile, 1 to 4, in place of the model's">,
    Option<"blockRows", "block-rows", "int64_t", /*default=*/"0",
           "Rows of a block in place of the model's, up to 1073741824">,
    Option<"blockColumns", "block-columns", "int64_t", /*default=*/"0",
           "Columns of a block in place of the model's, up to 1073741824">,
    Option<"blockDepth", "block-depth", "int64_t", /*default=*/"0",
           "Depth of a block in place of the model's, up to 1073741824">,
    Option<"packColumns", "pack-columns", "std::string", /*default=*/"\"auto\"",
           "Where columns are packed: auto, ahead (once), columns (once for each "
           "block of them), block (in each) or never">,
    Option<"packRows", "pack-rows", "std::string", /*default=*/"\"auto\"",
           "Whether rows are packed: auto, never or block (in each)">,
    Option<"skipPadding", "skip-padding", "bool", /*default=*/"true",
           "Whether taps of padding are left out where columns are finite">,
    ListOption<"dots", "dots", "std::string",
               "Forms of dot products that the target has, the best first, such "
               "as u8s8x4, s16s16x2, bf16bf16x2">,
    ListOption<"tiles", "tiles", "std::string",
               "Matrix units of the target, as "
               "FORM:ROWSxCOLUMNSxWORDS:REGISTERS:LATENCY: a form such as "
               "bf16bf16x2, the sizes of a product of tiles, powers of two from "
               "2 to 64, the number of registers for tiles, 3 to 256, and cycles "
               "from sums to sums, 1 to 1024">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Contractions blocked">,
    Statistic<"numDeclined", "num-declined", "Sums of products left">
  ];
}

def CountWork : Pass<"polynest-count-work", "mlir::func::FuncOp"> {
  let summary = "Report the floating-point work of a function";
  let description = [{
    For each top-level operation with floating-point work reports a remark of
    kind analysis with `flop`, its operations in one call of the function, and
    `uncounted`, the number of operations in loops whose trip count is not a
    constant. An FMA counts as 2, a function of `math` as 1, and a vector
    operation as many times as it has lanes. Changes nothing.

    Before and after: `affine.for %i = 0 to 8 { ... arith.addf ... }`
    Remark: `flop=8 uncounted=0`
  }];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operations with work">,
    Statistic<"numDeclined", "num-declined", "Operations without work">
  ];
}

def CoalesceLoops : Pass<"polynest-coalesce-loops", "mlir::func::FuncOp"> {
  let summary = "One loop in the place of two that go over memory in order";
  let description = [{
    A loop right inside of another that runs less than 512 times, such as that over
    the columns of an image with channels first, becomes one with the loop around
    it: lanes are filled across the ends of rows, and rows no longer end.
    Accesses whose dimensions the two move one each go through a view that joins
    the two; a private buffer that has no other use is made in that shape.

    Before: `affine.for %h = 0 to 7 { affine.for %w = 0 to 7 {
               affine.load %x[%n, %c, %h, %w] } }`
    After:  `%v = memref.collapse_shape %x [[0], [1], [2, 3]]
             affine.for %i = 0 to 49 { affine.load %v[%n, %c, %i] }`

    Legal if both run a constant number of times, what is carried passes through
    both, and nothing but affine loads and stores uses their variables, in which
    the outer one moves each index by as much as all iterations of the inner one,
    or moves a dimension whose next one the inner one sweeps. Iterations keep their
    order, values do not change. Loops that are done stay.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Loops that took in the one inside">,
    Statistic<"numDeclined", "num-declined", "Such loops that stay two">
  ];
}

def CountOperations : Pass<"polynest-count-operations", "mlir::ModuleOp"> {
  let summary = "Report the floating-point instructions of a call";
  let description = [{
    In S5, behind `polynest-lower-math`, reports for each entry a remark of kind
    analysis with `lanes`, the lanes of 32 bits that the floating-point instructions
    of one call fill, and `uncounted`, the number of operations in loops whose trip
    count is not a constant. An FMA counts once, a function as what it has become;
    integers and what moves data do not count. Of two branches the one with more
    counts. Divided by the lanes that a core's units for FMAs take in a second, that
    is a time below which the code cannot come, but for additions, which some
    processors have further units for. Changes nothing.

    Before and after: `scf.for %i = 0 to 128 step 16 { ... math.fma : vector<16xf32> }`
    Remark: `lanes=128 uncounted=0`
  }];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Entries counted">,
    Statistic<"numDeclined", "num-declined", "Functions that are no entries">
  ];
}

def DescribeNests : Pass<"polynest-describe-nests", "mlir::func::FuncOp"> {
  let summary = "Report the nests of a function and what they hand each other";
  let description = [{
    For each nest reports a remark of kind analysis, `nest`, with its place in
    the function, what it computes, the trips of its loops, its floating-point
    operations, the bytes it reads and writes, its vector lanes, and the grain
    of its parallel loop. For each buffer that a nest takes in (`from=in`),
    hands to another or leaves behind (`to=out`), one remark `buffer`, with its
    shape and bytes. For each operand that a nest packs, and each nest that only
    moves data, one remark `move` (form final) with the bytes that one call
    stores; `once` says that it happens where constants are bound. `polynestc
    explain` makes tables of them and draws the rest.

    With `number`, each nest gets its place as the attribute `polynest.nest`;
    S4 hands it on to the calls of kernels, and S5 takes their times by it.
    Nothing else changes.

    Before: `affine.for %i = 0 to 8 { ... }`
    After:  `affine.for %i = 0 to 8 { ... } {polynest.nest = 0 : i64}`
  }];
  let options = [
    Option<"form", "form", "std::string", /*default=*/"\"final\"",
           "What the remarks call this state: plain or final">,
    Option<"number", "number", "bool", /*default=*/"false",
           "Number the nests, so that their times can be taken">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Nests described">,
    Statistic<"numDeclined", "num-declined", "Functions left out">
  ];
}

def EliminateBuffers
    : Pass<"polynest-eliminate-buffers", "mlir::ModuleOp"> {
  let summary = "Remove buffers, stores and copies nobody needs";
  let description = [{
    A private buffer that is copied elsewhere, as it is or reshaped, is computed
    there instead, unless the copy turns rows that something else reads, too; where
    a reshape has unknown sizes the buffer becomes a view of its target. A
    private copy of memory that does not change is not made, and private
    buffers whose contents reach no result, with the code that fills them, are
    erased. So are nests that only store what the next nest that touches the
    memory overwrites wholly.

    Before: `for i { T[i] = f(X[i]) }  for i { R[i] = T[i] }`
    After:  `for i { R[i] = f(X[i]) }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Copies removed">,
    Statistic<"numDeclined", "num-declined", "Copies that stay">,
    Statistic<"numErased", "num-erased", "Buffers removed">,
    Statistic<"numStores", "num-stores", "Stores removed">
  ];
}

def TrimBuffers : Pass<"polynest-trim-buffers", "mlir::func::FuncOp"> {
  let summary = "Compute only what is read of a buffer";
  let description = [{
    A private buffer of which an eighth of a dimension or more is never read, such
    as a slice of a product, is cut to what is read, and so are the loops that fill
    it; then what these read in their turn. One that holds a product of which nests
    read parts along its rows, such as a chunk, becomes a buffer for each part, with
    a product of its own.

    Before: `for i, j < 1024 { T[i, j] = f(X[i, j]) }  for i, j < 100 { R[i, j] = T[i, j + 8] }`
    After:  `for i, j < 100 { T[i, j] = f(X[i, j + 8]) }  for i, j < 100 { R[i, j] = T[i, j] }`

    Legal if all accesses are affine and the loops that are cut store nothing but
    the buffer, at an index that is their variable and a constant. Declines where
    ranges or bounds are not constant and where less than an eighth is not read;
    parts where nests that read them have loops inside, where they are no whole
    lines of a cache or less than 512 bytes of a row, and where the operand that all
    parts share is not read in place, along the reduction.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Dimensions cut to what is read">,
    Statistic<"numDeclined", "num-declined", "Dimensions that stay">,
    Statistic<"numSplit", "num-split", "Buffers that became several">
  ];
}

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

def RecomputeIndices : Pass<"polynest-recompute-indices", "mlir::func::FuncOp"> {
  let summary = "Compute what indices alone decide where it is read";
  let description = [{
    Loads of a private buffer that one nest fills with a cheap function of the
    indices (a range of numbers, a causal mask) become that function; the buffer
    goes away. Passes behind see the condition in place of a byte in memory.
    Indirect accesses whose indices then follow from those of loops, such as the
    windows that `unfold` gathers, become affine, and assertions that always hold
    go away.

    Before: `affine.for %i { affine.for %j { affine.store (%j <= %i), %m[%i, %j] } }
             %c = affine.load %m[%r, %k]`
    After:  `%c = (%k <= %r)`

    Legal if that store fills the whole buffer before the first load and reads no
    memory, and if indices are known to lie inside of what is accessed. Declines
    where a condition takes more than a few operations, another element more than
    one, or either a division or function.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Buffers that went away">,
    Statistic<"numHeld", "num-held", "Assertions that went away">,
    Statistic<"numAffine", "num-affine", "Accesses made affine">,
    Statistic<"numDeclined", "num-declined",
              "Such buffers and accesses that stay">
  ];
}

def BlockLanes : Pass<"polynest-block-lanes", "mlir::func::FuncOp"> {
  let summary = "Slide windows over a block of lanes at a time";
  let description = [{
    In a nest of windows that slide with the channels last (depthwise
    convolutions, pooling), each element of the result reads a window and
    weights of all channels. Where that leaves no room in the first cache, the
    loop over channels is cut into blocks, and the loop over blocks put outside
    of those along which windows slide: weights and rows of windows of one block
    stay in that cache. A padded image of all channels that only this nest reads
    becomes one of each block, filled at its sides and copied in the loop over
    blocks.

    Before: `affine.for %n, %y, %x, %c = 0 to 384: for %s, %t
            x[%n, %y + %s, %x + %t, %c] * w[%s, %t, %c]`
    After:  `affine.for %n, %b = 0 to 384 step 48, %y, %x, %c = 0 to 48: for %s,
            %t: x[%n, %y + %s, %x + %t, %b + %c] * w[%s, %t, %b + %c]`

    Legal if the loops from the outermost along which a window slides to the
    contiguous one, which is the last in front of the sums, are parallel, have
    constant bounds and stand alone in each other. The block is the largest of
    whole vectors and cache lines that divides the loop and with which what one
    row of results touches fits the first cache, and those of its sets in which
    columns lie that are a power of two apart. Declines where there is none, or
    what one element of all lanes touches fits half of that cache: weights then
    stay there. With a padded image it is two vectors or lines, or one where two
    do not fit; of the image, up to four times the cache. Images stay as they are
    where what they are copied from is written before the nest is done, channels
    are not their last index as they are, or it would be copied several times.
    What was cut fits, and is left by a second run.
  }];
  let options = [
    Option<"vectorWidthBits", "vector-width-bits", "int64_t", /*default=*/"256",
           "Width of a vector register: a power of two, 64 to 16384">,
    Option<"l1SizeKib", "l1-size-kib", "int64_t", /*default=*/"32",
           "One core's first-level data cache, 1 to 1048576">
  ];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Nests cut into blocks of lanes">,
    Statistic<"numDeclined", "num-declined", "Nests of windows left">
  ];
}

def BlockStatistics : Pass<"polynest-block-statistics", "mlir::func::FuncOp"> {
  let summary = "Run statistics and what uses them block by block";
  let description = [{
    Nests one behind the other that have a parallel loop in common, of which one
    reduces large arrays along other loops and a later one reads these again, run
    block by block of the common loop, which becomes the outermost one: batch-norm's
    training form channel by channel. What of the arrays belongs to a block stays in
    the cache between the nests, and buffers that only the nests of a block touch get
    its size.

    Before: `for b, c, i { M[c] += X[b,c,i] }  for c { M[c] /= N }
             for b, c, i { Y[b,c,i] = X[b,c,i] - M[c] }`
    After:  `for c { for b, i { M[c] += X[b,c,i] }  M[c] /= N
                     for b, i { Y[b,c,i] = X[b,c,i] - M[c] } }`

    Legal if no nest carries a dependence along the common loop, and any two of them
    meet in what one writes in the same iteration of it alone. Declines where what
    several nests touch stays in the cache as a whole, or a block does not; where there
    would be fewer than 8 blocks, or blocks made of pieces of memory of less than 1 KiB,
    as of contiguous columns; and where a nest touches an element of a large array
    several times, as products do.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::memref::MemRefDialect"];
  let options = [
    Option<"cacheSizeKib", "cache-size-kib", "int64_t", "1024",
           "Cache of a core that a block stays in">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Runs of nests in blocks">,
    Statistic<"numDeclined", "num-declined", "Runs of nests left">
  ];
}

def SplitBorders : Pass<"polynest-split-borders", "mlir::func::FuncOp"> {
  let summary = "Read the inside of a padded image in place";
  let description = [{
    Where a private buffer is filled with one value, overwritten but for a border
    with another buffer's elements, and then read by one nest of windows, most of
    the nest needs no such copy: it reads the other buffer. Each border gets a nest
    and a padded buffer of its own, of what it reads; inside of the loops around
    those of the rows, where there are any (batches).

    Before: `affine.for %i, %c: affine.store %0, %p[%i, %c]`
            `affine.for %i, %c: affine.store %x[%i, %c], %p[%i + 1, %c]`
            `affine.for %i = 0 to 56, %c, %k = 0 to 3: ... %p[%i + %k, %c]`
    After:  the same for `%i = 0 to 1` and `%i = 55 to 56`, with buffers of 3 rows;
            `affine.for %i = 1 to 55, %c, %k = 0 to 3: ... %x[%i + %k - 1, %c]`

    Legal if nothing else touches the buffer, the other buffer is not written until
    the nest is done, and the nest's loops down to those of rows stand alone in each
    other and are parallel. Declines otherwise, and where borders read more than
    half of the buffer, the contiguous dimension has a border, the buffer has less
    than `least-kib`, or each element is read more than 256 times.
  }];
  let options = [
    Option<"leastKib", "least-kib", "int64_t", "64",
           "Buffers of fewer KiB are copied: that stays in the first cache; 0 to "
           "1048576">
  ];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Images that are read in place">,
    Statistic<"numDeclined", "num-declined", "Images that are copied">
  ];
}

def TrackPlaces : Pass<"polynest-track-places", "mlir::func::FuncOp"> {
  let summary = "Find an extreme and its place in one loop";
  let description = [{
    Where a loop carries the maximum or minimum of some values, and a later loop over
    the same values the first or last place at which they equal it, the first loop
    carries the place, too, in 32 bits where places fit, and the later one goes.
    `polynest-vectorize-nests`, `polynest-stream-reductions` and
    `polynest-split-reductions` take both together:
    of what two lanes or parts found the better value is taken, of equals the first
    place or the last.

    Before: `m = -inf  for j { m = max(m, x[j]) }
             p = MAX   for j { p = min(p, x[j] == m || isnan(x[j]) ? j : N) }`
    After:  `m = -inf, p = 0  for j { t = x[j] ugt m && m ord m
                                      m = t ? x[j] : m   p = t ? j : p }`

    Along other axes than the last, where two nests combine rows in memory that other
    nests fill, these become one first, with the loop that reduces innermost.

    Legal if both loops run over the same iterations and compute the same values,
    which nothing writes in between; the condition holds, by its truth table over all
    ways that two numbers compare, just where a value equals the extreme, NaN beside
    NaN; places ascend with the loop, and what stands for none lies behind them; and
    the extreme begins with what no value lies below, such as -inf. Results have the
    same bits: where a maximum is used besides, and zeros of both signs are not the
    same to it, it is carried as before.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Loops that find a place, too">,
    Statistic<"numDeclined", "num-declined", "Searches of an extreme left">
  ];
}

def TrimFills : Pass<"polynest-trim-fills", "mlir::func::FuncOp"> {
  let summary = "Fill only what is not overwritten";
  let description = [{
    A nest that fills a private buffer or a result with one value, of which one of
    the next nests that touch it overwrites a box, fills the rest alone: of a padded
    image the border.

    Before: `affine.for %i, %j: affine.store %0, %p[%i, %j]`
            `affine.for %i, %j: affine.store %x, %p[%i + 1, %j + 1]`
    After:  the first nest for rows 0 and last, and columns 0 and last of the others

    Legal if that nest stores to each element of the box under no condition, and
    neither it nor those before it read anything of the buffer; bounds are constant,
    those of the fill or, where a size is not known, there in front of it. Of several boxes that is taken which leaves least to fill.
    Declines otherwise, and where the border takes more than half of the cache lines
    or the buffer less than 8 KiB.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Fills that became smaller">,
    Statistic<"numDeclined", "num-declined", "Fills that stay">
  ];
}

def GroupRows : Pass<"polynest-group-rows", "mlir::func::FuncOp"> {
  let summary = "Run loops along a few rows at a time";
  let description = [{
    A loop over rows whose body is several loops along the row, of which one
    reduces the row to a number that the next needs, runs four rows at a time, or
    two: each loop runs along all of them at once. The lanes of their reductions
    are then combined together, and the processor waits for the end of a short
    loop once for all of them. Up to 32 rows that take 16 KiB together run part by
    part: each loop is done for all of them before the next begins, so that no group
    waits for the end of its own reduction. Numbers that parts hand on are kept in
    buffers.

    Before: `for i { %m = for j {max}  %s = for j {e[j] = exp(x[i,j]-%m); sum}  for j {..} }`
    After:  `for ib { %m0, .., %m3 = for j {max of x[ib*4,j]; ..; max of x[ib*4+3,j]}
              %s0, .., %s3 = for j {e[0,j] = exp(x[ib*4,j]-%m0); sum; ..}
              for j {..} }`
    After, where 32 rows are short:
            `for ib { for g { %m0.. = for j {..}  m[g*4], .. = %m0, .. }
              for g { %m0.. = m[g*4], ..  %s0.. = for j {..}  s[g*4], .. = .. }
              for g { .. } }`

    Legal if rows are independent, and loops run alike in all rows; a buffer that
    a row makes gets a place for each row of the group. Loops along the row hold
    no others. Declines where the number of rows is not a multiple of two, or two
    rows take more than 32 KiB. No value changes.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Loops over rows that run in groups">,
    Statistic<"numDeclined", "num-declined", "Loops over rows that stay">
  ];
}

def UnifySizes : Pass<"polynest-unify-sizes", "mlir::ModuleOp"> {
  let summary = "Take one value for sizes that are equal";
  let description = [{
    First pass of S3. Where an operation takes a size that is not known (a bound
    of a loop, a size of a buffer or of a view), it takes the first value of the
    function that is proven to be equal there: by where sizes come from, through
    views and products, by `cf.assert` of `arith.cmpi eq` in front, and because
    results have the sizes of `@f_shapes`. A bound that is a product of sizes
    becomes the value of that product, if there is one in front. Sizes that are
    equal by chance alone stay apart.

    Before: `cf.assert(%q0 == %k0)  affine.for %b = 0 to %k0 {...}`
    After:  `cf.assert(%q0 == %k0)  affine.for %b = 0 to %q0 {...}`
    Declines functions of several blocks.
  }];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Uses of sizes replaced">,
    Statistic<"numDeclined", "num-declined", "Functions left as they are">
  ];
}

def TrimLoops : Pass<"polynest-trim-loops", "mlir::func::FuncOp"> {
  let summary = "Leave out columns that a mask hides";
  let description = [{
    Where a condition on indices puts -inf in all columns behind some place, in
    all rows of a block, the nests that make, use and sum up these columns leave
    them out: of causal attention, run block by block (`polynest-fuse-blocks`),
    half of the products and of the softmax. The mask itself is put on by a nest
    of its own, over the columns in which it decides something.

    Before: `for ib { for i, j in 0..N { s[i,j] = j > 64*ib+i ? -inf : .. } for i, j in 0..N { .. } }`
    After:  `for ib { for i, j in 0..64*ib+64 { s[i,j] = .. }
             for i, j in 64*ib..64*ib+64 { s[i,j] = j > 64*ib+i ? -inf : s[i,j] }
             for i, j in 0..64*ib+64 { .. } }`

    Where a second condition does so for all columns in front of some place (a
    sliding window), loops begin there, counted from 0, from the first block on in
    which that is so; the blocks before it run in a loop of their own. The number
    of columns may be unknown where it is that of the rows.

    Legal if all that uses these columns would not change: the maximum with -inf,
    a sum of exp(-inf - maximum), and a sum of such exponentials (or these over
    their sum) times anything. Of the latter 0 times what is left out is added,
    which is NaN where that is infinite or NaN: where blocks are many, from sums
    made once in front of them, as long as iterations are left outside for all
    cores. Where a mask moves by a column each row, and blocks have enough rows for
    their columns, these sums begin where eight rows are masked, and the loop over
    the rows of the product is marked with `polynest.idle_tail`, a map from the row
    to the number of its last terms that may be left out:
    `polynest-block-contractions` ends the depth of each micro-tile there. No value
    changes.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let options = [
    Option<"cores", "cores", "int64_t", /*default=*/"1",
           "Cores of the target, 1 to 65536">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Masks that end loops">,
    Statistic<"numDeclined", "num-declined", "Masks that do not">
  ];
}

def FuseBlocks : Pass<"polynest-fuse-blocks", "mlir::func::FuncOp"> {
  let summary = "Run chains of nests block by block of their common loops";
  let description = [{
    Nests around contractions that hand each other large private buffers, and
    have leading parallel loops in common, are merged at these, a block of the
    last one at a time: the two products and the softmax of attention hold a
    block of rows of the scores instead of all of them. Each nest keeps a loop
    over the rows of the block, so that its contraction can be packed and
    blocked; buffers shrink to the rows of one block, a line further apart where they
    are whole KiB, of which a cache holds few at once.

    Before: `for b, i, j { S[b,i,j] = sum Q*K }  for b, i { softmax of S[b,i,:] }
             for b, i, e { O[b,i,e] = sum S*V }`
    After:  `for b, ib { for i, j { s[i,j] = .. } for i { .. } for i, e { .. } }`

    Legal if the common loops are parallel in each nest, and accesses that may
    meet name them so that they meet in equal iterations only. Loops are common
    as long as each contraction keeps one of rows and one of columns; rows of
    what is handed over must be reduced by one of the nests. Blocks have 32 to
    128 rows, as many as fit half the cache, or a quarter where what they read
    again fits beside them; at most 32 where a condition on the row and the column
    puts -inf in some, of which `polynest-trim-loops` then leaves out the more the
    shorter blocks are. Sizes may be unknown, and count as large; as many whole
    blocks as there are run then, and what is left. Where all rows
    would fit the cache blocks have 32. Declines where the buffers fit a quarter of
    the cache and no such mask is put on, or what blocks read again costs more than
    that saves, compared with products that join the rows of several loops; there
    rows of an unknown number count as few. Half of what is read again is behind the
    multiplications; what does not stay in one core's share of the last cache
    (`shared-size-kib` over `cores`), the buffers as wholes or the operands, costs
    `memory-cost` times as much. No value changes.

    With `iterations` a block is one iteration of all common loops: an image of a
    batch, through convolutions and what stands between them, in its layout by
    then. Each contraction keeps all its rows and columns. Every nest that uses a
    buffer takes part, such as the fill of a padded image. Declines where the
    buffers fit one core's share of the last cache (`shared-size-kib` over `cores`),
    what one iteration touches of them outgrows it or is less than a 16th of
    `cache-size-kib`, a nest reads less than four times as much from the others as it
    would read again of operands that stand still (weights), iterations are fewer than
    4 or leave cores a fifth of the time without work, or a size is not known.

    Before: `for n, .. { T[n,..] = sum X*W }  for n, .. { Y[n,..] = sum T*V }`
    After:  `for n { for .. { t[..] = sum X*W }  for .. { Y[n,..] = sum t*V } }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let options = [
    Option<"cacheSizeKib", "cache-size-kib", "int64_t", /*default=*/"512",
           "One core's second-level cache, 16 to 1048576">,
    Option<"iterations", "iterations", "bool", /*default=*/"false",
           "A block is one iteration of the common loops, such as an image">,
    Option<"sharedSizeKib", "shared-size-kib", "int64_t", /*default=*/"8192",
           "What programs get of the last cache, 0 to 1073741824">,
    Option<"cores", "cores", "int64_t", /*default=*/"4",
           "Cores that share it and are to have iterations, 1 to 65536">,
    Option<"memoryCost", "memory-cost", "int64_t", /*default=*/"3",
           "Bytes of the last cache in the time of one from memory, 1 to 1024">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Nests merged with those before">,
    Statistic<"numDeclined", "num-declined", "Nests looked at and left apart">,
    Statistic<"numShrunk", "num-shrunk", "Buffers that became smaller">
  ];
}

def FuseNests : Pass<"polynest-fuse-nests", "mlir::func::FuncOp"> {
  let summary = "Run producers and consumers in one nest";
  let description = [{
    Merges nests of one block that share data, at the largest number of common
    outer loops that is legal and pays; the loops that come together inside are
    treated in the same way. Stored values reach loads of the same place through
    registers, buffers that are then unread disappear, and buffers that live
    within one iteration shrink to what that iteration touches, on the stack or,
    where that is too much, allocated in the loop. Where loops do not line up, the
    producer's expression takes the place of the consumer's loads, in operands of
    products too, where passes behind evaluate each element once (they pack it) or
    a few times; and a nest that reads a product in parts of its rows and columns, or
    turned, runs in the loops of the product, its own loops quotients and rests of
    these, where what it stores lies in whole cache lines and no other product reads
    it. Loops that run once are replaced by their bodies first.

    A buffer of `threshold-kib` or more that several nests read is computed by
    each of them where that takes less than to write and read it.

    A nest that constant inputs (`polynest.constant`) alone decide, and that
    writes no more than it reads, is fused with its like only: it is to run once,
    when constants are bound.

    Legal if accesses that may meet name the merged loops' variables so that
    they meet within one iteration only, and what stands between the nests may
    move out of the way. Partners are the nests that write what a nest reads,
    and the last ones that read, or write to, the same. Two that read the same wait
    until later nests had their chance to take in what either writes, where these
    could not take it in from both together, and that moves more bytes than both
    read. No value changes.

    Before: `for i, j { T[i,j] = f(X[i,j]) }  for i, j { S[i] += T[i,j] }`
    After:  `for i, j { t = f(X[i,j]); S[i] += t }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let options = [
    Option<"maxRedundantComputePercent", "max-redundant-compute-percent",
           "uint64_t", /*default=*/"10",
           "Most additional work of a producer computed at its consumer">,
    Option<"cacheSizeKib", "cache-size-kib", "uint64_t", /*default=*/"1024",
           "Cache that the data of one merged iteration must fit, those of the "
           "producer alone where each element is read in step">,
    Option<"thresholdKib", "threshold-kib", "uint64_t", /*default=*/"16384",
           "Least size of what goes to memory: the usable share of the last "
           "cache">,
    Option<"stackLimitKib", "stack-limit-kib", "uint64_t", /*default=*/"128",
           "Most bytes of shrunk buffers of one nest on the stack; allocated in "
           "its loops as many again as the cache has">,
    Option<"minParallelTrips", "min-parallel-trips", "uint64_t",
           /*default=*/"8",
           "Parallel iterations that merging keeps if there were as many; of few "
           "operations that join a sum, any of its loops">,
    Option<"maxFusedAccesses", "max-fused-accesses", "uint64_t",
           /*default=*/"64", "Most memory accesses of a fused nest">,
    Option<"maxFusedOperations", "max-fused-operations", "uint64_t",
           /*default=*/"512", "Most operations of a fused nest">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Pairs of nests or loops merged">,
    Statistic<"numDeclined", "num-declined", "Pairs looked at and left apart">,
    Statistic<"numInlined", "num-inlined",
              "Producers computed at their consumer's loads">,
    Statistic<"numErased", "num-erased", "Buffers that disappeared">,
    Statistic<"numShrunk", "num-shrunk", "Buffers that became smaller">
  ];
}

def JamReductions : Pass<"polynest-jam-reductions", "mlir::func::FuncOp"> {
  let summary = "Reduce several rows of a large operand together";
  let description = [{
    Recognizes nests that reduce rows of a large operand along themselves
    (matrix times vector, weights of a linear layer times a few rows, sums of
    rows) and lets several rows share one loop, which carries a sum for each of
    them, or for each pair with a row of the other operand. Loads of the other
    operand serve several rows then, and memory is read in several streams. The
    vectorizer runs that loop in lanes.

    Before: `for n { r = for k iter_args(x) { x + a[k] * B[n,k] }; c[n] = r }`
    After:  `for n step 4 { r0, r1, r2, r3 = for k iter_args(x0, .., x3) {
            x0 + a[k] * B[n,k], ..., x3 + a[k] * B[n+3,k] }; c[n..n+3] = ... }`

    Legal if no parallel loop carries a dependence; values are combined with one
    operation that is associative and commutative. Declines where loads are not
    contiguous along the innermost reduction loop, rows have fewer than 128
    elements, the operand stays in L2, more than 16 rows of the other operand
    use it, or it is bound once and a few use it, which
    `polynest-block-contractions` multiplies. Remarks: `applied` with the rows of both; `declined` with the reason.
    Loops it makes are marked `polynest.jammed`; a second run changes nothing.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect"];
  let options = [
    Option<"vectorRegisters", "vector-registers", "int64_t", /*default=*/"16",
           "Number of vector registers, 8 to 256">,
    Option<"l2SizeKib", "l2-size-kib", "int64_t", /*default=*/"512",
           "One core's second-level cache, 16 to 1048576">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Reductions jammed">,
    Statistic<"numDeclined", "num-declined", "Reductions left">
  ];
}

def ParallelizeNests
    : Pass<"polynest-parallelize-nests", "mlir::func::FuncOp"> {
  let summary = "Make outer loops parallel, with a grain";
  let description = [{
    Replaces the outermost loop of a nest that carries no dependence by a
    one-dimensional `affine.parallel` with the attribute `polynest.grain`, if
    the nest is long enough to be shared. An outer loop of few iterations is
    merged with parallel loops perfectly nested in it. Reductions are never
    split, so that results do not depend on the number of threads.

    Before: `affine.for %i = 0 to 512 { ... }`
    After:  `affine.parallel (%i) = (0) to (512) { ... } {polynest.grain = 8}`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let options = [
    Option<"minWorkNs", "min-work-ns", "uint64_t", /*default=*/"20000",
           "Shortest nest, in ns on one core, that is shared">,
    Option<"frequencyMhz", "frequency-mhz", "uint64_t", /*default=*/"2500",
           "Frequency of a core, to turn cycles into time">,
    Option<"collapseBelow", "collapse-below", "uint64_t", /*default=*/"64",
           "Merge loops while the parallel one has fewer iterations">,
    Option<"cacheSizeKib", "cache-size-kib", "uint64_t", /*default=*/"1024",
           "Nests that touch more run at the speed of memory">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Loops made parallel">,
    Statistic<"numDeclined", "num-declined", "Loops looked at and left">
  ];
}

def PipelineRows : Pass<"polynest-pipeline-rows", "mlir::func::FuncOp"> {
  let summary = "Begin and store rows while functions of others are computed";
  let description = [{
    In a loop over rows whose body ends with a loop that streams the row of a
    result, that loop of a row runs with an earlier loop of the next row which
    computes functions and has equal bounds, in each iteration before it: memory
    stands still while functions are computed. What else stands behind the last
    loop comes along. Rows run in 64 blocks or more, of up to 64 rows; the first
    row of a block goes ahead, the rest of its last row follows, and numbers that
    the rest of a row needs are carried by the loop over rows.

    Where the first loop of a row reduces what it reads, with no more than eight
    values carried beside those of a loop with functions and equal bounds, it runs
    with that loop of the row before, behind what each iteration does there, and
    the loop asks for rows that are 16 KiB further on: memory stands still while
    functions are computed, and arithmetic while a row is read for the first time.
    What runs ahead only reads, and the body writes none of that. Where rows are
    stored in that loop, none begin there: three rows fill the first-level cache.

    What moves may write nothing that the rest of the body touches. It may read
    buffers of the row that the earlier loop writes, if iterations touch the same
    elements only in step: the same buffer then serves the next row. Loops over
    rows have constant bounds, blocks four rows or more, and rows 4 KiB.
    Idempotent: the loop over rows carries values, or rows of its body write what
    the last loop writes.

    Before: `for i { for j { e[j] = exp(X[i,j]); s += e[j] }  for j { R[i,j] = e[j] / s } }`
    After:  `for b { .. for i { for j { R[i-1,j] = e[j] / s; e[j] = exp(X[i,j]); .. } } .. }`

    Before: `for i { for j { m = max(m, X[i,j]) }  for j { s += exp(X[i,j] - m) } .. }`
    After:  `for b { .. for i { for j { s += exp(X[i,j] - m); n = max(n, X[i+1,j]) } .. m = n } .. }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Loops over rows pipelined">,
    Statistic<"numDeclined", "num-declined",
              "Loops over rows with such loops that stay as they are">
  ];
}

def PlanMemory : Pass<"polynest-plan-memory", "mlir::func::FuncOp"> {
  let summary = "Place temporaries at planned offsets of one arena";
  let description = [{
    Replaces the static allocations of an entry by views of a new last argument
    `memref<Nxi8> {polynest.arena}`; allocations that are never alive at the
    same time share bytes. Allocations in loops that run at once move to the
    stack where they are small; the others of one loop share one allocation.
    An allocation whose size is not known takes the memory of one of the same type
    and sizes that nothing uses any more.
    Idempotent: an entry with an arena is skipped.

    Before: `%t = memref.alloc() : memref<16xf32>`
    After:  `%t = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>`
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect",
                           "mlir::arith::ArithDialect"];
  let options = [
    Option<"stackLimitKib", "stack-limit-kib", "int64_t", /*default=*/"512",
           "Most private buffers of one loop on the stack, in KiB, 0 to 1024">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Allocations placed">,
    Statistic<"numDeclined", "num-declined", "Allocations left as they are">
  ];
}

def PrefetchRows : Pass<"polynest-prefetch-rows", "mlir::func::FuncOp"> {
  let summary = "Ask for the next row, or page, while this one is computed with";
  let description = [{
    In a nest that goes over each row of an operand several times, a later loop
    that reads it again and computes functions of it asks for the same places of
    the next row, one a cache line, into the second-level cache: memory would
    stand still meanwhile. Where no loop computes functions, the last one that
    reads the row again does, of one operand; or, with `row-requests` and for operands
    that no cache holds, all loops along the row do, of two operands, and a place of
    each page of a row 16 KiB behind the next is asked for in front of the first that
    reads it. For operands that are larger than the core's own
    cache, with rows of up to a quarter of it, that the nest does not write.

    A loop that computes functions of vectors that no earlier loop has read asks
    for what it reads a page later, where that goes on for some pages and the
    operand is larger than the cache: what the hardware fetches ahead of a stream
    ends with each page. So does one that reduces rows for later loops along them,
    of operands that no cache holds; of two operands only if it stores
    them to a buffer. In front of a loop that reduces such rows for no later one,
    with 1 to 16 pages each and one behind the other, a place of each page of the
    row 16 KiB ahead, or of the next, is asked for.

    A loop along a row of a matrix that data choose asks for the row that they choose
    in a later iteration of a loop, 4 KiB of rows ahead or
    the next one, and for the first line of one twice as far ahead, whose address
    takes long to translate. Loads and arithmetic make the row's number; rows have
    eight lines at least.
    A loop that reads a line of each of many rows, from where the loop around it
    goes on along them, asks for the line after next of each: memory turns from page
    to page, and no prefetcher of the hardware sees a stream. For reads a page apart.
    Idempotent: loops that ask already are left.

    Before: `for i { for j { m = max(m, X[i,j]) }  for j { .. exp(X[i,j] - m) } }`
    After:  `.. for j { prefetch X[i+1,j]  .. exp(X[i,j] - m) }`

    Before: `for i { for j step 16 { .. erf(X[i,j..]) } }`
    After:  `for i { for j step 16 { prefetch X[i,j+1024]  .. erf(X[i,j..]) } }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let options = [
    Option<"cacheSizeKib", "cache-size-kib", "uint64_t", /*default=*/"512",
           "Cache that one core has for itself, 16 to 1048576">,
    Option<"thresholdKib", "threshold-kib", "uint64_t", /*default=*/"32768",
           "Least size of an operand that no cache holds, 0 to 2^32; 0: none is">,
    Option<"rowRequests", "row-requests", "uint64_t", /*default=*/"0",
           "1: requests for rows of memory pay in each loop along them; 0: in the last">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Operands asked for ahead">,
    Statistic<"numDeclined", "num-declined", "Nests of several loops left">
  ];
}

def RecomputeElements
    : Pass<"polynest-recompute-elements", "mlir::func::FuncOp"> {
  let summary = "Compute few elements of a buffer where they are read";
  let description = [{
    Where at most a quarter of a private buffer's elements are read, such as those
    that an index from data chooses, each read becomes the expression that the
    buffer's only store has for that element: of pure operations, reads of inputs
    that nobody writes, and elements of other buffers that one store fills. Values
    of the loops around the innermost one, such as the sum of a row, are kept in a
    buffer with an element for each iteration. The buffer is then unread, and
    `polynest-eliminate-buffers` erases it with what only filled it.

    Before: `for i { m = ..  for j { P[i,j] = X[i,j] - m } }  for i { .. P[i,T[i]] }`
    After:  `for i { m = ..  M[i] = m }  for i { .. X[i,T[i]] - M[i] }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Buffers that are not read any more">,
    Statistic<"numDeclined", "num-declined", "Buffers that one store fills, left">
  ];
}

def RecomputeRows : Pass<"polynest-recompute-rows", "mlir::func::FuncOp"> {
  let summary = "Compute rows again rather than keep them in buffers";
  let description = [{
    A row that the body of a loop over rows keeps in a buffer of its own, and that
    takes a few operations to compute, such as the sum of two operands, is computed
    again where it is read. The buffer goes away, and with it stores between the
    loads of rows that come from memory.

    Before: `for i { for j {p[j] = x[i,j] + y[i,j]; sum}  m = ..
                     for j {p[j] - m; sum of squares} }`
    After:  `for i { for j {x[i,j] + y[i,j]; sum}  m = ..
                     for j {x[i,j] + y[i,j] - m; sum of squares} }`

    Legal if one store fills the buffer before all of its loads, from pure
    operations and affine loads of what nothing from there on writes in the body.
    Declines where computing takes more than a store and the loads of the buffer, a
    store taken for four operations, as are arithmetic and conversions of narrow
    floats; and where the body has read all that the row comes from before, so that
    the stores keep nothing waiting. No value changes.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Buffers that went away">,
    Statistic<"numDeclined", "num-declined", "Buffers of rows that stay">
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
    unread or that write what the location already holds. Last, a loop that carries
    two values which are the same in every iteration, as where two operations need
    the same sum, carries one.

    Legal if nothing else in the loop may touch the location; two carried values
    are the same if they begin as one, and operations without effects compute one
    from the other's like. Where a loop may
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

def SplitBuffers : Pass<"polynest-split-buffers", "mlir::func::FuncOp"> {
  let summary = "Give each part of a buffer that a nest writes a buffer of its own";
  let description = [{
    Where several nests write a private buffer, each another box of it, each box
    becomes a buffer: the operands of a concatenation or stack, the inside of what is
    padded, the slices of a roll. Nests that use several of them are cut at the
    seams, one nest for each, if the loops that are cut are parallel. A consumer of
    the buffer is then one of what a single nest writes, and `polynest-fuse-nests`
    puts them together. What is filled with one value is not stored: readers take the
    value, and fill in their turn where they compute nothing else. What is
    overwritten before it is read is not stored either, in results too. A buffer that
    one nest writes and others read in parts is split by what they read.

    Sums of products are not cut; nests that hold loops or reduce are in up to 4
    pieces, others in up to 16. Parts that a nest uses together stay one.

    Before: `for i { B[i] = X[i] * 2 }  for i { B[i+8] = Y[i] }  for i { Z[i] = B[i] + 1 }`
    After:  `for i { C[i] = X[i] * 2 }  for i { D[i] = Y[i] }
    for i { Z[i] = C[i] + 1 }  for i { Z[i+8] = D[i] + 1 }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Buffers split, and results written in parts">,
    Statistic<"numDeclined", "num-declined", "Buffers that several nests write or read, left">
  ];
}

def SplitConstants : Pass<"polynest-split-constants", "mlir::ModuleOp"> {
  let summary = "Compute once what depends on constant inputs alone";
  let description = [{
    Moves the nests of an entry that read nothing but inputs marked
    `polynest.constant`, and what such nests write, into a second function. It
    runs once for each set of constants and leaves what the entry reads of it in
    a block of state: the entry's new last argument `memref<Nxi8>
    {polynest.state}`. Idempotent: an entry with a state is skipped.

    Before: `func @f(%w {polynest.constant}, %x, %r) { T = pack(%w); r = x * T }`
    After:  `func @f(%w, %x, %r, %s {polynest.state}) { r = x * view(%s) }`
            `func @f_init(%w, %s) {polynest.init = @f} { view(%s) = pack(%w) }`
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let options = [
    Option<"maxGrowthPercent", "max-growth-percent", "uint64_t",
           /*default=*/"200",
           "Most bytes of state, as part of those of the constants read">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Nests moved">,
    Statistic<"numDeclined", "num-declined", "Entries with constants, left">
  ];
}

def NarrowBuffers : Pass<"polynest-narrow-buffers", "mlir::func::FuncOp"> {
  let summary = "Keep values in the narrow type that they were extended from";
  let description = [{
    A private buffer in which only extensions of values of one narrow type are
    stored, and constants that this type has, becomes one of that type; what is
    loaded is extended. Buffers stay where elements are loaded by more loops than
    they have dimensions, unless by contractions whose other operand is narrow too:
    those are packed, and units for dot products multiply them. Values keep their
    bits.

    Before: `%w = arith.extf %x : bf16 to f32; affine.store %w, %t[%i]` ...
            `%y = affine.load %t[%i] : memref<8xf32>`
    After:  `affine.store %x, %t[%i]` ... `%n = affine.load %t[%i] :
            memref<8xbf16>; %y = arith.extf %n : bf16 to f32`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Buffers of a narrower type">,
    Statistic<"numDeclined", "num-declined", "Buffers of extended values, left">
  ];
}

def NarrowConditions : Pass<"polynest-narrow-conditions", "mlir::func::FuncOp"> {
  let summary = "Compare indices and floats in as few bits as they need";
  let description = [{
    A comparison in a loop of two values of 64 bits that are sums of indices, such
    as that of a causal mask, becomes one of their difference with a constant, in
    32 bits: lanes hold as many as of the f32 elements that it chooses between.
    Legal if the difference is known to fit, for signed comparisons and equality.

    Before: `%d = arith.subi %j64, %i64 : i64  arith.cmpi sge, %d, %c1 : i64`
    After:  `%d = affine.apply (d0 - d1)(%j, %i)  %n = arith.index_cast %d :
             index to i32  arith.cmpi sge, %n, %c1 : i32`

    A comparison of floats that were widened from one type, or of one with a
    constant, as of every tensor with a number, is made before widening. Where the
    narrow type does not have the constant, its next number below decides; equality
    with such a one stays as it is.

    Before: `%w = arith.extf %x : f32 to f64  arith.cmpf ogt, %w, %c0 : f64`
    After:  `arith.cmpf ogt, %x, %c0 : f32`

    A minimum or maximum in i64 of numbers affine in indices, or of a choice of two
    such, that a loop carries from a constant is carried in i32, as that of an
    argmax, if all fit and the loop runs at least once.

    Before: `affine.for %j = 0 to 99 iter_args(%a = %most) { arith.minsi %j64, %a }`
    After:  `affine.for %j = 0 to 99 iter_args(%a = %c2147483647_i32) { .. : i32 }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Comparisons in fewer bits">,
    Statistic<"numDeclined", "num-declined", "Comparisons that stay">
  ];
}

def VectorizeNests : Pass<"polynest-vectorize-nests", "mlir::func::FuncOp"> {
  let summary = "Run one loop of every affine nest in vector lanes";
  let description = [{
    Picks in each nest the loops to vectorize, at any depth, and vectorizes
    them in place. A loop qualifies if it carries no dependence, or only
    reductions in iter_args; bounds and conditions inside must not depend on
    it, and what depends on it must be elementwise, a load or a store. Several
    vectors run interleaved, as many as hide the latency of an FMA, or four where
    a later loop along the same rows computes functions, and so many that four
    functions run side by side, of several rows or vectors; sums of
    products in a reduction become FMAs. The main loop has no masks; the rest
    is done by one vector moved back (where iterations may be repeated), by
    narrower vectors and by the scalar loop. All of them are marked
    `polynest.vectorized` and skipped by a second run.

    Before: `affine.for %j = 0 to 35 { %x = affine.load %A[%j] ... }`
    After:  `affine.for %j = 0 to 32 step 32 { %x = affine.vector_load ... }`
            and one vector at `[27]`, for lanes 27 to 34.

    Accesses whose lanes are not contiguous, reversed, or 2 to 4 apart in a row
    are made lane by lane, which the cost counts. A `memref.load` of a row that
    data choose is contiguous where its last index runs with the lanes.
    Assertions are asked for all lanes at once.

    Where lanes stand in different rows and a loop inside moves along the rows,
    `width` iterations of that loop are made at once: each row is loaded (or
    stored) as one vector and the square of them turned in registers. This is
    how transposes and products so far run. Where lanes of wider elements leave
    rows of half a register, as in sums of f32 in f64, twice as many iterations
    turn two squares at once. Where both loops are independent and
    something else is contiguous along the lanes, they trade places if that turns
    fewer squares, and what is stored goes on along its rows: 2 KiB of each, for a
    line of what is read across, before the next rows.

    A value that a loop carries and shows in each iteration, such as a sum so far,
    is combined within each vector first, in as many steps as the number of lanes
    has bits, so that a vector waits for the one before it during one operation.
    Products so far stay in order: parts of them may overflow where a zero comes first.
    Of several rows that caches hold (`threshold-kib`), lanes stand in different
    ones instead.

    Remarks: `applied` with
    width, interleave and stages; `declined` with the reason for each innermost
    loop left scalar.
  }];
  let options = [
    Option<"vectorWidthBits", "vector-width-bits", "unsigned", "256",
           "Bits of a vector register, a power of two from 64 to 2048">,
    Option<"vectorRegisters", "vector-registers", "unsigned", "16",
           "Number of vector registers, 8 to 256">,
    Option<"fmaLatencyCycles", "fma-latency-cycles", "unsigned", "4",
           "Cycles from an FMA to the next that needs it, 1 to 64">,
    Option<"fmaPorts", "fma-ports", "unsigned", "2",
           "FMAs that start in one cycle, 1 to 16">,
    Option<"thresholdKib", "threshold-kib", "uint64_t", /*default=*/"8192",
           "Least size of arrays that no cache holds, 0 to 2^32; 0: none is">
  ];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Loops vectorized">,
    Statistic<"numDeclined", "num-declined", "Innermost loops left scalar">
  ];
}

def SplitSums : Pass<"polynest-split-sums", "mlir::func::FuncOp"> {
  let summary = "Add up long sums in two levels";
  let description = [{
    A loop at the top of the function that carries sums of f32 or f64 alone,
    with many iterations or as many as a dimension of unknown size has, becomes
    a loop over blocks around one over the elements of a block. The sums of
    blocks are added up in f64. With 64 accumulators in lanes and blocks of 4096
    (2048 to 8192, so that nothing is left where that is possible) there are at
    most 128 + 6 additions of f32 in a row, so that the error is at most some 135
    roundings of the sum of magnitudes, however many values there are.

    Before: `%s = affine.for %i = 0 to 1048576 iter_args(%a = %z) { a + x[i] }`
    After:  `affine.for %b = 0 to 256 iter_args(%w = extf %z) { %p = affine.for
            %i = 4096 b to 4096 b + 4096 iter_args(%a = -0.0) { a + x[i] };
            w + extf %p }`, then `truncf`

    Legal if each carried value is used once, as the addend of what is carried
    on: grouping of sums is free. Iterations keep their order, and blocks do not
    depend on the number of threads. Loops inside of others are left. A loop
    over blocks is marked `polynest.split_sums`.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect"];
  let options = [
    Option<"blockElements", "block-elements", "int64_t", /*default=*/"4096",
           "Elements of a block, about; 64 to 1048576">,
    Option<"leastElements", "least-elements", "int64_t", /*default=*/"16384",
           "Shortest sum that is split, from twice the block to 2^40">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Sums split">,
    Statistic<"numDeclined", "num-declined", "Loops with values left">
  ];
}

def StreamReductions
    : Pass<"polynest-stream-reductions", "mlir::func::FuncOp"> {
  let summary = "Read the operand of a reduction once, row by row";
  let description = [{
    Recognizes nests that combine the rows of an operand, contiguous along a
    parallel loop, into one row of sums or a few (sums over the first axis,
    vector times matrix, products of up to 16 rows), whichever loop is
    innermost and whether sums are carried by loops or in memory. A run of
    columns keeps its sums in a private buffer that fits L1; rows of the operand
    pass over it 4 or 8 at a time; rows of the result share what is loaded.
    Where there are few runs, the reduction is cut in parts of a size that shape
    and target alone decide, each with sums of its own, combined in order.

    Before: `for n { r = for k iter_args(x) { x + a[k] * B[k,n] }; c[n] = r }`
    After:  `for kb { S[kb,:] = -0.0; for k step 8 { for n { S[kb,n] +=
            a[k] * B[k,n] + ... + a[k+7] * B[k+7,n] } } }
            for n { c[n] = for kb iter_args(x) { x + S[kb,n] } }`

    Legal if no parallel loop carries a dependence; values are combined with one
    operation that is associative and commutative. Declines where an operand is
    strided along the columns, windows overlap, more rows use the operand again,
    or a few of one that is bound once, which `polynest-block-contractions`
    multiplies, or the reduction is short. Remarks: `applied` with the unrolling, columns of
    a run and iterations of a part (0: all); `declined` with the reason. Loops
    it makes are marked `polynest.streamed`; a second run changes nothing.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect",
                           "mlir::memref::MemRefDialect"];
  let options = [
    Option<"vectorWidthBits", "vector-width-bits", "int64_t", /*default=*/"256",
           "Bits of a vector register, a power of two from 64 to 2048">,
    Option<"vectorRegisters", "vector-registers", "int64_t", /*default=*/"16",
           "Number of vector registers, 8 to 256">,
    Option<"fmaPorts", "fma-ports", "int64_t", /*default=*/"2",
           "Multiply-adds started a cycle, 1 to 16">,
    Option<"loadPorts", "load-ports", "int64_t", /*default=*/"2",
           "Vector loads a cycle, 1 to 16">,
    Option<"l1SizeKib", "l1-size-kib", "int64_t", /*default=*/"32",
           "One core's first-level data cache, 4 to 65536">,
    Option<"l2SizeKib", "l2-size-kib", "int64_t", /*default=*/"512",
           "One core's second-level cache, 16 to 1048576">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Reductions that stream">,
    Statistic<"numDeclined", "num-declined", "Reductions left">
  ];
}

def SplitReductions : Pass<"polynest-split-reductions", "mlir::func::FuncOp"> {
  let summary = "Reduce whole arrays in parts";
  let description = [{
    Cuts a nest whose outermost loop carries reductions, and nothing else, into
    at least 64 parts where it has the iterations. Each part reduces into one
    element of a buffer; these are reduced then, in their order, and iterations
    that make up no whole part come last. The parts can run at once, and are a
    second level of accumulators. Their number depends on the trip count alone.

    Before: `%s = affine.for %i = 0 to 128 iter_args(%a = %zero) {...}`
    After:  `affine.for %p = 0 to 64 { %t = affine.for %i = 2 * %p to
            2 * %p + 2 iter_args(%a = %neutral) {...}; affine.store %t, %T[%p] }`
            and `%s = affine.for %p = 0 to 64 iter_args(%a = %zero)` over `%T`.

    Loops it made are marked `polynest.split` and skipped by a second run.
    Remarks: `applied` with the length of a part; `declined` with the reason
    for each nest that carries values.
  }];
  let options = [
    Option<"minOperations", "min-operations", "int64_t", "65536",
           "Operations of a nest that is worth it, 1 to 2^40">
  ];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Nests cut into parts">,
    Statistic<"numDeclined", "num-declined", "Nests left whole">
  ];
}

def ShareNests : Pass<"polynest-share-nests", "mlir::ModuleOp"> {
  let summary = "Optimize one of several equal nests";
  let description = [{
    Moves the first of several outermost nests of a function that are equal but
    for the buffers they work on into a private function marked
    `polynest.shared`, and calls it in the place of each, so that what comes
    before `polynest-unshare-nests` is done once for all of them. What such nests
    use from outside is equal constants and buffers of static shape; buffers that
    are written overlap none of the others, and are `llvm.noalias` in the
    function. Constants become part of it.

    Before: `affine.for %i { A[%i] = f(B[%i]) } affine.for %i { C[%i] = f(A[%i]) }`
    After:  `call @f_shared0(B, A)  call @f_shared0(A, C)`

    Where remarks are wanted nothing is shared, so that each nest has its own.
    Remarks: `declined` for the module then; with `despite-remarks` `applied` for
    each group, `declined` with the reason for each nest that can have no equal.
  }];
  let dependentDialects = ["mlir::func::FuncDialect"];
  let options = [
    Option<"despiteRemarks", "despite-remarks", "bool", /*default=*/"false",
           "Share where remarks are wanted, too">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Nests replaced by an equal">,
    Statistic<"numDeclined", "num-declined", "Nests that can have no equal">
  ];
}

def UnshareNests : Pass<"polynest-unshare-nests", "mlir::ModuleOp"> {
  let summary = "Put shared nests back";
  let description = [{
    Replaces each call of a function that `polynest-share-nests` made by what the
    function then holds, and removes the functions. Of equal constants one stays,
    at the start of the caller.

    Before: `call @f_shared0(B, A)`
    After:  `affine.parallel (%i) { A[%i] = f(B[%i]) }`
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Calls replaced">
  ];
}

def StreamStores : Pass<"polynest-stream-stores", "mlir::func::FuncOp"> {
  let summary = "Write large results past the caches";
  let description = [{
    Makes the vector stores of a nest to a result non-temporal where the result
    is at least `threshold-kib` large, nothing in the function reads it, and the
    innermost loops write whole lines one after the other. Nests that write less
    than a 16th of the threshold stay. The nest is put under
    an `scf.if` that asks whether the result is aligned to its vectors, and,
    where sizes are dynamic, large and with rows of whole vectors; else the nest
    runs as it was. Values do not change. Where static rows are no whole number of
    vectors, and vectors are whole lines, a loop whose iterations do the same to
    each element begins at the first aligned element of the row, and goes on into the
    vectors behind it that do so, too; what is left of a line at either end is stored
    ordinarily, by mask, so that lines that were streamed are not read again. Of several
    loops that write a result in turn, such as rows and their borders, the one that
    writes the most decides.

    Before: `affine.vector_store %v, %r[%i, %j] : memref<8192x8192xf32>, vector<8xf32>`
    After:  `scf.if %aligned { ... vector.store %v, %r[%i, %j] {alignment = 32,
            nontemporal = true} } else { ... }`
  }];
  let options = [
    Option<"thresholdKib", "threshold-kib", "uint64_t", /*default=*/"32768",
           "Least size of a result to stream, 0 to 2^32; 0: stream nothing">
  ];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Results streamed by a nest">,
    Statistic<"numDeclined", "num-declined", "Results that a nest keeps storing">
  ];
}

def TileWindows : Pass<"polynest-tile-windows", "mlir::func::FuncOp"> {
  let summary = "Load what rows of a sliding window share once";
  let description = [{
    Where a reduction runs over windows that slide (depthwise convolutions,
    pooling), unrolls and jams a few rows and unrolls the loop over the taps
    along which the window slides: an input that belongs to several rows is
    loaded once, and the sums are updated input by input. The number of rows
    comes from a model of arithmetic ports, latency, load ports and registers;
    rows that fill no tile make a smaller one. Where the taps are outside of
    other loops of the reduction they move into them, which changes the order of
    accumulation. Loops of rows are marked `polynest.tiled_registers` and
    skipped by a second run and by `polynest-tile-registers`.

    Before: `affine.for %r { affine.for %t = 0 to 3 iter_args(%s) { x[%r + %t]
            * w[%t] } }`
    After:  `affine.for %r step 4 { s0 += x[%r] * w[0]; s1 += x[%r + 1] * w[0];
            s0 += x[%r + 1] * w[1]; ... }`: 6 loads of x in place of 12
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect"];
  let options = [
    Option<"vectorRegisters", "vector-registers", "int64_t", /*default=*/"16",
           "Architectural vector registers, 1 to 128">,
    Option<"fmaLatencyCycles", "fma-latency-cycles", "int64_t",
           /*default=*/"4", "Latency of a multiply-add, 1 to 64">,
    Option<"fmaPorts", "fma-ports", "int64_t", /*default=*/"2",
           "Multiply-adds started a cycle, 1 to 16">,
    Option<"loadPorts", "load-ports", "int64_t", /*default=*/"2",
           "Vector loads a cycle, 1 to 16">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Loops of rows tiled">,
    Statistic<"numDeclined", "num-declined", "Loops of rows left">
  ];
}

def TileRegisters : Pass<"polynest-tile-registers", "mlir::func::FuncOp"> {
  let summary = "Unroll and jam loops around a reduction into a register tile";
  let description = [{
    Unrolls one or two parallel loops around the deepest reduction of a nest
    and jams the copies, so that one reduction loop carries a tile of
    accumulators and each load serves several of them. Factors come from a
    model of arithmetic ports, latency, load ports and registers. All that the
    loops hold is copied, up to a limit; rows of which a later loop computes
    functions stay alone where two take more than 32 KiB. Iterations that fill no tile run in a
    copy of the original loop. Loops it made are marked
    `polynest.tiled_registers` and skipped by a second run.

    Before: `affine.for %i { affine.for %j { affine.for %k iter_args(%c) } }`
    After:  `affine.for %i step 4 { affine.for %j step 2 { affine.for %k
            iter_args(%c0, ..., %c7) } }`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect"];
  let options = [
    Option<"vectorRegisters", "vector-registers", "int64_t", /*default=*/"16",
           "Architectural vector registers, 1 to 128">,
    Option<"fmaLatencyCycles", "fma-latency-cycles", "int64_t",
           /*default=*/"4", "Latency of a multiply-add, 1 to 64">,
    Option<"fmaPorts", "fma-ports", "int64_t", /*default=*/"2",
           "Multiply-adds started a cycle, 1 to 16">,
    Option<"loadPorts", "load-ports", "int64_t", /*default=*/"2",
           "Vector loads a cycle, 1 to 16">,
    Option<"maxOperations", "max-operations", "int64_t", /*default=*/"1024",
           "Operations that an unrolled body may have, 1 to 1048576; one on "
           "vectors takes some 8 bytes of the instruction cache">
  ];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Nests tiled">,
    Statistic<"numDeclined", "num-declined", "Nests with a reduction, left">
  ];
}

def WidenSums : Pass<"polynest-widen-sums", "mlir::func::FuncOp"> {
  let summary = "Carry sums of half precision in single precision";
  let description = [{
    A perfect band of loops that carries a sum in f16 or bf16 carries it in f32,
    and it is rounded once, behind them. Products that only the sum uses are
    multiplied in f32 as well. Left out with `numerics=strict`.

    Before: `%s = affine.for %k iter_args(%x = %init) -> bf16 {
             %p = arith.mulf %a, %b : bf16; %y = arith.addf %x, %p : bf16 }`
    After:  `%w = affine.for %k iter_args(%x = %wide_init) -> f32 {
             %p = arith.mulf %wide_a, %wide_b : f32;
             %y = arith.addf %x, %p : f32 }; %s = arith.truncf %w`
  }];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Sums widened">,
    Statistic<"numDeclined", "num-declined", "Narrow carried values, left">
  ];
}

#endif // POLYNEST_TRANSFORMS_PASSES
