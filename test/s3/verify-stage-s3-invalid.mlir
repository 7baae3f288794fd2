// Properties: s3 hands over planned memory and marked loops of one dimension.
// RUN: polynest-opt %s --polynest-verify-stage=stage=s3 --split-input-file --verify-diagnostics

func.func @alloc() {
  // expected-error@+1 {{static allocations belong to the arena in the output of stage s3}}
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @dims() {
  // expected-error@+1 {{a loop with a grain has one dimension in the output of stage s3}}
  affine.parallel (%i, %j) = (0, 0) to (4, 4) {
  } {polynest.grain = 1 : i64}
  return
}

// -----

func.func @grain() {
  // expected-error@+1 {{a grain is an i64 of at least 1 in the output of stage s3}}
  affine.parallel (%i) = (0) to (4) {
  } {polynest.grain = 0 : i64}
  return
}
