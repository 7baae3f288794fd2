//===- VerifyStage.cpp - check the form that a stage hands over -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: checks that a module has the form which docs/architecture.md gives for
// the output of a stage, for the input of all (`stage=input`), or for all texts
// (`stage=any`), and emits an error at the first operation that does not belong
// there.
// Legal and profitable always: changes nothing.
// Limits: what is checked is the set of operations, types and signatures, not
// whether a better form was possible.
// Cost: one walk, constant work an operation.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Conversion/SupportedTypes.h"
#include "Support/PassOptions.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

namespace polynest {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-verify-stage"

using namespace mlir;

namespace polynest {

/// Checks one operation beyond its dialect; the reason, or an empty string.
using CheckFn = StringRef (*)(Operation *op);

/// What a stage hands over.
struct StageForm {
  StringRef name;
  /// Dialects of which every operation is allowed, up to `check`; empty where
  /// all are.
  SmallVector<StringRef> dialects;
  CheckFn check;
  /// Types of operands and results are checked by whyTypeUnsupported.
  bool checksTypes;
};

static bool isView(Operation *op) {
  return isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
             memref::CastOp, memref::ReinterpretCastOp, memref::TransposeOp,
             memref::MemorySpaceCastOp, memref::AssumeAlignmentOp,
             memref::ExtractStridedMetadataOp, memref::ViewOp>(op);
}

static bool isPlainMemrefOp(Operation *op) {
  return isView(op) ||
         isa<memref::AllocOp, memref::AllocaOp, memref::LoadOp, memref::StoreOp,
             memref::DimOp, memref::GlobalOp, memref::GetGlobalOp>(op);
}

static bool hasTensor(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) ||
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

/// Loops whose steps are constants that no loop can have. Passes divide by
/// steps, and the sum of a bound and the step must not overflow.
static StringRef checkSteps(Operation *op) {
  static constexpr int64_t largest = int64_t(1) << 62;
  SmallVector<std::optional<int64_t>> steps;
  if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
    steps.push_back(loop.getStepAsInt());
  } else if (auto loop = dyn_cast<affine::AffineParallelOp>(op)) {
    for (int64_t step : loop.getSteps())
      steps.push_back(step);
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    if (auto mixed = loop.getLoopSteps())
      for (OpFoldResult step : *mixed)
        steps.push_back(getConstantIntValue(step));
  }
  for (std::optional<int64_t> step : steps)
    if (step && (*step < 1 || *step > largest))
      return "a loop's step below 1 or above 2^62 is not allowed";
  return "";
}

/// One block a function, since entries end by their end.
static StringRef checkFunction(Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (function && !function.isExternal() && !function.getBody().hasOneBlock())
    return "branches between blocks are not allowed";
  if (isa<func::CallIndirectOp, func::ConstantOp>(op))
    return "calls of function values are not allowed";
  return "";
}

static StringRef checkInput(Operation *op) {
  if (op->getDialect()->getNamespace() == "cf" && !isa<cf::AssertOp>(op))
    return "branches between blocks are not allowed";
  return checkFunction(op);
}

/// Entries return nothing and write nothing but their results.
static StringRef checkEntry(Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function || !function->hasAttr("polynest.entry"))
    return "";
  if (function.getNumResults() != 0)
    return "an entry returns nothing; its results are arguments";
  bool inResults = false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    bool isResult = function.getArgAttr(i, "polynest.result") != nullptr;
    bool isHidden = function.getArgAttr(i, "polynest.arena") ||
                    function.getArgAttr(i, "polynest.state");
    if (inResults && !isResult && !isHidden)
      return "results of an entry are its last arguments";
    inResults |= isResult;
  }
  return "";
}

/// Buffers without tensors; shared by all stages up to s3.
static StringRef checkBuffers(Operation *op) {
  if (hasTensor(op))
    return "tensors are not allowed";
  if (isa<func::CallOp>(op))
    return "calls are not allowed";
  StringRef reason = checkInput(op);
  return reason.empty() ? checkEntry(op) : reason;
}

static StringRef checkS1(Operation *op) {
  StringRef reason = checkBuffers(op);
  if (!reason.empty())
    return reason;
  if (isa<memref::DeallocOp>(op))
    return "buffers are not freed one by one";
  if (op->getDialect()->getNamespace() == "linalg" &&
      !isa<linalg::LinalgOp, linalg::YieldOp, linalg::IndexOp>(op))
    return "only structured linalg operations are allowed";
  return "";
}

static StringRef checkS2(Operation *op) {
  StringRef reason = checkBuffers(op);
  if (!reason.empty())
    return reason;
  if (isa<memref::CopyOp>(op))
    return "a copy is a nest";
  if (op->getDialect()->getNamespace() == "memref" && !isPlainMemrefOp(op))
    return "of memref, only allocation, access and views are allowed";
  return "";
}

/// True inside a loop that runs its iterations at once: what it allocates is
/// its own.
static bool runsAtOnce(Operation *op) {
  while ((op = op->getParentOp()))
    if (isa<affine::AffineParallelOp>(op) && op->hasAttr("polynest.grain"))
      return true;
  return false;
}

static StringRef checkS3(Operation *op) {
  // Nests with streaming stores ask how a result is aligned, and rows that data
  // choose are asked for.
  if (isa<memref::ExtractAlignedPointerAsIndexOp, memref::PrefetchOp>(op))
    return "";
  StringRef reason = checkS2(op);
  if (!reason.empty())
    return reason;
  if (auto alloc = dyn_cast<memref::AllocOp>(op);
      alloc && alloc.getType().hasStaticShape() && !runsAtOnce(op))
    return "static allocations belong to the arena";
  auto parallel = dyn_cast<affine::AffineParallelOp>(op);
  if (!parallel || !parallel->hasAttr("polynest.grain"))
    return "";
  if (parallel.getNumDims() != 1)
    return "a loop with a grain has one dimension";
  auto grain = parallel->getAttrOfType<IntegerAttr>("polynest.grain");
  if (!grain || !grain.getType().isInteger(64) || grain.getInt() < 1)
    return "a grain is an i64 of at least 1";
  return "";
}

static StringRef checkS4(Operation *op) {
  if (hasTensor(op))
    return "tensors are not allowed";
  StringRef reason = checkInput(op);
  if (!reason.empty())
    return reason;
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function || !function->hasAttr("polynest.kernel"))
    return checkEntry(op);
  FunctionType type = function.getFunctionType();
  if (!function.isPrivate())
    return "a kernel is private";
  if (type.getNumResults() != 0)
    return "a kernel returns nothing";
  // Without a grain it is a serial nest, called as it is.
  if (!function->hasAttr("polynest.grain"))
    return "";
  if (type.getNumInputs() < 2 || !type.getInput(0).isIndex() ||
      !type.getInput(1).isIndex())
    return "a kernel with a grain takes begin and end";
  return "";
}

static StringRef checkNothing(Operation *) { return ""; }

static std::optional<StageForm> formOf(StringRef stage) {
  // What every stage takes for granted of the text it is given.
  if (stage == "any")
    return StageForm{stage, {}, checkSteps, false};
  if (stage == "input")
    return StageForm{stage,
                     {"builtin", "func", "arith", "math", "scf", "cf", "tensor",
                      "linalg", "affine", "memref", "bufferization",
                      "ml_program", "index"},
                     checkInput,
                     true};
  if (stage == "s1")
    return StageForm{stage,
                     {"builtin", "func", "arith", "math", "scf", "cf", "linalg",
                      "affine", "memref", "index"},
                     checkS1,
                     true};
  if (stage == "s2")
    return StageForm{stage,
                     {"builtin", "func", "arith", "math", "scf", "cf", "affine",
                      "memref", "index"},
                     checkS2,
                     true};
  if (stage == "s3")
    return StageForm{stage,
                     {"builtin", "func", "arith", "math", "scf", "cf", "affine",
                      "memref", "vector", "index", "ub"},
                     checkS3,
                     false};
  if (stage == "s4")
    return StageForm{stage,
                     {"builtin", "func", "arith", "math", "scf", "cf", "memref",
                      "vector", "gpu", "index", "ub"},
                     checkS4,
                     false};
  if (stage == "s5")
    return StageForm{stage, {"builtin", "llvm", "gpu"}, checkNothing, false};
  return std::nullopt;
}

/// Why `op` does not belong to the stage, or an empty string.
static std::string whyNotAllowed(const StageForm &form, Operation *op) {
  if (form.dialects.empty())
    return form.check(op).str();
  Dialect *dialect = op->getDialect();
  if (!dialect || !op->isRegistered())
    return "unknown operations are not allowed";
  StringRef dialectName = dialect->getNamespace();
  if (!llvm::is_contained(form.dialects, dialectName))
    return ("operations of dialect '" + dialectName + "' are not allowed")
        .str();
  return form.check(op).str();
}

/// Where the form is asked for, in words.
static std::string placeOf(const StageForm &form) {
  if (form.name == "any")
    return "any stage";
  if (form.name == "input")
    return "the input of stage s1";
  return ("the output of stage " + form.name).str();
}

namespace {
struct VerifyStagePass : impl::VerifyStageBase<VerifyStagePass> {
  using VerifyStageBase::VerifyStageBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (formOf(stage))
      return success();
    return refuseOption(context, "stage", stage, "any, input or s1 to s5");
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    StageForm form = *formOf(stage);
    WalkResult walk =
        getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
          std::string reason = whyNotAllowed(form, op);
          if (reason.empty())
            return WalkResult::advance();
          op->emitOpError() << reason << " in " << placeOf(form);
          return WalkResult::interrupt();
        });
    if (walk.wasInterrupted() ||
        (form.checksTypes && failed(checkTypes(getOperation()))))
      return signalPassFailure();
    ++numApplied;
  }
};
} // namespace

} // namespace polynest
