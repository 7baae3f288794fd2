// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/MlirBridge.cpp: what MLIR's C API lacks, as C functions.

#include "Support/MlirBridge.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "polynest/error.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>

using namespace mlir;

void pn_mlir_shorten_diagnostics(MlirContext context) {
  unwrap(context)->printOpOnDiagnostic(false);
}

void pn_mlir_register_pipeline(const char *flag, const char *description,
                               pn_pipeline_text_fn textFn, void *user) {
  auto build = [textFn,
                user](OpPassManager &pm, StringRef options,
                      function_ref<LogicalResult(const Twine &)> onError) {
    pn_buffer_t buffer = {};
    pn_error_t *error = textFn(user, options.data(), options.size(), &buffer);
    LogicalResult result = success();
    if (error) {
      result = onError(pn_error_message(error));
      pn_error_destroy(error);
    } else {
      result = parsePassPipeline(pn_buffer_text(&buffer), pm);
    }
    pn_buffer_clear(&buffer);
    return result;
  };
  registerPassPipeline(flag, description, build,
                       [](function_ref<void(const detail::PassOptions &)>) {});
}

MlirLlvmThreadPool pn_mlir_thread_pool_create(unsigned count) {
  return wrap(static_cast<llvm::ThreadPoolInterface *>(
      new llvm::DefaultThreadPool(llvm::hardware_concurrency(count))));
}

bool pn_llvm_knows_cpu(const char *triple, const char *cpu) {
  std::string ignored;
  llvm::Triple parsed(triple);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(parsed, ignored);
  if (!target)
    return false;
  // The generic CPU is always known.
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(parsed, "", ""));
  return info && (!*cpu || info->isCPUStringValid(cpu));
}

/// MLIR's verifier crashes on a `linalg.transpose` with an empty permutation.
/// One of rank 0 is the identity; any other is an error.
static LogicalResult replaceEmptyTransposes(ModuleOp module) {
  SmallVector<linalg::TransposeOp> empty;
  module->walk([&](linalg::TransposeOp op) {
    if (DenseI64ArrayAttr order = op.getPermutationAttr();
        order && order.empty())
      empty.push_back(op);
  });
  for (linalg::TransposeOp op : empty) {
    auto hasRank0 = [](Value value) {
      auto type = dyn_cast<ShapedType>(value.getType());
      return type && type.hasRank() && type.getRank() == 0;
    };
    if (op->getNumOperands() != 2 || op->getNumResults() > 1 ||
        !llvm::all_of(op->getOperands(), hasRank0) ||
        op->getOperand(0).getType() != op->getOperand(1).getType())
      return op->emitOpError("has an empty permutation, but no operands of "
                             "rank 0 and of one type");
    OpBuilder builder(op);
    if (op->getNumResults() == 0)
      linalg::CopyOp::create(builder, op.getLoc(), op->getOperand(0),
                             op->getOperand(1));
    else if (op->getResult(0).getType() == op->getOperand(0).getType())
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    else
      return op->emitOpError("has a result of another type than its operands");
    op->erase();
  }
  return success();
}

MlirModule pn_mlir_parse_module(MlirContext context, const char *data,
                                size_t size, const char *name) {
  // The parser wants its input to end in NUL.
  auto buffer =
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(data, size), name);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  ParserConfig config(unwrap(context), /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  if (!module || failed(replaceEmptyTransposes(*module)) ||
      failed(verify(*module)))
    return MlirModule{nullptr};
  return wrap(module.release());
}

size_t pn_mlir_state_bytes(MlirModule module) {
  size_t bytes = 0;
  for (auto function : unwrap(module).getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto type = dyn_cast<MemRefType>(function.getArgument(i).getType());
      if (type && type.hasStaticShape() &&
          function.getArgAttr(i, "polynest.state"))
        bytes = std::max(bytes, static_cast<size_t>(type.getNumElements()));
    }
  return bytes;
}

bool pn_mlir_write_bytecode(MlirOperation op,
                            void (*write)(void *user, const char *data,
                                          size_t size),
                            void *user) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(writeBytecodeToFile(unwrap(op), os)))
    return false;
  write(user, bytes.data(), bytes.size());
  return true;
}

/// The first file location inside `location`, or null.
static FileLineColLoc findFileLocation(Location location) {
  FileLineColLoc found;
  location->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      found = file;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

void pn_mlir_location(MlirLocation location, pn_buffer_t *file,
                      int32_t *outLine, int32_t *outColumn) {
  *outLine = *outColumn = 0;
  FileLineColLoc found = findFileLocation(unwrap(location));
  if (!found)
    return;
  StringRef name = found.getFilename().getValue();
  pn_buffer_append(file, name.data(), name.size());
  *outLine = static_cast<int32_t>(found.getLine());
  *outColumn = static_cast<int32_t>(found.getColumn());
}
