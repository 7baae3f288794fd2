// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/PassOptions.h: how passes refuse values of their options.
//
// Each function emits an error that names the option, its value and what is
// accepted, and fails; those that check succeed where the value is.
#ifndef POLYNEST_SUPPORT_PASSOPTIONS_H
#define POLYNEST_SUPPORT_PASSOPTIONS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/Twine.h"

namespace polynest {

/// Refuses the value, as text, of an option that must be `accepted`.
mlir::LogicalResult refuseOption(mlir::MLIRContext *context,
                                 llvm::StringRef name, llvm::StringRef value,
                                 const llvm::Twine &accepted);

/// Refuses an item of an option that is a list; it takes `accepted`.
mlir::LogicalResult refuseItem(mlir::MLIRContext *context, llvm::StringRef name,
                               llvm::StringRef item, llvm::StringRef accepted);

/// Refuses a number outside of [least, most].
mlir::LogicalResult checkOption(mlir::MLIRContext *context,
                                llvm::StringRef name, int64_t value,
                                int64_t least, int64_t most);
/// The same for one without sign.
mlir::LogicalResult checkUnsigned(mlir::MLIRContext *context,
                                  llvm::StringRef name, uint64_t value,
                                  uint64_t least, uint64_t most);
/// Refuses a number that is no power of two.
mlir::LogicalResult checkPowerOfTwo(mlir::MLIRContext *context,
                                    llvm::StringRef name, int64_t value);
/// Refuses what is none of the words.
mlir::LogicalResult checkChoice(mlir::MLIRContext *context,
                                llvm::StringRef name, llvm::StringRef value,
                                llvm::ArrayRef<llvm::StringRef> words);

} // namespace polynest

#endif // POLYNEST_SUPPORT_PASSOPTIONS_H
