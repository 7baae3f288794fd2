//===- StreamStores.cpp - write large results past the caches -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: turns the vector stores of a nest to a large result into non-temporal
// ones, which do not read each line before they write it and do not push other
// data out of the caches. Such a store needs an aligned address: the nest is
// put under an scf.if that asks whether the result is aligned (and, where sizes
// are dynamic, large enough, with rows that keep the alignment); its other
// branch is the nest as it was. Where rows are no whole number of vectors, the
// loop along a row begins at its first aligned element and goes on into what is
// done behind it. What is left of the lines at either end is stored ordinarily,
// by mask: a vector that reaches into the lines streamed beside it reads these
// back, which took a quarter of the time of all else (64 MiB in rows of 4094
// numbers, Zen 4: 4.4 ms for 3.4). Legal always: the values and places of all
// stores stay. A loop may begin elsewhere if all that its iterations do to an
// element is to load what belongs to it, to compute with that and what all
// elements share, and to store it, one vector as the other: any run of elements
// may then be an iteration. Lanes behind a row are computed with zeros: nothing
// may depend on what they hold, as a division of integers does. What makes the
// stores visible to other threads is the fence of polynest-fence-streams.
// Where several loops write a result, such as a row and its borders, the one
// that writes the most decides. Profitable when: the result is at least
// `threshold-kib` large, the usable share of the last-level cache, so that
// ordinary stores would leave little of it there, and the nest writes no small
// part of that (a border of an image); nothing else in the function reads it;
// each store fills whole lines, or the loop around the stores fills what it
// steps over in few streams, so that whole lines are written together (Intel 64
// and IA-32 Architectures Optimization Reference Manual, "Non-temporal stores";
// Software Optimization Guide for AMD Family 19h, "Write-combining"). Limits:
// results only, as temporaries are read soon; nests at the top of the function.
// Rows that are no whole number of vectors keep ordinary stores where their
// length is not known, vectors are no whole lines, or the loop along them is
// short or may not begin elsewhere. Cost: linear in nests and uses of results;
// a streamed nest doubles in code, and loops that begin elsewhere have three
// vectors around them.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Support/EraseDead.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

namespace polynest {
#define GEN_PASS_DEF_STREAMSTORES
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-stream-stores"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr StringLiteral passName = "stream-stores";

/// Streams of one loop that the write-combining buffers of a core hold at once,
/// low enough for every x86 core since 2008.
static constexpr int64_t mostStreams = 4;
/// The narrowest vector that has a non-temporal store.
static constexpr int64_t leastBytes = 16;
/// Of the threshold: what a nest should write to be worth a second form.
static constexpr double leastPart = 1.0 / 16;

namespace {
/// What a nest writes to one result.
struct Target {
  BlockArgument result;
  SmallVector<AffineVectorStoreOp> stores;
  /// A loop along a row that begins within a line.
  struct Shift {
    AffineForOp loop;
    /// Elements before the first line that the row fills, and behind the last.
    AffineValueMap lead, tail;
    /// Where the row ends, as a value of the variable.
    int64_t end;
    /// Vectors behind the loop that do what its next iterations would.
    SmallVector<AffineVectorStoreOp, 4> rest;
  };
  SmallVector<Shift, 1> shifts;
  /// Bytes of the widest vector.
  int64_t alignment = 0;
};

struct Decision {
  Operation *nest;
  SmallVector<Target, 1> targets;
};
} // namespace

//===----------------------------------------------------------------------===//
// Alignment
//===----------------------------------------------------------------------===//

static int64_t getDivisor(Value value);

/// A number that divides all results of the map; 0 where they are 0.
static int64_t getDivisor(AffineMap map, ValueRange operands) {
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool isDim = i < map.getNumDims();
    AffineExpr count =
        isDim ? getAffineDimExpr(i, map.getContext())
              : getAffineSymbolExpr(i - map.getNumDims(), map.getContext());
    (isDim ? dims : symbols).push_back(count * getDivisor(operand));
  }
  int64_t divisor = 0;
  for (AffineExpr expr : map.getResults())
    divisor = std::gcd(
        divisor,
        expr.replaceDimsAndSymbols(dims, symbols).getLargestKnownDivisor());
  return divisor;
}

/// A number that divides all values of an operand of an affine map.
static int64_t getDivisor(Value value) {
  if (AffineForOp loop = getForInductionVarOwner(value))
    return std::gcd(
        loop.getStepAsInt(),
        getDivisor(loop.getLowerBoundMap(), loop.getLowerBoundOperands()));
  if (auto apply = value.getDefiningOp<AffineApplyOp>())
    return getDivisor(apply.getAffineMap(), apply.getMapOperands());
  AffineParallelOp loop = getAffineParallelInductionVarOwner(value);
  if (!loop)
    return 1;
  unsigned at = cast<BlockArgument>(value).getArgNumber();
  return std::gcd(
      loop.getSteps()[at],
      getDivisor(loop.getLowerBoundMap(at), loop.getLowerBoundsOperands()));
}

/// True if the store is aligned whenever the result is and the last dimension,
/// where its size is dynamic, is a whole number of vectors.
static bool keepsAlignment(const Access &access, int64_t lanes) {
  auto type = cast<MemRefType>(access.memref.getType());
  if (type.hasStaticShape()) {
    std::optional<AffineValueMap> address = getByteAddress(access);
    std::optional<int64_t> bytes = getElementBytes(type.getElementType());
    return address && bytes &&
           getDivisor(address->getAffineMap(), address->getOperands()) %
                   (lanes * *bytes) ==
               0;
  }
  int64_t last = type.getShape().back();
  if (!ShapedType::isDynamic(last) && last % lanes != 0 && type.getRank() > 1)
    return false;
  unsigned position = type.getRank() - 1;
  return getDivisor(access.map.getAffineMap().getSubMap({position}),
                    access.map.getOperands()) %
             lanes ==
         0;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

static int64_t getVectorBytes(AffineVectorStoreOp store) {
  VectorType type = store.getVectorType();
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  return bytes && type.getRank() == 1 ? *bytes * type.getNumElements() : 0;
}

/// What a memref has joined dimensions of, or itself: the same elements in the
/// same order.
static Value withAllDimensions(Value memref) {
  while (auto view = memref.getDefiningOp<memref::CollapseShapeOp>())
    memref = view.getSrc();
  return memref;
}

/// True if the memref is only written.
static bool isOnlyWritten(Value memref) {
  return llvm::all_of(memref.getUsers(), [](Operation *user) {
    if (auto view = dyn_cast<memref::CollapseShapeOp>(user))
      return isOnlyWritten(view);
    return isa<AffineStoreOp, AffineVectorStoreOp, memref::StoreOp,
               memref::DimOp>(user);
  });
}

/// Why the contents of a result may be wanted in the caches, or an empty
/// string.
static StringRef whyNotResult(BlockArgument result, uint64_t thresholdBytes) {
  auto type = cast<MemRefType>(result.getType());
  if (!type.getLayout().isIdentity() || type.getRank() == 0)
    return "the result has a layout";
  if (type.hasStaticShape()) {
    std::optional<uint64_t> bytes = getBufferBytes(type);
    if (!bytes || *bytes < thresholdBytes)
      return "the result fits the caches";
  }
  if (!isOnlyWritten(result))
    return "the result is read, or seen through a view";
  return {};
}

/// Bytes that the stores write in one run of `nest`, where that is known.
static std::optional<double> countWritten(ArrayRef<AffineVectorStoreOp> stores,
                                          Operation *nest) {
  double bytes = 0;
  for (AffineVectorStoreOp store : stores) {
    double written = double(getVectorBytes(store));
    SmallVector<Operation *> loops;
    getEnclosingAffineLoops(store, loops, nest);
    for (Operation *op : loops) {
      SmallVector<uint64_t, 4> counts;
      if (auto parallel = dyn_cast<AffineParallelOp>(op)) {
        counts = getTripCounts(parallel).value_or(counts);
      } else if (std::optional<uint64_t> trips =
                     getTripCount(cast<AffineForOp>(op))) {
        counts.push_back(*trips);
      }
      if (counts.empty())
        return std::nullopt;
      for (uint64_t count : counts)
        written *= double(count);
    }
    bytes += written;
  }
  return bytes;
}

/// Elements by which the first store moves with each iteration of the loop
/// around it; none if that loop is none, or not the innermost.
static std::optional<int64_t> getAdvance(const Access &access) {
  Operation *parent = access.op->getParentOp();
  if (auto loop = dyn_cast<AffineForOp>(parent))
    return getStride(access, loop);
  auto loop = dyn_cast<AffineParallelOp>(parent);
  if (!loop || loop.getNumDims() != 1)
    return std::nullopt;
  std::optional<int64_t> unit = getStridePerUnit(access, loop.getIVs().front());
  int64_t advance;
  if (!unit || llvm::MulOverflow(*unit, loop.getSteps()[0], advance))
    return std::nullopt;
  return advance;
}

static constexpr StringLiteral unalignedRows =
    "rows are no whole number of vectors";

/// Why the stores of one loop to one result would be slower so, or an empty
/// string.
static StringRef whyNotLoop(ArrayRef<AffineVectorStoreOp> stores) {
  int64_t written = 0, advance = 0;
  bool fillsLines = true;
  for (AffineVectorStoreOp store : stores) {
    int64_t lanes = store.getVectorType().getNumElements();
    SmallVector<Access, 1> accesses;
    collectAccesses(store, accesses);
    if (accesses.size() != 1 || !accesses.front().isAffine())
      return "a store is not affine";
    std::optional<int64_t> next = getAdvance(accesses.front());
    if (!next || *next <= 0 || (advance && advance != *next))
      return "iterations do not write one after the other";
    if (!keepsAlignment(accesses.front(), lanes))
      return unalignedRows;
    advance = *next;
    written += lanes;
    fillsLines &= getVectorBytes(store) % kLineBytes == 0;
  }
  if (fillsLines)
    return {};
  if (written < advance)
    return "iterations leave gaps";
  if (written > mostStreams * advance)
    return "iterations write to too many rows";
  return {};
}

//===----------------------------------------------------------------------===//
// Rows of any length
//===----------------------------------------------------------------------===//

/// Iterations below which those at the ends are too many.
static constexpr uint64_t leastIterations = 16;

/// True for a vector of which all lanes are the same, or that is computed from
/// such vectors.
static bool isUniform(Value value, unsigned depth = 4) {
  if (!isa<VectorType>(value.getType()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(broadcast.getSourceType());
  return OpTrait::hasElementwiseMappableTraits(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isUniform(operand, depth - 1);
         });
}

/// True if an iteration of the loop does with its elements what the others do
/// with theirs.
static bool isElementwise(AffineForOp loop) {
  Value iv = loop.getInductionVar();
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<AffinePrefetchOp>(op))
      continue; // of whatever place
    if (isa<AffineVectorLoadOp, AffineVectorStoreOp>(op)) {
      SmallVector<Access, 1> accesses;
      collectAccesses(&op, accesses);
      if (accesses.size() != 1 || getStridePerUnit(accesses[0], iv) != 1)
        return false;
    } else if (llvm::is_contained(op.getOperands(), iv) || op.getNumRegions() ||
               op.getNumResults() != 1 ||
               !(isa<AffineLoadOp>(op) || isPure(&op))) {
      return false; // what is pure may compute with whatever lanes hold
    } else if (!isUniform(op.getResult(0)) &&
               !OpTrait::hasElementwiseMappableTraits(&op)) {
      return false;
    }
    for (Value operand : op.getOperands())
      if (loop.isDefinedOutsideOfLoop(operand) && !isUniform(operand))
        return false;
  }
  return true;
}

/// How far `further` elements behind what the first iteration stores are from
/// the last aligned one, or, with a `sign` of -1, from the next one.
static std::optional<AffineValueMap>
getRemainder(const AffineValueMap &address, AffineForOp loop, int64_t lanes,
             int64_t elementBytes, int64_t sign, int64_t further) {
  SmallVector<int64_t, 8> flat = getCoefficients(address, 0), parts;
  if (flat.empty() || address.getNumSymbols() != 0)
    return std::nullopt;
  SmallVector<Value> operands;
  int64_t first = flat.back() + further * elementBytes;
  for (auto [operand, factor] : llvm::zip(address.getOperands(), flat)) {
    if (operand == loop.getInductionVar()) {
      first += factor * loop.getConstantLowerBound();
      continue;
    }
    if (!loop.isDefinedOutsideOfLoop(operand))
      return std::nullopt;
    operands.push_back(operand);
    parts.push_back(factor);
  }
  parts.push_back(first);
  // Without factors below 0: affine.for folds remainders of negative multiples
  // of a variable with constant bounds wrongly (LLVM 22.1).
  AffineExpr sum = getAffineConstantExpr(0, loop.getContext());
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (part % elementBytes != 0)
      return std::nullopt;
    int64_t factor = llvm::mod(sign * (part / elementBytes), lanes);
    sum = sum + (i < operands.size()
                     ? getAffineDimExpr(i, loop.getContext()) * factor
                     : getAffineConstantExpr(factor, loop.getContext()));
  }
  return AffineValueMap(AffineMap::get(operands.size(), 0, sum % lanes),
                        operands);
}

/// Bytes from what `first` accesses in the first iteration of the loop to what
/// `next`, inside or behind the loop, does; none if that is not known.
static std::optional<int64_t> getApart(Operation *first, Operation *next,
                                       AffineForOp loop) {
  SmallVector<Access, 2> accesses;
  collectAccesses(first, accesses);
  collectAccesses(next, accesses);
  if (accesses.size() != 2 || accesses[0].memref != accesses[1].memref)
    return std::nullopt;
  SmallVector<AffineValueMap, 2> places;
  for (const Access &access : accesses) {
    std::optional<AffineValueMap> address = getByteAddress(access);
    if (!address)
      return std::nullopt;
    AffineMap map = address->getAffineMap();
    MLIRContext *context = map.getContext();
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (address->getOperand(d) == loop.getInductionVar())
        map = map.replace(
            getAffineDimExpr(d, context),
            getAffineConstantExpr(loop.getConstantLowerBound(), context),
            map.getNumDims(), map.getNumSymbols());
    places.emplace_back(map, address->getOperands());
  }
  AffineValueMap apart;
  AffineValueMap::difference(places[1], places[0], &apart);
  auto bytes = dyn_cast<AffineConstantExpr>(apart.getResult(0));
  return bytes ? std::optional(bytes.getValue()) : std::nullopt;
}

/// What computes values further on, by what computes the first ones.
using Matches = DenseMap<Value, Value>;

/// True if `next`, inside or behind the loop, is computed as `first` is in its
/// first iteration, of vectors that lie `bytes` further on.
static bool isComputedAlike(Value first, Value next, AffineForOp loop,
                            int64_t bytes, Matches &matches) {
  if (loop.isDefinedOutsideOfLoop(first))
    return first == next;
  auto [known, isNew] = matches.try_emplace(first, next);
  if (!isNew)
    return known->second == next;
  Operation *from = first.getDefiningOp(), *to = next.getDefiningOp();
  if (!from || !to || from->getName() != to->getName() ||
      first.getType() != next.getType())
    return false;
  if (isa<AffineVectorLoadOp, AffineLoadOp>(from))
    return getApart(from, to, loop) == (isa<AffineLoadOp>(from) ? 0 : bytes);
  return from->getAttrDictionary() == to->getAttrDictionary() &&
         from->getNumOperands() == to->getNumOperands() &&
         llvm::all_of(llvm::zip(from->getOperands(), to->getOperands()),
                      [&](auto pair) {
                        auto [a, b] = pair;
                        return isComputedAlike(a, b, loop, bytes, matches);
                      });
}

/// True if `next`, inside or behind the loop, does what `first` does in its
/// first iteration with all vectors `bytes` further on.
static bool goesOn(AffineVectorStoreOp first, AffineVectorStoreOp next,
                   AffineForOp loop, int64_t bytes) {
  Matches matches;
  return first.getVectorType() == next.getVectorType() &&
         getApart(first, next, loop) == bytes &&
         isComputedAlike(first.getValue(), next.getValue(), loop, bytes,
                         matches);
}

/// Finds the stores behind the loop that go on with what it does, vector by
/// vector, the last one perhaps from before where the one before it ends.
static void findRest(Target::Shift &shift, AffineVectorStoreOp first) {
  AffineForOp loop = shift.loop;
  int64_t bytes = getVectorBytes(first);
  int64_t elementBytes = bytes / first.getVectorType().getNumElements();
  int64_t begin = loop.getConstantLowerBound();
  int64_t end = (shift.end - begin) * elementBytes;
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode()) {
    if (isa<AffineVectorLoadOp, AffineLoadOp>(op) || isMemoryEffectFree(op))
      continue;
    auto next = dyn_cast<AffineVectorStoreOp>(op);
    std::optional<int64_t> at =
        next ? getApart(first, next, loop) : std::nullopt;
    if (!at || *at > end || *at + bytes <= end ||
        !goesOn(first, next, loop, *at))
      break;
    shift.rest.push_back(next);
    end = *at + bytes;
  }
  shift.end = begin + end / elementBytes;
}

/// The row that the loop around the stores writes, if it may begin elsewhere.
static std::optional<Target::Shift>
findShift(ArrayRef<AffineVectorStoreOp> stores) {
  AffineVectorStoreOp first = stores.front();
  auto loop = dyn_cast<AffineForOp>(first->getParentOp());
  int64_t lanes = first.getVectorType().getNumElements();
  std::optional<int64_t> bytes =
      getElementBytes(first.getVectorType().getElementType());
  if (!loop || loop.getNumResults() || !loop.hasConstantBounds() || !bytes ||
      lanes * *bytes != kLineBytes || !isElementwise(loop))
    return std::nullopt;
  int64_t step = loop.getStepAsInt();
  int64_t length = loop.getConstantUpperBound() - loop.getConstantLowerBound();
  if (length % step != 0 || uint64_t(length / step) < leastIterations ||
      int64_t(stores.size()) * lanes != step)
    return std::nullopt;
  for (auto [i, store] : llvm::enumerate(stores))
    if (!goesOn(first, store, loop, int64_t(i) * kLineBytes))
      return std::nullopt;
  SmallVector<Access, 1> accesses;
  collectAccesses(first, accesses);
  std::optional<AffineValueMap> address = getByteAddress(accesses.front());
  if (!address)
    return std::nullopt;
  Target::Shift shift{loop, {}, {}, loop.getConstantUpperBound(), {}};
  findRest(shift, first);
  int64_t run = shift.end - loop.getConstantLowerBound();
  std::optional<AffineValueMap> lead =
      getRemainder(*address, loop, lanes, *bytes, -1, 0);
  std::optional<AffineValueMap> tail =
      getRemainder(*address, loop, lanes, *bytes, 1, run);
  if (!lead || !tail)
    return std::nullopt;
  shift.lead = *lead;
  shift.tail = *tail;
  // All that the loop stores is streamed.
  for (auto store : loop.getBody()->getOps<AffineVectorStoreOp>())
    if (!llvm::is_contained(stores, store))
      return std::nullopt;
  return shift;
}

/// Keeps the stores of a target that pay. Why there are none, or an empty
/// string. The loop that writes the most decides: others do what it leaves.
static StringRef selectStores(Target &target, Operation *nest) {
  llvm::MapVector<Operation *, SmallVector<AffineVectorStoreOp>> byLoop;
  for (AffineVectorStoreOp store : target.stores)
    byLoop[store->getParentOp()].push_back(store);
  target.stores.clear();
  StringRef decisive;
  double most = 0;
  for (auto &[loop, stores] : byLoop) {
    StringRef why = whyNotLoop(stores);
    if (why == unalignedRows)
      if (std::optional<Target::Shift> shift = findShift(stores)) {
        target.shifts.push_back(*shift);
        why = {};
      }
    if (why.empty())
      llvm::append_range(target.stores, stores);
    double written = countWritten(stores, nest)
                         .value_or(std::numeric_limits<double>::infinity());
    if (written <= most)
      continue;
    most = written;
    decisive = why;
  }
  return decisive;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// True at run time if the stores to the target may be non-temporal.
static Value buildCondition(OpBuilder &builder, Location loc,
                            const Target &target, uint64_t thresholdBytes) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto isMultiple = [&](Value value, int64_t powerOfTwo) -> Value {
    Value rest =
        arith::AndIOp::create(builder, loc, value, constant(powerOfTwo - 1));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                                 constant(0));
  };
  auto type = cast<MemRefType>(target.result.getType());
  Value condition = isMultiple(memref::ExtractAlignedPointerAsIndexOp::create(
                                   builder, loc, target.result),
                               target.alignment);
  if (type.hasStaticShape())
    return condition;
  int64_t bytes = *getElementBytes(type.getElementType());
  Value size = constant(bytes), last;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    last = memref::DimOp::create(builder, loc, target.result, d);
    size = arith::MulIOp::create(builder, loc, size, last);
  }
  Value isLarge = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                        size, constant(thresholdBytes));
  condition = arith::AndIOp::create(builder, loc, condition, isLarge);
  if (type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
    condition = arith::AndIOp::create(
        builder, loc, condition, isMultiple(last, target.alignment / bytes));
  return condition;
}

static SmallVector<Value> makeIndices(OpBuilder &builder, Location loc,
                                      AffineMap map, ValueRange operands) {
  SmallVector<Value> indices;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    indices.push_back(
        AffineApplyOp::create(builder, loc, map.getSubMap({i}), operands));
  return indices;
}

/// Replaces the store by a non-temporal one.
static void stream(AffineVectorStoreOp store) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  vector::StoreOp::create(
      builder, loc, store.getValue(), store.getMemRef(),
      makeIndices(builder, loc, store.getAffineMap(), store.getMapOperands()),
      /*nontemporal=*/true, llvm::MaybeAlign(getVectorBytes(store)));
  store.erase();
}

/// Leaves of what the block does the first store and what that needs.
static void keepFirstStore(Block &block) {
  auto stores = block.getOps<AffineVectorStoreOp>();
  for (AffineVectorStoreOp store :
       llvm::make_early_inc_range(llvm::drop_begin(stores)))
    store.erase();
  // What only those needed may lie behind the row.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<AffinePrefetchOp>(op) || isOpTriviallyDead(&op))
      op.erase();
}

/// The first `count` of so many lanes that are a line together.
static Value makeMask(OpBuilder &builder, Location loc, int64_t lanes,
                      Value count) {
  // Numbers of the elements' width: one comparison.
  auto word = builder.getIntegerType(unsigned(kLineBytes / lanes * 8));
  auto words = VectorType::get({lanes}, word);
  SmallVector<APInt, 64> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.emplace_back(word.getWidth(), uint64_t(i));
  Value number = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(words, numbers));
  Value limit = vector::BroadcastOp::create(
      builder, loc, words,
      arith::IndexCastOp::create(builder, loc, word, count));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                               limit);
}

/// Leaves of an access the lanes of the mask.
static void maskAccess(Operation *op, Value mask) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (auto store = dyn_cast<AffineVectorStoreOp>(op)) {
    vector::MaskedStoreOp::create(
        builder, loc, store.getMemRef(),
        makeIndices(builder, loc, store.getAffineMap(), store.getMapOperands()),
        mask, store.getValue());
  } else {
    auto load = cast<AffineVectorLoadOp>(op);
    VectorType type = load.getVectorType();
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    load.replaceAllUsesWith(vector::MaskedLoadOp::create(
                                builder, loc, type, load.getMemRef(),
                                makeIndices(builder, loc, load.getAffineMap(),
                                            load.getMapOperands()),
                                mask, zero)
                                .getResult());
  }
  op->erase();
}

/// Lets the loop begin at the first line that the row fills. Lines that are
/// left behind it are streamed by a second loop. At the ends of the row only
/// what lies in no such line is stored: a store that reaches into one would
/// read it back, and take longer than all the rest of what stands at the ends.
static void shift(const Target::Shift &shift) {
  AffineForOp loop = shift.loop;
  MLIRContext *context = loop.getContext();
  Location loc = loop.getLoc();
  int64_t begin = loop.getConstantLowerBound(), step = loop.getStepAsInt();
  auto first = *loop.getBody()->getOps<AffineVectorStoreOp>().begin();
  int64_t lanes = first.getVectorType().getNumElements();
  // However late the first line begins.
  int64_t whole = (shift.end - begin - (lanes - 1)) / step * step;
  SmallVector<Value> operands(shift.lead.getOperands());
  AffineMap lead = shift.lead.getAffineMap(), tail = shift.tail.getAffineMap();
  auto at = [&](AffineExpr expr) {
    return AffineMap::get(lead.getNumDims(), 0, expr);
  };

  OpBuilder builder(loop);
  // One vector of the loop's body at `place`, of which `count` elements count.
  auto once = [&](Value place, Value count, bool masksLoads) {
    auto copy = cast<AffineForOp>(builder.clone(*loop));
    keepFirstStore(*copy.getBody());
    SmallVector<Operation *> accesses;
    for (Operation &op : *copy.getBody())
      if (isa<AffineVectorStoreOp>(op) ||
          (masksLoads && isa<AffineVectorLoadOp>(op)))
        accesses.push_back(&op);
    copy.getInductionVar().replaceAllUsesWith(place);
    OpBuilder before(copy);
    Value mask = makeMask(before, loc, lanes, count);
    for (Operation *access : accesses)
      maskAccess(access, mask);
    auto &body = copy.getBody()->getOperations();
    copy->getBlock()->getOperations().splice(
        Block::iterator(copy), body, body.begin(), std::prev(body.end()));
    copy->erase();
  };
  Value count = AffineApplyOp::create(builder, loc, lead, operands);
  once(arith::ConstantIndexOp::create(builder, loc, begin), count,
       /*masksLoads=*/false);
  builder.setInsertionPointAfter(loop);
  auto lines = cast<AffineForOp>(builder.clone(*loop));
  keepFirstStore(*lines.getBody());
  lines.setLowerBound(operands, at(lead.getResult(0) + (begin + whole)));
  lines.setUpperBound(
      {}, AffineMap::getConstantMap(shift.end - lanes + 1, context));
  lines.setStep(lanes);
  count = AffineApplyOp::create(builder, loc, tail, shift.tail.getOperands());
  Value last = AffineApplyOp::create(
      builder, loc,
      AffineMap::get(tail.getNumDims(), 0, -tail.getResult(0) + shift.end),
      shift.tail.getOperands());
  once(last, count, /*masksLoads=*/true);

  loop.setLowerBound(operands, at(lead.getResult(0) + begin));
  loop.setUpperBound(operands, at(lead.getResult(0) + (begin + whole)));
  stream(*lines.getBody()->getOps<AffineVectorStoreOp>().begin());
  SmallVector<Operation *> unused;
  for (AffineVectorStoreOp store : shift.rest) {
    if (Operation *op = store.getValue().getDefiningOp())
      unused.push_back(op);
    store->erase();
  }
  eraseDead(unused);
}

static void apply(const Decision &decision, uint64_t thresholdBytes) {
  OpBuilder builder(decision.nest);
  Location loc = decision.nest->getLoc();
  Value condition;
  for (const Target &target : decision.targets) {
    Value next = buildCondition(builder, loc, target, thresholdBytes);
    condition =
        condition ? arith::AndIOp::create(builder, loc, condition, next) : next;
  }
  auto choice = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/true);
  choice.getElseBodyBuilder().clone(*decision.nest);
  decision.nest->moveBefore(choice.thenBlock()->getTerminator());
  for (const Target &target : decision.targets) {
    llvm::for_each(target.shifts, shift);
    llvm::for_each(target.stores, stream);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct StreamStoresPass : impl::StreamStoresBase<StreamStoresPass> {
  using StreamStoresBase::StreamStoresBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkUnsigned(context, "threshold-kib", thresholdKib, 0,
                         UINT64_C(1) << 32);
  }

  /// The results that the nest writes in vectors.
  SmallVector<Target, 1> collect(Operation *nest) {
    llvm::SmallMapVector<Value, Target, 2> targets;
    nest->walk([&](AffineVectorStoreOp store) {
      int64_t bytes = getVectorBytes(store);
      auto result =
          dyn_cast<BlockArgument>(withAllDimensions(store.getMemRef()));
      if (bytes < leastBytes || !llvm::isPowerOf2_64(bytes) || !result ||
          result.getOwner()->getParentOp() != getOperation() ||
          !getOperation().getArgAttr(result.getArgNumber(), "polynest.result"))
        return;
      Target &target = targets[result];
      target.result = result;
      target.alignment = std::max(target.alignment, bytes);
      target.stores.push_back(store);
    });
    SmallVector<Target, 1> list;
    for (auto &[result, target] : targets)
      list.push_back(std::move(target));
    return list;
  }

  void runOnOperation() override {
    if (thresholdKib == 0 || getOperation().isExternal())
      return;
    uint64_t thresholdBytes = uint64_t(thresholdKib) * 1024;
    SmallVector<Decision, 0> decisions;
    for (Operation &nest : getOperation().getBody().front()) {
      if (!isa<AffineForOp, AffineParallelOp>(nest) || nest.getNumResults())
        continue;
      Decision decision{&nest, {}};
      for (Target &target : collect(&nest)) {
        StringRef why = whyNotResult(target.result, thresholdBytes);
        if (why.empty())
          why = selectStores(target, &nest);
        if (why.empty() && countWritten(target.stores, &nest)
                                   .value_or(double(thresholdBytes)) <
                               leastPart * double(thresholdBytes))
          why = "the nest writes a small part of the result";
        if (why.empty()) {
          decision.targets.push_back(std::move(target));
          continue;
        }
        ++numDeclined;
        remark(RemarkKind::Declined, nest.getLoc(), passName, why)
            << arg("result", target.result.getArgNumber())
            << arg("threshold-kib", uint64_t(thresholdKib));
      }
      if (!decision.targets.empty())
        decisions.push_back(std::move(decision));
    }
    for (const Decision &decision : decisions) {
      for (const Target &target : decision.targets)
        remark(RemarkKind::Applied, decision.nest->getLoc(), passName,
               "result written past the caches")
            << arg("result", target.result.getArgNumber())
            << arg("stores", target.stores.size())
            << arg("alignment-bytes", target.alignment);
      numApplied += decision.targets.size();
      apply(decision, thresholdBytes);
    }
  }
};
} // namespace

} // namespace polynest
