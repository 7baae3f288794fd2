// Properties: loops whose step is a constant that no loop can have are refused,
// at their place, before any stage does anything; the largest step that is
// allowed runs.
// RUN: polynest-opt %s --polynest-verify-stage=stage=any --split-input-file --verify-diagnostics
// RUN: polynest-opt %s --polynest-s1 --split-input-file --verify-diagnostics
// RUN: polynest-opt %s --polynest-s2 --split-input-file --verify-diagnostics
// RUN: polynest-opt %s --polynest-s3 --split-input-file --verify-diagnostics
// RUN: polynest-opt %s --polynest-s4 --split-input-file --verify-diagnostics
// RUN: not polynestc run %S/Inputs/step-0.mlir 2>&1 | FileCheck %s --check-prefix=RUN0
// RUN: not polynestc run %S/Inputs/step-0.mlir --no-verify 2>&1 | FileCheck %s --check-prefix=RUN0
// RUN: polynestc run %S/Inputs/step-largest.mlir --check --print | FileCheck %s --check-prefix=LARGEST
// RUN0: error: {{.*}}step-0.mlir:5:3: 'affine.for' op a loop's step below 1 or above 2^62 is not allowed in any stage
// Iterations from 1 by 2^62 are one, at 1.
// LARGEST: [5, 1, 5, 5]

func.func @zero(%a: memref<4xf32>, %x: f32) {
  // expected-error@+1 {{a loop's step below 1 or above 2^62 is not allowed in any stage}}
  affine.for %i = 0 to 4 step 0 {
    affine.store %x, %a[%i] : memref<4xf32>
  }
  return
}

// -----

func.func @negative(%a: memref<4xf32>, %x: f32) {
  // expected-error@+1 {{a loop's step below 1 or above 2^62 is not allowed}}
  "affine.for"() <{lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 0, 0, 0>, step = -1 : index, upperBoundMap = affine_map<() -> (4)>}> ({
  ^bb0(%i: index):
    affine.store %x, %a[%i] : memref<4xf32>
    affine.yield
  }) : () -> ()
  return
}

// -----

// The sum of a bound and the step would overflow.
func.func @overflow(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a loop's step below 1 or above 2^62 is not allowed}}
  affine.for %i = 5 to 7 step 9223372036854775807 {
    affine.store %x, %a[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @parallel(%a: memref<4x4xf32>, %x: f32) {
  // expected-error@+1 {{a loop's step below 1 or above 2^62 is not allowed}}
  affine.parallel (%i, %j) = (0, 0) to (4, 4) step (1, 0) {
    affine.store %x, %a[%i, %j] : memref<4x4xf32>
  }
  return
}

// -----

func.func @structured(%a: memref<4xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{a loop's step below 1 or above 2^62 is not allowed}}
  scf.for %i = %c0 to %n step %c0 {
    memref.store %x, %a[%i] : memref<4xf32>
  }
  return
}

// -----

func.func @narrow(%n: i32, %a: memref<4xf32>, %x: f32) {
  %c0 = arith.constant 0 : i32
  %step = arith.constant -2 : i32
  // expected-error@+1 {{a loop's step below 1 or above 2^62 is not allowed}}
  scf.for %i = %c0 to %n step %step : i32 {
    %j = arith.index_cast %i : i32 to index
    memref.store %x, %a[%j] : memref<4xf32>
  }
  return
}
