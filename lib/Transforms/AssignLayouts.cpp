//===- AssignLayouts.cpp - order the dimensions of private buffers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: chooses which dimension of a private buffer lies contiguously, moves it
// last, and orders the loops around its accesses to match. Contractions with an
// operand that is bound once ask for what suits their micro-kernel: the other
// operand contiguous along the reduction, so that it is read where it is, and
// the result along the loops of the constant, which then run in lanes. (A
// convolution over images with channels first becomes one with channels last,
// and so do the padding, pooling and pointwise nests between.) Nests that index
// two buffers alike carry the choice from one to the other, unless their loop
// makes buffers and so cannot run in lanes; only where a chain begins or ends
// in memory of the caller does a nest transpose. Constants that such a nest
// reads again and again, but no contraction packs (the weights of a depthwise
// convolution), are copied into the order in which its result lies, so that
// they too are contiguous in lanes; polynest-split-constants moves the copy to
// where constants are bound. Legal when: the buffer is an allocation that
// nothing but affine loads and stores touches: what they touch is renamed one
// to one. Loops change places where their bounds do not depend on each other
// and either all of them are parallel or they make up the reduction of a
// contraction, whose order of accumulation is free (numerics (a)). A copy reads
// what is never written, and nothing that is not there for any values of the
// loops. Profitable when: some contraction asks for a change; of contradictory
// wishes the one with more arithmetic wins. The copy is made once, when
// constants are bound. Limits: one dimension moves; blocked layouts are left to
// the packs of polynest-block-contractions. Of constants those of static sizes
// are copied. Cost: operations, times accesses of one nest squared.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/Contraction.h"
#include "Analysis/Dependence.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-assign-layouts"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "assign-layouts";

namespace {
/// What an index adds up, apart from a constant: variables with factors.
using Terms = SmallVector<std::pair<Value, int64_t>, 3>;

/// The wish for a dimension of a buffer to come last, and the arithmetic that
/// gains from it.
struct Wish {
  unsigned dim = 0;
  double weight = 0;
};

/// A load to be made from a copy that has one dimension for each of `loops`.
struct Relayout {
  Access access;
  SmallVector<AffineForOp, 4> loops;
};

struct Nest {
  AffineForOp root;
  SmallVector<Access, 8> accesses;
  std::optional<Contraction> contraction;
};
} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// The variables of index `d`; none where it is not their linear function.
static std::optional<Terms> getTerms(const Access &access, unsigned d) {
  const AffineValueMap &map = access.map;
  SmallVector<int64_t, 8> flat = getCoefficients(map, d);
  if (flat.empty())
    return std::nullopt;
  Terms terms;
  for (unsigned i = 0; i < map.getNumOperands(); ++i)
    if (flat[i] != 0)
      terms.push_back({map.getOperand(i), flat[i]});
  llvm::sort(terms, [](auto &a, auto &b) {
    return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
  });
  return terms;
}

static bool movesWith(const Terms &terms, ArrayRef<AffineForOp> loops) {
  return llvm::any_of(loops, [&](AffineForOp loop) {
    return llvm::any_of(terms, [&](const auto &term) {
      return term.first == loop.getInductionVar() && mayRunTwice(loop);
    });
  });
}

static bool movesEvenlyWith(const Terms &terms, ArrayRef<AffineForOp> loops) {
  return llvm::any_of(loops, [&](AffineForOp loop) {
    return llvm::any_of(terms, [&](const auto &term) {
      return term.first == loop.getInductionVar() && mayRunTwice(loop) &&
             term.second * loop.getStepAsInt() == 1;
    });
  });
}

/// The dimension of the access that moves with `wanted`, one element at a time,
/// and not with `other`; the last one if there are several.
static std::optional<unsigned> findDim(const Access &access,
                                       ArrayRef<AffineForOp> wanted,
                                       ArrayRef<AffineForOp> other) {
  for (unsigned d = access.map.getNumResults(); d-- > 0;) {
    std::optional<Terms> terms = getTerms(access, d);
    if (terms && movesEvenlyWith(*terms, wanted) && !movesWith(*terms, other))
      return d;
  }
  return std::nullopt;
}

/// True if some index moves with both: a window that slides.
static bool hasWindow(const Access &access, ArrayRef<AffineForOp> a,
                      ArrayRef<AffineForOp> b) {
  for (unsigned d = 0; d < access.map.getNumResults(); ++d) {
    std::optional<Terms> terms = getTerms(access, d);
    if (terms && movesWith(*terms, a) && movesWith(*terms, b))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True if all that touches the buffer are affine loads and stores.
static bool canChange(Value memref) {
  auto alloc = memref.getDefiningOp<memref::AllocOp>();
  return alloc && alloc.getType().getRank() > 1 &&
         alloc.getType().getLayout().isIdentity() &&
         alloc.getSymbolOperands().empty() &&
         llvm::all_of(memref.getUsers(), [&](Operation *user) {
           if (auto store = dyn_cast<AffineStoreOp>(user))
             return store.getValueToStore() != memref;
           return isa<AffineLoadOp, memref::DeallocOp>(user);
         });
}

/// True if the bounds of each loop are known before the outermost one starts.
static bool areRectangular(ArrayRef<AffineForOp> loops) {
  AffineForOp outermost = loops.front();
  return llvm::all_of(loops, [&](AffineForOp loop) {
    return llvm::all_of(
        loop->getOperands().take_front(loop.getNumControlOperands()),
        [&](Value operand) {
          return outermost.isDefinedOutsideOfLoop(operand);
        });
  });
}

//===----------------------------------------------------------------------===//
// Constant operands of windows
//===----------------------------------------------------------------------===//

/// The loop along which all the results behind a sum lie contiguously, or null.
static AffineForOp getResultLoop(const Nest &nest) {
  AffineForOp found;
  Operation *sum = nest.contraction->reductionLoops.front();
  for (const Access &access : nest.accesses) {
    if (!access.isWrite || sum->isAncestor(access.op))
      continue;
    AffineForOp lane;
    for (AffineForOp loop : nest.contraction->parallelLoops)
      if (mayRunTwice(loop) &&
          getContiguity(access, loop) == Contiguity::Contiguous)
        lane = loop;
    if (!lane || (found && found != lane))
      return {};
    found = lane;
  }
  return found;
}

/// How to copy what a load reads so that it is contiguous along `lane`; none
/// where it is, does not move with it, or cannot be read in front of the nest.
static std::optional<Relayout>
planRelayout(const Nest &nest, const Access &access, AffineForOp lane) {
  std::optional<int64_t> stride = getStride(access, lane);
  if (!stride || *stride == 0 || *stride == 1 || !isInBounds(access))
    return std::nullopt;
  Relayout relayout{access, {}};
  SmallVector<AffineForOp, 8> loops;
  llvm::append_range(loops, nest.contraction->parallelLoops);
  llvm::append_range(loops, nest.contraction->reductionLoops);
  llvm::SmallPtrSet<Value, 4> moving(llvm::from_range,
                                     access.map.getOperands());
  for (AffineForOp loop : loops) {
    if (!moving.erase(loop.getInductionVar()))
      continue;
    if (!countsFromZero(loop) || !loop.hasConstantUpperBound())
      return std::nullopt;
    if (loop != lane)
      relayout.loops.push_back(loop);
  }
  relayout.loops.push_back(lane);
  if (!moving.empty())
    return std::nullopt;
  return relayout;
}

/// The loads of a constant operand that has no loops of its own, as a window
/// of each channel.
static SmallVector<Relayout, 1> planRelayouts(const Nest &nest) {
  const Contraction &contraction = *nest.contraction;
  SmallVector<Relayout, 1> relayouts;
  bool leftIsWindow = contraction.left.loops.empty();
  const ContractionOperand &window =
      leftIsWindow ? contraction.left : contraction.right;
  const ContractionOperand &image =
      leftIsWindow ? contraction.right : contraction.left;
  if (!window.loops.empty() || image.loops.empty() || contraction.guard ||
      !isBoundOnce(window.slice))
    return relayouts;
  AffineForOp lane = getResultLoop(nest);
  if (!lane)
    return relayouts;
  for (const Access &access : nest.accesses)
    if (isa<AffineLoadOp>(access.op) &&
        llvm::is_contained(window.slice, access.op))
      if (std::optional<Relayout> relayout = planRelayout(nest, access, lane))
        relayouts.push_back(std::move(*relayout));
  return relayouts;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// Copies what the load reads in front of the nest, and loads from there.
static void copyOperand(AffineForOp root, const Relayout &relayout) {
  OpBuilder builder(root);
  auto load = cast<AffineLoadOp>(relayout.access.op);
  Location loc = load.getLoc();
  SmallVector<int64_t> shape;
  SmallVector<Value> places;
  for (AffineForOp loop : relayout.loops) {
    shape.push_back(loop.getConstantUpperBound());
    places.push_back(loop.getInductionVar());
  }
  Value copy = memref::AllocOp::create(
      builder, loc, MemRefType::get(shape, load.getType()), ValueRange(),
      ValueRange(), builder.getI64IntegerAttr(kBufferAlignment));
  AffineMap identity = builder.getMultiDimIdentityMap(shape.size());
  IRMapping mapping;
  SmallVector<Value> copied;
  for (AffineForOp loop : relayout.loops) {
    auto over =
        AffineForOp::create(builder, loc, 0, loop.getConstantUpperBound());
    mapping.map(loop.getInductionVar(), over.getInductionVar());
    copied.push_back(over.getInductionVar());
    builder.setInsertionPoint(over.getBody()->getTerminator());
  }
  const AffineValueMap &map = relayout.access.map;
  SmallVector<Value> operands =
      llvm::map_to_vector(map.getOperands(), [&](Value operand) {
        return mapping.lookupOrDefault(operand);
      });
  Value element = AffineLoadOp::create(builder, loc, load.getMemRef(),
                                       map.getAffineMap(), operands);
  AffineStoreOp::create(builder, loc, element, copy, identity, copied);
  builder.setInsertionPoint(load);
  Value value = AffineLoadOp::create(builder, loc, copy, identity, places);
  load.replaceAllUsesWith(value);
  load->erase();
}

/// The dimensions of a buffer in their new order.
static SmallVector<int64_t> orderWithLast(unsigned rank, unsigned last) {
  SmallVector<int64_t> order;
  for (unsigned d = 0; d < rank; ++d)
    if (d != last)
      order.push_back(d);
  order.push_back(last);
  return order;
}

static AffineMap permuteResults(AffineMap map, ArrayRef<int64_t> order) {
  SmallVector<unsigned> positions(order.begin(), order.end());
  return map.getSubMap(positions);
}

/// Moves dimension `last` of the buffer last.
static Value relayBuffer(memref::AllocOp alloc, unsigned last) {
  MemRefType type = alloc.getType();
  SmallVector<int64_t> order = orderWithLast(type.getRank(), last);
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (int64_t d : order) {
    shape.push_back(type.getDimSize(d));
    if (type.isDynamicDim(d))
      sizes.push_back(alloc.getDynamicSizes()[type.getDynamicDimIndex(d)]);
  }
  OpBuilder builder(alloc);
  auto relaid = memref::AllocOp::create(
      builder, alloc.getLoc(),
      MemRefType::get(shape, type.getElementType(), MemRefLayoutAttrInterface(),
                      type.getMemorySpace()),
      sizes, ValueRange(), alloc.getAlignmentAttr());
  for (Operation *user : llvm::make_early_inc_range(alloc->getUsers())) {
    builder.setInsertionPoint(user);
    if (auto load = dyn_cast<AffineLoadOp>(user)) {
      Value value = AffineLoadOp::create(
          builder, load.getLoc(), relaid,
          permuteResults(load.getAffineMap(), order), load.getMapOperands());
      load.replaceAllUsesWith(value);
      load->erase();
    } else if (auto store = dyn_cast<AffineStoreOp>(user)) {
      AffineStoreOp::create(builder, store.getLoc(), store.getValueToStore(),
                            relaid, permuteResults(store.getAffineMap(), order),
                            store.getMapOperands());
      store->erase();
    } else {
      user->replaceUsesOfWith(alloc, relaid);
    }
  }
  alloc->erase();
  return relaid;
}

/// Runs the loops of a perfect nest in another order: loop i becomes what loop
/// order[i] was. Their operations stay where they are.
static void exchangeLoops(ArrayRef<AffineForOp> loops,
                          ArrayRef<unsigned> order) {
  struct Header {
    AffineMap lower, upper;
    SmallVector<Value> lowerOperands, upperOperands;
    int64_t step;
  };
  SmallVector<Header> headers;
  for (AffineForOp loop : loops)
    headers.push_back({loop.getLowerBoundMap(), loop.getUpperBoundMap(),
                       llvm::to_vector_of<Value>(loop.getLowerBoundOperands()),
                       llvm::to_vector_of<Value>(loop.getUpperBoundOperands()),
                       loop.getStepAsInt()});
  DenseMap<Value, Value> renamed;
  for (auto [i, from] : llvm::enumerate(order)) {
    AffineForOp loop = loops[i], source = loops[from];
    renamed[source.getInductionVar()] = loop.getInductionVar();
  }
  loops.front()->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Value value = renamed.lookup(operand.get()))
        operand.set(value);
  });
  for (auto [i, from] : llvm::enumerate(order)) {
    AffineForOp loop = loops[i];
    const Header &header = headers[from];
    loop.setLowerBound(header.lowerOperands, header.lower);
    loop.setUpperBound(header.upperOperands, header.upper);
    loop.setStep(header.step);
  }
}

/// The order of loops in which `access` walks over memory, outermost first;
/// empty where that is the present one or some loop does not move it.
static SmallVector<unsigned> getOrder(ArrayRef<AffineForOp> loops,
                                      const Access &access) {
  SmallVector<int64_t> place(loops.size(), -1);
  for (unsigned d = 0; d < access.map.getNumResults(); ++d) {
    std::optional<Terms> terms = getTerms(access, d);
    if (!terms)
      return {};
    for (auto [i, loop] : llvm::enumerate(loops))
      if (movesWith(*terms, loop))
        place[i] = d;
  }
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(loops.size()));
  for (auto [i, loop] : llvm::enumerate(loops))
    if (place[i] < 0 && mayRunTwice(loop))
      return {};
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(place[a], a) < std::pair(place[b], b);
  });
  return llvm::is_sorted(order) ? SmallVector<unsigned>() : order;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class LayoutPlanner {
public:
  explicit LayoutPlanner(func::FuncOp function);
  void plan();
  void apply();

  /// Copies constant operands whose lanes do not lie in a row.
  void copyOperands();

  /// Buffers with another layout than before.
  llvm::SmallPtrSet<Value, 16> changed;
  unsigned numCopied = 0;

private:
  void ask(Value memref, unsigned dim, double weight);
  void askFor(const Nest &nest);
  void spread();
  bool isChangeable(Value memref);
  bool moveWithMaker(const Terms &terms);
  void reorderParallel(Nest &nest);
  void reorderReduction(Nest &nest);

  SmallVector<Nest, 0> nests;
  DenseMap<Value, bool> changeable;
  /// Loops, and whether they make buffers.
  DenseMap<Operation *, bool> makers;
  llvm::MapVector<Value, Wish> wishes;
  SmallVector<Value> fresh;
};
} // namespace

static Nest describe(AffineForOp root) {
  Nest nest;
  nest.root = root;
  collectAccesses(root, nest.accesses);
  std::string reason;
  FailureOr<Contraction> contraction = matchContraction(root, reason);
  if (succeeded(contraction))
    nest.contraction = std::move(*contraction);
  return nest;
}

LayoutPlanner::LayoutPlanner(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](AffineForOp root) {
    nests.push_back(describe(root));
    return WalkResult::skip();
  });
}

bool LayoutPlanner::isChangeable(Value memref) {
  auto [entry, isNew] = changeable.try_emplace(memref, false);
  if (isNew)
    entry->second = canChange(memref);
  return entry->second;
}

void LayoutPlanner::ask(Value memref, unsigned dim, double weight) {
  if (!memref || !isChangeable(memref))
    return;
  auto [entry, isNew] = wishes.insert({memref, Wish{dim, weight}});
  if (isNew)
    fresh.push_back(memref);
  else if (weight > entry->second.weight)
    entry->second = {dim, weight};
}

/// What suits the micro-kernel of a contraction.
void LayoutPlanner::askFor(const Nest &nest) {
  const Contraction &contraction = *nest.contraction;
  bool leftIsBound = isComputedOnce(contraction.left.slice);
  if (leftIsBound == isComputedOnce(contraction.right.slice))
    return;
  const ContractionOperand &bound =
      leftIsBound ? contraction.left : contraction.right;
  const ContractionOperand &free =
      leftIsBound ? contraction.right : contraction.left;
  double weight = 1;
  for (ArrayRef<AffineForOp> loops : {ArrayRef(contraction.parallelLoops),
                                      ArrayRef(contraction.reductionLoops)})
    for (AffineForOp loop : loops)
      weight *= double(estimateTrips(loop));
  bool isImage = free.loops.size() > 1;
  for (const Access &access : nest.accesses) {
    if (!access.isAffine() || access.isWrite ||
        !llvm::is_contained(free.slice, access.op))
      continue;
    isImage |= hasWindow(access, free.loops, contraction.reductionLoops);
    if (!isImage)
      continue;
    if (auto dim = findDim(access, contraction.reductionLoops, free.loops))
      ask(access.memref, *dim, weight);
  }
  if (!isImage)
    return;
  Operation *sum = contraction.reductionLoops.front();
  for (const Access &access : nest.accesses)
    if (access.isAffine() && access.isWrite && !sum->isAncestor(access.op))
      if (auto dim = findDim(access, bound.loops, free.loops))
        ask(access.memref, *dim, weight);
}

static bool makesBuffers(AffineForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        return isa<memref::AllocaOp, memref::AllocOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if a loop whose variable is in `terms` makes buffers, which hand values
/// from one loop of its body to the next: it stays where it is and does not run
/// in lanes, and what is contiguous along it would be met element by element.
bool LayoutPlanner::moveWithMaker(const Terms &terms) {
  return llvm::any_of(terms, [&](const auto &term) {
    AffineForOp loop = getForInductionVarOwner(term.first);
    if (!loop || !mayRunTwice(loop))
      return false;
    auto [entry, isNew] = makers.try_emplace(loop, false);
    if (isNew)
      entry->second = makesBuffers(loop);
    return entry->second;
  });
}

/// Carries wishes over to buffers that are indexed alike.
void LayoutPlanner::spread() {
  llvm::MapVector<Value, SmallVector<Nest *, 2>> nestsOf;
  for (Nest &nest : nests) {
    llvm::SmallPtrSet<Value, 8> seen;
    for (const Access &access : nest.accesses)
      if (access.isAffine() && seen.insert(access.memref).second)
        nestsOf[access.memref].push_back(&nest);
  }
  while (!fresh.empty()) {
    Value from = fresh.pop_back_val();
    Wish wish = wishes[from];
    for (Nest *nest : nestsOf[from]) {
      for (const Access &access : nest->accesses) {
        if (!access.isAffine() || access.memref != from)
          continue;
        std::optional<Terms> terms = getTerms(access, wish.dim);
        if (!terms || terms->empty() || moveWithMaker(*terms))
          continue;
        for (const Access &other : nest->accesses) {
          if (!other.isAffine() || wishes.count(other.memref))
            continue;
          for (unsigned d = 0; d < other.map.getNumResults(); ++d)
            if (getTerms(other, d) == terms) {
              ask(other.memref, d, wish.weight);
              break;
            }
        }
      }
    }
  }
}

void LayoutPlanner::plan() {
  for (Nest &nest : nests)
    if (nest.contraction)
      askFor(nest);
  spread();
}

/// Runs the parallel loops in the order in which the result is written.
void LayoutPlanner::reorderParallel(Nest &nest) {
  SmallVector<AffineForOp, 6> band;
  for (AffineForOp loop : getPerfectBand(nest.root))
    if (loop.getNumIterOperands() == 0)
      band.push_back(loop);
  const Access *written = nullptr;
  for (const Access &access : nest.accesses)
    if (access.isWrite && access.isAffine() && changed.contains(access.memref))
      written = &access;
  if (!written || band.size() < 2 || !areRectangular(band))
    return;
  SmallVector<unsigned> order = getOrder(band, *written);
  if (order.empty())
    return;
  DependenceAnalysis dependences;
  if (!whyNotParallel(band, nest.root, dependences).empty()) {
    remark(RemarkKind::Declined, nest.root.getLoc(), passName,
           "loops stay as they are: one carries a dependence");
    return;
  }
  exchangeLoops(band, order);
}

/// Runs the loops of a reduction in the order in which the operand that is not
/// bound lies.
void LayoutPlanner::reorderReduction(Nest &nest) {
  ArrayRef<AffineForOp> loops = nest.contraction->reductionLoops;
  if (loops.size() < 2 || !areRectangular(loops))
    return;
  for (const Access &access : nest.accesses) {
    if (access.isWrite || !access.isAffine() ||
        !changed.contains(access.memref) ||
        !AffineForOp(loops.front())->isAncestor(access.op))
      continue;
    SmallVector<unsigned> order = getOrder(loops, access);
    if (order.empty())
      return;
    exchangeLoops(loops, order);
    return;
  }
}

void LayoutPlanner::apply() {
  for (auto &[memref, wish] : wishes) {
    auto alloc = memref.getDefiningOp<memref::AllocOp>();
    int64_t rank = alloc.getType().getRank();
    if (int64_t(wish.dim) == rank - 1)
      continue;
    remark(RemarkKind::Applied, alloc.getLoc(), passName,
           "dimension of a private buffer moved last")
        << arg("dimension", wish.dim) << arg("rank", rank);
    changed.insert(relayBuffer(alloc, wish.dim));
  }
  if (changed.empty())
    return;
  for (Nest &nest : nests) {
    // Accesses are new.
    nest.accesses.clear();
    collectAccesses(nest.root, nest.accesses);
    if (llvm::none_of(nest.accesses, [&](const Access &access) {
          return changed.contains(access.memref);
        }))
      continue;
    reorderParallel(nest);
    if (nest.contraction)
      reorderReduction(nest);
  }
}

void LayoutPlanner::copyOperands() {
  for (Nest &nest : nests) {
    // Loads of relaid buffers are new.
    nest = describe(nest.root);
    if (!nest.contraction)
      continue;
    for (const Relayout &relayout : planRelayouts(nest)) {
      int64_t elements = 1;
      for (AffineForOp loop : relayout.loops)
        elements *= loop.getConstantUpperBound();
      remark(RemarkKind::Applied, nest.root.getLoc(), passName,
             "constant operand copied, contiguous along the result")
          << arg("elements", elements);
      copyOperand(nest.root, relayout);
      ++numCopied;
    }
  }
}

namespace {
struct AssignLayoutsPass : impl::AssignLayoutsBase<AssignLayoutsPass> {
  void runOnOperation() override {
    LayoutPlanner planner(getOperation());
    planner.plan();
    planner.apply();
    planner.copyOperands();
    numApplied += planner.changed.size();
    numCopied += planner.numCopied;
  }
};
} // namespace

} // namespace polynest
