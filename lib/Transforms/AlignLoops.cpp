// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/AlignLoops.cpp: see the header.

#include "Transforms/AlignLoops.h"

#include "Analysis/AffineValues.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

namespace {
/// A loop of the consumer as a part of a loop of the producer: `loop` is
/// (index floordiv stride) mod trips, without the rest where it is the first.
struct Digit {
  AffineForOp loop;
  int64_t stride;
  std::optional<int64_t> trips;

  Value getIv() const { return AffineForOp(loop).getInductionVar(); }
};

/// The digits of each loop of the producer, the last first.
using Digits = SmallVector<SmallVector<Digit, 2>, 4>;
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isPlainLoop(AffineForOp loop) {
  return loop.getNumIterOperands() == 0 && countsFromZero(loop);
}

/// True if bounds are values from outside of the loops.
static bool standStill(ArrayRef<AffineForOp> loops) {
  return llvm::all_of(loops, [](AffineForOp loop) {
    return llvm::none_of(loop.getUpperBoundOperands(), [](Value operand) {
      return isAffineForInductionVar(operand);
    });
  });
}

/// A write of the producer that the consumer reads, and a read of it; null if
/// there are none, or reads at different places.
static std::pair<const Access *, const Access *> findFlow(Nest &producer,
                                                          Nest &consumer) {
  for (const Access &write : producer.accesses) {
    if (!write.isWrite || !write.isAffine())
      continue;
    const Access *found = nullptr;
    bool isOne = true;
    for (const Access &read : consumer.accesses) {
      if (read.base != write.base)
        continue;
      isOne &= !read.isWrite && read.isAffine() &&
               read.memref == write.memref &&
               (!found || found->map == read.map);
      found = &read;
    }
    if (found)
      return isOne ? std::pair(&write, found)
                   : std::pair<const Access *, const Access *>();
  }
  return {};
}

/// True if the bound of `loop` is that of `top` times `stride`.
static bool runsTimes(AffineForOp loop, AffineForOp top, int64_t stride) {
  std::optional<int64_t> trips = getSmallTripCount(loop),
                         topTrips = getSmallTripCount(top);
  int64_t product;
  if (trips || topTrips)
    return trips && topTrips &&
           !llvm::MulOverflow(*topTrips, stride, product) && product == *trips;
  AffineValueBuilder builder(loop);
  std::optional<AffineExpr> whole =
      builder.express(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
  std::optional<AffineExpr> part =
      builder.express(top.getUpperBoundMap(), top.getUpperBoundOperands());
  return whole && part && *whole == *part * stride;
}

/// The loops that an index adds up, as digits of `loop`.
static const char *findDigits(const Access &read, unsigned d, AffineForOp loop,
                              ArrayRef<AffineForOp> band,
                              SmallVectorImpl<Digit> &digits) {
  SmallVector<int64_t, 8> coefficients = getCoefficients(read.map, d);
  if (coefficients.empty() || coefficients.back() != 0)
    return "the result is not read as a whole";
  for (auto [operand, stride] :
       llvm::zip(read.map.getOperands(), coefficients)) {
    if (stride == 0)
      continue;
    AffineForOp part = getForInductionVarOwner(operand);
    if (!part || !llvm::is_contained(band, part) || stride < 0)
      return "the result is not read as a whole";
    digits.push_back({part, stride, getSmallTripCount(part)});
  }
  if (digits.empty())
    return "the result is not read as a whole";
  llvm::sort(digits, [](const Digit &a, const Digit &b) {
    return a.stride < b.stride;
  });
  int64_t stride = 1;
  for (auto [i, digit] : llvm::enumerate(digits)) {
    if (digit.stride != stride)
      return "the result is not read as a whole";
    bool isTop = i + 1 == digits.size();
    if (isTop)
      return runsTimes(loop, digit.loop, stride)
                 ? nullptr
                 : "the result is not read as a whole";
    if (!digit.trips || llvm::MulOverflow(stride, *digit.trips, stride))
      return "a part of a dimension has no known size";
  }
  return nullptr;
}

static const char *findDigits(Nest &producer, Nest &consumer, unsigned depth,
                              Digits &digits) {
  if (!llvm::all_of(consumer.band, isPlainLoop) || !standStill(consumer.band) ||
      depth > producer.band.size())
    return "outermost loops differ";
  ArrayRef<AffineForOp> loops = ArrayRef(producer.band).take_front(depth);
  if (!llvm::all_of(loops, isPlainLoop) || !standStill(loops))
    return "outermost loops differ";
  for (Operation &op : *consumer.bodyAt(consumer.band.size()))
    if (op.getNumRegions() != 0)
      return "the nest that reads the result has loops inside";
  if (consumer.getNumParallel() != consumer.band.size())
    return "a loop that reads the result is not parallel";
  auto [write, read] = findFlow(producer, consumer);
  if (!write)
    return "the result is not read as a whole";
  unsigned used = 0;
  for (AffineForOp loop : loops) {
    std::optional<unsigned> d = getOnlyDim(write->op, loop.getInductionVar());
    if (!d || write->map.getAffineMap().getResult(*d).getKind() !=
                  AffineExprKind::DimId)
      return "the result is not stored along the loops";
    if (const char *why =
            findDigits(*read, *d, loop, consumer.band, digits.emplace_back()))
      return why;
    used += digits.back().size();
  }
  // None stands in two places: each is the digit of one loop.
  llvm::SmallPtrSet<Operation *, 8> distinct;
  for (ArrayRef<Digit> list : digits)
    for (const Digit &digit : list)
      distinct.insert(digit.loop);
  if (used != consumer.band.size() || distinct.size() != used)
    return "a loop reads the result again";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// True if loops run alike already, so that there is nothing to align.
static bool areAligned(const Digits &digits, Nest &consumer) {
  for (auto [i, list] : llvm::enumerate(digits))
    if (list.size() != 1 || list.front().loop != consumer.band[i])
      return false;
  return true;
}

/// True if what the consumer stores lies in whole vectors along a loop of the
/// producer: along all of it, or along its last digit, in lines of a cache.
static bool storesRuns(const Digits &digits, Nest &consumer) {
  for (const Access &write : consumer.accesses) {
    if (!write.isWrite)
      continue;
    if (!write.isAffine() || write.map.getNumResults() == 0)
      return false;
    unsigned last = write.map.getNumResults() - 1;
    Value iv = getOnlyVariable(write, last);
    const Digit *found = nullptr;
    bool isPart = false;
    for (ArrayRef<Digit> list : digits)
      if (iv && list.front().getIv() == iv) {
        found = &list.front();
        isPart = list.size() != 1;
      }
    std::optional<int64_t> stride =
        found ? getStride(write, found->loop) : std::nullopt;
    std::optional<int64_t> bytes = getElementBytes(
        cast<MemRefType>(write.memref.getType()).getElementType());
    if (!stride || *stride != 1 || !bytes ||
        (isPart && *found->trips * *bytes % kLineBytes != 0))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

static AffineExpr getDigit(const Digit &digit, bool isTop, AffineExpr index) {
  AffineExpr quotient =
      digit.stride == 1 ? index : index.floorDiv(digit.stride);
  return isTop ? quotient : quotient % *digit.trips;
}

namespace {
/// Indices of the consumer in loops of the producer, which are the first
/// dimensions of all maps.
class IndexRewriter {
public:
  IndexRewriter(const Digits &digits, ValueRange loops)
      : digits(digits), loops(loops) {}

  AffineValueMap rewrite(const AffineValueMap &old) {
    MLIRContext *context = old.getAffineMap().getContext();
    unsigned numDims = old.getNumDims();
    SmallVector<Value> dims(loops), symbols;
    SmallVector<AffineExpr> newDims, newSymbols;
    for (auto [i, operand] : llvm::enumerate(old.getOperands())) {
      if (i >= numDims) {
        symbols.push_back(operand);
        continue;
      }
      AffineExpr digit = express(operand, context);
      if (!digit) {
        digit = getAffineDimExpr(dims.size(), context);
        dims.push_back(operand);
      }
      newDims.push_back(digit);
    }
    SmallVector<AffineExpr> results;
    for (unsigned d = 0, e = old.getNumResults(); d != e; ++d)
      results.push_back(rewriteResult(old, d, newDims));
    AffineMap map =
        AffineMap::get(dims.size(), symbols.size(), results, context);
    llvm::append_range(dims, symbols);
    canonicalizeMapAndOperands(&map, &dims);
    return AffineValueMap(simplifyAffineMap(map), dims);
  }

  /// A loop of the consumer; null if the value is something else.
  AffineExpr express(Value iv, MLIRContext *context) const {
    for (auto [i, list] : llvm::enumerate(digits))
      for (const Digit &digit : list)
        if (digit.getIv() == iv)
          return getDigit(digit, &digit == &list.back(),
                          getAffineDimExpr(i, context));
    return {};
  }

private:
  /// Digits that make up their loop again are that loop.
  AffineExpr rewriteResult(const AffineValueMap &old, unsigned d,
                           ArrayRef<AffineExpr> newDims) const {
    AffineExpr result = old.getAffineMap().getResult(d);
    SmallVector<int64_t, 8> coefficients = getCoefficients(old, d);
    if (coefficients.empty())
      return result.replaceDims(newDims);
    auto coefficientOf = [&](Value iv) {
      for (auto [operand, coefficient] :
           llvm::zip(old.getOperands(), coefficients))
        if (operand == iv)
          return coefficient;
      return int64_t(0);
    };
    SmallVector<AffineExpr> dims(newDims);
    AffineExpr whole = getAffineConstantExpr(0, result.getContext());
    for (auto [i, list] : llvm::enumerate(digits)) {
      int64_t factor = coefficientOf(list.front().getIv());
      bool isWhole =
          factor != 0 && llvm::all_of(list, [&](const Digit &digit) {
            int64_t product;
            return !llvm::MulOverflow(factor, digit.stride, product) &&
                   product == coefficientOf(digit.getIv());
          });
      if (!isWhole)
        continue;
      whole = whole + getAffineDimExpr(i, result.getContext()) * factor;
      for (const Digit &digit : list)
        for (unsigned k = 0, e = old.getNumDims(); k != e; ++k)
          if (old.getOperand(k) == digit.getIv())
            dims[k] = getAffineConstantExpr(0, result.getContext());
    }
    return whole + result.replaceDims(dims);
  }

  const Digits &digits;
  ValueRange loops;
};
} // namespace

static AffineForOp emitAligned(Nest &producer, Nest &consumer,
                               const Digits &digits) {
  OpBuilder builder(consumer.root);
  Location loc = consumer.root.getLoc();
  AffineForOp root;
  SmallVector<Value> loops;
  for (unsigned i = 0; i != digits.size(); ++i) {
    AffineForOp loop = copyLoop(builder, loc, producer.band[i]);
    root = root ? root : loop;
    loops.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  IndexRewriter rewriter(digits, loops);
  IRMapping mapping;
  SmallVector<Operation *, 4> indices;
  for (AffineForOp loop : consumer.band) {
    Value iv = loop.getInductionVar();
    AffineExpr digit = rewriter.express(iv, builder.getContext());
    auto index = AffineApplyOp::create(
        builder, loc, AffineMap::get(loops.size(), 0, digit), loops);
    indices.push_back(index);
    mapping.map(iv, index.getResult());
  }
  for (Operation &op :
       consumer.bodyAt(consumer.band.size())->without_terminator())
    builder.clone(op, mapping);
  for (const Access &access : consumer.accesses) {
    if (!isa<AffineLoadOp, AffineStoreOp>(access.op) || !access.isAffine())
      continue;
    AffineValueMap map = rewriter.rewrite(access.map);
    movePlace(mapping.lookup(access.op), access.memref, map.getAffineMap(),
              SmallVector<Value>(map.getOperands()));
  }
  for (Operation *index : indices)
    if (index->use_empty())
      index->erase();
  return root;
}

const char *alignLoops(Nest &producer, Nest &consumer, unsigned depth,
                       AffineForOp &aligned) {
  Digits digits;
  if (const char *why = findDigits(producer, consumer, depth, digits))
    return why;
  if (areAligned(digits, consumer))
    return nullptr;
  if (!storesRuns(digits, consumer))
    return "the result goes on in runs that are no whole vectors";
  aligned = emitAligned(producer, consumer, digits);
  return nullptr;
}

} // namespace polynest
