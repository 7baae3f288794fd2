// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Aliasing.h: which memrefs may share storage.
//
// Everything here is pure and keeps no state. "May" answers are conservative:
// what is not understood aliases.
#ifndef POLYNEST_ANALYSIS_ALIASING_H
#define POLYNEST_ANALYSIS_ALIASING_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace polynest {

/// The memref that `memref` is a view of, through every view-like operation
/// (subview, cast, reinterpret_cast, expand and collapse, transpose, view).
/// A value that no view-like operation defines is its own base.
mlir::Value getBaseMemref(mlir::Value memref);

/// The memref that `op`'s result is a view of; null if `op` is no view.
mlir::Value getViewSource(mlir::Operation *op);

/// What kind of storage a base is.
enum class StorageKind {
  Allocation,       ///< made by memref.alloc or alloca
  Global,           ///< memref.get_global
  ReadOnlyArgument, ///< plain input of an entry: overlaps other inputs, never
                    ///< written
  MutableArgument,  ///< may overlap other inputs and is written
  DistinctArgument, ///< result, updated input, arena or noalias: overlaps no
                    ///< other argument
  Unknown           ///< anything else, such as a call's result
};
StorageKind getStorageKind(mlir::Value memref);

/// Bytes [begin, end) of the base that a memref may touch.
struct ByteRange {
  int64_t begin, end;
};

/// The byte range of its base that `memref` occupies, when every view on the
/// way has static shape, strides and offset.
std::optional<ByteRange> getByteRange(mlir::Value memref);

/// True unless the two are proven to share no storage. Two different
/// allocations do not alias; an allocation does not alias an argument of the
/// function it is made in; a result argument of an entry (attribute
/// `polynest.result`) aliases no other argument, nor does an input that a
/// result updates (`polynest.updated`); two views of one base do not alias when
/// their byte ranges are disjoint; everything else may alias. Inputs of an
/// entry may alias each other; whether that matters is a question of writes,
/// see StorageKind.
bool mayAlias(mlir::Value a, mlir::Value b);

/// True if the allocation that `memref` is based on is reached only through
/// loads, stores, copies, views and deallocs: no call, return, yield, store of
/// the memref itself or unknown operation can hand it to anyone else.
bool isPrivateAllocation(mlir::Value memref);

/// True if no two index tuples within bounds name the same element: identity
/// layouts, strided ones whose strides are proven not to overlap, and views of
/// such that keep the property. Only then may accesses be compared index by
/// index.
bool hasInjectiveLayout(mlir::Value memref);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_ALIASING_H
