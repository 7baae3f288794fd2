// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Sizes.cpp: see the header.

#include "Analysis/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace polynest {

/// Longer products, and questions that take more steps, count as unknown.
static constexpr size_t kMostParts = 8;
static constexpr unsigned kMostSteps = 512;
static constexpr unsigned kDeepestKnown = 64;
static constexpr size_t kDeepestLoops = 8;

static SizeProduct constantProduct(int64_t factor) { return {factor, {}}; }
static SizeProduct unknownProduct(UnknownSize size) { return {1, {size}}; }

std::optional<SizeProduct> multiply(const SizeProduct &a,
                                    const SizeProduct &b) {
  SizeProduct product;
  if (__builtin_mul_overflow(a.factor, b.factor, &product.factor) ||
      a.unknown.size() + b.unknown.size() > kMostParts)
    return std::nullopt;
  // Nothing is left of what is multiplied by 0.
  if (product.factor == 0)
    return product;
  product.unknown = a.unknown;
  product.unknown.append(b.unknown);
  llvm::sort(product.unknown);
  return product;
}

bool isMultiple(const SizeProduct &a, const SizeProduct &b) {
  return b.factor != 0 && a.factor % b.factor == 0 &&
         std::includes(a.unknown.begin(), a.unknown.end(), b.unknown.begin(),
                       b.unknown.end());
}

/// One number, times nothing.
static const UnknownSize *getOnly(const SizeProduct &product) {
  return product.factor == 1 && product.unknown.size() == 1
             ? &product.unknown.front()
             : nullptr;
}

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

SizeProduct SizeFacts::lookUp(const UnknownSize &size, unsigned depth) {
  auto it = known.find(size.key());
  if (it == known.end() || depth > kDeepestKnown)
    return unknownProduct(size);
  SizeProduct product = constantProduct(it->second.factor);
  SmallVector<UnknownSize, 2> parts = it->second.unknown;
  for (const UnknownSize &part : parts) {
    std::optional<SizeProduct> next =
        multiply(product, lookUp(part, depth + 1));
    if (!next)
      return unknownProduct(size);
    product = std::move(*next);
  }
  // The way is shorter next time.
  known[size.key()] = product;
  return product;
}

bool SizeFacts::assumeEqual(const SizeProduct &a, const SizeProduct &b) {
  if (a == b)
    return false;
  const SizeProduct *other = &a;
  const UnknownSize *size = getOnly(b);
  if (!size || llvm::is_contained(a.unknown, *size)) {
    other = &b;
    size = getOnly(a);
  }
  // Numbers become constants, not the other way round.
  if (!size || llvm::is_contained(other->unknown, *size))
    return false;
  known.insert({size->key(), *other});
  return true;
}

bool SizeFacts::assume(cf::AssertOp op) {
  auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return false;
  if (!isWide(compare.getLhs().getType()))
    return false;
  SizeProduct a = of(OpFoldResult(compare.getLhs()));
  bool isWhole = steps > 0;
  SizeProduct b = of(OpFoldResult(compare.getRhs()));
  // A question that was given up names what operations may yet be changed.
  return isWhole && steps > 0 && assumeEqual(a, b);
}

namespace {
/// What callers of an entry on memrefs see to, by its shape function.
struct ResultSizes {
  /// What each argument of the shape function is, which may be a constant.
  SmallVector<UnknownSize> sources;
  /// Sizes of results, and what the shape function returns for them.
  SmallVector<std::pair<UnknownSize, Value>> results;
};
} // namespace

/// None if the function is no shape function of the entry's.
static std::optional<ResultSizes> getResultSizes(func::FuncOp entry,
                                                 func::FuncOp shapes) {
  if (!shapes || !shapes.getBody().hasOneBlock() || entry.isExternal())
    return std::nullopt;
  ResultSizes sizes;
  SmallVector<UnknownSize> targets;
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    bool isResult =
        entry.getArgAttr(argument.getArgNumber(), "polynest.result") != nullptr;
    if (!type) {
      if (argument.getType().isIntOrIndex())
        sizes.sources.push_back({argument, -1});
      continue;
    }
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!isResult)
        sizes.sources.push_back({argument, d});
      else if (type.isDynamicDim(d))
        targets.push_back({argument, d});
    }
  }
  Block &body = shapes.getBody().front();
  OperandRange returned = body.getTerminator()->getOperands();
  if (sizes.sources.size() != body.getNumArguments() ||
      targets.size() != returned.size())
    return std::nullopt;
  for (auto [target, value] : llvm::zip_equal(targets, returned))
    sizes.results.push_back({target, value});
  return sizes;
}

std::string getShapesName(func::FuncOp entry) {
  return (entry.getName() + "_shapes").str();
}

func::FuncOp getShapes(SymbolTable &symbols, func::FuncOp entry) {
  return symbols.lookup<func::FuncOp>(getShapesName(entry));
}

void SizeFacts::assumeResults(func::FuncOp entry, func::FuncOp shapes) {
  std::optional<ResultSizes> sizes = getResultSizes(entry, shapes);
  if (!sizes)
    return;
  for (auto [argument, source] :
       llvm::zip_equal(shapes.getArguments(), sizes->sources))
    known.insert({UnknownSize{argument, -1}.key(),
                  source.dim < 0 ? unknownProduct(source)
                                 : of(source.base, source.dim)});
  for (auto [target, value] : sizes->results)
    assumeEqual(of(OpFoldResult(value)), unknownProduct(target));
}

//===----------------------------------------------------------------------===//
// Where sizes come from
//===----------------------------------------------------------------------===//

SizeProduct SizeFacts::of(OpFoldResult size) {
  steps = kMostSteps;
  return ofSize(size);
}

SizeProduct SizeFacts::of(Value shaped, int64_t d) {
  steps = kMostSteps;
  return ofShaped(shaped, d);
}

std::optional<SizeProduct> SizeFacts::of(AffineExpr expr, ValueRange operands,
                                         unsigned dims) {
  steps = kMostSteps;
  return ofExpression(expr, operands, dims);
}

SizeProduct SizeFacts::ofSize(OpFoldResult size) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return constantProduct(*constant);
  auto value = cast<Value>(size);
  Operation *op = value.getDefiningOp();
  if (op && op->getNumResults() == 1 && steps > 0) {
    --steps;
    if (std::optional<SizeProduct> product = ofNumber(op))
      return *product;
  }
  return lookUp({value, -1});
}

/// A number that is computed of others.
std::optional<SizeProduct> SizeFacts::ofNumber(Operation *op) {
  if (isa<tensor::DimOp, memref::DimOp>(op)) {
    std::optional<int64_t> d = getConstantIntValue(op->getOperand(1));
    auto type = dyn_cast<ShapedType>(op->getOperand(0).getType());
    if (!d || !type || !type.hasRank() || *d < 0 || *d >= type.getRank())
      return std::nullopt;
    return ofShaped(op->getOperand(0), *d);
  }
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    if (!isWide(cast.getIn().getType()) || !isWide(cast.getType()))
      return std::nullopt;
    return ofSize(cast.getIn());
  }
  if (auto product = dyn_cast<arith::MulIOp>(op)) {
    if (!isWide(product.getType()))
      return std::nullopt;
    return multiply(ofSize(product.getLhs()), ofSize(product.getRhs()));
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return ofExpression(apply.getAffineMap().getResult(0),
                        apply.getMapOperands(),
                        apply.getAffineMap().getNumDims());
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    auto elements = extract.getTensor().getDefiningOp<tensor::FromElementsOp>();
    if (!elements || extract.getIndices().size() != 1)
      return std::nullopt;
    std::optional<int64_t> i = getConstantIntValue(extract.getIndices()[0]);
    if (!i || *i < 0 || size_t(*i) >= elements.getElements().size() ||
        !isWide(extract.getType()))
      return std::nullopt;
    return ofSize(elements.getElements()[*i]);
  }
  return std::nullopt;
}

std::optional<SizeProduct>
SizeFacts::ofExpression(AffineExpr expr, ValueRange operands, unsigned dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constantProduct(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return ofSize(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return ofSize(operands[dims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<SizeProduct> a = ofExpression(binary.getLHS(), operands, dims);
  std::optional<SizeProduct> b = ofExpression(binary.getRHS(), operands, dims);
  if (!a || !b)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mul)
    return multiply(*a, *b);
  bool divides = binary.getKind() == AffineExprKind::FloorDiv ||
                 binary.getKind() == AffineExprKind::CeilDiv;
  if (!divides || !b->isConstant() || b->factor <= 0 ||
      a->factor % b->factor != 0)
    return std::nullopt;
  a->factor /= b->factor;
  return a;
}

/// The elements of a tensor that says what shape another gets.
static Value getShapeElement(Value shape, int64_t d) {
  auto elements = shape.getDefiningOp<tensor::FromElementsOp>();
  if (!elements || size_t(d) >= elements.getElements().size())
    return {};
  return elements.getElements()[d];
}

/// Size `d` of what an operation makes, but for those that hand on the size of
/// an operand.
std::optional<SizeProduct> SizeFacts::ofDefined(OpResult result, int64_t d) {
  Operation *op = result.getOwner();
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return ofSize(empty.getMixedSizes()[d]);
  if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
    auto type = cast<MemRefType>(op->getResult(0).getType());
    return ofSize(op->getOperand(type.getDynamicDimIndex(d)));
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return ofSize(expand.getMixedOutputShape()[d]);
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
    return ofSize(expand.getMixedOutputShape()[d]);
  if (auto view = dyn_cast<memref::ReinterpretCastOp>(op))
    return ofSize(view.getMixedSizes()[d]);
  // Of slices, those that keep all dimensions.
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    if (slice.getSourceType().getRank() == slice.getType().getRank())
      return ofSize(slice.getMixedSizes()[d]);
  if (auto slice = dyn_cast<memref::SubViewOp>(op))
    if (slice.getSourceType().getRank() == slice.getType().getRank())
      return ofSize(slice.getMixedSizes()[d]);
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op))
    if (Value size = getShapeElement(reshape.getShape(), d))
      return ofSize(size);
  auto ofGroup =
      [&](Value source,
          ArrayRef<ReassociationIndices> groups) -> std::optional<SizeProduct> {
    std::optional<SizeProduct> product = constantProduct(1);
    for (int64_t i : groups[d])
      if (product)
        product = multiply(*product, ofShaped(source, i));
    return product;
  };
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return ofGroup(collapse.getSrc(), collapse.getReassociationIndices());
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op))
    return ofGroup(collapse.getSrc(), collapse.getReassociationIndices());
  // What both branches know comes from outside of both.
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    SizeProduct then =
        ofShaped(branch.thenYield().getOperand(result.getResultNumber()), d);
    if (ofShaped(branch.elseYield().getOperand(result.getResultNumber()), d) ==
        then)
      return then;
  }
  return std::nullopt;
}

/// The value that the operation's result has the shape of; null if there is
/// none. `d` becomes the dimension there.
static Value getShapeSource(OpResult result, int64_t &d) {
  Operation *op = result.getOwner();
  if (auto style = dyn_cast<DestinationStyleOpInterface>(op))
    return style.getTiedOpOperand(result)->get();
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return insert.getDest();
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return cast.getSource();
  if (auto cast = dyn_cast<memref::CastOp>(op))
    return cast.getSource();
  if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
    d = cast<AffineDimExpr>(transpose.getPermutation().getResult(d))
            .getPosition();
    return transpose.getIn();
  }
  return {};
}

/// The loop that carries the value, as an argument or as a result, and which of
/// its carried values it is; null where it is none of a loop that counts.
static std::pair<LoopLikeOpInterface, unsigned> getCarrier(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (!isa_and_nonnull<scf::ForOp, affine::AffineForOp>(op))
    return {};
  auto loop = cast<LoopLikeOpInterface>(op);
  if (!argument)
    return {loop, cast<OpResult>(value).getResultNumber()};
  for (auto [i, carried] : llvm::enumerate(loop.getRegionIterArgs()))
    if (carried == argument)
      return {loop, i};
  return {};
}

/// The size of what a loop carries, if all iterations keep the one that it
/// starts with.
std::optional<SizeProduct> SizeFacts::ofCarried(Value value, int64_t d) {
  auto [loop, number] = getCarrier(value);
  if (!loop)
    return std::nullopt;
  UnknownSize carried = {loop.getRegionIterArgs()[number], d};
  for (const auto &[size, start] : carriers)
    if (size == carried)
      return start;
  if (carriers.size() >= kDeepestLoops || steps == 0)
    return std::nullopt;
  --steps;
  SizeProduct start = ofShaped(loop.getInits()[number], d);
  carriers.push_back({carried, start});
  SizeProduct next = ofShaped(loop.getYieldedValues()[number], d);
  carriers.pop_back();
  return next == start ? std::optional<SizeProduct>(start) : std::nullopt;
}

SizeProduct SizeFacts::ofShaped(Value value, int64_t d) {
  while (true) {
    auto type = dyn_cast<ShapedType>(value.getType());
    if (!type || !type.hasRank())
      break;
    if (!type.isDynamicDim(d))
      return constantProduct(type.getDimSize(d));
    if (std::optional<SizeProduct> product = ofCarried(value, d))
      return *product;
    auto result = dyn_cast<OpResult>(value);
    if (!result || steps == 0)
      break;
    --steps;
    if (Value source = getShapeSource(result, d)) {
      value = source;
      continue;
    }
    if (std::optional<SizeProduct> product = ofDefined(result, d))
      return *product;
    break;
  }
  return lookUp({value, d});
}

} // namespace polynest
