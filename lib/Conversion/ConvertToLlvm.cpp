//===- ConvertToLlvm.cpp - everything that is left to the LLVM dialect ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: converts arith, cf, func, index, memref and vector to the LLVM dialect
// in one conversion. What needs a conversion of its own goes first, and only
// where there is any of it: math, and vectors of several dimensions, masks and
// slices of vectors. What is read of a descriptor made in the same function is
// then what was put there, and descriptors that nobody needs are gone. Bits are
// stored as bytes, and loaded so where only bytes are made of them.
// Legal always: the patterns are those of the upstream passes, one after the
// other they do the same.
// Profitable: each upstream pass legalizes every operation, and puts casts
// between what it has converted and what the next one will, which go away at
// the end. That took twice as long.
// Limits: what no pattern takes is left; the stage's verifier says so.
// Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/EraseDead.h"
#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"

namespace polynest {
#define GEN_PASS_DEF_CONVERTTOLLVM
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-convert-to-llvm"

using namespace mlir;

namespace polynest {

/// Reads fields of descriptors where these are made. Functions that take
/// addresses have a descriptor of ten values for each argument and view, of
/// which one is read: all that follows would look at each of them.
static void foldDescriptors(ModuleOp module) {
  SmallVector<Operation *> unread;
  module.walk([&](LLVM::ExtractValueOp read) {
    SmallVector<OpFoldResult, 1> folded;
    if (failed(read->fold(folded)) || folded.empty())
      return;
    if (auto value = dyn_cast<Value>(folded.front())) {
      read.getResult().replaceAllUsesWith(value);
      unread.push_back(read);
    }
  });
  module.walk([&](LLVM::InsertValueOp op) {
    if (op->use_empty())
      unread.push_back(op);
  });
  eraseDead(unread);
}

/// A bit as the byte that it is in memory.
static Value makeByte(OpBuilder &builder, Location loc, Value bit) {
  Type type = builder.getI8Type();
  auto low = bit.getDefiningOp<LLVM::TruncOp>();
  if (!low || low.getArg().getType() != type)
    return LLVM::ZExtOp::create(builder, loc, type, bit);
  Value one = LLVM::ConstantOp::create(builder, loc, type, 1);
  return LLVM::AndOp::create(builder, loc, low.getArg(), one);
}

/// Stores bits as bytes. LLVM 22 stores lanes of bytes together, as one vector,
/// but makes their bits by shifts of masks, for which its propagation of copies
/// may ask for a copy that x86 has not: that ends the process.
static void storeBitsAsBytes(ModuleOp module) {
  module.walk([](LLVM::StoreOp store) {
    if (!store.getValue().getType().isInteger(1))
      return;
    OpBuilder builder(store);
    store.getValueMutable().assign(
        makeByte(builder, store.getLoc(), store.getValue()));
  });
}

/// Loads bits of which the bytes are wanted as bytes, as they are in memory:
/// LLVM 22 gathers lanes of bytes that lie together with one load, lanes of
/// bits one by one.
static void loadBitsAsBytes(ModuleOp module) {
  SmallVector<LLVM::LoadOp> loads;
  module.walk([&](LLVM::LoadOp load) {
    auto isByte = [](Operation *user) {
      return isa<LLVM::ZExtOp>(user) &&
             user->getResult(0).getType().isInteger(8);
    };
    if (load.getType().isInteger(1) && !load->use_empty() &&
        llvm::all_of(load->getUsers(), isByte))
      loads.push_back(load);
  });
  for (LLVM::LoadOp load : loads) {
    SmallVector<Operation *> users(load->getUsers());
    load.getResult().setType(IntegerType::get(load.getContext(), 8));
    for (Operation *user : users) {
      user->getResult(0).replaceAllUsesWith(load);
      user->erase();
    }
  }
}

static bool isFlat(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return !vector || vector.getRank() == 1;
}

/// True for operations on vectors of one dimension that have an equal in the
/// LLVM dialect.
static bool isPlainVectorOp(Operation *op) {
  return isa<vector::LoadOp, vector::StoreOp, vector::FMAOp, vector::ShuffleOp,
             vector::BroadcastOp, vector::ExtractOp, vector::InsertOp,
             vector::FromElementsOp, vector::ReductionOp, vector::MaskedLoadOp,
             vector::MaskedStoreOp, vector::BitCastOp>(op) &&
         llvm::all_of(op->getOperandTypes(), isFlat) &&
         llvm::all_of(op->getResultTypes(), isFlat);
}

namespace {
struct ConvertToLlvmPass : impl::ConvertToLlvmBase<ConvertToLlvmPass> {
  /// Upstream's passes for what one conversion would not do.
  LogicalResult runFirstPasses(ModuleOp module) {
    bool hasMath = false, hasVectors = false;
    module.walk([&](Operation *op) {
      hasMath |= isa_and_nonnull<math::MathDialect>(op->getDialect());
      // Constants and arithmetic of any rank go through the same patterns.
      hasVectors |= (isa_and_nonnull<vector::VectorDialect>(op->getDialect()) &&
                     !isPlainVectorOp(op)) ||
                    !llvm::all_of(op->getResultTypes(), isFlat);
    });
    OpPassManager passes(ModuleOp::getOperationName());
    if (hasMath) {
      passes.addPass(createConvertMathToLLVMPass());
      passes.addPass(createConvertMathToLibmPass());
      ++numDeclined;
    }
    if (hasVectors) {
      passes.addPass(createConvertVectorToLLVMPass());
      ++numDeclined;
    }
    return passes.empty() ? success() : runPipeline(passes, module);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(runFirstPasses(module)))
      return signalPassFailure();
    const auto &layout = getAnalysis<DataLayoutAnalysis>();
    LowerToLLVMOptions options(&getContext(), layout.getAtOrAbove(module));
    LLVMTypeConverter converter(&getContext(), options, &layout);
    RewritePatternSet patterns(&getContext());
    // Tables of their own: one side adds symbols, the other must not see it.
    SymbolTableCollection functions, allocators;
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns, &functions);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns,
                                                   &allocators);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(getContext());
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    foldDescriptors(module);
    storeBitsAsBytes(module);
    loadBitsAsBytes(module);
    ++numApplied;
  }
};
} // namespace

} // namespace polynest
