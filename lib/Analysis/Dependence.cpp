//===- Dependence.cpp - what must stay in order ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Analysis/Dependence.h"

#include "Analysis/Aliasing.h"
#include "Analysis/IslBridge.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

struct DependenceAnalysis::Impl {
  llvm::DenseMap<Operation *, SmallVector<Access, 8>> accesses;
};

DependenceAnalysis::DependenceAnalysis() : impl(std::make_unique<Impl>()) {}
DependenceAnalysis::~DependenceAnalysis() = default;

ArrayRef<Access> DependenceAnalysis::accessesOf(Operation *op) {
  auto [it, isNew] = impl->accesses.try_emplace(op);
  if (isNew)
    collectAccesses(op, it->second);
  return it->second;
}

void DependenceAnalysis::invalidate() { impl->accesses.clear(); }

DependenceInfo DependenceAnalysis::dependence(const Access &source,
                                              const Access &sink) {
  DependenceInfo info;
  info.kind = overlap(source, sink);
  if (info.kind == DepKind::Dependent)
    info.kind = DepKind::Unknown;
  return info;
}

DepKind DependenceAnalysis::overlap(const Access &a, const Access &b) {
  if (!a.isWrite && !b.isWrite)
    return DepKind::None;
  if (a.memref && b.memref)
    return mayAlias(a.memref, b.memref) ? DepKind::Unknown : DepKind::None;
  return DepKind::Unknown;
}

SmallVector<DependenceAnalysis::Pair, 4>
DependenceAnalysis::dependencesBetween(Operation *a, Operation *b) {
  SmallVector<Pair, 4> pairs;
  SmallVector<Access, 8> sinks(accessesOf(b));
  for (const Access &source : SmallVector<Access, 8>(accessesOf(a)))
    for (const Access &sink : sinks) {
      DependenceInfo info = dependence(source, sink);
      if (info.kind != DepKind::None)
        pairs.push_back({source, sink, info});
    }
  return pairs;
}

static bool refuse(std::string *reason, const char *text) {
  if (reason)
    *reason = text;
  return false;
}

bool DependenceAnalysis::loopIsParallel(AffineForOp loop, std::string *reason,
                                        bool) {
  if (loop.getNumIterOperands() != 0)
    return refuse(reason, "loop carries values");
  return dependencesBetween(loop, loop).empty() ||
         refuse(reason, "dependence not analysed");
}

bool DependenceAnalysis::permutationIsLegal(ArrayRef<AffineForOp> band,
                                            ArrayRef<unsigned>,
                                            std::string *reason) {
  return tilingIsLegal(band, reason);
}

bool DependenceAnalysis::tilingIsLegal(ArrayRef<AffineForOp> band,
                                       std::string *reason) {
  for (AffineForOp loop : band)
    if (!loopIsParallel(loop, reason))
      return false;
  return true;
}

bool DependenceAnalysis::fusionIsLegal(AffineForOp, AffineForOp, unsigned,
                                       std::string *reason) {
  return refuse(reason, "dependence not analysed");
}

bool DependenceAnalysis::mayConflict(Operation *a, Operation *b) {
  return !dependencesBetween(a, b).empty();
}

bool DependenceAnalysis::reorderIsLegal(Operation *a, Operation *b,
                                        std::string *reason) {
  return !mayConflict(a, b) || refuse(reason, "memory conflict");
}

std::optional<DependenceAnalysis::Slice>
DependenceAnalysis::producerSlice(const Access &, const Access &, unsigned) {
  return std::nullopt;
}

SmallVector<Reduction, 2> carriedReductions(AffineForOp) { return {}; }

} // namespace polynest
