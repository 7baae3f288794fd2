// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// polynest-opt.cpp: MLIR's opt driver with every upstream and polynest pass.
//
// C++ since MLIR offers its opt driver in no other language.

#include "polynest/error.h"
#include "polynest/passes.h"

#include "Compiler/TextLimits.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#ifdef POLYNEST_TEST_PASSES
#include "TestPasses.h"
static void registerTestPasses() { polynest::registerTestPasses(); }
#else
static void registerTestPasses() {}
#endif

/// Says where the text exceeds what MLIR's parser survives, and fails.
static mlir::LogicalResult checkLimits(const llvm::MemoryBuffer &text) {
  if (mlir::isBytecode(text.getMemBufferRef()))
    return mlir::success();
  std::string name = text.getBufferIdentifier().str();
  pn_error_t *error = pn_text_check_limits(name.c_str(), text.getBufferStart(),
                                           text.getBufferSize());
  if (!error)
    return mlir::success();
  pn_diagnostic_t place = {};
  if (pn_error_diagnostic_at(error, 0, &place))
    llvm::errs() << name << ":" << place.line << ":" << place.column << ": ";
  llvm::errs() << "error: " << pn_error_message(error) << "\n";
  pn_error_destroy(error);
  return mlir::failure();
}

/// MLIR's driver, on a text that its parser survives.
static mlir::LogicalResult run(llvm::StringRef inputName,
                               llvm::StringRef outputName,
                               mlir::DialectRegistry &registry) {
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> input =
      mlir::openInputFile(inputName, &problem);
  std::unique_ptr<llvm::ToolOutputFile> output =
      input ? mlir::openOutputFile(outputName, &problem) : nullptr;
  if (!output) {
    llvm::errs() << problem << "\n";
    return mlir::failure();
  }
  if (mlir::failed(checkLimits(*input)) ||
      mlir::failed(
          mlir::MlirOptMain(output->os(), std::move(input), registry,
                            mlir::MlirOptMainConfig::createFromCLOptions())))
    return mlir::failure();
  output->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM setup(argc, argv);
  mlir::registerAllPasses();
  pn_passes_register();
  registerTestPasses();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Polynest optimizer driver\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  // What reads no text.
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  return mlir::asMainReturnCode(run(input, output, registry));
}
