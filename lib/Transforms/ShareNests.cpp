//===- ShareNests.cpp - optimize one of several equal nests ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves the first of several nests of a function that are equal but for
// the buffers they work on into a private function, and puts a call of it in
// the place of each. Passes of S3 that look at one nest at a time then do their
// work once; polynest-unshare-nests puts what they made back.
// Legal: a function's arguments say less of a buffer than what defines it, so
// that only such nests are shared as need no more. All that a nest uses from
// outside is constants, equal in all of them, and memrefs of static shape with
// a plain layout or none that a view explains. What is written overlaps no
// other of these, which the argument says (`llvm.noalias`); in nests of a group
// the same ones overlap no other.
// Profitable whenever there are two: models repeat their layers.
// Limits: outermost nests only. Where remarks are wanted nothing is shared
// unless an option says so: each nest is to have its own.
// Cost: linear in operations, but for pairs of what one nest uses.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Aliasing.h"
#include "Analysis/NestParts.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

#include <unordered_map>
#include <vector>

namespace polynest {
#define GEN_PASS_DEF_SHARENESTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-share-nests"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "share-nests";

namespace {
/// What a nest uses from outside, in the order of first use.
struct Captures {
  SmallVector<Value> constants;
  SmallVector<Value> memrefs;
  /// For each memref, whether the nest may write it.
  SmallVector<bool> isWritten;
  /// For each use of a memref, which one it is.
  SmallVector<unsigned> uses;
};

struct Candidate {
  Operation *nest;
  Captures captures;
};

/// Nests that are equal, in their order.
using Group = std::vector<Candidate>;
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True if the use can do no more than read the memref.
static bool onlyReads(Operation *op) {
  return isa<AffineReadOpInterface, AffinePrefetchOp, memref::LoadOp,
             memref::PrefetchOp, memref::DimOp, vector::LoadOp,
             vector::MaskedLoadOp, vector::TransferReadOp, vector::GatherOp>(
      op);
}

static bool overlapsAnother(Value memref, ArrayRef<Value> memrefs) {
  return llvm::any_of(memrefs, [&](Value other) {
    return other != memref && mayAlias(memref, other);
  });
}

/// True if an argument of its type says as much of the memref as its
/// definition does.
static bool isPlain(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type || !type.hasStaticShape())
    return false;
  Operation *op = memref.getDefiningOp();
  return type.getLayout().isIdentity() || !op || !getViewSource(op);
}

/// Notes which memrefs the nest's operands are, and which it may write.
static void listUses(Operation *nest, Captures &captures) {
  DenseMap<Value, unsigned> places;
  for (auto [i, memref] : llvm::enumerate(captures.memrefs))
    places[memref] = i;
  captures.isWritten.assign(captures.memrefs.size(), false);
  nest->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto it = places.find(operand); it != places.end()) {
        captures.uses.push_back(it->second);
        captures.isWritten[it->second] |= !onlyReads(op);
      }
  });
}

/// Why the nest cannot be an equal of others, or an empty string; else what it
/// uses.
static StringRef whyNotShared(Operation *nest, Captures &captures) {
  if (nest->getNumResults() != 0)
    return "the nest has results";
  for (Value value : getOutsideValues(nest)) {
    if (matchPattern(value, m_Constant()))
      captures.constants.push_back(value);
    else if (!isa<BaseMemRefType>(value.getType()))
      return "the nest uses a number from outside that is not constant";
    else if (!isPlain(value))
      return "a buffer has a dynamic size or is a view with gaps";
    else
      captures.memrefs.push_back(value);
  }
  listUses(nest, captures);
  for (auto [memref, isWritten] :
       llvm::zip_equal(captures.memrefs, captures.isWritten))
    if (isWritten && overlapsAnother(memref, captures.memrefs))
      return "a buffer that is written may overlap another";
  return {};
}

/// Hash of the operations without locations and operands, and of the places of
/// memrefs.
static llvm::hash_code hashOf(const Candidate &candidate) {
  llvm::hash_code hash = llvm::hash_combine_range(candidate.captures.uses);
  candidate.nest->walk([&](Operation *op) { hash = hashWith(hash, op); });
  return hash;
}

static bool areEqualConstants(Value a, Value b) {
  Attribute valueA, valueB;
  return a.getType() == b.getType() && matchPattern(a, m_Constant(&valueA)) &&
         matchPattern(b, m_Constant(&valueB)) && valueA == valueB;
}

/// True if the nests are equal but for their memrefs, which stand in the same
/// places of both. A memref that both use is taken for equal by what compares
/// operations, so that places are compared before.
static bool areEqual(const Candidate &a, const Candidate &b) {
  if (a.captures.uses != b.captures.uses)
    return false;
  DenseMap<Value, Value> partners;
  for (auto [mine, other] :
       llvm::zip_equal(a.captures.memrefs, b.captures.memrefs))
    partners[mine] = other;
  return OperationEquivalence::isEquivalentTo(
      a.nest, b.nest,
      [&](Value mine, Value other) {
        auto it = partners.find(mine);
        return success(it != partners.end() ? it->second == other
                                            : areEqualConstants(mine, other));
      },
      [&](Value mine, Value other) { partners[mine] = other; },
      OperationEquivalence::IgnoreLocations);
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Makes an empty private function behind `parent`, with the memrefs as
/// arguments.
static func::FuncOp makeFunction(func::FuncOp parent, StringRef name,
                                 const Candidate &first) {
  OpBuilder builder(parent->getContext());
  builder.setInsertionPointAfter(parent);
  Location loc = first.nest->getLoc();
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(ValueRange(first.captures.memrefs).getTypes(),
                              {}));
  function.setPrivate();
  function->setAttr(kShared, builder.getUnitAttr());
  for (auto [i, isWritten] : llvm::enumerate(first.captures.isWritten))
    if (isWritten)
      function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::ReturnOp::create(builder, loc);
  return function;
}

/// Moves the first nest of the group into a function and calls it in place of
/// all.
static void share(Group &group, func::FuncOp parent, StringRef name) {
  Candidate &first = group.front();
  func::FuncOp function = makeFunction(parent, name, first);
  for (Candidate &candidate : group) {
    OpBuilder builder(candidate.nest);
    func::CallOp::create(builder, candidate.nest->getLoc(), function,
                         candidate.captures.memrefs);
  }
  Block *body = &function.getBody().front();
  first.nest->moveBefore(body->getTerminator());
  auto isInside = [&](OpOperand &use) {
    return first.nest->isAncestor(use.getOwner());
  };
  for (auto [memref, argument] :
       llvm::zip_equal(first.captures.memrefs, function.getArguments()))
    memref.replaceUsesWithIf(argument, isInside);
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  for (Value constant : first.captures.constants)
    constant.replaceUsesWithIf(
        builder.clone(*constant.getDefiningOp())->getResult(0), isInside);
  for (const Candidate &candidate : ArrayRef(group).drop_front())
    candidate.nest->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ShareNestsPass : impl::ShareNestsBase<ShareNestsPass> {
  using ShareNestsBase::ShareNestsBase;

  void runOnOperation() override {
    if (remarksWanted(&getContext()) && !despiteRemarks) {
      remark(RemarkKind::Declined, getOperation().getLoc(), passName,
             "each nest is to have its own remarks");
      return;
    }
    SmallVector<func::FuncOp> functions;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(kShared))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      shareNests(function);
  }

  void shareNests(func::FuncOp function) {
    SmallVector<Group> groups = findGroups(function);
    SymbolTable symbols(getOperation());
    unsigned counter = 0;
    for (Group &group : groups) {
      if (group.size() < 2)
        continue;
      std::string name;
      do
        name = (function.getName() + "_shared" + Twine(counter++)).str();
      while (symbols.lookup(name));
      remark(RemarkKind::Applied, group.front().nest->getLoc(), passName,
             "equal nests are optimized as one")
          << arg("nests", group.size());
      numApplied += group.size() - 1;
      share(group, function, name);
    }
  }

  SmallVector<Group> findGroups(func::FuncOp function) {
    SmallVector<Group> groups;
    std::unordered_map<size_t, SmallVector<unsigned, 1>> byHash;
    for (Block &block : function.getBody())
      for (Operation &op : block) {
        if (!isa<AffineForOp, AffineParallelOp>(op))
          continue;
        Candidate candidate{&op, {}};
        StringRef why = whyNotShared(&op, candidate.captures);
        if (!why.empty()) {
          remark(RemarkKind::Declined, op.getLoc(), passName, why);
          ++numDeclined;
          continue;
        }
        auto &bucket = byHash[hashOf(candidate)];
        auto *same = llvm::find_if(bucket, [&](unsigned at) {
          return areEqual(groups[at].front(), candidate);
        });
        if (same == bucket.end()) {
          bucket.push_back(groups.size());
          groups.push_back({std::move(candidate)});
        } else {
          groups[*same].push_back(std::move(candidate));
        }
      }
    return groups;
  }
};
} // namespace

} // namespace polynest
