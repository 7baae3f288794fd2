//===- EliminateBuffers.cpp - buffers, stores and copies nobody needs -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: (a) a private buffer that is copied into another one, as it is or
// reshaped, is replaced by the place it is copied to: by its indices where
// dimensions of known sizes are joined, by a view where sizes are unknown; (b)
// a private buffer that is a copy of memory which does not change while the
// buffer is read is replaced by that memory; (c) private buffers whose contents
// reach nothing that matters, with their stores and all that only computes what
// they hold, are erased, also where a buffer is read only to update itself; (d)
// nests that only store what the next nest that touches the memory overwrites,
// every element of it, are erased.
// Legal when: (a) each index of the buffer goes to a fixed place of a distinct
// target, the buffer is not written after the copy, and until its last use
// nothing else touches that part of the target, nor is any size asserted where
// some are not known; a target seen through a view has the sizes of what is
// copied by what is asserted before anything is written, or because callers see
// to it; (b) the copy is the only write, nothing that may share storage with
// the source is written between it and the last read; (c) liveness from effects
// that are visible outside: stores to anything but a dead buffer, calls,
// assertions, returned values; (d) the later nest stores each element of a
// static shape without asking, and neither it nor anything in between touches
// the memory otherwise or asserts anything. Profitable always: less memory and
// less traffic. Where both (a) and (b) are legal it is (a), but (b) where the
// copy turns rows into columns and something else reads the rows: they are
// computed along rows then. Limits: (a) and (b) ask for plain accesses of the
// buffer, all in nests of the entry block, affine ones but in (a) where each
// index stays what it is, and copies that are perfect nests or memref.copy.
// Cost: linear in operations and uses, times the accesses of a copy's target.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/NestGraph.h"
#include "Analysis/SizeOrder.h"
#include "Analysis/Sizes.h"
#include "Support/Remark.h"
#include "Transforms/NestMerge.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace polynest {
#define GEN_PASS_DEF_ELIMINATEBUFFERS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-eliminate-buffers"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "eliminate-buffers";

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// A node that does nothing but copy. Index i of the whole source goes to
/// toTarget(i), or index i of the whole target comes from toSource(i), as far
/// as known.
struct Copy {
  NestNode *node = nullptr;
  Value source, target;
  AffineMap toTarget, toSource;
  /// The reshapes of the source the last of which is copied, from that one on;
  /// none if it is copied itself.
  SmallVector<Operation *, 2> views;
  /// Where the source becomes a view of the target: what of it is copied, each
  /// of its dimensions to `parts` of the target's.
  Value copied;
  SmallVector<ReassociationIndices> parts;

  bool isByView() const { return bool(copied); }
};
} // namespace

/// Results of `outer` as functions of the indices of `inner`, where each index
/// of `inner` is a variable that sweeps the whole dimension from 0, or 0 in a
/// dimension of size 1. Null where there is no such function.
static AffineMap composeIndices(const Access &outer, const Access &inner,
                                ArrayRef<AffineForOp> band, SizeFacts &facts) {
  auto type = cast<MemRefType>(inner.memref.getType());
  MLIRContext *context = type.getContext();
  AffineMap innerMap = inner.map.getAffineMap();
  llvm::DenseMap<Value, unsigned> place;
  for (unsigned d = 0, e = type.getRank(); d != e; ++d) {
    if (auto constant = dyn_cast<AffineConstantExpr>(innerMap.getResult(d))) {
      if (constant.getValue() != 0 || type.getDimSize(d) != 1)
        return {};
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(innerMap.getResult(d));
    AffineForOp loop =
        dim ? getForInductionVarOwner(inner.map.getOperand(dim.getPosition()))
            : AffineForOp();
    if (!loop || !llvm::is_contained(band, loop) ||
        !sweeps(loop, inner.memref, d, facts) ||
        !place.try_emplace(loop.getInductionVar(), d).second)
      return {};
  }
  AffineMap outerMap = outer.map.getAffineMap();
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0, e = outerMap.getNumDims(); i != e; ++i) {
    auto it = place.find(outer.map.getOperand(i));
    if (it == place.end())
      return {};
    dims.push_back(getAffineDimExpr(it->second, context));
  }
  if (outerMap.getNumSymbols() != 0)
    return {};
  // Loops that the index does not name only repeat the copy, if they run.
  for (AffineForOp loop : band)
    if (!place.count(loop.getInductionVar()) &&
        getTripCount(loop).value_or(0) == 0)
      return {};
  return simplifyAffineMap(
      outerMap.replaceDimsAndSymbols(dims, {}, type.getRank(), 0));
}

static std::optional<Copy> matchCopy(NestNode &node, SizeFacts &facts) {
  MLIRContext *context = node.op->getContext();
  Copy found;
  found.node = &node;
  if (auto copy = dyn_cast<memref::CopyOp>(node.op)) {
    auto source = dyn_cast<MemRefType>(copy.getSource().getType());
    auto target = dyn_cast<MemRefType>(copy.getTarget().getType());
    if (!source || !target || !source.hasStaticShape() ||
        source.getShape() != target.getShape())
      return std::nullopt;
    AffineMap identity =
        AffineMap::getMultiDimIdentityMap(source.getRank(), context);
    found.source = copy.getSource();
    found.target = copy.getTarget();
    found.toTarget = found.toSource = identity;
    return found;
  }
  if (node.isOpaque || node.accesses.size() != 2)
    return std::nullopt;
  AffineForOp innermost = node.band.back();
  if (innermost.getNumIterOperands())
    return std::nullopt;
  Operation &first = innermost.getBody()->front();
  auto load = dyn_cast<AffineLoadOp>(first);
  auto store = dyn_cast_or_null<AffineStoreOp>(first.getNextNode());
  if (!load || !store || store.getValueToStore() != load.getResult() ||
      store->getNextNode() != innermost.getBody()->getTerminator())
    return std::nullopt;
  const Access &read = node.accesses[0], &write = node.accesses[1];
  if (!read.isAffine() || !write.isAffine())
    return std::nullopt;
  found.source = read.memref;
  found.target = write.memref;
  found.toTarget = composeIndices(write, read, node.band, facts);
  found.toSource = composeIndices(read, write, node.band, facts);
  return found;
}

/// True if everything that names the buffer is a plain affine access of it, one
/// at a place that data choose where `anyPlace` says so, or the given
/// operation.
static bool hasPlainUses(Value buffer, Operation *except,
                         bool anyPlace = false) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (user == except ||
        (anyPlace && isa<memref::LoadOp, memref::StoreOp>(user)))
      return true;
    SmallVector<Access, 1> accesses;
    if (isa<AffineLoadOp, AffineStoreOp>(user))
      collectAccesses(user, accesses);
    return accesses.size() == 1 && accesses[0].isAffine() &&
           accesses[0].memref == buffer;
  });
}

static memref::AllocOp getPrivateAlloc(Value buffer) {
  auto alloc = buffer.getDefiningOp<memref::AllocOp>();
  return alloc && isPrivateAllocation(buffer) ? alloc : memref::AllocOp();
}

/// Ranges of what a map reaches from a whole buffer, as far as that goes where
/// a size is not known; empty where an index is not linear in one dimension.
static SmallVector<IndexRange, 4> getImage(AffineMap map, MemRefType type) {
  SmallVector<IndexRange, 4> image;
  for (AffineExpr result : map.getResults()) {
    SmallVector<int64_t> zero(type.getRank(), 0);
    // Linear in each dimension: the ends are at corners.
    IndexRange range{0, 0};
    auto evaluate = [&](ArrayRef<int64_t> point) {
      SmallVector<AffineExpr> dims;
      for (int64_t value : point)
        dims.push_back(getAffineConstantExpr(value, map.getContext()));
      return cast<AffineConstantExpr>(result.replaceDims(dims)).getValue();
    };
    range.min = range.max = evaluate(zero);
    for (unsigned d = 0, e = type.getRank(); d != e; ++d) {
      SmallVector<int64_t> point(zero);
      bool isOpen = type.isDynamicDim(d);
      point[d] = isOpen ? 1 : std::max<int64_t>(type.getDimSize(d), 1) - 1;
      int64_t change = evaluate(point) - evaluate(zero);
      int64_t &end = change < 0 ? range.min : range.max;
      const int64_t unbounded = change < 0 ? INT64_MIN : INT64_MAX;
      if (isOpen && change != 0)
        end = unbounded;
      else if (end != unbounded)
        end += change;
    }
    image.push_back(range);
  }
  return image;
}

/// A map from a whole buffer is one-to-one if every dimension that has more
/// than one index stands alone, with a constant, in some result.
static bool isOneToOne(AffineMap map, MemRefType type) {
  for (AffineExpr result : map.getResults()) {
    bool isPlain = true;
    result.walk([&](AffineExpr expr) {
      isPlain &= isa<AffineDimExpr, AffineConstantExpr>(expr) ||
                 expr.getKind() == AffineExprKind::Add;
    });
    unsigned dims = 0;
    for (unsigned d = 0, e = type.getRank(); d != e; ++d)
      dims += result.isFunctionOfDim(d);
    if (!isPlain || dims > 1)
      return false;
  }
  for (unsigned d = 0, e = type.getRank(); d != e; ++d) {
    unsigned found = llvm::count_if(map.getResults(), [&](AffineExpr result) {
      return result.isFunctionOfDim(d);
    });
    bool isSingle = !type.isDynamicDim(d) && type.getDimSize(d) <= 1;
    if (found > 1 || (found == 0 && !isSingle))
      return false;
  }
  return true;
}

/// The copy of a reshape that joins dimensions, as one of what is reshaped, if
/// nothing else reads the reshape.
static std::optional<Copy> beforeReshape(const Copy &copy) {
  auto view = copy.source.getDefiningOp<memref::CollapseShapeOp>();
  if (!view || !copy.toTarget ||
      !llvm::all_of(view->getUsers(), [&](Operation *user) {
        return copy.node->op->isAncestor(user);
      }))
    return std::nullopt;
  MemRefType from = view.getSrcType(), to = cast<MemRefType>(view.getType());
  if (!from.hasStaticShape() || !from.getLayout().isIdentity() ||
      !to.getLayout().isIdentity() || !isOneToOne(copy.toTarget, to))
    return std::nullopt;
  MLIRContext *context = view.getContext();
  SmallVector<AffineExpr> joined;
  for (const ReassociationIndices &group : view.getReassociationIndices()) {
    AffineExpr index = getAffineConstantExpr(0, context);
    for (int64_t d : group)
      index = index * from.getDimSize(d) + getAffineDimExpr(d, context);
    joined.push_back(index);
  }
  Copy before = copy;
  before.source = view.getSrc();
  before.views = {view};
  before.toTarget = simplifyAffineMap(copy.toTarget.compose(
      AffineMap::get(from.getRank(), 0, joined, context)));
  before.toSource = {};
  return before;
}

/// The dimensions that each result of the map joins, in order, of a shape whose
/// inner sizes are known in each group; none if it does anything else.
static std::optional<SmallVector<ReassociationIndices>>
getJoined(AffineMap map, ArrayRef<int64_t> shape) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0, rank = shape.size();
  auto index = [&](int64_t d) {
    return shape[d] == 1 ? getAffineConstantExpr(0, map.getContext())
                         : getAffineDimExpr(d, map.getContext());
  };
  for (AffineExpr result : map.getResults()) {
    if (next == rank)
      return std::nullopt;
    ReassociationIndices group{next};
    AffineExpr joined = index(next++);
    while (simplifyAffineExpr(joined - result, rank, 0) != 0) {
      if (next == rank || ShapedType::isDynamic(shape[next]))
        return std::nullopt;
      group.push_back(next);
      joined = joined * shape[next] + index(next);
      ++next;
    }
    groups.push_back(std::move(group));
  }
  for (; next < rank && !groups.empty() && shape[next] == 1; ++next)
    groups.back().push_back(next);
  return next == rank ? std::optional(groups) : std::nullopt;
}

/// Which dimensions of the target each one of what is copied becomes.
static std::optional<SmallVector<ReassociationIndices>>
getParts(const Copy &copy) {
  auto type = cast<MemRefType>(copy.target.getType());
  if (!type.getLayout().isIdentity())
    return std::nullopt;
  if (copy.toTarget && copy.toTarget.isIdentity())
    return getJoined(copy.toTarget, type.getShape());
  return copy.toSource ? getJoined(copy.toSource, type.getShape())
                       : std::nullopt;
}

/// The copy of reshapes as one of the private buffer at their beginning, which
/// becomes a view of the target, if nothing else reads the reshapes.
static std::optional<Copy> behindReshapes(const Copy &copy) {
  std::optional<SmallVector<ReassociationIndices>> parts = getParts(copy);
  auto target = cast<MemRefType>(copy.target.getType());
  if (!parts || parts->empty() ||
      memref::CollapseShapeOp::computeCollapsedType(target, *parts) !=
          copy.source.getType())
    return std::nullopt;
  Copy before = copy;
  before.copied = copy.source;
  before.parts = std::move(*parts);
  before.toTarget = before.toSource = {};
  Value &value = before.source;
  while (isa_and_nonnull<memref::CollapseShapeOp, memref::ExpandShapeOp>(
      value.getDefiningOp())) {
    Operation *view = value.getDefiningOp();
    Operation *last = before.views.empty() ? nullptr : before.views.back();
    if (!cast<MemRefType>(value.getType()).getLayout().isIdentity() ||
        !llvm::all_of(view->getUsers(), [&](Operation *user) {
          return user == last || isa<memref::DimOp>(user) ||
                 (!last && copy.node->op->isAncestor(user));
        }))
      return std::nullopt;
    before.views.push_back(view);
    value = view->getOperand(0);
  }
  auto type = dyn_cast<MemRefType>(value.getType());
  bool isReshaped =
      !before.views.empty() || before.parts.size() != size_t(target.getRank());
  if (!isReshaped || !type || !type.getLayout().isIdentity())
    return std::nullopt;
  return before;
}

static bool isApart(const Access &access, ArrayRef<IndexRange> image) {
  auto ranges = getConstantRange(access);
  if (ranges.size() != image.size())
    return false;
  for (auto [range, part] : llvm::zip_equal(ranges, image))
    if (range && (range->max < part.min || part.max < range->min))
      return true;
  return false;
}

/// True if each index of the source is the same index of the target.
static bool keepsPlaces(const Copy &copy) {
  return copy.views.empty() && copy.toTarget.isIdentity() &&
         copy.source.getType() == copy.target.getType();
}

/// True if the value is there in front of the operation, in whose block it or
/// what holds that block is.
static bool isReady(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op);
}

/// True if the call may end between the two: that the target is as large as the
/// source may be what is checked there.
static bool assertsBetween(Operation *op, Operation *end) {
  for (; op != end; op = op->getNextNode())
    if (hasAssertion(op))
      return true;
  return false;
}

/// Sizes of what a reshape is of, as the operation that makes it takes them.
static SmallVector<OpFoldResult> getSourceSizes(Operation *view) {
  Operation *source = view->getOperand(0).getDefiningOp();
  if (auto alloc = dyn_cast<memref::AllocOp>(source))
    return alloc.getMixedSizes();
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(source))
    return expand.getMixedOutputShape();
  return {};
}

/// Why the copy's source cannot be a view of its target, or null.
static const char *whyNotByView(const Copy &copy, memref::AllocOp alloc,
                                SizeFacts &facts) {
  for (Operation *view : copy.views) {
    if (!isa<memref::CollapseShapeOp>(view))
      continue;
    SmallVector<OpFoldResult> sizes = getSourceSizes(view);
    if (sizes.empty() || !llvm::all_of(sizes, [&](OpFoldResult size) {
          auto value = dyn_cast<Value>(size);
          return !value || isReady(value, alloc);
        }))
      return "sizes of a reshape are not there early enough";
  }
  for (auto [d, group] : llvm::enumerate(copy.parts)) {
    std::optional<SizeProduct> size = SizeProduct();
    for (int64_t part : group)
      if (size)
        size = multiply(*size, facts.of(copy.target, part));
    if (!size || !(facts.of(copy.copied, d) == *size))
      return "the target is not proven to be as large as what is copied";
  }
  return nullptr;
}

/// Why the copy's source cannot live in its target, or null.
static const char *whyNotInTarget(NestGraph &graph, const Copy &copy,
                                  SizeFacts &facts) {
  memref::AllocOp alloc = getPrivateAlloc(copy.source);
  if (!alloc || (!copy.toTarget && !copy.isByView()))
    return "the source is not a whole private buffer";
  if (alloc->getBlock() != copy.node->op->getBlock() ||
      !hasPlainUses(copy.source,
                    copy.views.empty() ? copy.node->op : copy.views.back(),
                    copy.isByView() || keepsPlaces(copy)))
    return "the source has other uses than plain accesses";
  // Indices that join dimensions keep nests from being fused; one nest is.
  if ((copy.isByView() || !copy.views.empty()) &&
      graph.usersOf(copy.source).size() != 2)
    return "several nests use what is reshaped";
  Value target = copy.target;
  auto type = alloc.getType();
  StorageKind storage = getStorageKind(target);
  if (storage != StorageKind::DistinctArgument &&
      !(storage == StorageKind::Allocation && getPrivateAlloc(target)))
    return "the target may share storage";
  if (cast<MemRefType>(target.getType()).getElementType() !=
          type.getElementType() ||
      (copy.views.empty() && !copy.isByView() &&
       !isOneToOne(copy.toTarget, type)))
    return "the target holds the values in another form";
  Operation *def = target.getDefiningOp();
  if (def && (def->getBlock() != alloc->getBlock() ||
              !llvm::all_of(def->getOperands(),
                            [&](Value size) { return isReady(size, alloc); })))
    return "the target does not exist early enough";
  if (copy.isByView()) {
    if (const char *why = whyNotByView(copy, alloc, facts))
      return why;
  } else if (!type.hasStaticShape() && assertsBetween(alloc, copy.node->op)) {
    return "sizes are checked after the source is made";
  }
  // Until the source is used for the last time, its part of the target is ours.
  NestNode *last = copy.node;
  for (NestNode *node : graph.usersOf(copy.source)) {
    if (llvm::is_contained(node->writes, copy.source) && node != copy.node &&
        graph.precedes(copy.node->id, node->id))
      return "the source is written after the copy";
    if (graph.precedes(last->id, node->id))
      last = node;
  }
  SmallVector<IndexRange, 4> image;
  if (copy.toTarget)
    image = getImage(copy.toTarget, type);
  for (NestNode *node : graph.usersOf(target)) {
    if (node == copy.node || graph.precedes(last->id, node->id))
      continue;
    bool isLater = graph.precedes(copy.node->id, node->id);
    for (const Access &access : node->accesses) {
      if (!access.base)
        return "an operation may touch any memory";
      if (access.base != target || (isLater && !access.isWrite))
        continue;
      if (access.memref != target || !access.isAffine() ||
          !isApart(access, image))
        return "the target is in use before the copy";
    }
  }
  return nullptr;
}

/// Makes all accesses of `buffer` accesses of `target` at mapped indices. They
/// change in place: an access outside of loops is a node of the graph itself.
static void redirect(Value buffer, Value target, AffineMap map) {
  auto redirectOne = [&](auto access, unsigned place, StringRef mapName) {
    AffineMap composed = map.compose(access.getAffineMap());
    SmallVector<Value> indices(access.getMapOperands());
    canonicalizeMapAndOperands(&composed, &indices);
    SmallVector<Value> operands(access->getOperands().take_front(place));
    operands.push_back(target);
    llvm::append_range(operands, indices);
    access->setOperands(operands);
    access->setAttr(mapName, AffineMapAttr::get(simplifyAffineMap(composed)));
  };
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers())) {
    if (isa<memref::LoadOp, memref::StoreOp>(user))
      user->replaceUsesOfWith(buffer, target);
    else if (auto load = dyn_cast<AffineLoadOp>(user))
      redirectOne(load, 0, AffineLoadOp::getMapAttrStrName());
    else
      redirectOne(cast<AffineStoreOp>(user), 1,
                  AffineStoreOp::getMapAttrStrName());
  }
}

/// The source as a view of the target: the reshapes, taken back.
static Value makeView(const Copy &copy, memref::AllocOp alloc) {
  OpBuilder builder(alloc);
  Value value = copy.target;
  if (copy.parts.size() !=
      size_t(cast<MemRefType>(copy.target.getType()).getRank()))
    value = memref::CollapseShapeOp::create(builder, alloc.getLoc(), value,
                                            copy.parts);
  for (Operation *view : copy.views) {
    Location loc = view->getLoc();
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view))
      value = memref::ExpandShapeOp::create(
          builder, loc, collapse.getSrcType(), value,
          collapse.getReassociationIndices(), getSourceSizes(view));
    else
      value = memref::CollapseShapeOp::create(
          builder, loc, value,
          cast<memref::ExpandShapeOp>(view).getReassociationIndices());
  }
  return value;
}

/// Erases reshapes that nothing but sizes is asked of; those of what was copied
/// are the target's.
static void eraseViews(const Copy &copy) {
  if (copy.isByView() && copy.copied.getType() == copy.target.getType())
    for (Operation *user : llvm::make_early_inc_range(copy.copied.getUsers()))
      user->setOperand(0, copy.target);
  for (Operation *view : copy.views)
    if (view->use_empty())
      view->erase();
}

/// Why reads of the copy cannot read its source instead, or null.
static const char *whyNotFromSource(NestGraph &graph, const Copy &copy) {
  memref::AllocOp alloc = getPrivateAlloc(copy.target);
  if (!alloc || !copy.toSource)
    return "the target is not a whole private buffer";
  if (!hasPlainUses(copy.target, copy.node->op))
    return "the target has other uses than plain accesses";
  if (graph.writersOf(copy.target).size() != 1)
    return "the target is written elsewhere too";
  if (cast<MemRefType>(copy.source.getType()).getElementType() !=
      alloc.getType().getElementType())
    return "the source holds the values in another form";
  Value base = getBaseMemref(copy.source);
  if (getStorageKind(base) == StorageKind::Unknown)
    return "the source may be any memory";
  NestNode *last = copy.node;
  for (NestNode *node : graph.readersOf(copy.target)) {
    if (graph.precedes(node->id, copy.node->id))
      return "the target is read before the copy";
    if (graph.precedes(last->id, node->id))
      last = node;
  }
  // Whatever the source may share storage with is in its class of the graph:
  // the first write after the copy, by a node that also comes before the last
  // read or is it, stands in the way.
  for (const NestEdge &edge : graph.edgesFrom(copy.node->id))
    if ((edge.kind == EdgeKind::Anti || !edge.base) &&
        (edge.sink == last->id || graph.precedes(edge.sink, last->id)))
      return "the source is overwritten while the copy is read";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Liveness
//===----------------------------------------------------------------------===//

namespace {
/// Marks what reaches effects that are visible outside; the rest may go.
class Liveness {
public:
  explicit Liveness(func::FuncOp function) {
    function.walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op) &&
          isPrivateAllocation(op->getResult(0)) &&
          hasKnownUses(op->getResult(0)))
        buffers.insert(op->getResult(0));
    });
    function.walk([&](Operation *op) {
      if (op != function && isRoot(op))
        markOp(op);
    });
    drain();
  }

  bool isLive(Operation *op) const { return live.contains(op); }
  bool isDeadBuffer(Value base) const {
    return buffers.contains(base) && !liveBuffers.contains(base);
  }

private:
  /// Every use is a load, a store or a view of such, so that effects of the
  /// operations that name the buffer are known.
  static bool hasKnownUses(Value value) {
    return llvm::all_of(value.getUsers(), [](Operation *user) {
      if (isa<AffineLoadOp, AffineStoreOp, AffineVectorLoadOp,
              AffineVectorStoreOp, memref::LoadOp, memref::StoreOp,
              vector::LoadOp, vector::StoreOp, vector::TransferReadOp,
              vector::TransferWriteOp, memref::DeallocOp, memref::DimOp>(user))
        return true;
      if (auto view = dyn_cast<ViewLikeOpInterface>(user))
        return user->getNumResults() == 1 && hasKnownUses(user->getResult(0));
      return false;
    });
  }

  /// The buffer that the operation writes and nothing else; null otherwise.
  Value writtenBuffer(Operation *op) const {
    Value memref;
    if (auto store = dyn_cast<AffineWriteOpInterface>(op))
      memref = store.getMemRef();
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      memref = store.getMemRef();
    else if (auto store = dyn_cast<vector::StoreOp>(op))
      memref = store.getBase();
    else if (auto write = dyn_cast<vector::TransferWriteOp>(op))
      memref = write.getBase();
    else if (auto dealloc = dyn_cast<memref::DeallocOp>(op))
      memref = dealloc.getMemref();
    if (!memref || !isa<BaseMemRefType>(memref.getType()))
      return {};
    Value base = getBaseMemref(memref);
    return buffers.contains(base) ? base : Value();
  }

  bool isRoot(Operation *op) const {
    if (auto loop = dyn_cast<AffineForOp>(op))
      return loop.getStepAsInt() <= 0; // never ends
    if (op->getNumRegions() != 0) {
      // What is inside speaks for itself, if it is known to be all.
      return !isa<AffineIfOp, AffineParallelOp, scf::ForOp, scf::IfOp>(op);
    }
    if (isa<AffineYieldOp, scf::YieldOp>(op))
      return !isa<AffineForOp, AffineIfOp, AffineParallelOp, scf::IfOp,
                  scf::ForOp>(op->getParentOp());
    if (op->hasTrait<OpTrait::IsTerminator>())
      return true;
    if (writtenBuffer(op))
      return false;
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      return !buffers.contains(op->getResult(0));
    // Reads of memory go where nobody needs the value.
    if (isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op))
      return false;
    return true;
  }

  void markOp(Operation *op) {
    if (live.insert(op).second)
      worklist.push_back(op);
  }

  void markValue(Value value) {
    if (Operation *def = value.getDefiningOp()) {
      markOp(def);
      return;
    }
    // An iteration argument lives on through the loop; keep the whole of it.
    Operation *parent = value.getParentBlock()->getParentOp();
    if (parent)
      markOp(parent);
  }

  void drain() {
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      for (Value operand : op->getOperands())
        markValue(operand);
      // What runs only under an operation needs it.
      if (Operation *parent = op->getParentOp();
          parent && !isa<func::FuncOp>(parent))
        markOp(parent);
      // Values carried and results are kept all or none.
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
            markOp(&block.back());
      SmallVector<Access, 2> accesses;
      if (op->getNumRegions() == 0)
        collectAccesses(op, accesses);
      for (const Access &access : accesses)
        if (!access.isWrite && access.base && buffers.contains(access.base))
          markBuffer(access.base);
    }
  }

  void markBuffer(Value buffer) {
    if (!liveBuffers.insert(buffer).second)
      return;
    SmallVector<Value, 4> names{buffer};
    while (!names.empty())
      for (Operation *user : names.pop_back_val().getUsers()) {
        if (isa<ViewLikeOpInterface>(user))
          llvm::append_range(names, user->getResults());
        else if (writtenBuffer(user) == buffer)
          markOp(user);
      }
  }

  llvm::DenseSet<Value> buffers, liveBuffers;
  llvm::DenseSet<Operation *> live;
  SmallVector<Operation *> worklist;
};
} // namespace

/// Erases what is not live. Operations that carry dead values along with live
/// ones stay whole.
static void eraseDead(func::FuncOp function, const Liveness &liveness,
                      unsigned &buffers, unsigned &stores) {
  SmallVector<Operation *> dead;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function || liveness.isLive(op))
      return WalkResult::advance();
    // Terminators go with their parents.
    if (op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    dead.push_back(op);
    return WalkResult::skip();
  });
  for (Operation *op : dead) {
    op->walk([&](Operation *inner) {
      stores += isa<AffineWriteOpInterface, memref::StoreOp>(inner);
    });
    if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
      ++buffers;
      remark(RemarkKind::Applied, op->getLoc(), passName,
             "contents of the buffer are not needed");
    }
    op->dropAllReferences();
  }
  for (Operation *op : dead) {
    op->dropAllUses();
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Contents that are overwritten
//===----------------------------------------------------------------------===//

/// How many operations behind a nest are looked at.
static constexpr unsigned mostLookedAt = 64;

/// The memref that the nest stores to, if that is all it does.
static Value getOnlyStored(AffineForOp nest) {
  if (nest.getNumResults())
    return {};
  Value stored;
  WalkResult result = nest->walk([&](Operation *op) {
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      if (stored && stored != store.getMemRef())
        return WalkResult::interrupt();
      stored = store.getMemRef();
      return WalkResult::advance();
    }
    if (isa<AffineForOp, AffineYieldOp, AffineLoadOp>(op) ||
        (!op->getNumRegions() && isMemoryEffectFree(op)))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return result.wasInterrupted() ? Value() : stored;
}

/// True if the access is a store that a nest makes of every element.
static bool coversAll(const Access &access, AffineForOp nest) {
  auto store = dyn_cast<AffineStoreOp>(access.op);
  if (!store || !access.isAffine() || access.isPartial)
    return false;
  for (Operation *parent = store->getParentOp();;
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(parent);
    std::optional<uint64_t> trips = loop ? getTripCount(loop) : std::nullopt;
    if (!trips || *trips == 0)
      return false;
    if (loop == nest)
      break;
  }
  MemRefType type = store.getMemRefType();
  llvm::SmallDenseSet<Value, 4> seen;
  for (auto [index, size] : llvm::enumerate(type.getShape())) {
    auto dim =
        dyn_cast<AffineDimExpr>(access.map.getAffineMap().getResult(index));
    if (!dim || ShapedType::isDynamic(size))
      return false;
    Value iv = access.map.getOperand(dim.getPosition());
    AffineForOp loop = getForInductionVarOwner(iv);
    if (!loop || !nest->isAncestor(loop) || !seen.insert(iv).second ||
        !loop.hasConstantBounds() || loop.getStepAsInt() != 1 ||
        loop.getConstantLowerBound() > 0 || loop.getConstantUpperBound() < size)
      return false;
  }
  return true;
}

/// True if what the nest stores to `memref` is overwritten before it is seen.
static bool isOverwritten(AffineForOp nest, Value memref) {
  Operation *op = nest->getNextNode();
  for (unsigned n = 0; op && n < mostLookedAt; ++n, op = op->getNextNode()) {
    if (hasAssertion(op))
      return false;
    SmallVector<Access, 4> accesses;
    collectAccesses(op, accesses);
    llvm::erase_if(accesses, [&](const Access &access) {
      return access.memref && !mayAlias(access.memref, memref);
    });
    if (accesses.empty())
      continue;
    auto later = dyn_cast<AffineForOp>(op);
    return later && accesses.size() == 1 && accesses[0].memref == memref &&
           coversAll(accesses[0], later);
  }
  return false;
}

/// True if the copy turns rows into columns and the source is read as it is,
/// too: whoever computes it, and those that read rows, would move across rows
/// then, where otherwise only those that read the copy do.
static bool turnsWhatOthersRead(NestGraph &graph, const Copy &copy) {
  if (!copy.toTarget || copy.toTarget.getNumDims() == 0 ||
      graph.readersOf(copy.source).size() < 2)
    return false;
  unsigned last = copy.toTarget.getNumDims() - 1;
  ArrayRef<AffineExpr> results = copy.toTarget.getResults();
  return !results.empty() && !results.back().isFunctionOfDim(last) &&
         llvm::any_of(results, [&](AffineExpr result) {
           return result.isFunctionOfDim(last);
         });
}

/// Erases nests at the top of the function whose stores are overwritten.
static unsigned eraseOverwritten(func::FuncOp function) {
  unsigned count = 0;
  for (Block &block : function.getBody())
    for (AffineForOp nest :
         llvm::make_early_inc_range(block.getOps<AffineForOp>())) {
      Value memref = getOnlyStored(nest);
      if (!memref || !isOverwritten(nest, memref))
        continue;
      remark(RemarkKind::Applied, nest.getLoc(), passName,
             "what the nest stores is overwritten");
      nest.erase();
      ++count;
    }
  return count;
}

/// What is known of sizes before anything is written.
static void assumeEarlySizes(SizeFacts &facts, func::FuncOp function,
                             func::FuncOp shapes) {
  if (function->hasAttr("polynest.entry"))
    facts.assumeResults(function, shapes);
  for (Operation &op : function.getBody().front()) {
    if (auto assertion = dyn_cast<cf::AssertOp>(op))
      facts.assume(assertion);
    else if (op.getNumRegions() ||
             !(isMemoryEffectFree(&op) || isa<memref::AllocOp>(op)))
      return;
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct EliminateBuffersPass : impl::EliminateBuffersBase<EliminateBuffersPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        runOn(function, getShapes(symbols, function));
  }

  void runOn(func::FuncOp function, func::FuncOp shapes) {
    numStores += eraseOverwritten(function);
    Liveness liveness(function);
    unsigned buffers = 0, stores = 0;
    eraseDead(function, liveness, buffers, stores);
    numErased += buffers;
    numStores += stores;
    NestGraph graph(function);
    SizeFacts facts;
    assumeEarlySizes(facts, function, shapes);
    SmallVector<unsigned> order;
    for (NestNode *node : graph.nodes())
      order.push_back(node->id);
    SmallVector<memref::AllocOp> unused;
    // Last first: a buffer copied on through others reaches the last at once.
    for (unsigned id : llvm::reverse(order)) {
      std::optional<Copy> copy = matchCopy(*graph.getNode(id), facts);
      if (!copy)
        continue;
      const char *why = whyNotInTarget(graph, *copy, facts);
      bool fromSource = (why || turnsWhatOthersRead(graph, *copy)) &&
                        !whyNotFromSource(graph, *copy);
      bool intoTarget = !why && !fromSource;
      if (!intoTarget && !fromSource) {
        std::optional<Copy> before = beforeReshape(*copy);
        if (!before)
          before = behindReshapes(*copy);
        if (before) {
          copy = before;
          why = whyNotInTarget(graph, *copy, facts);
          intoTarget = !why;
        }
      }
      if (!intoTarget && !fromSource) {
        ++numDeclined;
        remark(RemarkKind::Declined, copy->node->op->getLoc(), passName, why);
        continue;
      }
      remark(RemarkKind::Applied, copy->node->op->getLoc(), passName,
             intoTarget ? "values computed where they were copied to"
                        : "values read where they were copied from");
      ++numApplied;
      Value buffer = intoTarget ? copy->source : copy->target;
      Value home = intoTarget ? copy->target : copy->source;
      // A target made later moves up; the nodes that follow it do not.
      Operation *def = home.getDefiningOp();
      if (intoTarget && def && buffer.getDefiningOp()->isBeforeInBlock(def))
        moveWithinBlock(def, buffer.getDefiningOp());
      SmallVector<unsigned> users;
      for (NestNode *node : graph.usersOf(buffer))
        if (node->id != id)
          users.push_back(node->id);
      graph.eraseNode(id);
      if (copy->isByView())
        buffer.replaceAllUsesWith(
            makeView(*copy, buffer.getDefiningOp<memref::AllocOp>()));
      eraseViews(*copy);
      if (!copy->isByView())
        redirect(buffer, home, intoTarget ? copy->toTarget : copy->toSource);
      for (unsigned user : users)
        graph.updateNode(user);
      unused.push_back(buffer.getDefiningOp<memref::AllocOp>());
    }
    for (memref::AllocOp alloc : unused)
      alloc.erase();
    numErased += unused.size();
  }
};
} // namespace

} // namespace polynest
