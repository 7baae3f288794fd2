//===- TestAnalysis.cpp - print what the analyses say ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pass writes plain text to stdout, one fact a line, in program order, so
// that FileCheck and the brute-force oracle of test/fuzz can read it.
//===----------------------------------------------------------------------===//

#include "TestPasses.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/Dependence.h"
#include "Analysis/IslBridge.h"
#include "Analysis/NestGraph.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::affine;
using namespace polynest;

namespace {

void printNumber(raw_ostream &os, std::optional<int64_t> value) {
  if (value)
    os << *value;
  else
    os << '*';
}

StringRef storageName(StorageKind kind) {
  switch (kind) {
  case StorageKind::Allocation:
    return "allocation";
  case StorageKind::Global:
    return "global";
  case StorageKind::ReadOnlyArgument:
    return "read-only";
  case StorageKind::MutableArgument:
    return "mutable";
  case StorageKind::DistinctArgument:
    return "distinct";
  case StorageKind::Unknown:
    return "unknown";
  }
  llvm_unreachable("all kinds are handled");
}

struct TestAccesses : PassWrapper<TestAccesses, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestAccesses)
  StringRef getArgument() const final { return "test-polynest-accesses"; }
  StringRef getDescription() const final {
    return "Print accesses, strides, ranges, footprints and aliasing";
  }

  void runOnOperation() override {
    raw_ostream &os = llvm::outs();
    func::FuncOp function = getOperation();
    os << "accesses of @" << function.getName() << '\n';
    SmallVector<Access, 8> accesses;
    collectAccesses(function, accesses);
    for (auto [i, access] : llvm::enumerate(accesses))
      printAccess(os, i, access);
    unsigned number = 0;
    function->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      os << "loop " << number++ << ": trips ";
      if (auto trips = getTripCount(loop))
        os << *trips;
      else
        os << '*';
      os << ", footprint ";
      if (auto bytes = getFootprintBytes(accesses, loop))
        os << *bytes << '\n';
      else
        os << "*\n";
    });
    for (unsigned i = 0; i != accesses.size(); ++i)
      for (unsigned j = i + 1; j != accesses.size(); ++j)
        if (accesses[i].memref && accesses[j].memref &&
            accesses[i].memref != accesses[j].memref)
          os << "alias " << i << ' ' << j << ": "
             << (mayAlias(accesses[i].memref, accesses[j].memref) ? "may"
                                                                  : "no")
             << '\n';
  }

  static void printAccess(raw_ostream &os, unsigned number,
                          const Access &access) {
    os << "access " << number << ": " << (access.isWrite ? "write" : "read")
       << ' ' << access.op->getName();
    if (!access.memref) {
      os << " anything\n";
      return;
    }
    os << ' ' << storageName(getStorageKind(access.base));
    if (access.isWhole)
      os << " whole";
    if (access.isIndirect)
      os << " indirect";
    if (access.isPartial)
      os << " partial";
    if (access.isAffine()) {
      os << ' ' << access.map.getAffineMap() << " extent [";
      llvm::interleaveComma(access.extent, os);
      os << "] range [";
      llvm::interleaveComma(getConstantRange(access), os, [&](auto range) {
        if (range)
          os << range->min << ".." << range->max;
        else
          os << '*';
      });
      os << "] strides [";
      SmallVector<Operation *, 4> loops;
      getEnclosingAffineLoops(access.op, loops);
      llvm::interleaveComma(loops, os, [&](Operation *loop) {
        if (auto forOp = dyn_cast<AffineForOp>(loop))
          printNumber(os, getStride(access, forOp));
        else
          os << "parallel";
      });
      os << ']';
      if (!loops.empty())
        if (auto inner = dyn_cast<AffineForOp>(loops.back()))
          os << " innermost " << contiguityName(getContiguity(access, inner));
      if (std::optional<AffineValueMap> address = getByteAddress(access))
        if (access.memref != access.base)
          os << " byte " << address->getAffineMap();
      Access resolved = throughViews(access);
      if (resolved.memref != access.memref)
        os << " in source " << resolved.map.getAffineMap();
    }
    os << '\n';
  }

  static StringRef contiguityName(Contiguity contiguity) {
    switch (contiguity) {
    case Contiguity::Invariant:
      return "invariant";
    case Contiguity::Contiguous:
      return "contiguous";
    case Contiguity::Strided:
      return "strided";
    case Contiguity::Unknown:
      return "unknown";
    }
    llvm_unreachable("all kinds are handled");
  }
};

struct TestDependences
    : PassWrapper<TestDependences, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDependences)
  StringRef getArgument() const final { return "test-polynest-dependences"; }
  StringRef getDescription() const final {
    return "Print dependences and what may be transformed";
  }

  raw_ostream &os = llvm::outs();

  void answer(bool legal, StringRef reason) {
    if (legal)
      os << "legal\n";
    else
      os << "illegal (" << reason << ")\n";
  }

  void printPairs(DependenceAnalysis &analysis, func::FuncOp function) {
    SmallVector<Access, 8> accesses(analysis.accessesOf(function));
    for (unsigned i = 0; i != accesses.size(); ++i)
      for (unsigned j = 0; j != accesses.size(); ++j) {
        if (!accesses[i].isWrite && !accesses[j].isWrite)
          continue;
        os << "dep " << i << ' ' << j << ':';
        DependenceInfo info = analysis.dependence(accesses[i], accesses[j]);
        if (info.kind == DepKind::None)
          os << " none";
        if (info.kind == DepKind::Unknown)
          os << " unknown";
        for (const DependenceVector &vector : info.vectors) {
          os << " level " << vector.level << ' ';
          for (const DistanceRange &range : vector.distance) {
            os << '[';
            printNumber(os, range.min);
            os << ',';
            printNumber(os, range.max);
            os << ']';
          }
        }
        os << "; overlap "
           << (analysis.overlap(accesses[i], accesses[j]) == DepKind::None
                   ? "no"
                   : "may")
           << '\n';
      }
  }

  void printLoops(DependenceAnalysis &analysis, func::FuncOp function) {
    unsigned number = 0;
    function->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      std::string reason;
      os << "parallel " << number << ": ";
      answer(analysis.loopIsParallel(loop, &reason), reason);
      SmallVector<Reduction, 2> reductions = carriedReductions(loop);
      if (!reductions.empty()) {
        os << "reductions " << number << ':';
        for (const Reduction &reduction : reductions)
          os << ' ' << arith::stringifyAtomicRMWKind(reduction.kind)
             << (reduction.iterArg ? " carried" : " in memory");
        os << '\n';
        os << "parallel but for reductions " << number << ": ";
        answer(analysis.loopIsParallel(loop, &reason, true), reason);
      }
      SmallVector<AffineForOp, 6> band = getPerfectBand(loop);
      if (band.size() > 1) {
        os << "tile " << number << " depth " << band.size() << ": ";
        answer(analysis.tilingIsLegal(band, &reason), reason);
        SmallVector<unsigned> perm(band.size());
        std::iota(perm.begin(), perm.end(), 0);
        while (band.size() <= 3 &&
               std::next_permutation(perm.begin(), perm.end())) {
          os << "permute " << number << " to ";
          llvm::interleave(perm, os, ",");
          os << ": ";
          answer(analysis.permutationIsLegal(band, perm, &reason), reason);
        }
      }
      ++number;
    });
  }

  void printNeighbours(DependenceAnalysis &analysis, func::FuncOp function) {
    SmallVector<Operation *> tops;
    for (Operation &op : function.getBody().front())
      if (!analysis.accessesOf(&op).empty() || op.getNumRegions())
        tops.push_back(&op);
    for (unsigned i = 0; i + 1 < tops.size(); ++i) {
      std::string reason;
      os << "reorder " << i << ' ' << i + 1 << ": ";
      answer(analysis.reorderIsLegal(tops[i], tops[i + 1], &reason), reason);
      os << "recompute " << i << ": ";
      answer(analysis.isRecomputable(tops[i], &reason), reason);
      auto producer = dyn_cast<AffineForOp>(tops[i]);
      auto consumer = dyn_cast<AffineForOp>(tops[i + 1]);
      if (!producer || !consumer)
        continue;
      unsigned depth = std::min(getPerfectBand(producer).size(),
                                getPerfectBand(consumer).size());
      for (unsigned d = 1; d <= depth; ++d) {
        os << "fuse " << i << ' ' << i + 1 << " depth " << d << ": ";
        answer(analysis.fusionIsLegal(producer, consumer, d, &reason), reason);
      }
      printSlices(analysis, producer, consumer);
    }
  }

  void printSlices(DependenceAnalysis &analysis, AffineForOp producer,
                   AffineForOp consumer) {
    SmallVector<Access, 8> writers(analysis.accessesOf(producer));
    SmallVector<Access, 8> readers(analysis.accessesOf(consumer));
    for (const Access &writer : writers)
      for (const Access &reader : readers) {
        if (!writer.isWrite || reader.isWrite || writer.base != reader.base)
          continue;
        SmallVector<Operation *, 4> loops;
        getEnclosingAffineLoops(reader.op, loops);
        for (unsigned depth = 0; depth <= loops.size(); ++depth) {
          auto slice = analysis.producerSlice(writer, reader, depth);
          os << "slice depth " << depth << ':';
          if (!slice) {
            os << " none\n";
            continue;
          }
          for (auto [lower, upper] :
               llvm::zip_equal(slice->lower, slice->upper))
            os << ' ' << lower << " to " << upper;
          os << (slice->isExact ? " exact\n" : " covering\n");
        }
      }
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    os << "dependences of @" << function.getName() << '\n';
    DependenceAnalysis analysis;
    printPairs(analysis, function);
    printLoops(analysis, function);
    printNeighbours(analysis, function);
  }
};

struct TestNestGraph : PassWrapper<TestNestGraph, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestNestGraph)
  TestNestGraph() = default;
  TestNestGraph(const TestNestGraph &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-polynest-nest-graph"; }
  StringRef getDescription() const final { return "Print the nest graph"; }

  Option<bool> mutate{*this, "mutate",
                      llvm::cl::desc("Change the graph at random, verify")};
  Option<bool> quiet{*this, "quiet", llvm::cl::desc("Print nothing")};

  void runOnOperation() override {
    auto &graph = getAnalysis<NestGraph>();
    if (!quiet && !getOperation().isExternal()) {
      llvm::outs() << "graph of @" << getOperation().getName() << '\n';
      graph.print(llvm::outs());
    }
    std::string why;
    if (failed(graph.verify(&why))) {
      getOperation().emitError("nest graph: ") << why;
      return signalPassFailure();
    }
    if (mutate && failed(mutateAndVerify(graph)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  /// Moves, clones, updates, replaces, fuses and erases nests, with no regard
  /// for legality, and rebuilds after each step.
  LogicalResult mutateAndVerify(NestGraph &graph) {
    uint32_t state = 12345;
    auto random = [&](uint32_t below) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % below;
    };
    for (unsigned step = 0; step != 40; ++step) {
      SmallVector<NestNode *> nests;
      for (NestNode *node : graph.nodes())
        if (!node->isOpaque)
          nests.push_back(node);
      if (nests.size() < 2)
        return success();
      NestNode *a = nests[random(nests.size())];
      NestNode *b = nests[random(nests.size())];
      if (a == b)
        continue;
      OpBuilder builder(a->op);
      switch (random(5)) {
      case 0:
        graph.moveNodeBefore(a->id, b->id);
        break;
      case 1:
        graph.insertNode(builder.clone(*b->op));
        break;
      case 2: {
        Operation *copy = builder.clone(*b->op);
        graph.replaceNode(a->id, copy);
        break;
      }
      case 3: {
        auto loop = cast<AffineForOp>(a->op);
        if (loop.hasConstantUpperBound())
          loop.setConstantUpperBound(loop.getConstantUpperBound() + 1);
        graph.updateNode(a->id);
        break;
      }
      case 4:
        if (nests.size() > 3)
          graph.fuseNodes(a->id, b->id, b->op);
        break;
      }
      std::string why;
      if (failed(graph.verify(&why)))
        return getOperation().emitError("after step ") << step << ": " << why;
    }
    return success();
  }
};

struct TestIsl : PassWrapper<TestIsl, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestIsl)
  TestIsl() = default;
  TestIsl(const TestIsl &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-polynest-isl"; }
  StringRef getDescription() const final {
    return "Print the values of each affine.apply as an isl set";
  }

  Option<unsigned> maxOperations{
      *this, "max-operations", llvm::cl::desc("Operations of a query"),
      llvm::cl::init(IslContext::defaultMaxOperations)};

  void runOnOperation() override {
    raw_ostream &os = llvm::outs();
    os << "isl of @" << getOperation().getName() << '\n';
    IslContext isl(maxOperations);
    getOperation()->walk([&](AffineApplyOp apply) {
      AffineMap map = apply.getAffineMap();
      AffineSystem system;
      SmallVector<LinearExpr> dims, symbols;
      SmallVector<unsigned> params;
      for (unsigned i = 0, e = map.getNumInputs(); i != e; ++i) {
        bool isDim = i < map.getNumDims();
        unsigned column =
            system.addColumn(isDim ? AffineSystem::ColumnKind::Dim
                                   : AffineSystem::ColumnKind::Param);
        (isDim ? dims : symbols).push_back(LinearExpr::ofColumn(column));
        if (!isDim) {
          params.push_back(column);
          continue;
        }
        // Dimensions run from 0 to 9.
        system.addInequality(LinearExpr::ofColumn(column));
        LinearExpr high = *AffineSystem::add(LinearExpr::ofConstant(9),
                                             LinearExpr::ofColumn(column), -1);
        system.addInequality(high);
      }
      std::optional<LinearExpr> value =
          system.flatten(map.getResult(0), dims, symbols);
      if (!value) {
        os << "not linear\n";
        return;
      }
      unsigned result = system.addColumn(AffineSystem::ColumnKind::Dim);
      if (auto row =
              AffineSystem::add(*value, LinearExpr::ofColumn(result), -1))
        system.addEquality(*row);
      os << "set " << system.toString(isl) << '\n';
      std::optional<bool> empty = system.isEmpty(isl);
      os << "empty " << (!empty ? "given up" : *empty ? "yes" : "no") << '\n';
      AffineSystem::Bounds bounds =
          system.boundsOf(isl, LinearExpr::ofColumn(result));
      os << "bounds ";
      printNumber(os, bounds.min);
      os << ' ';
      printNumber(os, bounds.max);
      os << '\n';
      auto symbolic =
          system.symbolicBoundsOf(isl, result, params, map.getContext());
      if (symbolic)
        os << "symbolic " << symbolic->lower << " to " << symbolic->upper
           << (symbolic->isExact ? " exact\n" : " covering\n");
      else
        os << "symbolic none\n";
    });
    os << "queries " << isl.numQueries << ", given up " << isl.numGivenUp
       << '\n';
  }
};

} // namespace

void polynest::registerTestAnalysisPasses() {
  PassRegistration<TestAccesses>();
  PassRegistration<TestDependences>();
  PassRegistration<TestNestGraph>();
  PassRegistration<TestIsl>();
}
