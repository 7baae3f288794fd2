// Properties: a buffer whose size is not known takes the memory of one of the same
// type and size that nothing uses any more (@chain: the third of three that each
// feed the next, then the second's goes to the fourth), but not of one that is read
// in the nest that writes it, has another size (@other) or is a loop's own (@inner).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-plan-memory))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-plan-memory))' | diff %t.once -
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-plan-memory))' 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: sed 's/attributes {polynest.entry}//; s/ {polynest.result}//' %s > %t.mlir
// RUN: polynestc run %t.mlir --entry chain --size 0 --disable-pass fuse-nests,eliminate-buffers,unify-sizes --check
// RUN: polynestc run %t.mlir --entry chain --size 1 --disable-pass fuse-nests,eliminate-buffers,unify-sizes --check
// RUN: polynestc run %t.mlir --entry chain --size 37 --disable-pass fuse-nests,eliminate-buffers,unify-sizes --check

// REMARK: takes the memory of a buffer of the same sizes
// REMARK: takes the memory of a buffer of the same sizes

// CHECK-LABEL: func @chain
//       CHECK: %[[A:.+]] = memref.alloc(%[[N:.+]]) : memref<?xf32>
//       CHECK: %[[B:.+]] = memref.alloc(%[[N]]) : memref<?xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.store %{{.+}}, %[[A]]
//       CHECK: affine.load %[[A]]
//       CHECK: affine.store %{{.+}}, %[[B]]
//       CHECK: affine.load %[[B]]
//       CHECK: affine.store %{{.+}}, %[[A]]
//       CHECK: affine.load %[[A]]
//       CHECK: affine.store %{{.+}}, %[[B]]
//       CHECK: affine.load %[[B]]
//       CHECK: return
func.func @chain(%x: memref<?xf32>, %r: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  %c = memref.alloc(%n) : memref<?xf32>
  %d = memref.alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %a[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %v = affine.load %a[%i] : memref<?xf32>
    %w = arith.mulf %v, %v : f32
    affine.store %w, %b[-%i + symbol(%n) - 1] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %v = affine.load %b[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %c[-%i + symbol(%n) - 1] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %v = affine.load %c[%i] : memref<?xf32>
    %w = arith.mulf %v, %v : f32
    affine.store %w, %d[-%i + symbol(%n) - 1] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %v = affine.load %d[%i] : memref<?xf32>
    affine.store %v, %r[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @other
// CHECK-COUNT-3: memref.alloc(
//       CHECK: return
func.func @other(%n: index, %m: index, %r: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%m) : memref<?xf32>
  %c = memref.alloc(%n) : memref<?xi32>
  affine.for %i = 0 to %n {
    affine.store %one, %a[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %m {
    affine.store %one, %b[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %v = affine.load %c[%i] : memref<?xi32>
    %w = arith.sitofp %v : i32 to f32
    affine.store %w, %r[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @inner
// CHECK-COUNT-2: memref.alloc(
//       CHECK: return
func.func @inner(%n: index, %r: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    %a = memref.alloc(%n) : memref<?xf32>
    affine.for %j = 0 to %n {
      affine.store %one, %a[%j] : memref<?xf32>
    }
  }
  %b = memref.alloc(%n) : memref<?xf32>
  affine.for %j = 0 to %n {
    affine.store %one, %b[%j] : memref<?xf32>
  }
  return
}
