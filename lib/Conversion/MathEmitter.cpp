// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathEmitter.cpp: numbers by index; branches for rare lanes.

#include "Conversion/MathEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace polynest {

namespace {
/// Builds on vectors of one dimension.
struct Lanes {
  OpBuilder &builder;
  Location loc;

  /// The lanes of `a` and behind them those of `b` that `places` names.
  Value shuffle(Value a, Value b, ArrayRef<int64_t> places) {
    return vector::ShuffleOp::create(builder, loc, a, b, places);
  }
  static int64_t sizeOf(Value value) {
    return cast<VectorType>(value.getType()).getNumElements();
  }
  /// `count` lanes from `first` on; past the end the last one again.
  Value pick(Value value, int64_t first, int64_t count) {
    if (first == 0 && count == sizeOf(value))
      return value;
    SmallVector<int64_t> places;
    for (int64_t i = 0; i < count; ++i)
      places.push_back(std::min(first + i, sizeOf(value) - 1));
    return shuffle(value, value, places);
  }
  /// All parts one behind the other; they are alike.
  Value join(SmallVector<Value> parts) {
    while (!llvm::isPowerOf2_64(parts.size()))
      parts.push_back(parts.back());
    while (parts.size() > 1) {
      SmallVector<Value> joined;
      auto places =
          llvm::to_vector(llvm::seq<int64_t>(0, 2 * sizeOf(parts.front())));
      for (size_t i = 0; i < parts.size(); i += 2)
        joined.push_back(shuffle(parts[i], parts[i + 1], places));
      parts = std::move(joined);
    }
    return parts.front();
  }
};
} // namespace

/// The narrowest instruction that holds so many lanes and numbers, else the
/// widest.
static const Permute &choosePermute(ArrayRef<Permute> permutes, int64_t count,
                                    int64_t numbers) {
  for (const Permute &permute : llvm::reverse(permutes))
    if (permute.lanes >= std::max(count, numbers))
      return permute;
  return permutes.front();
}

Num lookUp(Num index, ArrayRef<uint32_t> patterns) {
  const Emitter &e = *index.emitter;
  assert(e.canLookUp() && llvm::isPowerOf2_64(patterns.size()) &&
         patterns.size() <= e.mostLookedUp() && "no table for it");
  Lanes lanes{e.builder, e.loc};
  Type word = e.builder.getI32Type();
  int64_t count = e.vector ? e.vector.getNumElements() : 1;
  const Permute &permute =
      choosePermute(e.permutes, count, int64_t(patterns.size()));
  auto type = VectorType::get({permute.lanes}, word);
  auto flat = VectorType::get({count}, word);
  Value places = index.value;
  if (!e.vector)
    places = vector::BroadcastOp::create(e.builder, e.loc, flat, places);
  else if (e.vector.getRank() != 1)
    places = vector::ShapeCastOp::create(e.builder, e.loc, flat, places);
  SmallVector<APInt> words;
  for (int64_t i = 0; i < permute.lanes; ++i)
    words.push_back(APInt(32, patterns[size_t(i) % patterns.size()]));
  Value table = arith::ConstantOp::create(e.builder, e.loc,
                                          DenseElementsAttr::get(type, words));
  SmallVector<Value> parts;
  for (int64_t at = 0; at < count; at += permute.lanes)
    parts.push_back(
        LLVM::CallIntrinsicOp::create(
            e.builder, e.loc, type, e.builder.getStringAttr(permute.intrinsic),
            ValueRange{table, lanes.pick(places, at, permute.lanes)})
            .getResults());
  Value found = lanes.pick(lanes.join(std::move(parts)), 0, count);
  if (!e.vector)
    found = vector::ExtractOp::create(e.builder, e.loc, found, int64_t(0));
  else if (e.vector.getRank() != 1)
    found = vector::ShapeCastOp::create(e.builder, e.loc, e.integer(), found);
  return {&e, found};
}

Value anyLane(Num condition) {
  const Emitter &e = *condition.emitter;
  if (!e.vector)
    return condition.value;
  Value lanes = condition.value;
  auto type = cast<VectorType>(lanes.getType());
  if (type.getRank() == 0)
    return vector::ExtractOp::create(e.builder, e.loc, lanes);
  if (type.getRank() > 1) {
    auto flat = VectorType::get({type.getNumElements()}, type.getElementType());
    lanes = vector::ShapeCastOp::create(e.builder, e.loc, flat, lanes);
  }
  return vector::ReductionOp::create(e.builder, e.loc,
                                     vector::CombiningKind::OR, lanes);
}

Num rarely(Num condition, Num value, llvm::function_ref<Num()> rare) {
  const Emitter &e = *condition.emitter;
  auto branch =
      scf::IfOp::create(e.builder, e.loc, TypeRange{value.value.getType()},
                        anyLane(condition), /*withElse=*/true);
  OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPointToStart(&branch.getThenRegion().front());
  Num merged = select(condition, rare(), value);
  scf::YieldOp::create(e.builder, e.loc, merged.value);
  e.builder.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(e.builder, e.loc, value.value);
  return {value.emitter, branch.getResult(0)};
}

} // namespace polynest
