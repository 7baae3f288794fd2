// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/NestGraph.h: the nests of a function and what feeds what.
//
// Nodes are the operations of the function's entry block that touch memory, in
// program order: affine nests, and everything else as opaque nodes. Edges are
// ordering constraints through memrefs. They are not stored: a node's edges are
// found from the ordered lists of readers and writers of the bases it touches,
// in time proportional to their number, so that a change of one node costs
// only that node. Every pair of nodes that must stay in order is joined by a
// path; a flow edge is listed for each writer that may reach a reader, up to
// `maxPendingWriters` partial writers of one base. An edge says that both touch
// a base, not that they touch the same elements: ask DependenceAnalysis.
#ifndef POLYNEST_ANALYSIS_NESTGRAPH_H
#define POLYNEST_ANALYSIS_NESTGRAPH_H

#include "Analysis/NestKind.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <memory>
#include <string>
#include <vector>

namespace polynest {

struct NestNode {
  /// Stays the same while the node lives; increases in program order when the
  /// graph is built. A node made by a mutator gets a new one.
  unsigned id;
  mlir::Operation *op;
  /// True for anything but an affine.for.
  bool isOpaque = false;
  /// Whole memory may be touched (calls, unknown operations).
  bool touchesAll = false;
  /// Perfectly nested loops from the root, and their trip counts.
  llvm::SmallVector<mlir::affine::AffineForOp, 6> band;
  llvm::SmallVector<std::optional<uint64_t>, 6> tripCounts;
  llvm::SmallVector<Access, 8> accesses;
  /// Bases read and written, each once, in order of first touch.
  llvm::SmallVector<mlir::Value, 4> reads, writes;
  /// Bases that the nest writes completely, whatever its inputs.
  llvm::SmallVector<mlir::Value, 2> covers;
  /// Holds a cf.assert; reads or writes at indices not known to be in bounds
  /// without one.
  bool hasAssert = false, hasIndirect = false;

  // Asked for by who reports nests alone, and not kept: most graphs are built
  // to find edges.
  NestKind getKind() const;
  /// Bytes touched by the whole nest; upper bound.
  std::optional<uint64_t> getFootprint() const;
  /// Floating-point operations of the whole nest (an FMA counts two, each lane
  /// of a vector counts).
  std::optional<uint64_t> getFlops() const;
};

enum class EdgeKind { Flow, Anti, Output };

struct NestEdge {
  unsigned source, sink;
  /// The sink's (for anti edges the source's) base through which they meet;
  /// null if one touches all memory, or an assertion guards indirect accesses.
  mlir::Value base;
  EdgeKind kind;
};

/// An MLIR analysis of a func.func: get it with getAnalysis<NestGraph>() and
/// mark it preserved after changing the IR through the mutators only.
class NestGraph {
public:
  static constexpr unsigned maxPendingWriters = 8;

  explicit NestGraph(mlir::Operation *function);

  mlir::func::FuncOp getFunction() const { return function; }

  /// Live nodes in program order.
  llvm::SmallVector<NestNode *> nodes();
  /// By id or by operation; null if there is none.
  NestNode *getNode(unsigned id);
  NestNode *getNode(mlir::Operation *op);

  /// Edges out of and into a node, ordered by the other end's place.
  llvm::SmallVector<NestEdge> edgesFrom(unsigned id);
  llvm::SmallVector<NestEdge> edgesTo(unsigned id);
  /// Nodes that write, or read, a base, in program order; complete, unlike
  /// flow edges past maxPendingWriters.
  llvm::SmallVector<NestNode *> writersOf(mlir::Value base);
  llvm::SmallVector<NestNode *> readersOf(mlir::Value base);
  /// Nodes that touch the base or all of memory, in program order.
  llvm::SmallVector<NestNode *> usersOf(mlir::Value base);

  /// True if `a` precedes `b` in the block.
  bool precedes(unsigned a, unsigned b);

  // Mutators. Each changes the IR and the graph together.

  /// Erases the node's operation (it must have no uses).
  void eraseNode(unsigned id);
  /// The node's operation was rewritten in place (loops, accesses, anything
  /// inside): its data and edges are computed anew.
  void updateNode(unsigned id);
  /// `op`, just inserted in the entry block, becomes a node. Returns null if it
  /// touches no memory.
  NestNode *insertNode(mlir::Operation *op);
  /// The node's operation was replaced by `op`, which is in the block now; the
  /// old operation is erased. Keeps the id.
  void replaceNode(unsigned id, mlir::Operation *op);
  /// Two nodes became one: `fused`, in the block now. Operations of both are
  /// erased, unless `fused` is one of them. Returns the node of `fused`.
  NestNode *fuseNodes(unsigned producer, unsigned consumer,
                      mlir::Operation *fused);
  /// Moves the node's operation before another node's. The caller has checked
  /// that it is legal.
  void moveNodeBefore(unsigned id, unsigned other);

  /// Rebuilds from the IR and compares; on a difference fails and says what
  /// differs.
  mlir::LogicalResult verify(std::string *why = nullptr);

  void print(llvm::raw_ostream &os);

private:
  /// Nodes that touch one alias class, in program order.
  struct BaseClass {
    llvm::SmallVector<unsigned, 4> readers, writers;
  };

  NestNode *addNode(mlir::Operation *op, unsigned id);
  void describe(NestNode &node);
  void enlist(NestNode &node);
  void delist(NestNode &node);
  void insertInOrder(llvm::SmallVectorImpl<unsigned> &list, unsigned id);
  size_t placeIn(llvm::ArrayRef<unsigned> list, const NestNode &node) const;
  mlir::Value classOf(mlir::Value base);
  bool isPrivate(mlir::Value base);
  bool touchesShared(const NestNode &node);
  bool coversClass(const NestNode &node, mlir::Value key);
  const NestNode *barrierBefore(const NestNode &node) const;
  const NestNode *barrierAfter(const NestNode &node) const;
  bool before(const NestNode &a, const NestNode &b) const;

  mlir::func::FuncOp function;
  /// By id; erased ones are null.
  std::vector<std::unique_ptr<NestNode>> byId;
  llvm::DenseMap<mlir::Operation *, unsigned> idOf;
  /// By the representative of the class (see classOf).
  llvm::DenseMap<mlir::Value, BaseClass> classes;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> globalKeys;
  llvm::DenseMap<mlir::Value, bool> privateBases;
  /// Nodes that may touch all memory, and nodes that hold an assertion, in
  /// program order.
  llvm::SmallVector<unsigned> barriers, asserts;
};

} // namespace polynest

#endif // POLYNEST_ANALYSIS_NESTGRAPH_H
