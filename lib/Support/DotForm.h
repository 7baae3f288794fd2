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

} // namespace polynest

#endif // POLYNEST_SUPPORT_DOTFORM_H
