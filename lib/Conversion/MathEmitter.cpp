// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathEmitter.cpp: branches for lanes that need rare treatment.

#include "Conversion/MathEmitter.h"

using namespace mlir;

namespace polynest {

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
