//===- SplitModule.cpp - kernels into modules of their own ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: distributes the kernels of a module in the LLVM dialect over several
// modules, so that LLVM can work on them at the same time. The first module
// keeps all else: entries, global data, the description.
// Legal always: no pass of ours or of LLVM's looks from one function into
// another at this point. What is used across modules becomes external and is
// not assumed to lie near (dso_local), as the linker may place it anywhere.
// Profitable when: there is enough to do; the caller says how much that is.
// Limits: the unit is a function, so that one large kernel bounds the time.
// Cost: linear in operations, n log n in kernels. The distribution depends on
// the module and the number of parts alone.
//===----------------------------------------------------------------------===//

#include "Conversion/SplitModule.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::LLVM;

namespace polynest {

namespace {
struct Kernel {
  LLVMFuncOp function;
  size_t operations, place;
};
} // namespace

static size_t countOperations(Operation *root) {
  size_t count = 0;
  root->walk([&](Operation *) { ++count; });
  return count;
}

/// Makes a symbol visible to other modules.
static void makeExternal(Operation *op) {
  if (auto function = dyn_cast<LLVMFuncOp>(op)) {
    function.setLinkage(Linkage::External);
    function.setDsoLocal(false);
  } else if (auto global = dyn_cast<GlobalOp>(op)) {
    global.setLinkage(Linkage::External);
    global.setDsoLocal(false);
  }
}

/// Declares in `module` what is defined elsewhere; the definition must be
/// external already.
static void declare(ModuleOp module, Operation *definition) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  if (auto function = dyn_cast<LLVMFuncOp>(definition)) {
    auto copy = cast<LLVMFuncOp>(builder.cloneWithoutRegions(function));
    copy.setLinkage(Linkage::External);
    return;
  }
  auto copy = dyn_cast<GlobalOp>(builder.cloneWithoutRegions(*definition));
  if (copy)
    copy.removeValueAttr();
}

/// Declares all that the module's functions use and it does not have.
static void declareUses(ModuleOp module, const SymbolTable &all) {
  llvm::SetVector<StringAttr> names;
  module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      if (!isa<SymbolOpInterface>(op) || attribute.getName() != "sym_name")
        attribute.getValue().walk(
            [&](FlatSymbolRefAttr symbol) { names.insert(symbol.getAttr()); });
  });
  SymbolTable own(module);
  for (StringAttr name : names) {
    Operation *definition = all.lookup(name);
    if (own.lookup(name) || !definition)
      continue;
    makeExternal(definition);
    declare(module, definition);
  }
}

/// Chooses for each kernel a part, the largest first into the smallest part;
/// part 0 begins with what does not move.
static SmallVector<SmallVector<LLVMFuncOp>>
distribute(MutableArrayRef<Kernel> kernels, size_t parts, size_t staying) {
  llvm::sort(kernels, [](const Kernel &a, const Kernel &b) {
    return a.operations != b.operations ? a.operations > b.operations
                                        : a.place < b.place;
  });
  SmallVector<size_t> loads(parts, 0);
  loads[0] = staying;
  SmallVector<SmallVector<LLVMFuncOp>> chosen(parts);
  for (const Kernel &kernel : kernels) {
    size_t part = llvm::min_element(loads) - loads.begin();
    loads[part] += kernel.operations;
    chosen[part].push_back(kernel.function);
  }
  return chosen;
}

static SmallVector<ModuleOp> split(ModuleOp module, size_t most,
                                   size_t leastOperations) {
  SmallVector<Kernel> kernels;
  size_t total = countOperations(module), moving = 0;
  for (auto function : module.getOps<LLVMFuncOp>())
    if (function->hasAttr("polynest.kernel") && !function.isExternal()) {
      kernels.push_back({function, countOperations(function), kernels.size()});
      moving += kernels.back().operations;
    }
  size_t parts = std::min(
      {most, kernels.size(), total / std::max<size_t>(leastOperations, 1)});
  SmallVector<ModuleOp> modules;
  if (parts < 2)
    return modules;
  auto chosen = distribute(kernels, parts, total - moving);
  SymbolTable all(module);
  SmallVector<std::pair<LLVMFuncOp, ModuleOp>> moves;
  for (ArrayRef<LLVMFuncOp> functions : ArrayRef(chosen).drop_front()) {
    auto part = ModuleOp::create(module.getLoc());
    part->setDiscardableAttrs(module->getDiscardableAttrDictionary());
    modules.push_back(part);
    for (LLVMFuncOp function : functions) {
      makeExternal(function);
      moves.push_back({function, part});
    }
  }
  for (auto [function, part] : moves)
    function->moveBefore(part.getBody(), part.getBody()->end());
  for (ModuleOp part : modules)
    declareUses(part, all);
  declareUses(module, all);
  return modules;
}

} // namespace polynest

size_t pn_module_split(MlirModule module, size_t most, size_t leastOperations,
                       MlirModule *outModules) {
  SmallVector<ModuleOp> modules =
      polynest::split(unwrap(module), most, leastOperations);
  for (auto [i, part] : llvm::enumerate(modules))
    outModules[i] = wrap(part);
  return modules.size();
}
