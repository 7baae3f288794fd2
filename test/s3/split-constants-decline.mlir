// Properties: nothing moves where a nest reads an input (@input), where its
// buffer is written again by a nest that does (@rewritten), where the entry reads
// the buffer between two writes (@between), where an assertion guards it
// (@asserted), where the constant may be written (@mutable), where no constant is
// read (@fill), and where the function's other half has a name in use (@taken).
// Entries that lack constants and functions that are no entries are not looked at.
// RUN: polynest-opt %s --polynest-split-constants --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Missed] split-constants
// REMARK-SAME: no nest depends on constants alone

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @input(
func.func @input(%x: memref<8xf32>, %w: memref<8xf32> {polynest.constant},
                 %r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %w[%i] : memref<8xf32>
    %b = affine.load %x[%i] : memref<8xf32>
    %c = arith.mulf %a, %b : f32
    affine.store %c, %t[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @rewritten(
func.func @rewritten(%x: memref<8xf32>, %w: memref<8xf32> {polynest.constant},
                     %r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %w[%i] : memref<8xf32>
    affine.store %a, %t[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %r[%i] : memref<8xf32>
    %b = affine.load %x[%i] : memref<8xf32>
    affine.store %b, %t[%i] : memref<8xf32>
  }
  return
}

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @between(
func.func @between(%x: memref<8xf32>, %w: memref<8xf32> {polynest.constant},
                   %r: memref<8xf32> {polynest.result},
                   %q: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %w[%i] : memref<8xf32>
    affine.store %a, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    %b = affine.load %x[%i] : memref<8xf32>
    %c = arith.mulf %a, %b : f32
    affine.store %c, %r[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %w[7 - %i] : memref<8xf32>
    affine.store %a, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    %b = affine.load %x[%i] : memref<8xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %q[%i] : memref<8xf32>
  }
  return
}

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @asserted(
func.func @asserted(%w: memref<8xf32> {polynest.constant},
                    %r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %w[%i] : memref<8xf32>
    %ok = arith.cmpf ogt, %a, %zero : f32
    cf.assert %ok, "positive"
    affine.store %a, %t[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @mutable(
func.func @mutable(%w: memref<8xf32> {polynest.constant, polynest.mutable},
                   %r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %w[%i] : memref<8xf32>
    affine.store %a, %t[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @fill(
func.func @fill(%w: memref<8xf32> {polynest.constant},
                %r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    affine.store %one, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    %b = affine.load %w[%i] : memref<8xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @taken(
func.func @taken(%w: memref<8xf32> {polynest.constant},
                 %r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %w[%i] : memref<8xf32>
    affine.store %a, %t[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-NOT: polynest.state
// CHECK-LABEL: func @taken_init(
// CHECK-NOT: polynest.state
func.func @taken_init(%r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  return
}
