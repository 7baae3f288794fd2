//===- SplitBuffers.cpp - a buffer for each part that a nest writes -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where several nests write a private buffer, each another box of it (the
// operands of a concatenation, the padding and the inside of a padded image,
// the two slices of a roll), each box becomes a buffer of its own. Loops of
// nests that read, or write, several of them are cut at the seams: one nest for
// each. A nest behind such a buffer then reads what one nest has written, and
// polynest-fuse-nests puts the two together. What is filled with one value and
// what is overwritten before it is read is not stored at all: readers take the
// value, and where nothing is left to compute from it they fill in their turn.
// A buffer that one nest writes, and others read in parts, is split likewise.
// Results stay what they are, but are filled only where they are not
// overwritten.
// Legal when: the buffer is used by plain affine accesses in nests beside its
// allocation, whose boxes can be compared; loops that are cut, and those around
// them, are parallel, so that their iterations may run in any order. Elements
// that nothing writes have any value.
// Memory is renamed and iterations regrouped: no value changes.
// Profitable when: nests that would have to be cut compute elements from
// elements, or reduce few parts; sums of products are never cut: what they pack
// would be packed again. Parts too narrow for vectors stay where functions are
// computed of them. Limits: bounds linear in sizes that are known before the
// buffer is first used; at most `mostParts` parts. A nest that reads elements
// of several parts at once keeps these together. Cost: accesses of the buffer
// times its parts, and operations of the nests that are cut.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Support/Remark.h"
#include "Transforms/BufferUser.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace polynest {
#define GEN_PASS_DEF_SPLITBUFFERS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-split-buffers"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "split-buffers";

/// Parts of a buffer, and of a nest that has loops of its own in each
/// iteration, or reduces.
static constexpr unsigned mostParts = 16, mostHeavyPieces = 4;
/// Nests that use a buffer.
static constexpr unsigned mostNests = 64;
/// Operations that cutting may add to a function of none, and those for each
/// that there is.
static constexpr unsigned fewOperations = 4096, operationsEach = 1;
/// Smaller results are filled as fast as one can ask for less.
static constexpr int64_t leastFilledBytes = 8192;
/// A part with shorter rows has no vectors; a few such elements do not count.
static constexpr int64_t leastRun = 8, mostNarrowPart = 8;

/// In the place of a part: nobody needs what is stored, and nothing is stored
/// where it is read.
static constexpr unsigned noPart = ~0u, unwritten = ~1u;

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

namespace {
/// A part of a nest's iterations, as ranges of its loops, and the part of the
/// buffer that each access touches in them.
struct Piece {
  IndexBox ranges;
  SmallVector<unsigned, 4> parts;
};

struct User : BufferUser {
  SmallVector<Piece, 4> pieces;
  /// A copy of the nest that fills what the pieces of one value store.
  Operation *filling = nullptr;

  explicit User(BufferUser user) : BufferUser(std::move(user)) {}
};

struct Part {
  IndexBox box;
  /// What each element is, if one value from outside of the nests.
  Value uniform;
  Value memref;
};

/// How one buffer is split, or a result written once.
class Split {
public:
  Split(Value buffer, bool isResult) : buffer(buffer), isResult(isResult) {}

  /// Why nothing is done, or empty. Changes nothing.
  StringRef plan();
  /// Does it. The nests that were cut or changed touch `touched` buffers.
  void apply(llvm::SetVector<Value> &touched);

  SmallVector<std::unique_ptr<User>, 4> users;
  SmallVector<Part, 4> parts;
  unsigned added = 0;

private:
  StringRef collectUsers();
  StringRef findParts();
  bool findReadParts();
  bool joinParts(const User &user, const NestAccess &access, unsigned number);
  bool cutUsers(bool &isDone, StringRef &why);
  bool isNeeded(unsigned user, const NestAccess &store, unsigned part);
  void findUniform();
  void dropStores();
  StringRef judge();
  void findFilling(User &user);
  bool isKnownInTime(const LinearIndex &index);
  void emitPiece(User &user, const Piece &piece, bool isAll);
  void redirect(Operation *op, const Part &part);

  Value buffer;
  bool isResult;
  /// Parts are what readers read of one nest's.
  bool byReaders = false;
};
} // namespace

StringRef Split::collectUsers() {
  llvm::SetVector<Operation *> roots;
  Block *block =
      isResult ? buffer.getParentBlock() : buffer.getDefiningOp()->getBlock();
  for (Operation *op : buffer.getUsers()) {
    if (isa<memref::DimOp>(op) && isResult)
      continue;
    if (!isa<AffineLoadOp, AffineStoreOp>(op))
      return "the buffer is used other than by plain accesses";
    Operation *root = block->findAncestorOpInBlock(*op);
    if (!isa_and_nonnull<AffineForOp>(root))
      return "the buffer is used outside of nests";
    roots.insert(root);
    if (roots.size() > mostNests)
      return "too many nests use the buffer";
  }
  // Most results are what one nest writes: not worth a look at it.
  if (roots.size() < 2)
    return "one nest uses the buffer";
  SmallVector<Operation *> order(roots.begin(), roots.end());
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *root : order) {
    std::optional<BufferUser> user =
        describeUser(cast<AffineForOp>(root), buffer);
    if (!user)
      return "an access of the buffer is no box";
    users.push_back(std::make_unique<User>(std::move(*user)));
  }
  return "";
}

/// From the last writer on, what each writes that none behind it does.
StringRef Split::findParts() {
  unsigned writers = 0;
  for (const std::unique_ptr<User> &user : llvm::reverse(users))
    for (const NestAccess &access : user->accesses) {
      if (!access.isWrite)
        continue;
      ++writers;
      SmallVector<IndexBox, 4> rest{access.box}, boxes;
      for (const Part &part : parts)
        boxes.push_back(part.box);
      // Boxes that make up a larger one are that.
      if (boxes.size() > 1) {
        std::optional<IndexBox> around = boxes.front();
        std::optional<int64_t> volume = 0;
        for (const IndexBox &box : boxes) {
          std::optional<int64_t> some = getVolume(box);
          if (around)
            around = joinBoxes(*around, box);
          if (!some || llvm::AddOverflow(*volume, *some, *volume)) {
            around = std::nullopt;
            break;
          }
        }
        if (around && getVolume(*around) == volume)
          boxes.assign(1, *around);
      }
      for (const IndexBox &box : boxes) {
        SmallVector<IndexBox, 4> left;
        for (const IndexBox &some : rest)
          if (!subtractBox(some, box, left))
            return "bounds of parts cannot be compared";
        rest = std::move(left);
        if (rest.size() + parts.size() > mostParts)
          return "the buffer has too many parts";
      }
      // In program order.
      for (IndexBox &box : llvm::reverse(rest))
        parts.insert(parts.begin(), {std::move(box), {}, {}});
    }
  if (parts.size() == 1 && writers == 1 && !isResult)
    byReaders = findReadParts();
  return parts.size() < 2 ? "the buffer has one part" : "";
}

/// What is read of a nest's elements, where nests read other parts of it.
bool Split::findReadParts() {
  SmallVector<Part, 4> found;
  if (!users.front()->isPointwise)
    return false;
  for (const std::unique_ptr<User> &user : users)
    for (const NestAccess &access : user->accesses) {
      if (access.isWrite && user == users.front())
        continue;
      if (access.isWrite || user == users.front() || !user->isPointwise ||
          !isInside(access.box, parts.front().box))
        return false;
      bool isNew = true;
      for (const Part &part : found) {
        if (areDisjoint(part.box, access.box))
          continue;
        if (!isInside(part.box, access.box) || !isInside(access.box, part.box))
          return false;
        isNew = false;
      }
      if (isNew)
        found.push_back({access.box, {}, {}});
    }
  if (found.size() < 2 || found.size() > mostParts)
    return false;
  parts = std::move(found);
  return true;
}

/// Makes one part of `number` and those that the access touches and loops that
/// may be cut do not keep apart from it; of all that it touches where there are
/// no such. False if that changes nothing.
bool Split::joinParts(const User &user, const NestAccess &access,
                      unsigned number) {
  auto areKeptApart = [&](const IndexBox &a, const IndexBox &b) {
    for (auto [index, x, y] : llvm::zip_equal(access.indices, a, b))
      if (index.moving.size() == 1 && std::abs(index.moving[0].second) == 1 &&
          index.moving[0].first < user.numCuttable &&
          (isAtMost(x.high, y.low) || isAtMost(y.high, x.low)))
        return true;
    return false;
  };
  unsigned before = parts.size();
  IndexBox joined = parts[number].box;
  parts.erase(parts.begin() + number);
  auto joinWhere = [&](function_ref<bool(const IndexBox &)> belongs) {
    for (unsigned i = 0; i < parts.size();) {
      const IndexBox &box = parts[i].box;
      if (areDisjoint(box, joined) &&
          (areDisjoint(box, access.box) || !belongs(box))) {
        ++i;
        continue;
      }
      std::optional<IndexBox> both = joinBoxes(joined, box);
      if (!both)
        return false;
      joined = *both;
      parts.erase(parts.begin() + i);
      i = 0;
    }
    return true;
  };
  if (!joinWhere(
          [&](const IndexBox &box) { return !areKeptApart(box, joined); }) ||
      (parts.size() + 1 == before &&
       !joinWhere([](const IndexBox &box) { return true; })))
    return false;
  parts.push_back({joined, {}, {}});
  return parts.size() < before;
}

/// Cuts all nests at the seams. Where one cannot be cut, joins parts, and is
/// not done; false where that helps not either.
bool Split::cutUsers(bool &isDone, StringRef &why) {
  isDone = true;
  for (const std::unique_ptr<User> &user : users) {
    user->pieces.assign(1, Piece{user->ranges, {}});
    for (const NestAccess &access : user->accesses) {
      SmallVector<Piece, 4> pieces;
      for (const Piece &piece : user->pieces) {
        SmallVector<IndexBox, 4> rest{piece.ranges};
        for (auto [number, part] : llvm::enumerate(parts)) {
          SmallVector<IndexBox, 4> found;
          unsigned most = user->isPointwise ? mostParts : mostHeavyPieces;
          if (!findIterations(*user, piece.ranges, access, part.box, found) ||
              pieces.size() + found.size() > most) {
            isDone = false;
            why = "a nest uses several parts at once";
            return joinParts(*user, access, number);
          }
          for (const IndexBox &ranges : found) {
            pieces.push_back({ranges, piece.parts});
            pieces.back().parts.push_back(number);
            SmallVector<IndexBox, 4> left;
            for (const IndexBox &some : rest)
              if (!subtractBox(some, ranges, left)) {
                why = "bounds of parts cannot be compared";
                return false;
              }
            rest = std::move(left);
          }
        }
        for (const IndexBox &ranges : rest) {
          pieces.push_back({ranges, piece.parts});
          pieces.back().parts.push_back(access.isWrite ? noPart : unwritten);
        }
      }
      user->pieces = std::move(pieces);
    }
  }
  return true;
}

/// True if something reads what the nest stores to the part, or may see it.
bool Split::isNeeded(unsigned number, const NestAccess &store, unsigned part) {
  const IndexBox &box = parts[part].box;
  for (unsigned i = number; i < users.size(); ++i) {
    for (const NestAccess &access : users[i]->accesses)
      if (!access.isWrite && !areDisjoint(access.box, box))
        return true;
    if (i == number)
      continue;
    for (const NestAccess &access : users[i]->accesses)
      if (access.isExact && isInside(box, access.box))
        return false;
  }
  return isResult;
}

/// Parts that one store fills with a value from outside.
void Split::findUniform() {
  for (auto [number, part] : llvm::enumerate(parts)) {
    const NestAccess *only = nullptr;
    unsigned writer = 0;
    bool isOnly = true;
    for (auto [i, user] : llvm::enumerate(users))
      for (const Piece &piece : user->pieces)
        for (auto [access, touched] :
             llvm::zip_equal(user->accesses, piece.parts)) {
          if (touched != number)
            continue;
          if (access.isWrite) {
            isOnly &= !only || only == &access;
            only = &access;
            writer = i;
          } else {
            isOnly &= only && writer < i;
          }
        }
    if (!only || !isOnly || !only->isExact || !isInside(part.box, only->box))
      continue;
    Value value = cast<AffineStoreOp>(only->op).getValueToStore();
    if (users[writer]->nest.root.isDefinedOutsideOfLoop(value))
      part.uniform = value;
  }
}

/// Marks the stores that nobody needs.
void Split::dropStores() {
  for (auto [i, user] : llvm::enumerate(users))
    for (Piece &piece : user->pieces)
      for (auto [access, part] : llvm::zip_equal(user->accesses, piece.parts))
        if (access.isWrite && part != noPart && !isNeeded(i, access, part))
          part = noPart;
  if (isResult)
    return;
  findUniform();
  for (const std::unique_ptr<User> &user : users)
    for (Piece &piece : user->pieces)
      for (auto [access, part] : llvm::zip_equal(user->accesses, piece.parts))
        if (access.isWrite && part != noPart && parts[part].uniform)
          part = noPart;
}

/// True if a value that enters the bounds is there before the buffer is used.
bool Split::isKnownInTime(const LinearIndex &index) {
  Operation *first = users.front()->nest.root;
  return llvm::all_of(index.terms, [&](std::pair<Value, int64_t> term) {
    Operation *def = term.first.getDefiningOp();
    return term.first.getParentBlock() == first->getBlock() &&
           (!def || def->isBeforeInBlock(first));
  });
}

StringRef Split::judge() {
  auto hasLength = [](const IndexSide &side) {
    return addIndex(side.high, side.low, -1).has_value();
  };
  for (const Part &part : parts) {
    for (const IndexSide &side : part.box)
      if (!isKnownInTime(side.low) || !isKnownInTime(side.high))
        return "the size of a part is known too late";
    if (!llvm::all_of(part.box, hasLength))
      return "the size of a part overflows";
  }
  for (const std::unique_ptr<User> &user : users)
    for (const Piece &piece : user->pieces)
      if (!llvm::all_of(piece.ranges, hasLength))
        return "the size of a part overflows";
  auto type = cast<MemRefType>(buffer.getType());
  if (isResult) {
    // Several nests in the place of one pay where most of it is overwritten.
    std::optional<uint64_t> bytes = getBufferBytes(type);
    bool drops = false;
    int64_t dropped = 0, all = 0;
    for (const std::unique_ptr<User> &user : users)
      if (user->pieces.size() > 1)
        for (const Piece &piece : user->pieces) {
          bool isDropped = llvm::is_contained(piece.parts, noPart);
          int64_t volume = getVolume(piece.ranges).value_or(0);
          drops |= isDropped;
          dropped += isDropped ? volume : 0;
          all += volume;
        }
    if (!drops)
      return "nothing is overwritten";
    if (dropped < all / 2 || (bytes && *bytes < uint64_t(leastFilledBytes)))
      return "storing all of the result is as fast";
  }
  for (const std::unique_ptr<User> &user : users) {
    if (user->pieces.size() < 2)
      continue;
    added += (user->pieces.size() - 1) * user->nest.getSize();
    // Rows of functions without vectors.
    int64_t narrow = 0, all = 0;
    AffineForOp inner = user->nest.band.back();
    bool isHeavy = estimateCycles(inner.getBody()) >= heavyCycles;
    unsigned last = user->nest.band.size() - 1;
    for (const Piece &piece : user->pieces) {
      std::optional<int64_t> volume = getVolume(piece.ranges);
      std::optional<int64_t> run = getExtent(piece.ranges[last]);
      if (!volume || !run)
        continue;
      all += *volume;
      narrow += *run < leastRun ? *volume : 0;
    }
    std::optional<int64_t> run = getExtent(user->ranges[last]);
    if (isHeavy && run.value_or(leastRun) >= leastRun &&
        narrow > all / mostNarrowPart)
      return "vectors would be lost";
  }
  return "";
}

/// Where the nest computes from one buffer alone, and what it computes from the
/// value of some parts are constants, a copy of it that fills everything with
/// these: what fills and is overwritten is a form that others know, such as
/// those that pad less than the whole.
void Split::findFilling(User &user) {
  if (!user.isPointwise || user.pieces.size() < 2 ||
      llvm::any_of(user.nest.accesses, [&](const Access &access) {
        return access.isWrite ? access.base == buffer : access.base != buffer;
      }))
    return;
  Value uniform;
  int64_t filled = 0, all = 0;
  for (const Piece &piece : user.pieces) {
    std::optional<int64_t> volume = getVolume(piece.ranges);
    if (!volume)
      return;
    all += *volume;
    if (!llvm::all_equal(piece.parts) || piece.parts.front() == unwritten)
      return;
    Value value = parts[piece.parts.front()].uniform;
    if (!value)
      continue;
    if ((uniform && uniform != value) || !matchPattern(value, m_Constant()))
      return;
    uniform = value;
    filled += *volume;
  }
  if (!uniform || filled > all / 2)
    return;
  auto copy = cast<AffineForOp>(user.nest.root->clone());
  Block *body = getPerfectBand(copy).back().getBody();
  OpBuilder builder(copy.getContext());
  for (Operation &op : llvm::make_early_inc_range(body->without_terminator())) {
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      load.replaceAllUsesWith(uniform);
      load.erase();
      continue;
    }
    builder.setInsertionPoint(&op);
    SmallVector<Value> results;
    if (isa<AffineStoreOp>(op) || matchPattern(&op, m_Constant()) ||
        !isa<arith::ArithDialect>(op.getDialect()) ||
        failed(builder.tryFold(&op, results)) || results.empty())
      continue;
    op.replaceAllUsesWith(results);
    op.erase();
  }
  bool isFill = llvm::all_of(body->without_terminator(), [](Operation &op) {
    auto store = dyn_cast<AffineStoreOp>(op);
    return store ? matchPattern(store.getValueToStore(), m_Constant())
                 : matchPattern(&op, m_Constant());
  });
  if (!isFill) {
    copy->erase();
    return;
  }
  user.filling = copy;
  llvm::erase_if(user.pieces, [&](const Piece &piece) {
    return parts[piece.parts.front()].uniform == uniform;
  });
}

StringRef Split::plan() {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.getLayout().isIdentity() || type.getRank() == 0)
    return "the buffer has no plain layout";
  StringRef why = collectUsers();
  if (!why.empty())
    return why;
  if (isResult && llvm::any_of(users, [](auto &user) {
        return llvm::any_of(user->accesses,
                            [](auto &access) { return !access.isWrite; });
      }))
    return "the result is read";
  why = findParts();
  bool isDone = false;
  while (why.empty() && !isDone) {
    StringRef reason;
    if (!cutUsers(isDone, reason) || parts.size() < 2)
      why = reason;
  }
  if (!why.empty())
    return why;
  dropStores();
  return judge();
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// How many indices a side has, as a map of its operands.
static std::pair<AffineMap, SmallVector<Value>>
getLength(const IndexSide &side, MLIRContext *context) {
  // It does not overflow: that has been asked.
  LinearIndex length = *addIndex(side.high, side.low, -1);
  SmallVector<Value> operands;
  unsigned numSymbols = 0;
  AffineExpr expr = getIndexExpr(length, operands, numSymbols, context);
  return {AffineMap::get(0, numSymbols, expr), operands};
}

/// Makes an access of the buffer one of a part.
void Split::redirect(Operation *op, const Part &part) {
  auto [map, operands] = getPlace(op);
  unsigned numSymbols = map.getNumSymbols();
  SmallVector<AffineExpr> results;
  for (auto [result, side] : llvm::zip_equal(map.getResults(), part.box))
    results.push_back(result - getIndexExpr(side.low, operands, numSymbols,
                                            map.getContext()));
  movePlace(op, part.memref,
            simplifyAffineMap(AffineMap::get(map.getNumDims(), numSymbols,
                                             results, map.getContext())),
            operands);
}

/// The nest for one piece, all of it or what is cut out.
void Split::emitPiece(User &user, const Piece &piece, bool isAll) {
  AffineForOp root = user.nest.root;
  bool stores = llvm::any_of(user.nest.accesses, [&](const Access &a) {
    return a.isWrite && a.base != buffer;
  });
  for (auto [access, part] : llvm::zip_equal(user.accesses, piece.parts))
    stores |= access.isWrite && part != noPart;
  if (!stores) {
    if (isAll)
      root.erase();
    return;
  }
  IRMapping mapping;
  SmallVector<AffineForOp, 6> band = user.nest.band;
  if (!isAll) {
    OpBuilder builder(root);
    auto copy = cast<AffineForOp>(builder.clone(*root, mapping));
    root = copy;
    band = getPerfectBand(copy);
  }
  for (auto [i, loop] : llvm::enumerate(band)) {
    const IndexSide &range = piece.ranges[i], &before = user.ranges[i];
    if (isSameNumber(range.low, before.low) &&
        isSameNumber(range.high, before.high))
      continue;
    // From 0, so that nests of parts of one size line up.
    MLIRContext *context = loop.getContext();
    auto [bound, sizes] = getLength(range, context);
    loop.setLowerBound({}, AffineMap::getConstantMap(0, context));
    loop.setUpperBound(sizes, bound);
    Value iv = loop.getInductionVar();
    SmallVector<Value> operands{iv};
    unsigned numSymbols = 0;
    AffineExpr index = getAffineDimExpr(0, context) +
                       getIndexExpr(range.low, operands, numSymbols, context);
    replaceVariable(iv, loop, AffineMap::get(1, numSymbols, index), operands);
  }
  for (auto [access, part] : llvm::zip_equal(user.accesses, piece.parts)) {
    Operation *op = isAll ? access.op : mapping.lookup(access.op);
    if (part == noPart) {
      op->erase();
    } else if (isResult) {
      continue;
    } else if (part == unwritten) {
      // Any value will do.
      OpBuilder builder(root);
      auto type = cast<MemRefType>(buffer.getType()).getElementType();
      op->getResult(0).replaceAllUsesWith(arith::ConstantOp::create(
          builder, op->getLoc(), cast<TypedAttr>(builder.getZeroAttr(type))));
      op->erase();
    } else if (Value uniform = parts[part].uniform) {
      op->getResult(0).replaceAllUsesWith(uniform);
      op->erase();
    } else {
      redirect(op, parts[part]);
    }
  }
  composeIndices(root);
}

void Split::apply(llvm::SetVector<Value> &touched) {
  auto type = cast<MemRefType>(buffer.getType());
  OpBuilder builder(users.front()->nest.root);
  for (Part &part : parts) {
    if (isResult || part.uniform)
      continue;
    SmallVector<int64_t> shape;
    SmallVector<Value> sizes;
    for (const IndexSide &side : part.box) {
      if (std::optional<int64_t> extent = getExtent(side)) {
        shape.push_back(*extent);
        continue;
      }
      shape.push_back(ShapedType::kDynamic);
      auto [length, operands] = getLength(side, builder.getContext());
      sizes.push_back(
          isa<AffineSymbolExpr>(length.getResult(0))
              ? operands.front()
              : makeComposedAffineApply(builder, buffer.getLoc(), length,
                                        getAsOpFoldResult(operands)));
    }
    auto alloc = buffer.getDefiningOp<memref::AllocOp>();
    part.memref = memref::AllocOp::create(
        builder, alloc.getLoc(),
        MemRefType::get(shape, type.getElementType(), AffineMap(),
                        type.getMemorySpace()),
        sizes, alloc.getAlignmentAttr());
    touched.insert(part.memref);
  }
  for (const std::unique_ptr<User> &user : users) {
    AffineForOp root = user->nest.root;
    if (!isResult)
      findFilling(*user);
    if (user->pieces.size() > 1 || user->filling)
      for (const Access &access : user->nest.accesses)
        if (access.base && access.base != buffer)
          touched.insert(access.base);
    if (user->filling) {
      root->getBlock()->getOperations().insert(Block::iterator(root),
                                               user->filling);
      SmallVector<Operation *> constants;
      user->filling->walk([&](Operation *op) {
        if (matchPattern(op, m_Constant()))
          constants.push_back(op);
      });
      for (Operation *op : constants)
        op->moveBefore(user->filling);
    }
    bool isAll = user->pieces.size() == 1 && !user->filling;
    for (const Piece &piece : user->pieces)
      emitPiece(*user, piece, isAll);
    if (!isAll)
      root.erase();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitBuffersPass : impl::SplitBuffersBase<SplitBuffersPass> {
  using SplitBuffersBase::SplitBuffersBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Block &body = function.getBody().front();
    budget = fewOperations + operationsEach * countOperations(function);
    llvm::SetVector<Value> waiting;
    for (auto alloc : llvm::reverse(body.getOps<memref::AllocOp>()))
      waiting.insert(alloc);
    while (!waiting.empty()) {
      Value buffer = waiting.pop_back_val();
      auto alloc = buffer.getDefiningOp<memref::AllocOp>();
      if (!alloc || alloc->getBlock() != &body || !isPrivateAllocation(buffer))
        continue;
      llvm::SetVector<Value> touched;
      if (!split(buffer, /*isResult=*/false, touched))
        continue;
      waiting.remove(buffer);
      if (buffer.use_empty())
        alloc.erase();
      // The next ones first.
      for (Value other : llvm::reverse(touched))
        waiting.insert(other);
    }
    for (BlockArgument argument : body.getArguments())
      if (isa<MemRefType>(argument.getType()) &&
          function.getArgAttr(argument.getArgNumber(), "polynest.result")) {
        llvm::SetVector<Value> touched;
        split(argument, /*isResult=*/true, touched);
      }
  }

  bool split(Value buffer, bool isResult, llvm::SetVector<Value> &touched) {
    Split split(buffer, isResult);
    StringRef why = split.plan();
    if (split.users.empty())
      return false;
    if (why.empty() && split.added > budget)
      why = "the function would be too large";
    if (!why.empty()) {
      // One nest that writes, and nests that read, is what most are.
      if (split.parts.size() != 1 || split.users.size() > 2) {
        ++numDeclined;
        remark(RemarkKind::Declined, buffer.getLoc(), passName, why);
      }
      return false;
    }
    budget -= split.added;
    ++numApplied;
    remark(RemarkKind::Applied, buffer.getLoc(), passName,
           isResult ? "result filled where it is not overwritten"
                    : "buffer split by the nests that write it")
        << arg("parts", split.parts.size()) << arg("operations", split.added);
    split.apply(touched);
    return true;
  }

  unsigned budget = 0;
};
} // namespace

} // namespace polynest
