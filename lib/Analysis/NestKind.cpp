//===- NestKind.cpp - what a nest is --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Analysis/NestKind.h"

#include "Analysis/Dependence.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// The two factors of a value that is a product, through extensions and casts
/// of floating-point width.
static std::pair<Value, Value> getFactors(Reduction &reduction) {
  if (isa<math::FmaOp, vector::FMAOp>(reduction.combiner))
    return {reduction.combiner->getOperand(0),
            reduction.combiner->getOperand(1)};
  Operation *product = reduction.value.getDefiningOp();
  if (product && isa<arith::MulFOp, arith::MulIOp>(product))
    return {product->getOperand(0), product->getOperand(1)};
  return {};
}

/// The access that a value was read by, through casts.
static const Access *getReader(Value value, ArrayRef<Access> accesses) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  while (op && isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
                   arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
                   arith::UIToFPOp, vector::BroadcastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (!op)
    return nullptr;
  for (const Access &access : accesses)
    if (access.op == op && !access.isWrite)
      return &access;
  return nullptr;
}

static bool movesWith(const Access &access, AffineForOp loop) {
  return !isInvariantTo(access, loop.getInductionVar());
}

/// A product summed over a loop in which the two factors, and the result, each
/// stand still where another moves.
static bool isMatmul(ArrayRef<AffineForOp> loops,
                     ArrayRef<std::pair<unsigned, Reduction>> carried,
                     ArrayRef<Access> accesses) {
  for (const auto &entry : carried) {
    unsigned place = entry.first;
    Reduction reduction = entry.second;
    if (reduction.kind != arith::AtomicRMWKind::addf &&
        reduction.kind != arith::AtomicRMWKind::addi)
      continue;
    auto [x, y] = getFactors(reduction);
    const Access *a = getReader(x, accesses), *b = getReader(y, accesses);
    if (!a || !b || !a->isAffine() || !b->isAffine() ||
        !movesWith(*a, loops[place]) || !movesWith(*b, loops[place]))
      continue;
    bool onlyA = false, onlyB = false;
    for (unsigned i = 0, e = loops.size(); i != e; ++i) {
      if (llvm::any_of(carried, [&](auto &other) { return other.first == i; }))
        continue;
      bool movesA = movesWith(*a, loops[i]), movesB = movesWith(*b, loops[i]);
      onlyA |= movesA && !movesB;
      onlyB |= movesB && !movesA;
    }
    if (onlyA && onlyB)
      return true;
  }
  return false;
}

NestKind classifyNest(AffineForOp root, ArrayRef<Access> accesses) {
  bool isPlain = true;
  SmallVector<AffineForOp, 6> loops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<AffineForOp>(op))
      loops.push_back(loop);
    else if (op->getNumRegions() != 0)
      isPlain = false;
  });
  if (!isPlain || accesses.empty())
    return NestKind::Misc;
  for (const Access &access : accesses)
    if (!access.memref || access.isWhole)
      return NestKind::Misc;

  SmallVector<std::pair<unsigned, Reduction>, 4> carried;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    unsigned numFound = 0;
    for (Reduction &reduction : carriedReductions(loop, accesses)) {
      carried.push_back({unsigned(i), reduction});
      numFound += reduction.iterArg.has_value();
    }
    if (numFound != loop.getNumIterOperands())
      return NestKind::Misc;
  }
  if (!carried.empty())
    return isMatmul(loops, carried, accesses) ? NestKind::Matmul
                                              : NestKind::Reduction;

  // Below, every loop around an access counts, and only those.
  bool hasBroadcast = false;
  for (const Access &access : accesses) {
    if (access.isIndirect)
      return NestKind::Misc;
    SmallVector<Operation *, 6> around;
    getEnclosingAffineLoops(access.op, around, root);
    for (Operation *loop : around) {
      bool moves = movesWith(access, cast<AffineForOp>(loop));
      if (access.isWrite && !moves)
        return NestKind::Misc;
      hasBroadcast |= !moves;
    }
  }
  // Two reads of one memref at places that differ by constants.
  llvm::DenseMap<Value, const Access *> firstRead;
  bool hasStencil = false;
  for (const Access &access : accesses) {
    if (access.isWrite)
      continue;
    auto [it, isNew] = firstRead.try_emplace(access.memref, &access);
    if (isNew || it->second->map == access.map)
      continue;
    AffineValueMap difference;
    AffineValueMap::difference(access.map, it->second->map, &difference);
    hasStencil |= difference.getAffineMap().isConstant();
  }
  if (hasStencil)
    return NestKind::Stencil;
  return hasBroadcast ? NestKind::Broadcast : NestKind::Pointwise;
}

StringRef nestKindName(NestKind kind) {
  switch (kind) {
  case NestKind::Pointwise:
    return "pointwise";
  case NestKind::Broadcast:
    return "broadcast";
  case NestKind::Reduction:
    return "reduction";
  case NestKind::Matmul:
    return "matmul";
  case NestKind::Stencil:
    return "stencil";
  case NestKind::Misc:
    return "misc";
  }
  llvm_unreachable("all kinds are handled");
}

} // namespace polynest
