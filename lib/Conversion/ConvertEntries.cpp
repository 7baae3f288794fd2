//===- ConvertEntries.cpp - tensors to memrefs at function boundaries -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives every public function the signature of an entry: tensor
// arguments become memrefs, results become trailing memref arguments into
// which the body materializes them, and a function `<name>_shapes` computes
// the dynamic result sizes from the inputs' sizes.
// Legal: functions of one block. Refused with an error: unranked tensors,
// encodings, element types that no buffer has, results whose size depends on
// data, and calls that could not be inlined, of functions that call themselves
// or have no body.
// Profitable always: results are computed in the caller's buffer, so that no
// copy of them has to be removed later.
// Memref arguments stay; those without `polynest.result` are inputs, and get
// `polynest.mutable` unless the body provably never writes them. A result with
// `polynest.updates = i` becomes no argument: it goes to the memory of input i.
// Limits: one layout an argument, the identity or the one `polynest.strides`
// states.
// Cost: linear in operations, plus one simplification of the shape function.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Sizes.h"
#include "Conversion/TensorShapes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace polynest {
#define GEN_PASS_DEF_CONVERTENTRIES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-convert-entries"

using namespace mlir;

namespace polynest {

/// PN_MEMREF_RANK_MAX.
static constexpr int64_t kMaxRank = 64;

static constexpr StringLiteral kResult = "polynest.result";
static constexpr StringLiteral kMutable = "polynest.mutable";
static constexpr StringLiteral kUpdates = "polynest.updates";
static constexpr StringLiteral kUpdated = "polynest.updated";

/// Element types a buffer may have; the rows of pn_dtype_t.
static bool isBufferElement(Type type) {
  if (type.isIndex() || type.isF16() || type.isBF16() || type.isF32() ||
      type.isF64())
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.isSignless() &&
         llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
}

/// Emits an error and fails unless `type` can stand in an entry's signature.
static LogicalResult checkType(func::FuncOp function, Type type, StringRef what,
                               unsigned index) {
  auto refuse = [&](StringRef reason) {
    return function.emitError()
           << what << " " << index << " of entry '" << function.getName()
           << "' has type " << type << ": " << reason;
  };
  if (isa<UnrankedTensorType, UnrankedMemRefType>(type))
    return refuse("unranked types are not supported");
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (tensor.getEncoding())
      return refuse("tensor encodings are not supported");
  if (auto memref = dyn_cast<MemRefType>(type)) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (memref.getMemorySpace())
      return refuse("memory spaces are not supported at entries");
    if (failed(memref.getStridesAndOffset(strides, offset)))
      return refuse("layouts of entries must be strided");
    if (offset != 0 && !ShapedType::isDynamic(offset))
      return refuse("layouts of entries must have offset 0 or a dynamic one");
  }
  if (auto shaped = dyn_cast<ShapedType>(type);
      shaped && shaped.hasRank() && shaped.getRank() > kMaxRank)
    return refuse("ranks above 64 are not supported");
  if (!isa<RankedTensorType, MemRefType>(type) && isa<ShapedType>(type))
    return refuse("only tensors and memrefs are supported");
  Type element = getElementTypeOrSelf(type);
  if (isa<ComplexType>(element))
    return refuse("complex element types are not supported");
  if (!isBufferElement(element))
    return refuse("supported element types are i1, i8, i16, i32, i64, index, "
                  "f16, bf16, f32 and f64");
  return success();
}

/// Sizes of results that are arguments already cannot be computed here.
static LogicalResult checkDynamicResults(func::FuncOp function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (auto memref = dyn_cast<MemRefType>(type))
      if (function.getArgAttr(i, kResult) && !memref.hasStaticShape())
        return function.emitError()
               << "argument " << i << " of entry '" << function.getName()
               << "' is a result of dynamic size; leave out polynest.result "
                  "to make it an input that is written";
  return success();
}

/// The input whose new value a result is, or none.
static std::optional<unsigned> getUpdatedInput(func::FuncOp function,
                                               unsigned result) {
  auto input = function.getResultAttrOfType<IntegerAttr>(result, kUpdates);
  return input ? std::optional<unsigned>(input.getInt()) : std::nullopt;
}

/// Each result that updates an input has one of its own, of its type.
static LogicalResult checkUpdates(func::FuncOp function) {
  llvm::SmallDenseSet<int64_t, 8> seen;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    Attribute attribute = function.getResultAttr(i, kUpdates);
    if (!attribute)
      continue;
    auto refuse = [&function, number = i]() {
      return function.emitError() << "result " << number << " of entry '"
                                  << function.getName() << "' ";
    };
    auto input = dyn_cast<IntegerAttr>(attribute);
    if (!input || !input.getType().isInteger(64) || input.getInt() < 0 ||
        input.getInt() >= function.getNumArguments())
      return refuse() << "has polynest.updates = " << attribute
                      << ", which is not the number of an input";
    int64_t number = input.getInt();
    Type other = function.getArgumentTypes()[number];
    if (!isa<RankedTensorType>(other) || !isa<RankedTensorType>(type) ||
        getElementTypeOrSelf(other) != getElementTypeOrSelf(type) ||
        failed(verifyCompatibleShape(other, type)))
      return refuse() << "updates input " << number << " but has type " << type
                      << ", not " << other;
    if (function.getArgAttr(number, "polynest.constant"))
      return refuse() << "updates input " << number << ", which is constant";
    if (!seen.insert(number).second)
      return refuse() << "updates input " << number
                      << ", which another result updates";
  }
  return success();
}

/// Everything that can refuse, before anything is changed.
static LogicalResult checkEntry(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError()
           << "entry '" << function.getName()
           << "' has several blocks; use structured control flow (scf)";
  bool results = false;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (failed(checkType(function, type, "argument", i)))
      return failure();
    bool isResult = function.getArgAttr(i, kResult) != nullptr;
    if (isResult && !isa<MemRefType>(type))
      return function.emitError()
             << "argument " << i << " of entry '" << function.getName()
             << "' is marked polynest.result but is no memref";
    if (results && !isResult)
      return function.emitError()
             << "argument " << i << " of entry '" << function.getName()
             << "' follows a result; results must be last";
    results |= isResult;
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    if (isa<MemRefType>(type))
      return function.emitError()
             << "entry '" << function.getName()
             << "' returns a memref; pass it as an argument with attribute "
                "polynest.result instead";
    if (failed(checkType(function, type, "result", i)))
      return failure();
  }
  return checkUpdates(function);
}

/// The memref type of a tensor argument, with the layout its attribute states.
static FailureOr<MemRefType> memrefTypeOf(func::FuncOp function,
                                          unsigned index) {
  auto tensor = cast<RankedTensorType>(function.getArgumentTypes()[index]);
  auto strides =
      function.getArgAttrOfType<DenseI64ArrayAttr>(index, "polynest.strides");
  if (!strides)
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  if (strides.size() != tensor.getRank()) {
    function.emitError() << "argument " << index << " has rank "
                         << tensor.getRank() << " but polynest.strides has "
                         << strides.size() << " values";
    return failure();
  }
  auto layout = StridedLayoutAttr::get(function.getContext(), /*offset=*/0,
                                       strides.asArrayRef());
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

//===----------------------------------------------------------------------===//
// Memref arguments
//===----------------------------------------------------------------------===//

/// True unless no use of the memref, or of a view of it, can write it.
static bool mayBeWritten(Value memref) {
  SmallVector<Value> work = {memref};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (isa<memref::DimOp>(user))
        continue;
      if (auto toTensor = dyn_cast<bufferization::ToTensorOp>(user)) {
        if (toTensor.getWritable())
          return true;
        continue;
      }
      if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1) {
        work.push_back(user->getResult(0));
        continue;
      }
      // Whatever hands the memref on may lead to a write elsewhere.
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      bool handsOn = llvm::any_of(user->getResultTypes(), [](Type type) {
        return isa<BaseMemRefType>(type);
      });
      if (!effects || handsOn)
        return true;
      SmallVector<MemoryEffects::EffectInstance> list;
      effects.getEffects(list);
      for (const MemoryEffects::EffectInstance &effect : list)
        if (!isa<MemoryEffects::Read>(effect.getEffect()) &&
            (!effect.getValue() || effect.getValue() == value))
          return true;
    }
  }
  return false;
}

/// Marks the memref arguments that are inputs and may be written, and what
/// results update.
static void markMutableInputs(func::FuncOp entry) {
  Builder builder(entry.getContext());
  for (unsigned i = 0, e = entry.getNumResults(); i < e; ++i)
    if (std::optional<unsigned> input = getUpdatedInput(entry, i)) {
      // An input that stays as it is must not be overwritten for others either.
      if (entry.getBody().front().getTerminator()->getOperand(i) ==
          entry.getArgument(*input))
        continue;
      entry.setArgAttr(*input, kMutable, builder.getUnitAttr());
      entry.setArgAttr(*input, kUpdated, builder.getUnitAttr());
    }
  for (BlockArgument argument : entry.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (isa<MemRefType>(argument.getType()) && !entry.getArgAttr(i, kResult) &&
        mayBeWritten(argument))
      entry.setArgAttr(i, kMutable, builder.getUnitAttr());
  }
}

//===----------------------------------------------------------------------===//
// The shape function
//===----------------------------------------------------------------------===//

/// Erases what the returned values do not depend on: computations of data,
/// writes of memory, assertions. Returns an operation that the sizes depend on
/// and that reads or writes memory, or null.
static Operation *keepSizesOnly(func::FuncOp function) {
  Block &block = function.getBody().front();
  llvm::SetVector<Operation *> needed;
  needed.insert(block.getTerminator());
  for (unsigned i = 0; i < needed.size(); ++i)
    needed[i]->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          if (Operation *top = block.findAncestorOpInBlock(*producer))
            needed.insert(top);
    });
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!needed.contains(&op))
      op.erase();
  for (Operation &op : block.without_terminator())
    if (!isMemoryEffectFree(&op) &&
        !isa<tensor::DimOp, memref::DimOp, bufferization::ToTensorOp>(op))
      return &op;
  return nullptr;
}

/// Sizes of the dynamic dimensions of the results, in order, as values in
/// front of the terminator. Results that update inputs have these' sizes.
static SmallVector<Value> materializeResultDims(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  SmallVector<Value> dims;
  for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
    auto tensor = dyn_cast<RankedTensorType>(result.getType());
    if (!tensor || getUpdatedInput(function, i))
      continue;
    for (int64_t d = 0; d < tensor.getRank(); ++d)
      if (tensor.isDynamicDim(d))
        dims.push_back(
            tensor::DimOp::create(builder, function.getLoc(), result, d));
  }
  terminator->setOperands(dims);
  return dims;
}

/// Gives the shape function index arguments: for each input its sizes, or the
/// value of an integer scalar. Returns an operation that still needs data, or
/// null.
static Operation *replaceArgumentsByDims(func::FuncOp function) {
  Block &block = function.getBody().front();
  OpBuilder builder(function.getContext());
  builder.setInsertionPointToStart(&block);
  Type index = builder.getIndexType();
  unsigned inputCount = block.getNumArguments();
  SmallVector<unsigned> dataArguments;
  for (unsigned i = 0; i < inputCount; ++i) {
    Value argument = block.getArgument(i);
    if (auto shaped = dyn_cast<ShapedType>(argument.getType())) {
      SmallVector<Value> sizes;
      for (int64_t d = 0; d < shaped.getRank(); ++d)
        sizes.push_back(block.addArgument(index, function.getLoc()));
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        std::optional<int64_t> dim;
        if (auto op = dyn_cast<tensor::DimOp>(user))
          dim = op.getConstantIndex();
        else if (auto op = dyn_cast<memref::DimOp>(user))
          dim = op.getConstantIndex();
        if (!dim || *dim < 0 || *dim >= shaped.getRank())
          return user;
        user->getResult(0).replaceAllUsesWith(sizes[*dim]);
        user->erase();
      }
    } else if (argument.getType().isIntOrIndex()) {
      Value value = block.addArgument(index, function.getLoc());
      if (!argument.getType().isIndex())
        value = arith::IndexCastOp::create(builder, function.getLoc(),
                                           argument.getType(), value);
      argument.replaceAllUsesWith(value);
    } else if (!argument.use_empty()) {
      return *argument.getUsers().begin();
    }
  }
  block.eraseArguments(0, inputCount);
  function.setType(builder.getFunctionType(
      block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  return nullptr;
}

/// Makes `<name>_shapes` beside the entry. It must be made while the entry
/// still has tensors, as their sizes are reified from the tensor operations.
static LogicalResult makeShapeFunction(func::FuncOp entry) {
  OpBuilder builder(entry);
  builder.setInsertionPointAfter(entry);
  auto shapes = cast<func::FuncOp>(builder.clone(*entry));
  shapes.setName(getShapesName(entry));
  shapes->setAttr("polynest.shapes", builder.getUnitAttr());
  (void)materializeResultDims(shapes);
  shapes.setAllArgAttrs(ArrayRef<DictionaryAttr>(SmallVector<DictionaryAttr>(
      shapes.getNumArguments(), builder.getDictionaryAttr({}))));
  shapes.setAllResultAttrs(ArrayRef<DictionaryAttr>(SmallVector<DictionaryAttr>(
      shapes.getNumResults(), builder.getDictionaryAttr({}))));
  RewritePatternSet patterns(entry.getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  populateDimOfLoopPatterns(patterns);
  for (StringRef dialect : {"tensor", "arith", "linalg", "affine"})
    if (Dialect *loaded = entry.getContext()->getLoadedDialect(dialect))
      loaded->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op :
       entry.getContext()->getRegisteredOperations())
    if (op.getDialectNamespace() == "tensor")
      op.getCanonicalizationPatterns(patterns, entry.getContext());
  // Not converging only means that the dead parts below stay.
  (void)applyPatternsGreedily(shapes, std::move(patterns));
  Operation *user = keepSizesOnly(shapes);
  if (!user)
    user = replaceArgumentsByDims(shapes);
  if (user) {
    entry.emitError() << "entry '" << entry.getName()
                      << "' has a result whose size depends on data"
                      << ", which is not supported";
    user->emitRemark() << "the size depends on this";
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The entry itself
//===----------------------------------------------------------------------===//

/// Turns tensor arguments into memrefs that the body reads through to_tensor.
static LogicalResult convertArguments(func::FuncOp entry) {
  Block &block = entry.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i) {
    BlockArgument argument = block.getArgument(i);
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor)
      continue;
    FailureOr<MemRefType> memref = memrefTypeOf(entry, i);
    if (failed(memref))
      return failure();
    argument.setType(*memref);
    auto toTensor = bufferization::ToTensorOp::create(
        builder, argument.getLoc(), tensor, argument, /*restrict=*/true,
        /*writable=*/entry.getArgAttr(i, "polynest.mutable") != nullptr);
    argument.replaceAllUsesExcept(toTensor.getResult(), toTensor);
  }
  return success();
}

/// The tensor in whose buffer a value may lie: what it is a part or another
/// form of, or is written over. Null where that is not known.
static Value getBaseTensor(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      tensor = insert.getDest();
    else if (auto writer = dyn_cast<DestinationStyleOpInterface>(op))
      tensor = writer.getTiedOpOperand(cast<OpResult>(tensor))->get();
    else if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                 tensor::ExtractSliceOp>(op))
      tensor = op->getOperand(0);
    else
      return op->getNumRegions() == 0 && !isa<arith::SelectOp>(op) ? tensor
                                                                   : Value();
  }
  return tensor;
}

/// An input and its new value.
using Update = std::pair<unsigned, Value>;

/// The tensor that an updated input was.
static Value getOldValue(Block &block, unsigned input) {
  return cast<bufferization::ToTensorOp>(
             *block.getArgument(input).getUsers().begin())
      .getResult();
}

/// The updates that change something, with copies of what lies in the memory of
/// another updated input, or might if bufferization chose so: it is read before
/// any is written.
static SmallVector<Update> collectUpdates(func::FuncOp entry,
                                          OpBuilder &builder) {
  Block &block = entry.getBody().front();
  SmallVector<Update> updates;
  llvm::SmallDenseSet<Value, 8> updated;
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    if (std::optional<unsigned> input = getUpdatedInput(entry, i)) {
      Value old = getOldValue(block, *input);
      if (value == old)
        continue;
      updated.insert(old);
      updates.emplace_back(*input, value);
    }
  for (auto &[input, value] : updates) {
    Value base = getBaseTensor(value);
    if (!base || (updated.contains(base) && base != getOldValue(block, input)))
      value = bufferization::AllocTensorOp::create(
          builder, value.getLoc(), cast<RankedTensorType>(value.getType()),
          ValueRange(), value);
  }
  return updates;
}

/// Writes new values to the inputs they are for, behind all that reads the old
/// ones. As far as bufferization sees, these are tensors: where it finds that
/// nothing reads the old value any more, the new one is made in its memory.
static void convertUpdates(OpBuilder &builder, Block &block,
                           ArrayRef<Update> updates) {
  for (auto [input, value] : updates) {
    Location loc = value.getLoc();
    BlockArgument memref = block.getArgument(input);
    Value old = getOldValue(block, input);
    if (value.getType() != old.getType())
      value = tensor::CastOp::create(builder, loc, old.getType(), value);
    Value placed = bufferization::MaterializeInDestinationOp::create(
                       builder, loc, old.getType(), value, old)
                       .getResult();
    // It is there already. Without a use it would go away.
    Value buffer = bufferization::ToBufferOp::create(
        builder, loc, cast<bufferization::BufferLikeType>(memref.getType()),
        placed, /*read_only=*/true);
    memref::CopyOp::create(builder, loc, buffer, memref);
  }
}

/// Turns results into trailing arguments, or into updates of inputs.
static void convertResults(func::FuncOp entry) {
  Block &block = entry.getBody().front();
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  // All copies to results and inputs stand at the end.
  SmallVector<Update> updates = collectUpdates(entry, builder);
  for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
    if (getUpdatedInput(entry, i))
      continue;
    Location loc = result.getLoc();
    auto tensor = dyn_cast<RankedTensorType>(result.getType());
    if (!tensor) {
      auto type = MemRefType::get({}, result.getType());
      Value out = block.addArgument(type, loc);
      memref::StoreOp::create(builder, loc, result, out);
      continue;
    }
    auto type = MemRefType::get(tensor.getShape(), tensor.getElementType());
    Value out = block.addArgument(type, loc);
    bufferization::MaterializeInDestinationOp::create(
        builder, loc, /*result=*/Type(), result, out, /*restrict=*/true,
        /*writable=*/true);
  }
  convertUpdates(builder, block, updates);
  terminator->setOperands(ValueRange());
}

/// Rewrites the type and attributes of the entry after its block has changed.
static void updateSignature(func::FuncOp entry, unsigned inputCount) {
  Builder builder(entry.getContext());
  SmallVector<DictionaryAttr> attributes;
  SmallVector<NamedAttribute> kept;
  for (unsigned i = 0; i < inputCount; ++i) {
    kept.clear();
    for (NamedAttribute attribute :
         function_interface_impl::getArgAttrs(entry, i))
      if (attribute.getName() != "polynest.strides")
        kept.push_back(attribute);
    attributes.push_back(builder.getDictionaryAttr(kept));
  }
  NamedAttribute mark(builder.getStringAttr("polynest.result"),
                      builder.getUnitAttr());
  Block &block = entry.getBody().front();
  attributes.resize(block.getNumArguments(), builder.getDictionaryAttr(mark));
  entry.setAllResultAttrs(ArrayRef<DictionaryAttr>(SmallVector<DictionaryAttr>(
      entry.getNumResults(), builder.getDictionaryAttr({}))));
  entry.setType(builder.getFunctionType(block.getArgumentTypes(), {}));
  entry.setAllArgAttrs(attributes);
  entry->setAttr("polynest.entry", builder.getUnitAttr());
}

//===----------------------------------------------------------------------===//
// Calls that are left
//===----------------------------------------------------------------------===//

/// True if a call of the function may come to call it again.
static bool callsItself(func::FuncOp function, SymbolTable &symbols) {
  SmallVector<func::FuncOp> worklist{function};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    WalkResult result = worklist.pop_back_val().walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (callee == function)
        return WalkResult::interrupt();
      if (callee && seen.insert(callee).second)
        worklist.push_back(callee);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return true;
  }
  return false;
}

/// Emits an error at a call that could not be inlined.
static LogicalResult checkCalls(ModuleOp module) {
  SymbolTable symbols(module);
  WalkResult result = module.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee)
      return WalkResult::advance();
    if (callee.isExternal()) {
      call.emitError() << "function '" << callee.getName()
                       << "' is called and has no body";
      return WalkResult::interrupt();
    }
    if (callsItself(callee, symbols)) {
      call.emitError() << "function '" << callee.getName()
                       << "' calls itself; write recursion as a loop";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct ConvertEntriesPass : impl::ConvertEntriesBase<ConvertEntriesPass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    for (ModuleOp nested : getOperation().getOps<ModuleOp>()) {
      nested.emitError("nested modules are not supported");
      return signalPassFailure();
    }
    if (failed(checkCalls(getOperation())))
      return signalPassFailure();
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr("polynest.entry") ||
          function->hasAttr("polynest.shapes") || function.isPrivate())
        continue;
      if (failed(checkEntry(function)))
        return signalPassFailure();
      entries.push_back(function);
    }
    for (func::FuncOp entry : entries) {
      if (failed(checkDynamicResults(entry)))
        return signalPassFailure();
      if (getOperation().lookupSymbol(getShapesName(entry))) {
        entry.emitError() << "the name '" << getShapesName(entry)
                          << "' is needed for the entry's shape function";
        return signalPassFailure();
      }
      markMutableInputs(entry);
      if (failed(makeShapeFunction(entry)))
        return signalPassFailure();
      unsigned inputCount = entry.getNumArguments();
      if (failed(convertArguments(entry)))
        return signalPassFailure();
      convertResults(entry);
      updateSignature(entry, inputCount);
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
