//===- LowerTiles.cpp - products of tiles in matrix registers -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: `vector.contract` of tiles, words [m, k] times words [k, n] added to
// sums [m, n], becomes an instruction of a matrix unit, where the target has
// one for these elements and sizes; else loops over the rows of sums in memory,
// with `vector.contract` of [lanes, step] inside.
// Legal when: the sums form a web that is known as a whole: they are loaded,
// made of one value, added to, carried by scf.for and stored, and nothing else.
// The operands are loaded; where loops read them again at the product, nothing
// between may have written memory. Units compute the same sums, as those of
// LowerDots.cpp do.
// Profitable always: it is what such operations are made for.
// Limits: memory with static strides; other webs stay as they are.
// Cost: linear in operations, and what lies between loads and products.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/DotForm.h"
#include "Support/EraseDead.h"
#include "Support/PassOptions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERTILES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-tiles"

using namespace mlir;

namespace polynest {

namespace {
/// An instruction of the target.
struct Unit {
  DotForm form;
  TileShape shape;
  std::string intrinsic;
};

/// One side of a product: words, or their narrow elements, in memory.
struct Side {
  mutable vector::LoadOp load;
  DotElement element;
};

struct Product {
  mutable vector::ContractionOp op;
  Side left, right;
  TileShape shape;
  int64_t step = 0;
};

/// Sums that hang together.
struct Web {
  llvm::SetVector<Value> values;
  llvm::SetVector<Operation *> stores, loops;
  SmallVector<Product> products;
};
} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// Reads FORM:ROWSxCOLUMNSxWORDS:INTRINSIC.
static std::optional<Unit> parseUnit(StringRef text) {
  SmallVector<StringRef, 3> words;
  text.split(words, ':');
  if (words.size() != 3 || !words[2].starts_with("llvm.x86."))
    return std::nullopt;
  std::optional<DotForm> form = parseDotForm(words[0]);
  std::optional<TileShape> shape = parseTileShape(words[1]);
  if (!form || !shape)
    return std::nullopt;
  return Unit{*form, *shape, words[2].str()};
}

/// Where the strides of a memref are known and its last dimension is
/// contiguous: all strides.
static std::optional<SmallVector<int64_t>> getStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() < 2 || failed(type.getStridesAndOffset(strides, offset)) ||
      offset != 0 || llvm::is_contained(strides, ShapedType::kDynamic) ||
      strides.back() != 1)
    return std::nullopt;
  return strides;
}

/// The operand [rows, columns, step] as what is loaded, if it is.
static std::optional<Side> matchSide(Value value) {
  std::optional<DotElement> element = getExtendedElement(value);
  if (!element)
    return std::nullopt;
  auto groups =
      value.getDefiningOp()->getOperand(0).getDefiningOp<vector::ShapeCastOp>();
  if (!groups || groups.getSourceVectorType().getRank() != 2)
    return std::nullopt;
  Value flat = groups.getSource();
  if (auto cast = flat.getDefiningOp<vector::BitCastOp>())
    flat = cast.getSource();
  auto load = flat.getDefiningOp<vector::LoadOp>();
  auto type = cast<VectorType>(value.getType());
  // Each row is a row of groups, in words of 32 bits or one by one.
  auto loaded = cast<VectorType>(flat.getType());
  unsigned bits = loaded.getElementTypeBitWidth();
  if (!load || loaded.getRank() != 2 || loaded.isScalable() ||
      loaded.getDimSize(0) != type.getDimSize(0) ||
      groups.getSourceVectorType().getDimSize(0) != type.getDimSize(0) ||
      (bits != 32 && bits != element->bits) ||
      loaded.getDimSize(1) * bits != type.getDimSize(1) * 32 ||
      !getStrides(load.getMemRefType()))
    return std::nullopt;
  return Side{load, *element};
}

/// The contraction as a product of tiles, if it is one.
static std::optional<Product> matchProduct(vector::ContractionOp op) {
  auto sums = dyn_cast<VectorType>(op.getAccType());
  VectorType left = op.getLhsType(), right = op.getRhsType();
  if (!sums || sums.getRank() != 2 || sums.isScalable() ||
      sums.getElementTypeBitWidth() != 32 || left.getRank() != 3 ||
      left.isScalable() || right.isScalable() ||
      left.getElementType() != sums.getElementType() ||
      right.getElementType() != sums.getElementType() ||
      op.getKind() != vector::CombiningKind::ADD || op.isMasked() ||
      op.getIndexingMapsArray() != getTileMaps(op.getContext()))
    return std::nullopt;
  std::optional<Side> leftSide = matchSide(op.getLhs());
  std::optional<Side> rightSide = matchSide(op.getRhs());
  int64_t step = left.getDimSize(2);
  if (!leftSide || !rightSide || leftSide->element.bits * step != 32 ||
      rightSide->element.bits != leftSide->element.bits ||
      leftSide->element.isFloat() != rightSide->element.isFloat())
    return std::nullopt;
  TileShape shape{sums.getDimSize(0), sums.getDimSize(1), left.getDimSize(1)};
  return Product{op, *leftSide, *rightSide, shape, step};
}

/// Adds what carries `value` on to the web; false where that is something else.
static bool addUses(Value value, Web &web, SmallVectorImpl<Value> &work) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto store = dyn_cast<vector::StoreOp>(user)) {
      if (!getStrides(store.getMemRefType()))
        return false;
      web.stores.insert(store);
    } else if (auto product = dyn_cast<vector::ContractionOp>(user)) {
      if (use.get() != product.getAcc() || product.getLhs() == value ||
          product.getRhs() == value)
        return false;
      work.push_back(product.getResult());
    } else if (auto loop = dyn_cast<scf::ForOp>(user)) {
      unsigned first = loop.getNumControlOperands();
      if (use.getOperandNumber() < first)
        return false;
      work.push_back(loop.getResult(use.getOperandNumber() - first));
    } else if (isa<scf::YieldOp>(user) &&
               isa<scf::ForOp>(user->getParentOp())) {
      work.push_back(user->getParentOp()->getResult(use.getOperandNumber()));
    } else {
      return false;
    }
  }
  return true;
}

/// Adds all that belongs to iter argument `i`.
static void addCarried(scf::ForOp loop, unsigned i, Web &web,
                       SmallVectorImpl<Value> &work) {
  web.loops.insert(loop);
  work.append({loop.getInitArgs()[i], loop.getRegionIterArgs()[i],
               loop.getBody()->getTerminator()->getOperand(i),
               loop.getResult(i)});
}

/// A value that is the same in all places: the operation is a source.
static bool isEven(Operation *op) {
  DenseElementsAttr constant;
  if (auto spread = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(spread.getSource().getType());
  return matchPattern(op, m_Constant(&constant)) && constant.isSplat();
}

/// The web that the sums of `op` belong to, if all of it is known.
static std::optional<Web> collectWeb(vector::ContractionOp op) {
  Web web;
  SmallVector<Value> work{op.getResult()};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!web.values.insert(value))
      continue;
    if (value.getType() != op.getResultType() || !addUses(value, web, work))
      return std::nullopt;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument.getArgNumber() == 0)
        return std::nullopt;
      addCarried(loop, argument.getArgNumber() - 1, web, work);
      continue;
    }
    Operation *source = value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(source)) {
      addCarried(loop, cast<OpResult>(value).getResultNumber(), web, work);
    } else if (auto product = dyn_cast<vector::ContractionOp>(source)) {
      std::optional<Product> matched = matchProduct(product);
      if (!matched)
        return std::nullopt;
      web.products.push_back(*matched);
      work.push_back(product.getAcc());
    } else if (auto load = dyn_cast<vector::LoadOp>(source)) {
      if (!getStrides(load.getMemRefType()))
        return std::nullopt;
    } else if (!isEven(source)) {
      return std::nullopt;
    }
  }
  return web;
}

/// The unit that computes the product.
static const Unit *findUnit(const Product &product, ArrayRef<Unit> units) {
  for (const Unit &unit : units)
    if (unit.form.left == product.left.element &&
        unit.form.right == product.right.element &&
        unit.form.step == product.step && unit.shape == product.shape)
      return &unit;
  return nullptr;
}

/// True if memory is at the product what it was at the load.
static bool readsTheSame(const Side &side, vector::ContractionOp product) {
  if (side.load->getBlock() != product->getBlock())
    return false;
  for (Operation *op = side.load->getNextNode(); op != product;
       op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<vector::LoadOp, memref::LoadOp>(op))
      return false;
  return true;
}

/// A place in memory for sums, made where the function begins.
static Value makeHome(OpBuilder &builder, func::FuncOp function, Location loc,
                      VectorType type) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  return memref::AllocaOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
      builder.getI64IntegerAttr(64));
}

static VectorType rowType(VectorType type) {
  return VectorType::get({type.getDimSize(1)}, type.getElementType());
}

/// A row of sums that are all one value.
static Value makeEvenRow(OpBuilder &builder, Location loc, Operation *source) {
  VectorType row = rowType(cast<VectorType>(source->getResult(0).getType()));
  if (auto spread = dyn_cast<vector::BroadcastOp>(source))
    return vector::BroadcastOp::create(builder, loc, row, spread.getSource());
  DenseElementsAttr constant;
  (void)matchPattern(source, m_Constant(&constant));
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(row, constant.getSplatValue<Attribute>()));
}

//===----------------------------------------------------------------------===//
// In matrix registers
//===----------------------------------------------------------------------===//

namespace {
/// Replaces the operations of a web by those of a unit.
class RegisterWriter {
public:
  explicit RegisterWriter(func::FuncOp function)
      : builder(function), function(function) {}

  void write(Web &web, ArrayRef<Unit> units);

private:
  Type tileType() { return LLVM::LLVMX86AMXType::get(builder.getContext()); }
  Value number(Location loc, unsigned bits, int64_t value) {
    return arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(builder.getIntegerType(bits), value));
  }
  Value call(Location loc, StringRef intrinsic, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, loc, tileType(),
                                         builder.getStringAttr(intrinsic),
                                         operands)
        .getResults();
  }
  Value addressOf(Location loc, Value memref, ValueRange indices);
  Value strideOf(Location loc, MemRefType type);
  Value load(Location loc, VectorType type, Value memref, ValueRange indices);
  Value makeEven(Operation *source);
  Value loadSide(const Side &side);

  OpBuilder builder;
  func::FuncOp function;
  /// Operands that have been loaded.
  DenseMap<Operation *, Value> loaded;
};
} // namespace

Value RegisterWriter::addressOf(Location loc, Value memref,
                                ValueRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Value at = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [index, stride] : llvm::zip_equal(indices, *getStrides(type))) {
    Value by = arith::ConstantIndexOp::create(builder, loc, stride * bytes);
    Value term = arith::MulIOp::create(builder, loc, index, by);
    at = arith::AddIOp::create(builder, loc, at, term);
  }
  Type word = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  base = arith::IndexCastOp::create(builder, loc, word, base);
  base = LLVM::IntToPtrOp::create(builder, loc, pointer, base);
  at = arith::IndexCastOp::create(builder, loc, word, at);
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                             ValueRange{at});
}

/// Bytes from a row to the next.
Value RegisterWriter::strideOf(Location loc, MemRefType type) {
  SmallVector<int64_t> strides = *getStrides(type);
  return number(
      loc, 64, strides[strides.size() - 2] * type.getElementTypeBitWidth() / 8);
}

Value RegisterWriter::load(Location loc, VectorType type, Value memref,
                           ValueRange indices) {
  int64_t bytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  return call(loc, "llvm.x86.tileloadd64.internal",
              {number(loc, 16, type.getDimSize(0)), number(loc, 16, bytes),
               addressOf(loc, memref, indices),
               strideOf(loc, cast<MemRefType>(memref.getType()))});
}

/// Sums that are all one value, where the builder stands: zeros at once, others
/// by way of memory.
Value RegisterWriter::makeEven(Operation *source) {
  Location loc = source->getLoc();
  auto type = cast<VectorType>(source->getResult(0).getType());
  DenseElementsAttr constant;
  if (matchPattern(source, m_Constant(&constant))) {
    Attribute value = constant.getSplatValue<Attribute>();
    APInt bits = isa<FloatAttr>(value)
                     ? cast<FloatAttr>(value).getValue().bitcastToAPInt()
                     : cast<IntegerAttr>(value).getValue();
    if (bits.isZero())
      return call(loc, "llvm.x86.tilezero.internal",
                  {number(loc, 16, type.getDimSize(0)),
                   number(loc, 16, type.getDimSize(1) * 4)});
  }
  Value row = makeEvenRow(builder, loc, source);
  Value buffer = makeHome(builder, function, loc, type);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (int64_t i = 0; i < type.getDimSize(0); ++i)
    vector::StoreOp::create(
        builder, loc, row, buffer,
        ValueRange{arith::ConstantIndexOp::create(builder, loc, i), zero});
  return load(loc, type, buffer, {zero, zero});
}

/// The operand in a register, loaded where it was.
Value RegisterWriter::loadSide(const Side &side) {
  Value &tile = loaded[side.load];
  if (!tile) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(side.load);
    tile = load(side.load.getLoc(), side.load.getVectorType(),
                side.load.getBase(), side.load.getIndices());
  }
  return tile;
}

void RegisterWriter::write(Web &web, ArrayRef<Unit> units) {
  // Each use of sums that are one value makes its own: a register that lives
  // from the beginning of the function would be copied, and spilled.
  for (Value value : web.values) {
    Operation *source = value.getDefiningOp();
    if (!source || !isEven(source))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      builder.setInsertionPoint(use.getOwner());
      use.set(makeEven(source));
    }
  }
  for (Operation *op : web.stores) {
    auto store = cast<vector::StoreOp>(op);
    Location loc = store.getLoc();
    builder.setInsertionPoint(store);
    VectorType type = store.getVectorType();
    (void)LLVM::CallIntrinsicOp::create(
        builder, loc, builder.getStringAttr("llvm.x86.tilestored64.internal"),
        ValueRange{number(loc, 16, type.getDimSize(0)),
                   number(loc, 16, type.getDimSize(1) * 4),
                   addressOf(loc, store.getBase(), store.getIndices()),
                   strideOf(loc, store.getMemRefType()),
                   store.getValueToStore()});
    store.erase();
  }
  for (const Product &product : web.products) {
    const Unit *unit = findUnit(product, units);
    Location loc = product.op.getLoc();
    Value left = loadSide(product.left), right = loadSide(product.right);
    builder.setInsertionPoint(product.op);
    Value sums = call(loc, unit->intrinsic,
                      {number(loc, 16, product.shape.rows),
                       number(loc, 16, product.shape.columns * 4),
                       number(loc, 16, product.shape.words * 4),
                       product.op.getAcc(), left, right});
    product.op.getResult().replaceAllUsesWith(sums);
  }
  for (Value value : web.values) {
    if (isa<BlockArgument>(value) || value.getDefiningOp<scf::ForOp>()) {
      value.setType(tileType());
      continue;
    }
    auto sums = value.getDefiningOp<vector::LoadOp>();
    if (!sums)
      continue;
    builder.setInsertionPoint(sums);
    sums.getResult().replaceAllUsesWith(
        load(sums.getLoc(), sums.getVectorType(), sums.getBase(),
             sums.getIndices()));
  }
}

//===----------------------------------------------------------------------===//
// In memory
//===----------------------------------------------------------------------===//

namespace {
/// Replaces the operations of a web by loops over sums in memory.
class MemoryWriter {
public:
  explicit MemoryWriter(func::FuncOp function)
      : builder(function), function(function) {}

  void write(Web &web);

private:
  Value makeHome(Location loc, VectorType type) {
    return polynest::makeHome(builder, function, loc, type);
  }
  Value index(Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  void forRows(Location loc, VectorType type,
               function_ref<void(Value row)> body);
  void copy(Location loc, VectorType type, Value from, ValueRange fromAt,
            Value to, ValueRange toAt);
  void moveTo(Location loc, Value value, Value home);
  void writeOp(Operation *op);
  void writeProduct(const Product &product);
  void openLoop(scf::ForOp loop);
  void closeLoop(scf::ForOp loop);
  Value wordOf(Location loc, const Side &side, int64_t step, Value row,
               Value word);

  OpBuilder builder;
  func::FuncOp function;
  Web *web = nullptr;
  DenseMap<Operation *, const Product *> products;
  /// Where sums are; those that are one value are nowhere.
  DenseMap<Value, Value> homes;
};
} // namespace

void MemoryWriter::forRows(Location loc, VectorType type,
                           function_ref<void(Value row)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, index(loc, 0),
                                 index(loc, type.getDimSize(0)), index(loc, 1));
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

/// The indices of row `row` behind `at`.
static SmallVector<Value> rowAt(OpBuilder &builder, Location loc, ValueRange at,
                                Value row) {
  SmallVector<Value> indices(at);
  Value &first = indices[indices.size() - 2];
  first = arith::AddIOp::create(builder, loc, first, row);
  return indices;
}

void MemoryWriter::copy(Location loc, VectorType type, Value from,
                        ValueRange fromAt, Value to, ValueRange toAt) {
  forRows(loc, type, [&](Value row) {
    Value sums = vector::LoadOp::create(builder, loc, rowType(type), from,
                                        rowAt(builder, loc, fromAt, row));
    vector::StoreOp::create(builder, loc, sums, to,
                            rowAt(builder, loc, toAt, row));
  });
}

/// Puts sums in `home`.
void MemoryWriter::moveTo(Location loc, Value value, Value home) {
  auto type = cast<VectorType>(value.getType());
  Value zero = index(loc, 0);
  if (Value from = homes.lookup(value)) {
    if (from != home)
      copy(loc, type, from, {zero, zero}, home, {zero, zero});
    return;
  }
  Value sums = makeEvenRow(builder, loc, value.getDefiningOp());
  forRows(loc, type, [&](Value row) {
    vector::StoreOp::create(builder, loc, sums, home, ValueRange{row, zero});
  });
}

/// A word of a row of the left side.
Value MemoryWriter::wordOf(Location loc, const Side &side, int64_t step,
                           Value row, Value word) {
  SmallVector<Value> at = rowAt(builder, loc, side.load.getIndices(), row);
  Type element = side.load.getMemRefType().getElementType();
  bool isWord = element.getIntOrFloatBitWidth() == 32;
  int64_t count = isWord ? 1 : step;
  if (!isWord)
    word = arith::MulIOp::create(builder, loc, word, index(loc, step));
  at.back() = arith::AddIOp::create(builder, loc, at.back(), word);
  return vector::LoadOp::create(builder, loc, VectorType::get({count}, element),
                                side.load.getBase(), at);
}

void MemoryWriter::writeProduct(const Product &product) {
  vector::ContractionOp op = product.op;
  Location loc = op.getLoc();
  auto type = cast<VectorType>(op.getResultType());
  // Sums that nobody else asks for, now or in another iteration, are added to
  // where they are.
  bool isLast =
      op.getAcc().hasOneUse() && op.getAcc().getParentBlock() == op->getBlock();
  Value home = isLast ? homes.lookup(op.getAcc()) : Value();
  if (!home) {
    home = makeHome(loc, type);
    moveTo(loc, op.getAcc(), home);
  }
  homes[op.getResult()] = home;
  Type word = builder.getI32Type();
  auto words = VectorType::get({product.shape.columns}, word);
  forRows(loc, type, [&](Value row) {
    Value zero = index(loc, 0);
    Value start = vector::LoadOp::create(builder, loc, rowType(type), home,
                                         ValueRange{row, zero});
    auto overWords =
        scf::ForOp::create(builder, loc, zero, index(loc, product.shape.words),
                           index(loc, 1), ValueRange{start});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(overWords.getBody());
    Value k = overWords.getInductionVar();
    auto asWords = [&](Value value, int64_t count) -> Value {
      auto one = VectorType::get({count}, word);
      if (value.getType() == one)
        return value;
      return vector::BitCastOp::create(builder, loc, one, value);
    };
    Value left = asWords(wordOf(loc, product.left, product.step, row, k), 1);
    left = vector::ExtractOp::create(builder, loc, left, 0);
    left = vector::BroadcastOp::create(builder, loc, words, left);
    vector::LoadOp load = product.right.load;
    Value right = vector::LoadOp::create(
        builder, loc, rowType(load.getVectorType()), load.getBase(),
        rowAt(builder, loc, load.getIndices(), k));
    right = asWords(right, product.shape.columns);
    Value sum = multiplyWords(builder, loc, left, product.left.element, right,
                              product.right.element, product.step,
                              overWords.getRegionIterArg(0));
    scf::YieldOp::create(builder, loc, sum);
    builder.setInsertionPointAfter(overWords);
    vector::StoreOp::create(builder, loc, overWords.getResult(0), home,
                            ValueRange{row, zero});
  });
}

/// Gives what the loop carries a place, and puts there what it starts from.
void MemoryWriter::openLoop(scf::ForOp loop) {
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (!web->values.contains(argument))
      continue;
    auto type = cast<VectorType>(argument.getType());
    Value home = makeHome(loop.getLoc(), type);
    moveTo(loop.getLoc(), loop.getInitArgs()[i], home);
    homes[argument] = homes[loop.getResult(i)] = home;
  }
}

/// Puts what an iteration hands on in its place.
void MemoryWriter::closeLoop(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(yield);
  // One place may hold what goes to another: all leave before any arrives.
  SmallVector<std::pair<Value, Value>> moves;
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value value = yield->getOperand(i);
    if (!web->values.contains(argument) ||
        homes.lookup(value) == homes.lookup(argument))
      continue;
    Value passing =
        makeHome(loop.getLoc(), cast<VectorType>(argument.getType()));
    moveTo(loop.getLoc(), value, passing);
    moves.push_back({passing, homes.lookup(argument)});
  }
  Value zero = index(loop.getLoc(), 0);
  for (auto [from, to] : moves) {
    auto type = cast<MemRefType>(to.getType());
    copy(loop.getLoc(), VectorType::get(type.getShape(), type.getElementType()),
         from, {zero, zero}, to, {zero, zero});
  }
}

/// The loop without the sums that it carried.
static void dropCarried(scf::ForOp loop, const Web &web) {
  OpBuilder builder(loop);
  SmallVector<Value> inits, results;
  llvm::BitVector dropped(loop.getBody()->getNumArguments());
  SmallVector<unsigned> kept;
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (web.values.contains(argument)) {
      dropped.set(unsigned(i) + 1);
      loop.getResult(unsigned(i)).dropAllUses();
      continue;
    }
    kept.push_back(unsigned(i));
    inits.push_back(loop.getInitArgs()[i]);
    results.push_back(loop.getBody()->getTerminator()->getOperand(i));
  }
  auto made = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), inits);
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  made.getRegion().takeBody(loop.getRegion());
  Operation *yield = made.getBody()->getTerminator();
  yield->setOperands(results);
  made.getBody()->eraseArguments(dropped);
  for (auto [i, old] : llvm::enumerate(kept))
    loop.getResult(old).replaceAllUsesWith(made.getResult(unsigned(i)));
  loop.erase();
}

void MemoryWriter::writeOp(Operation *op) {
  builder.setInsertionPoint(op);
  Location loc = op->getLoc();
  Value zero = index(loc, 0);
  if (auto load = dyn_cast<vector::LoadOp>(op)) {
    Value home = makeHome(loc, load.getVectorType());
    copy(loc, load.getVectorType(), load.getBase(), load.getIndices(), home,
         {zero, zero});
    homes[load.getResult()] = home;
  } else if (auto store = dyn_cast<vector::StoreOp>(op)) {
    VectorType type = store.getVectorType();
    Value from = homes.lookup(store.getValueToStore());
    if (!from) {
      from = makeHome(loc, type);
      moveTo(loc, store.getValueToStore(), from);
    }
    copy(loc, type, from, {zero, zero}, store.getBase(), store.getIndices());
  } else if (const Product *product = products.lookup(op)) {
    writeProduct(*product);
  }
}

void MemoryWriter::write(Web &which) {
  web = &which;
  for (const Product &product : web->products)
    products[product.op] = &product;
  // In the order of the program: sums have a place before they are used.
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isSum = op->getNumResults() == 1 &&
                 web->values.contains(op->getResult(0)) &&
                 isa<vector::LoadOp, vector::ContractionOp>(op);
    if (isSum || web->stores.contains(op) || web->loops.contains(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      builder.setInsertionPoint(loop);
      openLoop(loop);
    } else {
      writeOp(op);
    }
  }
  for (Operation *op : web->loops)
    closeLoop(cast<scf::ForOp>(op));
  // What used the sums goes first.
  for (Operation *op : web->stores)
    op->erase();
  for (Operation *op : web->loops) {
    auto yield = cast<scf::ForOp>(op).getBody()->getTerminator();
    for (auto [i, argument] :
         llvm::enumerate(cast<scf::ForOp>(op).getRegionIterArgs()))
      if (web->values.contains(argument))
        yield->setOperand(i, argument);
  }
  for (const Product &product : web->products) {
    product.op->dropAllUses();
    product.op->erase();
  }
  function.walk<WalkOrder::PostOrder>([&](scf::ForOp loop) {
    if (web->loops.contains(loop))
      dropCarried(loop, *web);
  });
}

namespace {
struct LowerTilesPass : impl::LowerTilesBase<LowerTilesPass> {
  using LowerTilesBase::LowerTilesBase;

  LogicalResult initialize(MLIRContext *context) override {
    parsed.clear();
    for (const std::string &text : units) {
      std::optional<Unit> unit = parseUnit(text);
      if (!unit)
        return refuseItem(
            context, "units", text,
            "FORM:ROWSxCOLUMNSxWORDS:INTRINSIC, a form such as s8s8x4, powers "
            "of two from 2 to 64, and a name that begins with 'llvm.x86.'");
      parsed.push_back(*unit);
    }
    return success();
  }

  void runOnOperation() override {
    Web inRegisters, inMemory;
    llvm::SetVector<Operation *> leftOver;
    getOperation().walk([&](vector::ContractionOp op) {
      if (inRegisters.values.contains(op.getResult()) ||
          inMemory.values.contains(op.getResult()) || !matchProduct(op))
        return;
      std::optional<Web> web = collectWeb(op);
      bool hasUnits = web && llvm::all_of(web->products, [&](const Product &p) {
                        return findUnit(p, parsed);
                      });
      bool isReread =
          web && !hasUnits && llvm::all_of(web->products, [](const Product &p) {
            return readsTheSame(p.left, p.op) && readsTheSame(p.right, p.op);
          });
      if (hasUnits)
        join(inRegisters, *web, leftOver);
      else if (isReread)
        join(inMemory, *web, leftOver);
      if (hasUnits)
        numApplied += web->products.size();
      else
        numDeclined += isReread ? web->products.size() : 1;
    });
    if (inRegisters.values.empty() && inMemory.values.empty())
      return;
    RegisterWriter(getOperation()).write(inRegisters, parsed);
    for (const Product &product : inRegisters.products)
      leftOver.insert(product.op);
    MemoryWriter(getOperation()).write(inMemory);
    eraseDead(leftOver.getArrayRef());
  }

  /// Adds a web to those of its kind, and what it leaves when it is written.
  void join(Web &all, const Web &web, llvm::SetVector<Operation *> &leftOver) {
    all.values.insert(web.values.begin(), web.values.end());
    all.stores.insert(web.stores.begin(), web.stores.end());
    all.loops.insert(web.loops.begin(), web.loops.end());
    all.products.append(web.products);
    for (const Product &product : web.products)
      for (Value side : {product.op.getLhs(), product.op.getRhs()})
        leftOver.insert(side.getDefiningOp());
    for (Value value : web.values)
      if (Operation *source = value.getDefiningOp();
          source && (isa<vector::LoadOp>(source) || isEven(source)))
        leftOver.insert(source);
  }

  SmallVector<Unit> parsed;
};
} // namespace

} // namespace polynest
