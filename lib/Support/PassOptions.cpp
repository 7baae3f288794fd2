// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/PassOptions.cpp: see the header.

#include "Support/PassOptions.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace polynest {

LogicalResult refuseOption(MLIRContext *context, StringRef name,
                           StringRef value, const llvm::Twine &accepted) {
  return emitError(UnknownLoc::get(context))
         << "option " << name << " has value '" << value << "'; it must be "
         << accepted;
}

LogicalResult refuseItem(MLIRContext *context, StringRef name, StringRef item,
                         StringRef accepted) {
  return emitError(UnknownLoc::get(context))
         << "option " << name << " holds '" << item << "'; it takes "
         << accepted;
}

template <typename T>
static LogicalResult checkRange(MLIRContext *context, StringRef name, T value,
                                T least, T most) {
  if (value >= least && value <= most)
    return success();
  return emitError(UnknownLoc::get(context))
         << "option " << name << " has value " << value << "; it must be "
         << least << " to " << most;
}

LogicalResult checkOption(MLIRContext *context, StringRef name, int64_t value,
                          int64_t least, int64_t most) {
  return checkRange(context, name, value, least, most);
}

LogicalResult checkUnsigned(MLIRContext *context, StringRef name,
                            uint64_t value, uint64_t least, uint64_t most) {
  return checkRange(context, name, value, least, most);
}

LogicalResult checkPowerOfTwo(MLIRContext *context, StringRef name,
                              int64_t value) {
  if (llvm::isPowerOf2_64(uint64_t(value)))
    return success();
  return emitError(UnknownLoc::get(context))
         << "option " << name << " has value " << value
         << "; it must be a power of two";
}

LogicalResult checkChoice(MLIRContext *context, StringRef name, StringRef value,
                          ArrayRef<StringRef> words) {
  if (llvm::is_contained(words, value))
    return success();
  return refuseOption(context, name, value,
                      llvm::join(words.drop_back(), ", ") + " or " +
                          words.back());
}

} // namespace polynest
