//===- DescribeNests.cpp - report the nests and what they hand each other -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: reports, as remarks, each nest of a function (what it computes, its
// loops, its floating-point work, the bytes it reads and writes), each buffer
// that one nest hands to another, that comes in, or that goes out, and each
// pack and each nest that only moves data. Can number the nests, so that their
// times can be taken by number. Legal always: attributes that nothing depends
// on are all that changes. Profitable: explanations need the graph. Limits:
// bytes are those of the box around what a nest touches of a buffer, an upper
// bound; buffers of dynamic size have none. Cost: linear in nodes and edges of
// the nest graph; nothing where nobody listens and nests are not numbered.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Aliasing.h"
#include "Analysis/NestGraph.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/ContractionBlocks.h"
#include "Transforms/NestUtils.h"
#include "Transforms/WorkCount.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_DESCRIBENESTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-describe-nests"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "describe-nests";

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// "input 2", "result 0", "state": how the caller counts arguments.
static std::string nameArgument(BlockArgument argument, func::FuncOp function) {
  unsigned inputs = 0, results = 0;
  for (BlockArgument other : function.getArguments()) {
    unsigned at = other.getArgNumber();
    if (function.getArgAttr(at, "polynest.state")) {
      if (other == argument)
        return "state";
      continue;
    }
    bool isResult = bool(function.getArgAttr(at, "polynest.result"));
    if (other == argument)
      return isResult ? "result " + std::to_string(results)
                      : "input " + std::to_string(inputs);
    ++(isResult ? results : inputs);
  }
  return "argument";
}

namespace {
/// Names buffers, those that the function makes in order of first mention.
class BufferNames {
public:
  explicit BufferNames(func::FuncOp function) : function(function) {}

  std::string operator()(Value base) {
    if (auto argument = dyn_cast<BlockArgument>(base))
      if (argument.getOwner()->getParentOp() == function)
        return nameArgument(argument, function);
    if (auto global = base.getDefiningOp<memref::GetGlobalOp>())
      return "constant " + global.getName().str();
    auto [it, isNew] = numbers.try_emplace(base, numbers.size());
    return "buffer " + std::to_string(it->second);
  }

private:
  func::FuncOp function;
  DenseMap<Value, size_t> numbers;
};
} // namespace

/// "4x?xf32".
static std::string printShape(Value base) {
  auto type = dyn_cast<MemRefType>(base.getType());
  if (!type)
    return "?";
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : type.getShape()) {
    if (ShapedType::isDynamic(size))
      os << "?x";
    else
      os << size << "x";
  }
  os << type.getElementType();
  return text;
}

/// Trips of loops from the outside in, as long as each holds one loop:
/// "64 x 128 x ?".
static std::string printLoops(Operation *op) {
  std::string text;
  auto append = [&](std::optional<uint64_t> trips) {
    text += text.empty() ? "" : " x ";
    text += trips ? std::to_string(*trips) : "?";
  };
  // A nest in two forms has the loops of the first.
  while (op) {
    Block *block = nullptr;
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      append(getTripCount(loop));
      block = loop.getBody();
    } else if (auto loop = dyn_cast<AffineParallelOp>(op)) {
      std::optional<SmallVector<uint64_t, 4>> trips = getTripCounts(loop);
      for (unsigned d = 0; d != loop.getNumDims(); ++d)
        append(trips ? std::optional((*trips)[d]) : std::nullopt);
      block = loop.getBody();
    } else if (op->getNumRegions() != 0 && !op->getRegion(0).empty()) {
      block = &op->getRegion(0).front();
    }
    op = nullptr;
    if (!block)
      break;
    unsigned loops = 0;
    for (Operation &inner : *block)
      if (inner.getNumRegions() != 0) {
        ++loops;
        op = &inner;
      }
    if (loops != 1)
      op = nullptr;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// What a nest is
//===----------------------------------------------------------------------===//

/// What a nest does, in one word, from the operations in it: the form that
/// classifyNest knows is gone once a nest is blocked or in vectors.
static llvm::StringRef describeKind(const NestNode &node) {
  NestKind kind = node.getKind();
  if (kind != NestKind::Misc && kind != NestKind::Reduction)
    return nestKindName(kind);
  bool hasLoop = false, carries = false, multiplies = false, computes = false;
  node.op->walk([&](Operation *op) {
    hasLoop |= isa<LoopLikeOpInterface>(op);
    if (auto loop = dyn_cast<AffineForOp>(op))
      carries |= loop.getNumIterOperands() != 0;
    carries |= isa<vector::ReductionOp>(op);
    // A sum of squares is a reduction.
    multiplies |= isa<vector::FMAOp, math::FmaOp>(op) &&
                  op->getOperand(0) != op->getOperand(1);
    multiplies |= isa<vector::ContractionOp>(op);
    computes |= countOwnWork(op) != 0;
  });
  if (!hasLoop)
    return "single";
  if (carries)
    return multiplies ? "contraction" : "reduction";
  return computes ? "pointwise" : "move";
}

/// The functions of `math` and the divisions in the nest, which cost most.
static std::string listFunctions(Operation *root) {
  llvm::SmallMapVector<llvm::StringRef, unsigned, 4> found;
  root->walk([&](Operation *op) {
    if (isa<arith::DivFOp>(op) ||
        isa_and_nonnull<math::MathDialect>(op->getDialect()))
      if (countOwnWork(op) != 0 && !isa<math::FmaOp>(op))
        ++found[op->getName().stripDialect()];
  });
  std::string text;
  for (auto [name, count] : found)
    text += (text.empty() ? "" : " ") + name.str();
  return text;
}

/// Bytes of `base` that the accesses touch, at most all of each view of it that
/// they go through, and all of it; none if not known.
static std::optional<uint64_t> countTouched(const NestNode &node, Value base,
                                            bool isWrite) {
  llvm::MapVector<Value, SmallVector<Access, 8>> views;
  for (const Access &access : node.accesses)
    if (access.base == base && access.isWrite == isWrite)
      views[access.memref].push_back(access);
  auto wholeOf = [](Value memref) {
    auto type =
        dyn_cast_if_present<MemRefType>(memref ? memref.getType() : Type());
    return type ? getBufferBytes(type) : std::nullopt;
  };
  std::optional<uint64_t> whole = wholeOf(base);
  uint64_t sum = 0;
  for (const auto &[view, accesses] : views) {
    std::optional<uint64_t> all = wholeOf(view);
    std::optional<uint64_t> touched = getFootprintBytes(accesses, node.op);
    if (!touched && !all)
      return whole;
    sum = saturatingAdd(
        sum, std::min(touched.value_or(UINT64_MAX), all.value_or(UINT64_MAX)));
  }
  return whole ? std::min(sum, *whole) : sum;
}

namespace {
struct Traffic {
  uint64_t read = 0, written = 0;
  bool isKnown = true;
};
} // namespace

static Traffic countTraffic(const NestNode &node) {
  Traffic traffic;
  auto add = [&](ArrayRef<Value> bases, bool isWrite, uint64_t &sum) {
    for (Value base : bases) {
      std::optional<uint64_t> bytes = countTouched(node, base, isWrite);
      traffic.isKnown &= bytes.has_value();
      sum = saturatingAdd(sum, bytes.value_or(0));
    }
  };
  add(node.reads, false, traffic.read);
  add(node.writes, true, traffic.written);
  traffic.isKnown &= !node.touchesAll;
  return traffic;
}

/// True if the nest computes nothing of what it stores: numbers of elements are
/// loaded, chosen and stored. Indices and conditions may be computed.
static bool onlyMoves(Operation *root) {
  bool hasLoop = false, computes = false;
  root->walk([&](Operation *op) {
    hasLoop |= isa<LoopLikeOpInterface>(op);
    computes |= countOwnWork(op) != 0;
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
            op->getDialect()) ||
        isa<arith::ConstantOp, arith::SelectOp>(op))
      return;
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    computes |= !element.isIndex() && !element.isInteger(1);
  });
  return hasLoop && !computes;
}

/// What a write stores in one execution.
static double countStored(const Access &access) {
  auto type = dyn_cast<MemRefType>(access.memref.getType());
  std::optional<int64_t> bytes =
      type ? getElementBytes(type.getElementType()) : std::nullopt;
  if (!bytes)
    return 0;
  double elements = 1;
  for (int64_t size : access.isWhole ? type.getShape() : access.extent)
    elements *= double(std::max(size, int64_t(0)));
  return elements * double(*bytes);
}

namespace {
/// A copy of an operand in another order, made in a nest.
struct Pack {
  Value buffer;
  llvm::StringRef what;
  /// The operations that store it, with their bytes.
  llvm::SmallDenseMap<Operation *, double> stores;
};
} // namespace

/// The packs in a nest, in their order.
static SmallVector<Pack, 2> findPacks(Operation *root) {
  SmallVector<Access, 8> accesses;
  collectAccesses(root, accesses);
  SmallVector<Pack, 2> packs;
  for (const Access &access : accesses) {
    auto alloc = access.isWrite && access.base
                     ? access.base.getDefiningOp<memref::AllocOp>()
                     : memref::AllocOp();
    auto what =
        alloc ? alloc->getAttrOfType<StringAttr>(kPacked) : StringAttr();
    if (!what)
      continue;
    Pack *pack = llvm::find_if(
        packs, [&](const Pack &other) { return other.buffer == access.base; });
    if (pack == packs.end()) {
      pack = &packs.emplace_back();
      pack->buffer = access.base;
      pack->what = what.getValue();
    }
    pack->stores[access.op] += countStored(access);
  }
  return packs;
}

/// The grain of the parallel loop in the nest, 0 if there is none.
static int64_t findGrain(Operation *root) {
  int64_t grain = 0;
  root->walk([&](AffineParallelOp loop) {
    if (auto attr = loop->getAttrOfType<IntegerAttr>("polynest.grain"))
      grain = std::max(grain, attr.getInt());
  });
  return grain;
}

/// Lanes of the widest vector in the nest.
static int64_t findLanes(Operation *root) {
  int64_t lanes = 1;
  root->walk([&](Operation *op) {
    for (Value result : op->getResults())
      // Tiles of several dimensions are made of rows.
      if (auto type = dyn_cast<VectorType>(result.getType());
          type && type.getRank() == 1)
        lanes = std::max(lanes, type.getNumElements());
  });
  return lanes;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct DescribeNestsPass : impl::DescribeNestsBase<DescribeNestsPass> {
  using DescribeNestsBase::DescribeNestsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkChoice(context, "form", form, {"plain", "final"});
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    bool listens = remarksWanted(&getContext());
    describe(function, listens);
    if (StringRef(form) != "final" && !number)
      markAllAnalysesPreserved();
    if (StringRef(form) == "final")
      function.walk([](memref::AllocOp alloc) { alloc->removeAttr(kPacked); });
  }

  void describe(func::FuncOp function, bool listens) {
    if (function.isExternal() || function->hasAttr("polynest.shapes") ||
        (!listens && !number)) {
      ++numDeclined;
      return;
    }
    NestGraph graph(function);
    SmallVector<NestNode *> nodes = graph.nodes();
    DenseMap<unsigned, size_t> places;
    for (auto [i, node] : llvm::enumerate(nodes)) {
      places[node->id] = i;
      ++numApplied;
      if (number)
        node->op->setAttr("polynest.nest",
                          Builder(&getContext()).getI64IntegerAttr(int64_t(i)));
    }
    if (!listens)
      return;
    BufferNames names(function);
    for (auto [i, node] : llvm::enumerate(nodes))
      reportNest(*node, i);
    for (auto [i, node] : llvm::enumerate(nodes))
      reportBuffers(graph, *node, i, places, names);
    if (StringRef(form) == "final")
      for (auto [i, node] : llvm::enumerate(nodes))
        reportMoves(*node, i);
  }

  void reportNest(NestNode &node, size_t place) {
    WorkCount work = countWork(node.op);
    Traffic traffic = countTraffic(node);
    remark(RemarkKind::Analysis, node.op->getLoc(), passName, "nest")
        << arg("function", getOperation().getName())
        << arg("form", StringRef(form)) << arg("nest", place)
        << arg("kind", describeKind(node)) << arg("loops", printLoops(node.op))
        << arg("functions", listFunctions(node.op))
        << arg("flop", llvm::formatv("{0:f0}", work.flop).str())
        << arg("uncounted", std::to_string(work.uncounted))
        << arg("bytes-read", traffic.read)
        << arg("bytes-written", traffic.written)
        << arg("bytes-known", traffic.isKnown)
        << arg("lanes", findLanes(node.op)) << arg("grain", findGrain(node.op));
  }

  void reportMove(NestNode &node, size_t place, StringRef what,
                  std::optional<double> bytes) {
    func::FuncOp function = getOperation();
    remark(RemarkKind::Analysis, node.op->getLoc(), passName, "move")
        << arg("function", function.getName()) << arg("form", StringRef(form))
        << arg("nest", place) << arg("what", what)
        << arg("bytes", bytes ? llvm::formatv("{0:f0}", *bytes).str() : "?")
        << arg("once", function->hasAttr("polynest.init"));
  }

  /// Packs in the nest, or that it does nothing but move data.
  void reportMoves(NestNode &node, size_t place) {
    SmallVector<Pack, 2> packs = findPacks(node.op);
    for (const Pack &pack : packs) {
      WorkCount stored = countWork(
          node.op, [&](Operation *op) { return pack.stores.lookup(op); });
      reportMove(node, place, pack.what,
                 stored.uncounted ? std::nullopt : std::optional(stored.flop));
    }
    if (!packs.empty() || node.reads.empty() || !onlyMoves(node.op))
      return;
    Traffic traffic = countTraffic(node);
    reportMove(node, place, "moved",
               traffic.isKnown ? std::optional(double(traffic.written))
                               : std::nullopt);
  }

  void reportBuffer(NestNode &node, const std::string &from,
                    const std::string &to, Value base, BufferNames &names) {
    auto type = dyn_cast<MemRefType>(base.getType());
    std::optional<uint64_t> bytes = type ? getBufferBytes(type) : std::nullopt;
    remark(RemarkKind::Analysis, node.op->getLoc(), passName, "buffer")
        << arg("function", getOperation().getName())
        << arg("form", StringRef(form)) << arg("from", from) << arg("to", to)
        << arg("buffer", names(base)) << arg("shape", printShape(base))
        << arg("bytes", bytes ? std::to_string(*bytes) : "?");
  }

  /// What the nest takes in from outside, hands to later ones, and leaves.
  void reportBuffers(NestGraph &graph, NestNode &node, size_t place,
                     const DenseMap<unsigned, size_t> &places,
                     BufferNames &names) {
    std::string here = std::to_string(place);
    for (Value base : node.reads) {
      if (getStorageKind(base) == StorageKind::Allocation)
        continue;
      // What an earlier nest wrote comes from there.
      NestNode *writer = nullptr;
      for (NestNode *other : graph.writersOf(base))
        if (other != &node && graph.precedes(other->id, node.id) &&
            llvm::is_contained(other->writes, base))
          writer = other;
      if (!writer)
        reportBuffer(node, "in", here, base, names);
    }
    llvm::SmallDenseSet<std::pair<unsigned, Value>, 8> seen;
    for (const NestEdge &edge : graph.edgesFrom(node.id)) {
      if (edge.kind != EdgeKind::Flow || !edge.base ||
          !places.contains(edge.sink) ||
          !llvm::is_contained(node.writes, edge.base) ||
          !seen.insert({edge.sink, edge.base}).second)
        continue;
      reportBuffer(node, here, std::to_string(places.lookup(edge.sink)),
                   edge.base, names);
    }
    for (Value base : node.writes)
      if (isa<BlockArgument>(base))
        reportBuffer(node, here, "out", base, names);
  }
};
} // namespace

} // namespace polynest
