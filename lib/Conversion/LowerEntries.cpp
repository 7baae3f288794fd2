//===- LowerEntries.cpp - C symbols of entries, calls of kernels ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the last rewrite of S5, on the LLVM dialect. Kernel calls become
// `pn_parallel_for` over a block of captures, heap allocations become
// `pn_rt_alloc`, and each entry gets its C symbols:
//   i32 <name>_packed(ctx, state, args)
//                                  args[i] points to a ranked descriptor, or to
//                                  the value of a scalar
//   i32 <name>(ctx, state, ...)    the same with one pointer an argument
//   void <name>_shapes(dims, out)  result sizes from input sizes
//   i64 <name>_state_size(), i32 <name>_init(ctx, state, constants)
// and the module its description `polynest_info`. Bodies of entries lose the
// arguments that they do not use. What runs only when constants are bound is
// marked `cold`, by which the code generator hurries.
// Legal always: the form is that of convert-func-to-llvm on a described entry.
// Profitable always. Limits: an allocation in a loop lives until the call ends.
// Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERENTRIES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-entries"

using namespace mlir;
using namespace mlir::LLVM;

namespace polynest {

/// Status of a call that could not get memory; messages count from 1.
static constexpr int64_t kOutOfMemory = -1;

/// Values of `polynest.arg_ranks` that are not ranks.
static constexpr int64_t kScalar = -1, kArena = -2, kState = -3;

namespace {
/// Shorthand for building LLVM dialect code in one module.
struct Emitter {
  ModuleOp module;
  OpBuilder builder;
  Location loc;
  LLVMPointerType ptr;
  Type i8, i32, i64;

  explicit Emitter(ModuleOp module)
      : module(module), builder(module.getContext()), loc(module.getLoc()),
        ptr(LLVMPointerType::get(module.getContext())), i8(builder.getI8Type()),
        i32(builder.getI32Type()), i64(builder.getI64Type()) {}

  Value constant(Type type, int64_t value) {
    return ConstantOp::create(builder, loc, type,
                              builder.getIntegerAttr(type, value));
  }
  /// base + bytes.
  Value offset(Value base, int64_t bytes) {
    return GEPOp::create(builder, loc, ptr, i8, base,
                         ArrayRef<GEPArg>{GEPArg(static_cast<int32_t>(bytes))});
  }
  Value load(Type type, Value address) {
    return LoadOp::create(builder, loc, type, address);
  }
  void store(Value value, Value address) {
    StoreOp::create(builder, loc, value, address);
  }
  /// An array of `count` elements of `type` on the stack.
  Value onStack(Type type, int64_t count) {
    return AllocaOp::create(builder, loc, ptr, type, constant(i64, count));
  }
  /// The declaration of an external function, made once.
  LLVMFuncOp declare(StringRef name, Type result, ArrayRef<Type> params) {
    if (auto found = module.lookupSymbol<LLVMFuncOp>(name))
      return found;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    return LLVMFuncOp::create(builder, loc, name,
                              LLVMFunctionType::get(result, params));
  }
  /// A new function with an entry block; the builder moves into it.
  LLVMFuncOp define(StringRef name, Type result, ArrayRef<Type> params,
                    bool external) {
    builder.setInsertionPointToEnd(module.getBody());
    auto function = LLVMFuncOp::create(
        builder, loc, name, LLVMFunctionType::get(result, params),
        external ? Linkage::External : Linkage::Internal);
    if (!external)
      function.setDsoLocal(true);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    return function;
  }
  Value call(LLVMFuncOp callee, ValueRange operands) {
    auto op = CallOp::create(builder, loc, callee, operands);
    return op.getNumResults() ? op.getResult() : Value();
  }
  Value isNull(Value pointer) {
    Value null = ZeroOp::create(builder, loc, ptr);
    return ICmpOp::create(builder, loc, ICmpPredicate::eq, pointer, null);
  }
  /// Returns `status` from the current function where `condition` holds, and
  /// leaves the builder where it does not.
  void returnIf(Value condition, int64_t status) {
    Block *head = builder.getInsertionBlock();
    Block *next = head->splitBlock(builder.getInsertionPoint());
    Block *fail =
        builder.createBlock(head->getParent(), head->getParent()->end());
    ReturnOp::create(builder, loc, constant(i32, status));
    builder.setInsertionPointToEnd(head);
    CondBrOp::create(builder, loc, condition, fail, next);
    builder.setInsertionPointToStart(next);
  }
};
} // namespace

static bool isKernel(LLVMFuncOp function) {
  return function && function->hasAttr("polynest.kernel");
}

/// A kernel without a grain is a serial nest, called as it is.
static bool isParallelKernel(LLVMFuncOp function) {
  return isKernel(function) && function->hasAttr("polynest.grain");
}

static bool isEntry(LLVMFuncOp function) {
  return function->hasAttr("polynest.entry");
}

/// Fills the state of another entry.
static bool isInit(LLVMFuncOp function) {
  return function->hasAttr("polynest.init");
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

static SmallVector<CallOp> callsOf(LLVMFuncOp function, StringRef callee) {
  SmallVector<CallOp> calls;
  function.walk([&](CallOp call) {
    if (call.getCallee() == callee)
      calls.push_back(call);
  });
  return calls;
}

/// Appends a pointer argument for the call context.
static Value addContextArgument(Emitter &emit, LLVMFuncOp function) {
  auto type = function.getFunctionType();
  SmallVector<Type> params(type.getParams());
  params.push_back(emit.ptr);
  if (ArrayAttr attrs = function.getArgAttrsAttr()) {
    SmallVector<Attribute> list(attrs.getValue());
    list.push_back(emit.builder.getDictionaryAttr({}));
    function.setArgAttrsAttr(emit.builder.getArrayAttr(list));
  }
  function.setFunctionType(LLVMFunctionType::get(type.getReturnType(), params));
  return function.getBody().front().addArgument(emit.ptr, function.getLoc());
}

/// Turns malloc into pn_rt_alloc, with an early return where memory is short,
/// and drops free: temporaries end with the call. What a parallel kernel
/// allocates first it gives back, for those that run after it.
static void lowerAllocations(Emitter &emit, LLVMFuncOp function, Value ctx) {
  LLVMFuncOp allocate =
      emit.declare("pn_rt_alloc", emit.ptr, {emit.ptr, emit.i64});
  Block *entry = &function.getBody().front();
  SmallVector<ReturnOp> returns;
  function.walk([&](ReturnOp op) { returns.push_back(op); });
  SmallVector<Value> own;
  for (CallOp call : callsOf(function, "malloc")) {
    bool isFirst = call->getBlock() == entry;
    emit.builder.setInsertionPoint(call);
    Value block = emit.call(allocate, {ctx, call.getOperand(0)});
    call.getResult().replaceAllUsesWith(block);
    emit.returnIf(emit.isNull(block), kOutOfMemory);
    // What follows is in a block of its own now.
    if (isFirst) {
      entry = call->getBlock();
      own.push_back(block);
    }
    call.erase();
  }
  for (CallOp call : callsOf(function, "free"))
    call.erase();
  if (own.empty() || !isParallelKernel(function))
    return;
  LLVMFuncOp release =
      emit.declare("pn_rt_free", LLVMVoidType::get(emit.builder.getContext()),
                   {emit.ptr, emit.ptr});
  for (ReturnOp op : returns) {
    emit.builder.setInsertionPoint(op);
    for (Value block : own)
      emit.call(release, {ctx, block});
  }
}

/// The number of the nest whose time a call is part of, or null.
static IntegerAttr nestOf(CallOp call) {
  return call->getAttrOfType<IntegerAttr>("polynest.nest");
}

/// Takes the time after each call that is part of a numbered nest, and at the
/// start of the entry.
static void timeNests(Emitter &emit, LLVMFuncOp entry, Value ctx) {
  SmallVector<CallOp> calls;
  entry.walk([&](CallOp call) {
    if (nestOf(call))
      calls.push_back(call);
  });
  if (calls.empty())
    return;
  LLVMFuncOp lap =
      emit.declare("pn_rt_lap", LLVMVoidType::get(emit.builder.getContext()),
                   {emit.ptr, emit.i64});
  emit.builder.setInsertionPointToStart(&entry.getBody().front());
  emit.call(lap, {ctx, emit.constant(emit.i64, -1)});
  for (CallOp call : calls) {
    emit.builder.setInsertionPointAfter(call);
    emit.call(lap, {ctx, emit.constant(emit.i64, nestOf(call).getInt())});
    call->removeAttr("polynest.nest");
  }
}

/// Gives every entry and kernel that allocates, and entries whose nests are
/// timed, a context argument, kernels first so that their callers see what they
/// need.
static void lowerAllAllocations(Emitter &emit) {
  SmallVector<LLVMFuncOp> functions(emit.module.getOps<LLVMFuncOp>());
  llvm::SmallSetVector<Operation *, 8> needy;
  auto needsContext = [&](LLVMFuncOp function) {
    if (!callsOf(function, "malloc").empty())
      return true;
    bool found = false;
    function.walk([&](CallOp call) {
      found |= bool(nestOf(call));
      if (auto callee = call.getCallee())
        found |= needy.contains(emit.module.lookupSymbol(*callee));
    });
    return found;
  };
  for (bool wantKernels : {true, false}) {
    for (LLVMFuncOp function : functions) {
      if (function.isExternal() || isKernel(function) != wantKernels ||
          !(isKernel(function) || isEntry(function)))
        continue;
      if (!needsContext(function))
        continue;
      needy.insert(function);
      Value ctx = addContextArgument(emit, function);
      function->setAttr("polynest.ctx", emit.builder.getUnitAttr());
      timeNests(emit, function, ctx);
      lowerAllocations(emit, function, ctx);
      function.walk([&](CallOp call) {
        auto callee = call.getCallee();
        if (callee && isKernel(emit.module.lookupSymbol<LLVMFuncOp>(*callee)) &&
            needy.contains(emit.module.lookupSymbol(*callee)))
          call.getCalleeOperandsMutable().append(ctx);
      });
    }
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// True if the function takes the address of each buffer and no descriptor.
static bool takesAddresses(LLVMFuncOp function) {
  return function->hasAttr("llvm.bareptr");
}

/// Number of LLVM parameters of one argument.
static size_t parameterCount(int64_t rank, bool isBare) {
  if (isBare || rank == kScalar)
    return 1;
  return rank < 0 ? 5 : 3 + 2 * rank;
}

/// Whether the ranks are of arguments that the function has parameters for;
/// text that is fed in may say anything.
static bool fit(ArrayRef<int64_t> ranks, LLVMFuncOp function) {
  size_t left = function.getFunctionType().getNumParams();
  bool isBare = takesAddresses(function);
  for (int64_t rank : ranks) {
    if (rank < kState || (!isBare && rank > static_cast<int64_t>(left)) ||
        parameterCount(rank, isBare) > left)
      return false;
    left -= parameterCount(rank, isBare);
  }
  return true;
}

/// Tells LLVM which pointers of a kernel overlap no other.
static void markDistinctPointers(Emitter &emit, LLVMFuncOp kernel) {
  auto ranks = kernel->getAttrOfType<DenseI64ArrayAttr>("polynest.arg_ranks");
  auto distinct = kernel->getAttrOfType<DenseI64ArrayAttr>("polynest.distinct");
  if (!ranks || !distinct || !fit(ranks, kernel))
    return;
  size_t at = 0;
  bool isBare = takesAddresses(kernel);
  for (auto [i, rank] : llvm::enumerate(ranks.asArrayRef())) {
    // The second field of a descriptor is the pointer that code uses.
    if (llvm::is_contained(distinct.asArrayRef(), static_cast<int64_t>(i)))
      kernel.setArgAttr(isBare ? at : at + 1, LLVMDialect::getNoAliasAttrName(),
                        emit.builder.getUnitAttr());
    at += parameterCount(rank, isBare);
  }
}

/// The struct of everything a kernel takes beside its range.
static LLVMStructType captureType(LLVMFuncOp kernel) {
  ArrayRef<Type> params = kernel.getFunctionType().getParams();
  return LLVMStructType::getLiteral(kernel.getContext(), params.drop_front(2));
}

static Value fieldAddress(Emitter &emit, LLVMStructType type, Value base,
                          int32_t field) {
  return GEPOp::create(emit.builder, emit.loc, emit.ptr, type, base,
                       ArrayRef<GEPArg>{GEPArg(0), GEPArg(field)});
}

/// i32 <kernel>_chunk(args, begin, end): unpacks the captures and runs.
static LLVMFuncOp makeChunkFunction(Emitter &emit, LLVMFuncOp kernel) {
  LLVMStructType captures = captureType(kernel);
  LLVMFuncOp chunk =
      emit.define((kernel.getName() + "_chunk").str(), emit.i32,
                  {emit.ptr, emit.i64, emit.i64}, /*external=*/false);
  Block &block = chunk.getBody().front();
  SmallVector<Value> operands = {block.getArgument(1), block.getArgument(2)};
  for (auto [i, type] : llvm::enumerate(captures.getBody()))
    operands.push_back(
        emit.load(type, fieldAddress(emit, captures, block.getArgument(0),
                                     static_cast<int32_t>(i))));
  ReturnOp::create(emit.builder, emit.loc, emit.call(kernel, operands));
  return chunk;
}

static int64_t grainOf(LLVMFuncOp kernel) {
  auto grain = kernel->getAttrOfType<IntegerAttr>("polynest.grain");
  return grain ? std::max<int64_t>(grain.getInt(), 1) : 1;
}

/// Replaces one call of a kernel by a parallel one.
static void launch(Emitter &emit, CallOp call, LLVMFuncOp kernel,
                   LLVMFuncOp chunk) {
  LLVMStructType captures = captureType(kernel);
  // The block of captures lives in the frame, not in a loop around the call.
  auto parent = call->getParentOfType<LLVMFuncOp>();
  emit.builder.setInsertionPointToStart(&parent.getBody().front());
  Value args = emit.onStack(captures, 1);
  emit.builder.setInsertionPoint(call);
  OperandRange operands = call.getArgOperands();
  for (auto [i, operand] : llvm::enumerate(operands.drop_front(2)))
    emit.store(operand,
               fieldAddress(emit, captures, args, static_cast<int32_t>(i)));
  LLVMFuncOp parallelFor =
      emit.declare("pn_parallel_for", emit.i32,
                   {emit.ptr, emit.ptr, emit.i64, emit.i64, emit.i64});
  Value address = AddressOfOp::create(emit.builder, emit.loc, chunk);
  Value status =
      emit.call(parallelFor, {address, args, operands[0], operands[1],
                              emit.constant(emit.i64, grainOf(kernel))});
  call.getResult().replaceAllUsesWith(status);
  call.erase();
}

static unsigned lowerKernels(Emitter &emit) {
  SmallVector<LLVMFuncOp> kernels;
  for (auto function : emit.module.getOps<LLVMFuncOp>())
    if (isKernel(function))
      kernels.push_back(function);
  SmallVector<std::pair<CallOp, LLVMFuncOp>> calls;
  emit.module.walk([&](CallOp call) {
    if (auto callee = call.getCallee())
      if (auto kernel = emit.module.lookupSymbol<LLVMFuncOp>(*callee);
          isParallelKernel(kernel))
        calls.emplace_back(call, kernel);
  });
  DenseMap<Operation *, LLVMFuncOp> chunks;
  for (LLVMFuncOp kernel : kernels) {
    kernel.setLinkage(Linkage::Internal);
    kernel.setDsoLocal(true);
    markDistinctPointers(emit, kernel);
    if (isParallelKernel(kernel))
      chunks[kernel] = makeChunkFunction(emit, kernel);
  }
  for (auto [call, kernel] : calls)
    launch(emit, call, kernel, chunks[kernel]);
  return kernels.size();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

namespace {
/// What polynest-describe-entries left on an entry.
struct EntryForm {
  ArrayRef<int64_t> ranks;
  int64_t arenaBytes, stateBytes;
};
} // namespace

static FailureOr<EntryForm> formOf(LLVMFuncOp entry) {
  auto ranks = entry->getAttrOfType<DenseI64ArrayAttr>("polynest.arg_ranks");
  auto arena = entry->getAttrOfType<IntegerAttr>("polynest.arena_bytes");
  auto state = entry->getAttrOfType<IntegerAttr>("polynest.state_bytes");
  if (!ranks || !arena || !state || !fit(ranks, entry))
    return failure();
  return EntryForm{ranks.asArrayRef(), arena.getInt(), state.getInt()};
}

/// Takes away the arguments that the function does not use, and says which they
/// were: of hundreds of weights that init has packed, calls read none.
static llvm::BitVector dropUnread(LLVMFuncOp function) {
  llvm::BitVector unread(function.getNumArguments());
  SmallVector<Type> read;
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unread.set(argument.getArgNumber());
    else
      read.push_back(argument.getType());
  Type result = function.getFunctionType().getReturnType();
  function_interface_impl::eraseFunctionArguments(
      function, unread, LLVMFunctionType::get(result, read));
  return unread;
}

/// Those of the operands that the function still takes.
static SmallVector<Value> takeRead(ArrayRef<Value> operands,
                                   const llvm::BitVector &unread) {
  SmallVector<Value> read;
  for (auto [i, operand] : llvm::enumerate(operands))
    if (!unread.test(i))
      read.push_back(operand);
  return read;
}

/// Loads what the function takes for one argument out of its descriptor;
/// nothing for what it does not use.
static void unpackArgument(Emitter &emit, Value pointer, int64_t rank,
                           ArrayRef<Type> types, const llvm::BitVector &unread,
                           SmallVectorImpl<Value> &out) {
  if (rank == kScalar) {
    Type type = types.front();
    // A boolean is a byte in memory.
    if (type.isInteger(1)) {
      Value byte = emit.load(emit.i8, pointer);
      Value zero = emit.constant(emit.i8, 0);
      out.push_back(ICmpOp::create(emit.builder, emit.loc, ICmpPredicate::ne,
                                   byte, zero));
    } else {
      out.push_back(emit.load(type, pointer));
    }
    return;
  }
  // allocated, aligned, offset, sizes[rank], strides[rank]: eight bytes each.
  // An address alone is the aligned one.
  size_t first = types.size() == 1 ? 1 : 0;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto word = static_cast<int64_t>(first + i);
    out.push_back(unread.test(out.size())
                      ? Value()
                      : emit.load(type, emit.offset(pointer, word * 8)));
  }
}

/// Bytes: their address, or a descriptor with both pointers, offset 0, their
/// number, stride 1.
static void appendBytes(Emitter &emit, Value base, int64_t bytes, bool isBare,
                        SmallVectorImpl<Value> &out) {
  if (isBare)
    return out.push_back(base);
  out.append({base, base, emit.constant(emit.i64, 0),
              emit.constant(emit.i64, bytes), emit.constant(emit.i64, 1)});
}

/// i32 <name>(ctx, state, args) around a described entry.
static LLVMFuncOp makePacked(Emitter &emit, LLVMFuncOp body,
                             const std::string &name, const EntryForm &form) {
  ArrayRef<Type> params = body.getFunctionType().getParams();
  llvm::BitVector unread = dropUnread(body);
  LLVMFuncOp packed =
      emit.define(name, emit.i32, {emit.ptr, emit.ptr, emit.ptr},
                  /*external=*/true);
  Value ctx = packed.getBody().front().getArgument(0);
  Value state = packed.getBody().front().getArgument(1);
  Value args = packed.getBody().front().getArgument(2);
  SmallVector<Value> operands;
  bool isBare = takesAddresses(body);
  for (auto [i, rank] : llvm::enumerate(form.ranks)) {
    size_t first = operands.size(), count = parameterCount(rank, isBare);
    if (unread.find_first_unset_in(first, first + count) < 0) {
      // Nothing need be there: a constant that only init reads.
      operands.append(count, Value());
    } else if (rank == kState) {
      appendBytes(emit, state, form.stateBytes, isBare, operands);
    } else if (rank == kArena) {
      LLVMFuncOp get =
          emit.declare("pn_rt_arena", emit.ptr, {emit.ptr, emit.i64});
      Value base =
          emit.call(get, {ctx, emit.constant(emit.i64, form.arenaBytes)});
      emit.returnIf(emit.isNull(base), kOutOfMemory);
      appendBytes(emit, base, form.arenaBytes, isBare, operands);
    } else {
      Value slot = emit.offset(args, static_cast<int64_t>(i) * 8);
      unpackArgument(emit, emit.load(emit.ptr, slot), rank,
                     params.take_front(count), unread, operands);
    }
    params = params.drop_front(count);
  }
  bool needsContext = body->hasAttr("polynest.ctx");
  if (needsContext)
    operands.push_back(ctx);
  Value status = emit.call(body, takeRead(operands, unread));
  if (needsContext) {
    LLVMFuncOp reset =
        emit.declare("pn_rt_context_reset",
                     LLVMVoidType::get(emit.module.getContext()), {emit.ptr});
    emit.call(reset, {ctx});
  }
  ReturnOp::create(emit.builder, emit.loc, status);
  return packed;
}

/// i32 <name>(ctx, state, one pointer an argument).
static void makeTyped(Emitter &emit, LLVMFuncOp packed, StringRef name,
                      size_t argumentCount) {
  SmallVector<Type> params(argumentCount + 2, emit.ptr);
  LLVMFuncOp typed = emit.define(name, emit.i32, params, /*external=*/true);
  Block &block = typed.getBody().front();
  Value args = emit.onStack(emit.ptr, std::max<int64_t>(argumentCount, 1));
  for (size_t i = 0; i < argumentCount; ++i)
    emit.store(block.getArgument(i + 2),
               emit.offset(args, static_cast<int64_t>(i) * 8));
  ReturnOp::create(
      emit.builder, emit.loc,
      emit.call(packed, {block.getArgument(0), block.getArgument(1), args}));
}

/// void <name>_shapes(dims, out) around the function of index values.
static void makeShapes(Emitter &emit, LLVMFuncOp body, StringRef name) {
  LLVMFuncOp shapes =
      emit.define(name, LLVMVoidType::get(emit.module.getContext()),
                  {emit.ptr, emit.ptr}, /*external=*/true);
  Value dims = shapes.getBody().front().getArgument(0);
  Value out = shapes.getBody().front().getArgument(1);
  ArrayRef<Type> params = body.getFunctionType().getParams();
  llvm::BitVector unread = dropUnread(body);
  SmallVector<Value> operands;
  for (auto [i, type] : llvm::enumerate(params))
    if (!unread.test(i))
      operands.push_back(
          emit.load(type, emit.offset(dims, static_cast<int64_t>(i) * 8)));
  Value result = emit.call(body, operands);
  if (result) {
    if (auto type = dyn_cast<LLVMStructType>(result.getType())) {
      for (auto [i, field] : llvm::enumerate(type.getBody()))
        emit.store(ExtractValueOp::create(emit.builder, emit.loc, result,
                                          static_cast<int64_t>(i)),
                   emit.offset(out, static_cast<int64_t>(i) * 8));
    } else {
      emit.store(result, out);
    }
  }
  ReturnOp::create(emit.builder, emit.loc, ValueRange());
}

/// i64 <name>_state_size().
static void makeStateSize(Emitter &emit, StringRef name, int64_t bytes) {
  emit.define((name + "_state_size").str(), emit.i64, {}, /*external=*/true);
  ReturnOp::create(emit.builder, emit.loc, emit.constant(emit.i64, bytes));
}

/// i32 <name>_init(ctx, state, constants) of an entry without a state.
static void makeEmptyInit(Emitter &emit, StringRef name) {
  emit.define((name + "_init").str(), emit.i32, {emit.ptr, emit.ptr, emit.ptr},
              /*external=*/true);
  ReturnOp::create(emit.builder, emit.loc, emit.constant(emit.i32, 0));
}

/// Hides a function behind its C symbols. Its name, which
/// polynest-describe-entries gave it, is none of theirs.
static void makeInternal(LLVMFuncOp function) {
  function.setLinkage(Linkage::Internal);
  function.setDsoLocal(true);
}

/// The C name of the entry that the function belongs to, or nothing.
static std::string symbolOf(LLVMFuncOp function) {
  auto symbol = function->getAttrOfType<StringAttr>("polynest.symbol");
  return symbol ? symbol.str() : "";
}

static void addText(Emitter &emit, StringRef name, const std::string &text) {
  emit.builder.setInsertionPointToStart(emit.module.getBody());
  std::string terminated = text + '\0';
  auto type = LLVMArrayType::get(emit.i8, terminated.size());
  GlobalOp::create(emit.builder, emit.loc, type, /*isConstant=*/true,
                   Linkage::External, name,
                   emit.builder.getStringAttr(terminated));
}

/// The description: signatures, then one line an assertion message, in which
/// line ends and backslashes are escaped.
static std::string describe(ModuleOp module) {
  std::string text = "polynest 2\n";
  if (auto info = module->getAttrOfType<StringAttr>("polynest.info"))
    text += info.getValue();
  if (auto asserts = module->getAttrOfType<ArrayAttr>("polynest.asserts")) {
    for (Attribute message : asserts) {
      text += "assert ";
      for (char c : cast<StringAttr>(message).getValue()) {
        if (c == '\\' || c == '\n') {
          text += '\\';
          text += c == '\n' ? 'n' : '\\';
        } else if (c != '\0') {
          text += c;
        }
      }
      text += '\n';
    }
  }
  return text;
}

/// LLVM's attribute for what is seldom run.
static void markCold(LLVMFuncOp function) {
  Builder builder(function.getContext());
  function.setPassthroughAttr(
      builder.getArrayAttr(builder.getStringAttr("cold")));
}

/// Instructions that are named need the whole code generator.
static bool namesInstructions(LLVMFuncOp function) {
  return function.walk([](CallIntrinsicOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Marks functions that fill states, and kernels that only these call.
static void markOnce(ModuleOp module) {
  llvm::StringSet<> once, often;
  for (auto function : module.getOps<LLVMFuncOp>()) {
    llvm::StringSet<> &called = isInit(function) ? once : often;
    function.walk([&](CallOp call) {
      if (std::optional<StringRef> callee = call.getCallee())
        called.insert(*callee);
    });
  }
  for (auto function : module.getOps<LLVMFuncOp>()) {
    StringRef name = function.getName();
    bool runsOnce = isKernel(function)
                        ? once.contains(name) && !often.contains(name)
                        : isInit(function);
    if (runsOnce && !namesInstructions(function))
      markCold(function);
  }
}

namespace {
struct LowerEntriesPass : impl::LowerEntriesBase<LowerEntriesPass> {
  void runOnOperation() override {
    Emitter emit(getOperation());
    lowerAllAllocations(emit);
    markOnce(getOperation());
    numApplied += lowerKernels(emit);
    SmallVector<LLVMFuncOp> entries, shapes;
    for (auto function : getOperation().getOps<LLVMFuncOp>()) {
      if (isEntry(function))
        entries.push_back(function);
      else if (function->hasAttr("polynest.shapes"))
        shapes.push_back(function);
      else
        ++numDeclined;
    }
    for (LLVMFuncOp function : shapes) {
      makeInternal(function);
      if (std::string name = symbolOf(function); !name.empty())
        makeShapes(emit, function, name + "_shapes");
    }
    llvm::StringSet<> filled;
    for (LLVMFuncOp function : entries)
      if (isInit(function))
        filled.insert(symbolOf(function));
    for (LLVMFuncOp function : entries) {
      FailureOr<EntryForm> form = formOf(function);
      std::string name = symbolOf(function);
      if (failed(form) || name.empty()) {
        function.emitError("entry was not described; run "
                           "polynest-describe-entries first");
        return signalPassFailure();
      }
      makeInternal(function);
      ++numApplied;
      if (isInit(function)) {
        markCold(makePacked(emit, function, name + "_init", *form));
        continue;
      }
      LLVMFuncOp packed = makePacked(emit, function, name + "_packed", *form);
      makeTyped(emit, packed, name,
                llvm::count_if(form->ranks,
                               [](int64_t rank) { return rank >= kScalar; }));
      makeStateSize(emit, name, form->stateBytes);
      if (!filled.contains(name))
        makeEmptyInit(emit, name);
    }
    addText(emit, "polynest_info", describe(getOperation()));
  }
};
} // namespace

} // namespace polynest
