// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// polynest-opt.cpp: MLIR's opt driver with every upstream and polynest pass.
//
// C++ since MLIR offers its opt driver in no other language.

#include "polynest/passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#ifdef POLYNEST_TEST_PASSES
#include "TestPasses.h"
static void registerTestPasses() { polynest::registerTestPasses(); }
#else
static void registerTestPasses() {}
#endif

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  pn_passes_register();
  registerTestPasses();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "Polynest optimizer driver\n", registry));
}
