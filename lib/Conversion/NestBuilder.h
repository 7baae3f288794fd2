// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/NestBuilder.h: loop nests and element accesses, affine if
// possible.
#ifndef POLYNEST_CONVERSION_NESTBUILDER_H
#define POLYNEST_CONVERSION_NESTBUILDER_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"

namespace polynest {

/// Builds a perfect nest from 0 to each of `sizes`, step 1, and inside it what
/// `body` builds. The loops are affine.for if every size is a constant or a
/// valid symbol at the insertion point, else all of them are scf.for. Returns
/// true for affine. With no sizes, `body` is built in place.
///
/// `body` gets the induction variables and may use them in `loadElement` and
/// `storeElement`.
bool buildNest(
    mlir::OpBuilder &builder, mlir::Location loc,
    llvm::ArrayRef<mlir::OpFoldResult> sizes,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange)> body);

/// Reads `memref` at `map` of `ivs`: affine.load if each of `ivs` is a valid
/// dimension or symbol, memref.load otherwise.
mlir::Value loadElement(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value memref, mlir::AffineMap map,
                        mlir::ValueRange ivs);

/// Writes `value` to `memref` at `map` of `ivs`; see loadElement.
void storeElement(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value value, mlir::Value memref, mlir::AffineMap map,
                  mlir::ValueRange ivs);

/// Copies `source` to `target`, which have the same shape and share no
/// storage, with one nest.
void buildCopyNest(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value source, mlir::Value target);

} // namespace polynest

#endif // POLYNEST_CONVERSION_NESTBUILDER_H
