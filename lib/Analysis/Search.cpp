// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Search.cpp: see the header.

#include "Analysis/Search.h"

#include "Analysis/AffineValues.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// What a condition says
//===----------------------------------------------------------------------===//

/// Conditions of more operations than this are not looked into.
static constexpr unsigned deepestCondition = 8;

/// Stands for NaN in an example.
static constexpr int64_t kNan = -1;

/// Two numbers that relate so.
static std::array<int64_t, 2> getExample(Relation relation) {
  switch (relation) {
  case Relation::Less:
    return {0, 1};
  case Relation::Equal:
    return {0, 0};
  case Relation::Greater:
    return {1, 0};
  case Relation::NanFirst:
    return {kNan, 0};
  case Relation::NanSecond:
    return {0, kNan};
  case Relation::NanBoth:
    return {kNan, kNan};
  }
  llvm_unreachable("all relations are handled");
}

/// Whether a comparison of floats holds for two numbers of an example.
static bool holds(arith::CmpFPredicate predicate, int64_t a, int64_t b) {
  auto toFloat = [](int64_t number) {
    return number == kNan ? APFloat::getNaN(APFloat::IEEEdouble())
                          : APFloat(double(number));
  };
  return arith::applyCmpPredicate(predicate, toFloat(a), toFloat(b));
}

/// The same for integers, of which none is NaN: what it says of that is not
/// used.
static bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  auto toInteger = [](int64_t number) {
    return APInt(64, number, /*isSigned=*/true);
  };
  return arith::applyCmpPredicate(predicate, toInteger(a), toInteger(b));
}

namespace {
/// Evaluates a condition for all relations at once.
class TableBuilder {
public:
  TableBuilder(Value x, Value y, llvm::SmallPtrSetImpl<Operation *> &parts)
      : x(x), y(y), parts(parts) {}

  std::optional<TruthTable> evaluate(Value condition, unsigned depth = 0);

private:
  /// 0 for x, 1 for y; none for anything else. Widening keeps the order.
  std::optional<unsigned> sideOf(Value value);
  template <typename Predicate>
  std::optional<TruthTable> compare(Predicate predicate, Value lhs, Value rhs);

  Value x, y;
  llvm::SmallPtrSetImpl<Operation *> &parts;
  std::optional<bool> isSigned;
};
} // namespace

std::optional<unsigned> TableBuilder::sideOf(Value value) {
  if (value == x)
    return 0;
  if (value == y)
    return 1;
  auto widened = value.getDefiningOp<arith::ExtFOp>();
  if (!widened)
    return std::nullopt;
  std::optional<unsigned> side = sideOf(widened.getIn());
  if (side)
    parts.insert(widened);
  return side;
}

template <typename Predicate>
std::optional<TruthTable> TableBuilder::compare(Predicate predicate, Value lhs,
                                                Value rhs) {
  std::optional<unsigned> left = sideOf(lhs), right = sideOf(rhs);
  if (!left || !right)
    return std::nullopt;
  TruthTable table = {};
  for (unsigned i = 0; i < numRelations; ++i) {
    std::array<int64_t, 2> example = getExample(Relation(i));
    table[i] = holds(predicate, example[*left], example[*right]);
  }
  return table;
}

std::optional<TruthTable> TableBuilder::evaluate(Value condition,
                                                 unsigned depth) {
  Operation *op = condition.getDefiningOp();
  if (!op || depth > deepestCondition || !condition.getType().isInteger(1))
    return std::nullopt;
  std::optional<TruthTable> table;
  APInt number;
  if (matchPattern(condition, m_ConstantInt(&number))) {
    table.emplace();
    table->fill(!number.isZero());
  } else if (auto test = dyn_cast<arith::CmpFOp>(op)) {
    table = compare(test.getPredicate(), test.getLhs(), test.getRhs());
  } else if (auto test = dyn_cast<arith::CmpIOp>(op)) {
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = test.getPredicate();
    if (predicate != Predicate::eq && predicate != Predicate::ne) {
      bool needsSign =
          predicate == Predicate::slt || predicate == Predicate::sle ||
          predicate == Predicate::sgt || predicate == Predicate::sge;
      if (isSigned && *isSigned != needsSign)
        return std::nullopt;
      isSigned = needsSign;
    }
    table = compare(predicate, test.getLhs(), test.getRhs());
  } else if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    std::optional<TruthTable> a = evaluate(op->getOperand(0), depth + 1);
    std::optional<TruthTable> b = evaluate(op->getOperand(1), depth + 1);
    if (!a || !b)
      return std::nullopt;
    table.emplace();
    for (unsigned i = 0; i < numRelations; ++i)
      (*table)[i] = isa<arith::AndIOp>(op)  ? (*a)[i] && (*b)[i]
                    : isa<arith::OrIOp>(op) ? (*a)[i] || (*b)[i]
                                            : (*a)[i] != (*b)[i];
  }
  if (table)
    parts.insert(op);
  return table;
}

std::optional<TruthTable>
getTruthTable(Value condition, Value x, Value y,
              llvm::SmallPtrSetImpl<Operation *> &parts) {
  std::optional<TruthTable> table =
      TableBuilder(x, y, parts).evaluate(condition);
  if (table && !isa<FloatType>(getElementTypeOrSelf(x.getType())))
    for (Relation nan :
         {Relation::NanFirst, Relation::NanSecond, Relation::NanBoth})
      (*table)[unsigned(nan)] = false;
  return table;
}

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

/// A condition with what it selects where a candidate is taken, and where not.
struct Selection {
  Value condition, taken;
  bool isNegated = false;
};

/// The selection between `carried` and another value, used for the next
/// iteration alone.
static std::optional<Selection> matchSelection(Value yielded, Value carried) {
  auto select = yielded.getDefiningOp<arith::SelectOp>();
  if (!select || !select->hasOneUse())
    return std::nullopt;
  if (select.getFalseValue() == carried && select.getTrueValue() != carried)
    return Selection{select.getCondition(), select.getTrueValue(), false};
  if (select.getTrueValue() == carried && select.getFalseValue() != carried)
    return Selection{select.getCondition(), select.getFalseValue(), true};
  return std::nullopt;
}

static std::optional<TruthTable>
getTable(const Selection &selection, Value x, Value best,
         llvm::SmallPtrSetImpl<Operation *> &parts) {
  std::optional<TruthTable> table =
      getTruthTable(selection.condition, x, best, parts);
  bool isFloat = isa<FloatType>(x.getType());
  if (table && selection.isNegated)
    for (unsigned i = 0; i < numRelations; ++i)
      (*table)[i] =
          !(*table)[i] && (isFloat || Relation(i) <= Relation::Greater);
  return table;
}

static bool at(const TruthTable &table, Relation relation) {
  return table[unsigned(relation)];
}

/// True if what is taken is what comes first in an order of all numbers, where
/// NaN stands before or behind all others, or is never taken.
static bool isOrder(const TruthTable &table) {
  return at(table, Relation::Less) != at(table, Relation::Greater) &&
         !(at(table, Relation::NanFirst) && at(table, Relation::NanSecond));
}

/// The maximum or minimum that carries the value in step with the table: all
/// others put NaN elsewhere.
static std::optional<arith::AtomicRMWKind> getKind(Operation *op,
                                                   const TruthTable &table) {
  using Kind = arith::AtomicRMWKind;
  bool isMaximum = at(table, Relation::Greater);
  if (isa<FloatType>(op->getResult(0).getType()) &&
      (!at(table, Relation::NanFirst) || at(table, Relation::NanSecond)))
    return std::nullopt;
  if (isMaximum && isa<arith::MaximumFOp>(op))
    return Kind::maximumf;
  if (!isMaximum && isa<arith::MinimumFOp>(op))
    return Kind::minimumf;
  return std::nullopt;
}

bool ascends(AffineExpr place, const AffineValueBuilder &values,
             AffineForOp loop) {
  SmallVector<Value> operands = values.getOperands();
  AffineExpr next = place;
  for (unsigned d = 0; d < values.getNumDims(); ++d) {
    if (operands[d] == loop.getInductionVar()) {
      AffineExpr dim = getAffineDimExpr(d, loop.getContext());
      next = place.replace(dim, dim + loop.getStepAsInt());
    } else if (loop->isAncestor(operands[d].getParentBlock()->getParentOp())) {
      return false;
    }
  }
  auto gain = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
      next - place, values.getNumDims(), values.getNumSymbols()));
  return gain && gain.getValue() > 0;
}

/// Where the index stands in the first iteration at least, if it ascends with
/// the loop.
static std::optional<IntegerRange> getAscent(Value index, AffineForOp loop) {
  AffineValueBuilder values(loop.getBody()->getTerminator());
  // A narrow index is one in 64 bits that fits.
  Value wide = index;
  bool isNarrow = !index.getType().isIndex() && !index.getType().isInteger(64);
  if (isNarrow) {
    auto cast = index.getDefiningOp<arith::IndexCastOp>();
    if (!cast || !index.getType().isInteger(32))
      return std::nullopt;
    wide = cast.getIn();
  }
  std::optional<AffineExpr> expr = values.express(wide);
  if (!expr || !ascends(*expr, values, loop))
    return std::nullopt;
  IntegerRange range = values.rangeOf(*expr);
  if (isNarrow && !range.fits32Bits())
    return std::nullopt;
  return range;
}

std::optional<Search> matchSearch(AffineForOp loop, unsigned place) {
  Block *body = loop.getBody();
  BlockArgument carried = loop.getRegionIterArgs()[place];
  if (!carried.hasOneUse() || loop.getStepAsInt() <= 0)
    return std::nullopt;
  std::optional<Selection> moves =
      matchSelection(loop.getYieldedValues()[place], carried);
  if (!moves)
    return std::nullopt;
  std::optional<IntegerRange> range = getAscent(moves->taken, loop);
  if (!range)
    return std::nullopt;
  for (unsigned i = 0, e = loop.getNumResults(); i < e; ++i) {
    BlockArgument best = loop.getRegionIterArgs()[i];
    Value next = loop.getYieldedValues()[i];
    Operation *op = next.getDefiningOp();
    if (i == place || !op || op->getBlock() != body || !next.hasOneUse())
      continue;
    Search search;
    search.value = i;
    search.place = place;
    search.best = best;
    search.condition = moves->condition;
    search.isNegated = moves->isNegated;
    search.index = moves->taken;
    std::optional<Selection> takes = matchSelection(next, best);
    llvm::SmallPtrSet<Operation *, 8> parts;
    if (takes)
      search.candidate = takes->taken;
    else if (op->getNumOperands() == 2 &&
             llvm::is_contained(op->getOperands(), best))
      search.candidate = op->getOperand(op->getOperand(0) == best ? 1 : 0);
    if (!search.candidate || search.candidate == best ||
        search.candidate.getType() != best.getType())
      continue;
    std::optional<TruthTable> table =
        getTable(*moves, search.candidate, best, parts);
    if (!table || !isOrder(*table))
      continue;
    if (takes) {
      if (getTable(*takes, search.candidate, best, parts) != table)
        continue;
    } else if (!(search.kind = getKind(op, *table))) {
      continue;
    }
    // What else sees the best value so far would see that of a part.
    Operation *mover = loop.getYieldedValues()[place].getDefiningOp();
    auto isElse = [&](Operation *user) {
      return user != op && !parts.contains(user);
    };
    if (llvm::any_of(best.getUsers(), isElse) ||
        llvm::any_of(parts, [&](Operation *part) {
          return llvm::any_of(part->getUsers(), [&](Operation *user) {
            return user != mover && isElse(user);
          });
        }))
      continue;
    search.takesLast =
        at(*table, Relation::Equal) || at(*table, Relation::NanBoth);
    // Parts in which nothing was taken show where the loop begins: of equals
    // that must not be the later place.
    APInt begin;
    if (search.takesLast &&
        (!matchPattern(loop.getInits()[place], m_ConstantInt(&begin)) ||
         !range->isBounded() || begin.getSExtValue() > range->low))
      continue;
    return search;
  }
  return std::nullopt;
}

SmallVector<Search, 1> findSearches(AffineForOp loop) {
  SmallVector<Search, 1> searches;
  for (unsigned i = 0, e = loop.getNumResults(); i < e; ++i)
    if (std::optional<Search> search = matchSearch(loop, i))
      if (llvm::none_of(searches, [&](const Search &other) {
            return other.value == search->value;
          }))
        searches.push_back(*search);
  return searches;
}

bool isSearched(ArrayRef<Search> searches, unsigned number) {
  return llvm::any_of(searches, [&](const Search &search) {
    return search.value == number || search.place == number;
  });
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// What computes `value`, in terms of what `mapping` has, in vectors where
/// `model` is one.
static Value emitLike(OpBuilder &builder, Location loc, Value value,
                      Value model, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  auto shape = dyn_cast<VectorType>(model.getType());
  Type type = value.getType();
  if (shape)
    type = VectorType::get(shape.getShape(), type);
  Attribute constant;
  Value made;
  if (matchPattern(value, m_Constant(&constant))) {
    auto number = cast<TypedAttr>(constant);
    if (shape)
      number = DenseElementsAttr::get(cast<ShapedType>(type), constant);
    made = arith::ConstantOp::create(builder, loc, number);
  } else {
    SmallVector<Value, 2> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emitLike(builder, loc, operand, model, mapping));
    OperationState state(loc, op->getName(), operands, type, op->getAttrs());
    made = builder.create(state)->getResult(0);
  }
  mapping.map(value, made);
  return made;
}

/// The negation of a condition.
static Value emitNot(OpBuilder &builder, Location loc, Value condition) {
  Type type = condition.getType();
  TypedAttr ones = builder.getBoolAttr(true);
  if (auto vector = dyn_cast<VectorType>(type))
    ones = DenseElementsAttr::get(vector, true);
  return arith::XOrIOp::create(builder, loc, condition,
                               arith::ConstantOp::create(builder, loc, ones));
}

Value emitBetter(OpBuilder &builder, Location loc, const Search &search,
                 Value candidate, Value best) {
  IRMapping mapping;
  mapping.map(search.candidate, candidate);
  mapping.map(search.best, best);
  Value condition =
      emitLike(builder, loc, search.condition, candidate, mapping);
  return search.isNegated ? emitNot(builder, loc, condition) : condition;
}

/// Of `a` and `b` the latter where `take` is true.
static Found emitTaken(OpBuilder &builder, Location loc, const Search &search,
                       Value take, Found a, Found b) {
  Found best;
  best.value =
      search.kind
          ? arith::getReductionOp(*search.kind, builder, loc, a.value, b.value)
          : arith::SelectOp::create(builder, loc, take, b.value, a.value)
                .getResult();
  best.place = arith::SelectOp::create(builder, loc, take, b.place, a.place);
  return best;
}

Found emitNext(OpBuilder &builder, Location loc, const Search &search,
               Found soFar, Found next) {
  Value take = emitBetter(builder, loc, search, next.value, soFar.value);
  return emitTaken(builder, loc, search, take, soFar, next);
}

Found emitChoice(OpBuilder &builder, Location loc, const Search &search,
                 Found a, Found b) {
  Value takesB = emitBetter(builder, loc, search, b.value, a.value);
  Value takesA = emitBetter(builder, loc, search, a.value, b.value);
  using Predicate = arith::CmpIPredicate;
  auto compare = [&](Predicate predicate) {
    return arith::CmpIOp::create(builder, loc, predicate, b.place, a.place)
        .getResult();
  };
  // Neither is better than an equal where the first one is taken, each is where
  // the last one is.
  Value neither = arith::AndIOp::create(
      builder, loc, emitNot(builder, loc, takesA), compare(Predicate::slt));
  Value alone = takesB;
  if (search.takesLast) {
    neither = arith::AndIOp::create(builder, loc, neither,
                                    emitNot(builder, loc, takesB));
    alone = arith::AndIOp::create(
        builder, loc, takesB,
        arith::OrIOp::create(builder, loc, emitNot(builder, loc, takesA),
                             compare(Predicate::sgt)));
  }
  Value take = arith::OrIOp::create(builder, loc, alone, neither);
  return emitTaken(builder, loc, search, take, a, b);
}

} // namespace polynest
