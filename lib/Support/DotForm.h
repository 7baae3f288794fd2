// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/DotForm.h: what a dot product of groups multiplies and adds up.
//
// A form is a text such as "u8s8x4": 8-bit numbers without sign, times 8-bit
// numbers with one, four neighbours added up in an accumulator of 32 bits.
#ifndef POLYNEST_SUPPORT_DOTFORM_H
#define POLYNEST_SUPPORT_DOTFORM_H

#include "mlir/IR/Builders.h"

#include <optional>

namespace polynest {

enum class DotKind { Signed, Unsigned, Float };

/// Elements of one side.
struct DotElement {
  DotKind kind = DotKind::Signed;
  unsigned bits = 0;

  bool isFloat() const { return kind == DotKind::Float; }
  /// The type that holds one: i8, i16, or bf16.
  mlir::Type getType(mlir::MLIRContext *context) const;
  /// True if all whole numbers from `low` to `high` are such elements.
  bool holds(int64_t low, int64_t high) const;
  /// Elements, or a vector of them, in a wider type.
  mlir::Value extend(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Type wide, mlir::Value narrow) const;
  bool operator==(const DotElement &other) const {
    return kind == other.kind && bits == other.bits;
  }
};

/// The elements that a value, or a vector of them, extends: its operation's
/// only operand. None if it extends none.
std::optional<DotElement> getExtendedElement(mlir::Value value);

struct DotForm {
  DotElement left, right;
  /// Elements of a group.
  int64_t step = 0;
};

/// Reads "u8s8x4"; none where it is no form: sides are s8, u8, s16 or bf16,
/// both floating-point or neither, and groups fill 32 bits.
std::optional<DotForm> parseDotForm(llvm::StringRef text);

/// Tiles that a matrix unit multiplies, in words of a group each: `rows` by
/// `words` times `words` by `columns`.
struct TileShape {
  int64_t rows = 0, columns = 0, words = 0;
  bool operator==(const TileShape &other) const {
    return rows == other.rows && columns == other.columns &&
           words == other.words;
  }
};

/// Reads "16x16x16": rows, columns and words, powers of two from 2 to 64; none
/// where it is something else.
std::optional<TileShape> parseTileShape(llvm::StringRef text);

/// How the contraction of a product of tiles reads words [m, k, step] and
/// [k, n, step], and sums [m, n].
llvm::SmallVector<mlir::AffineMap> getTileMaps(mlir::MLIRContext *context);

/// Adds to each lane of `sum` the products of the groups of `step` elements
/// that two vectors of words hold, as a `vector.contract` of [lanes, step].
mlir::Value multiplyWords(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value left, const DotElement &leftElement,
                          mlir::Value right, const DotElement &rightElement,
                          int64_t step, mlir::Value sum);

/// The same for tiles: words [m, k] times words [k, n], added to `sum` [m, n].
mlir::Value multiplyTiles(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value left, const DotElement &leftElement,
                          mlir::Value right, const DotElement &rightElement,
                          int64_t step, mlir::Value sum);

} // namespace polynest

#endif // POLYNEST_SUPPORT_DOTFORM_H
