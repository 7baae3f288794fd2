//===- SplitConstants.cpp - compute once what constants alone decide ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves the nests of an entry that depend on nothing but its constant
// inputs into a function that runs once, when the constants are bound. What
// they leave for the entry to read lies in a block of state, which the caller
// keeps: packed weights, folded scales, transposed tables.
// Legal when: everything such a nest reads is constant or written by such nests
// alone, it writes private buffers only, no value of a call reaches it, and
// nobody in the entry reads one of its buffers before the last nest that writes
// it. Assertions stay where they are.
// Profitable when: the nest reads a constant, and the state stays within
// `max-growth-percent` of the bytes of the constants that are read.
// Limits: static buffers of the entry's block; nests are moved whole.
// Cost: linear in nests and accesses, times the longest chain of nests that
// turn out to depend on an input.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/NestParts.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace polynest {
#define GEN_PASS_DEF_SPLITCONSTANTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-split-constants"

using namespace mlir;

namespace polynest {

namespace {
/// An operation of the entry's block that touches memory.
struct Nest {
  Operation *op = nullptr;
  SmallVector<Value, 4> reads, writes; // bases
  /// Depends on constants alone, as far as is known.
  bool moves = true;
  /// Reads a constant, itself or through what it reads.
  bool readsConstant = false;
};

/// A buffer that only the entry's nests touch.
struct Buffer {
  memref::AllocOp alloc;
  int64_t bytes;                             // rounded up to the alignment
  SmallVector<unsigned, 2> readers, writers; // nests, in program order
  bool moves = true;
};

struct Plan {
  func::FuncOp entry;
  SmallVector<Nest, 0> nests;
  llvm::MapVector<Value, Buffer> buffers;
  /// Buffers that the entry reads from the state.
  SmallVector<Value> kept;
  uint64_t constantBytes = 0;
  int64_t stateBytes = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Collection
//===----------------------------------------------------------------------===//

/// True for an operation that only names or computes values.
static bool isPlainValue(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op);
}

/// True if every user of the buffer reads or writes it, or is a view of it
/// whose users do.
static bool staysPrivate(Value memref) {
  return llvm::all_of(memref.getUsers(), [](Operation *user) {
    if (getViewSource(user))
      return staysPrivate(user->getResult(0));
    bool givesMemref =
        llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
    return !givesMemref && !isa<CallOpInterface>(user) &&
           !user->hasTrait<OpTrait::IsTerminator>() &&
           user->getNumRegions() == 0;
  });
}

/// True if the value is the same in every call: a constant input, a buffer of
/// the plan, or computed from such values without touching memory.
static bool isKnownAtInit(Value value, const Plan &plan,
                          DenseMap<Value, bool> &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool answer =
      op ? plan.buffers.contains(value) ||
               (isPlainValue(op) &&
                llvm::all_of(op->getOperands(),
                             [&](Value operand) {
                               return isKnownAtInit(operand, plan, known);
                             }))
         : isConstantInput(value);
  known[value] = answer;
  return answer;
}

/// Fills in what the nest touches. It cannot move if that is not known, or if
/// it holds an assertion.
static void describeNest(Nest &nest) {
  SmallVector<Access, 0> accesses;
  collectAccesses(nest.op, accesses, /*withIndices=*/false);
  for (const Access &access : accesses) {
    if (!access.base) {
      nest.moves = false;
      continue;
    }
    auto &list = access.isWrite ? nest.writes : nest.reads;
    if (!llvm::is_contained(list, access.base))
      list.push_back(access.base);
  }
  nest.op->walk([&](Operation *op) {
    if (isa<cf::AssertOp, CallOpInterface>(op))
      nest.moves = false;
  });
}

static Plan collect(func::FuncOp entry) {
  Plan plan;
  plan.entry = entry;
  for (Operation &op : entry.getBody().front()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      std::optional<int64_t> bytes = getAlignedBytes(alloc.getType());
      if (!bytes || !staysPrivate(alloc))
        continue;
      Buffer &buffer = plan.buffers[alloc];
      buffer.alloc = alloc;
      buffer.bytes = *bytes;
      continue;
    }
    if (isPlainValue(&op) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    plan.nests.emplace_back().op = &op;
    describeNest(plan.nests.back());
  }
  DenseMap<Value, bool> known;
  for (unsigned i = 0; i < plan.nests.size(); ++i) {
    Nest &nest = plan.nests[i];
    for (Value value : getOutsideValues(nest.op))
      nest.moves = nest.moves && isKnownAtInit(value, plan, known);
    for (Value base : nest.reads)
      if (auto buffer = plan.buffers.find(base); buffer != plan.buffers.end())
        buffer->second.readers.push_back(i);
    for (Value base : nest.writes)
      if (auto buffer = plan.buffers.find(base); buffer != plan.buffers.end())
        buffer->second.writers.push_back(i);
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Whether all that the nest touches is there before the first call.
static bool mayMove(const Nest &nest, const Plan &plan) {
  auto isMoving = [&](Value base) {
    auto buffer = plan.buffers.find(base);
    return buffer != plan.buffers.end() && buffer->second.moves;
  };
  return nest.op->getNumResults() == 0 && !nest.writes.empty() &&
         llvm::all_of(nest.writes, isMoving) &&
         llvm::all_of(nest.reads, [&](Value base) {
           return isMoving(base) || isConstantInput(base);
         });
}

/// Whether the buffer holds its last contents before the entry's own nests
/// read it.
static bool mayMove(const Buffer &buffer, const Plan &plan) {
  if (buffer.writers.empty())
    return false;
  unsigned last = buffer.writers.back();
  return llvm::all_of(buffer.writers,
                      [&](unsigned i) { return plan.nests[i].moves; }) &&
         llvm::all_of(buffer.readers, [&](unsigned i) {
           return plan.nests[i].moves || i > last;
         });
}

/// Takes back what cannot move until nothing changes.
static void decide(Plan &plan) {
  for (bool changed = true; changed;) {
    changed = false;
    auto withdraw = [&](auto &item) {
      if (!item.moves || mayMove(item, plan))
        return;
      item.moves = false;
      changed = true;
    };
    for (auto &[base, buffer] : plan.buffers)
      withdraw(buffer);
    for (Nest &nest : plan.nests)
      withdraw(nest);
  }
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Leaves nests where they are that fill buffers without reading a constant,
/// unless one that does writes the same buffer.
static void keepUseful(Plan &plan) {
  SmallPtrSet<Value, 8> useful;
  for (bool changed = true; changed;) {
    changed = false;
    for (Nest &nest : plan.nests) {
      if (!nest.moves || nest.readsConstant)
        continue;
      auto isUseful = [&](Value base) { return useful.contains(base); };
      nest.readsConstant = llvm::any_of(nest.reads, isConstantInput) ||
                           llvm::any_of(nest.reads, isUseful) ||
                           llvm::any_of(nest.writes, isUseful);
      if (!nest.readsConstant)
        continue;
      useful.insert(nest.writes.begin(), nest.writes.end());
      changed = true;
    }
  }
  for (Nest &nest : plan.nests)
    nest.moves = nest.moves && nest.readsConstant;
}

/// Which buffers the entry still reads, and the sizes.
static void measure(Plan &plan) {
  for (auto &[base, buffer] : plan.buffers) {
    bool isRead = llvm::any_of(
        buffer.readers, [&](unsigned i) { return !plan.nests[i].moves; });
    if (!buffer.moves || !isRead)
      continue;
    plan.kept.push_back(base);
    plan.stateBytes += buffer.bytes;
  }
  SmallPtrSet<Value, 8> constants;
  for (Nest &nest : plan.nests)
    if (nest.moves)
      for (Value base : nest.reads)
        if (isConstantInput(base) && constants.insert(base).second)
          plan.constantBytes = saturatingAdd(
              plan.constantBytes,
              getBufferBytes(cast<MemRefType>(base.getType())).value_or(0));
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

static MemRefType stateType(const Plan &plan, MLIRContext *context) {
  return MemRefType::get({plan.stateBytes}, IntegerType::get(context, 8));
}

/// Views of the state in place of the kept buffers. The same order and places
/// in both functions.
static void placeKept(const Plan &plan, Value state, OpBuilder &builder,
                      llvm::function_ref<void(Value, Value)> replace) {
  int64_t at = 0;
  for (Value base : plan.kept) {
    const Buffer &buffer = plan.buffers.find(base)->second;
    memref::AllocOp alloc = buffer.alloc;
    Value offset = arith::ConstantIndexOp::create(builder, alloc.getLoc(), at);
    Value view = memref::ViewOp::create(
        builder, alloc.getLoc(), alloc.getType(), state, offset, ValueRange());
    replace(base, view);
    at += buffer.bytes;
  }
}

/// Copies what computes `value` in the entry's block, where it was not yet.
static Value copyValue(Value value, IRMapping &map, OpBuilder &builder) {
  if (Value found = map.lookupOrNull(value))
    return found;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copyValue(operand, map, builder);
  builder.clone(*op, map);
  return map.lookup(value);
}

/// The function that fills the state: all constants, then the state.
static void makeInit(const Plan &plan) {
  func::FuncOp entry = plan.entry;
  MLIRContext *context = entry.getContext();
  OpBuilder builder(entry);
  SmallVector<Type> types;
  SmallVector<Value> constants;
  for (BlockArgument argument : entry.getArguments()) {
    if (!entry.getArgAttr(argument.getArgNumber(), "polynest.constant"))
      continue;
    types.push_back(argument.getType());
    constants.push_back(argument);
  }
  types.push_back(stateType(plan, context));
  auto init = func::FuncOp::create(builder, entry.getLoc(), "",
                                   builder.getFunctionType(types, {}));
  // The entry comes first, so that symbols keep their order.
  init->moveAfter(entry);
  init.setName((entry.getName() + "_init").str());
  init->setAttr("polynest.entry", builder.getUnitAttr());
  init->setAttr("polynest.init",
                FlatSymbolRefAttr::get(context, entry.getName()));
  builder.setInsertionPointToStart(init.addEntryBlock());
  IRMapping map;
  for (auto [i, constant] : llvm::enumerate(constants)) {
    map.map(constant, init.getArgument(i));
    init.setArgAttr(i, "polynest.constant", builder.getUnitAttr());
  }
  unsigned last = init.getNumArguments() - 1;
  init.setArgAttr(last, "polynest.state", builder.getUnitAttr());
  placeKept(plan, init.getArgument(last), builder,
            [&](Value from, Value to) { map.map(from, to); });
  for (const Nest &nest : plan.nests) {
    if (!nest.moves)
      continue;
    for (Value value : getOutsideValues(nest.op))
      (void)copyValue(value, map, builder);
    builder.clone(*nest.op, map);
  }
  func::ReturnOp::create(builder, entry.getLoc());
}

static void eraseUnusedViews(Value memref) {
  for (Operation *user : llvm::to_vector(memref.getUsers())) {
    if (!getViewSource(user))
      continue;
    eraseUnusedViews(user->getResult(0));
    if (user->use_empty())
      user->erase();
  }
}

/// Gives the entry the state and takes the moved nests out.
static void shrinkEntry(Plan &plan) {
  func::FuncOp entry = plan.entry;
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  DictionaryAttr mark = builder.getDictionaryAttr(
      builder.getNamedAttr("polynest.state", builder.getUnitAttr()));
  // Cannot fail: an argument may always be appended.
  (void)entry.insertArgument(entry.getNumArguments(),
                             stateType(plan, entry.getContext()), mark,
                             entry.getLoc());
  Value state = entry.getArguments().back();
  for (Nest &nest : plan.nests)
    if (nest.moves)
      nest.op->erase();
  placeKept(plan, state, builder,
            [&](Value from, Value to) { from.replaceAllUsesWith(to); });
  for (auto &[base, buffer] : plan.buffers) {
    if (!buffer.moves)
      continue;
    eraseUnusedViews(base);
    if (base.use_empty())
      buffer.alloc.erase();
  }
}

namespace {
struct SplitConstantsPass : impl::SplitConstantsBase<SplitConstantsPass> {
  using SplitConstantsBase::SplitConstantsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkUnsigned(context, "max-growth-percent", maxGrowthPercent, 0,
                         100000);
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isCandidate(function))
        entries.push_back(function);
    for (func::FuncOp entry : entries)
      split(entry);
  }

  /// An entry with constants that has not been split, under a name that leaves
  /// that of its other half free.
  bool isCandidate(func::FuncOp function) {
    if (!function->hasAttr("polynest.entry") || function.isExternal() ||
        !function.getBody().hasOneBlock() ||
        function->hasAttr("polynest.init") ||
        getOperation().lookupSymbol((function.getName() + "_init").str()))
      return false;
    bool hasConstant = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (function.getArgAttr(i, "polynest.state") ||
          function.getArgAttr(i, "polynest.arena"))
        return false;
      hasConstant |= isConstantInput(function.getArgument(i));
    }
    return hasConstant;
  }

  void split(func::FuncOp entry) {
    Plan plan = collect(entry);
    decide(plan);
    keepUseful(plan);
    // What was left behind may hold others back.
    decide(plan);
    measure(plan);
    size_t moved =
        llvm::count_if(plan.nests, [](const Nest &nest) { return nest.moves; });
    std::string reason;
    if (moved == 0 || plan.kept.empty())
      reason = "no nest depends on constants alone";
    else if (double(plan.stateBytes) >
             double(plan.constantBytes) * double(maxGrowthPercent) / 100 + 4096)
      reason = "the state would be much larger than the constants";
    if (!reason.empty()) {
      ++numDeclined;
      remark(RemarkKind::Declined, entry.getLoc(), "split-constants", reason)
          << arg("nests", moved) << arg("state-bytes", plan.stateBytes)
          << arg("constant-bytes", plan.constantBytes);
      return;
    }
    remark(RemarkKind::Applied, entry.getLoc(), "split-constants",
           "computed once from constants")
        << arg("nests", moved) << arg("state-bytes", plan.stateBytes)
        << arg("constant-bytes", plan.constantBytes);
    numApplied += moved;
    makeInit(plan);
    shrinkEntry(plan);
  }
};
} // namespace

} // namespace polynest
