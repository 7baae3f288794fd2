// Properties: the loops over rows and columns of an image become one (@image), through
// one view for all accesses of an operand, as do three that go over memory in order
// (@all), up to loops of 512 (@enough); a value carried through both is carried by
// the one (@sum); places that are the sum of both loops stay in their dimension
// (@flat), and what is added to a row counts a row's elements (@added). A private
// buffer has its new shape from the start (@private), but not one that is also seen
// as it was (@both); a view that comes too late is no help (@late). A second run
// changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-coalesce-loops))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-coalesce-loops))' | diff %t.once -

// CHECK-LABEL: func @image
//   CHECK-DAG: %[[X:.+]] = memref.collapse_shape %arg0 {{\[\[}}0], [1], [2, 3]] : memref<8x5x7x9xf32> into memref<8x5x63xf32>
//   CHECK-DAG: %[[R:.+]] = memref.collapse_shape %arg2 {{\[\[}}0], [1], [2, 3]] : memref<8x5x7x9xf32> into memref<8x5x63xf32>
//   CHECK-NOT: memref.collapse_shape
//       CHECK: affine.for %[[N:.+]] = 0 to 8 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 5 {
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 63 {
//  CHECK-NEXT: affine.load %[[X]][%[[N]], %[[C]], %[[I]]]
//  CHECK-NEXT: affine.load %arg1[%[[C]]]
//       CHECK: affine.store %{{.+}}, %[[R]][%[[N]], %[[C]], %[[I]]]
//       CHECK: affine.for %{{.+}} = 0 to 63 {
//      REMARK: [Passed] coalesce-loops
// REMARK-SAME: inner=9, reason="two loops made one", trips=63
func.func @image(%x: memref<8x5x7x9xf32>, %b: memref<5xf32>, %r: memref<8x5x7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %n = 0 to 8 {
    affine.for %c = 0 to 5 {
      affine.for %h = 0 to 7 {
        affine.for %w = 0 to 9 {
          %0 = affine.load %x[%n, %c, %h, %w] : memref<8x5x7x9xf32>
          %1 = affine.load %b[%c] : memref<5xf32>
          %2 = arith.addf %0, %1 : f32
          affine.store %2, %r[%n, %c, %h, %w] : memref<8x5x7x9xf32>
        }
      }
      affine.for %h = 0 to 7 {
        affine.for %w = 0 to 9 {
          %0 = affine.load %r[%n, %c, %h, %w] : memref<8x5x7x9xf32>
          %1 = arith.negf %0 : f32
          affine.store %1, %r[%n, %c, %h, %w] : memref<8x5x7x9xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @all
//       CHECK: affine.for %[[I:.+]] = 0 to 315 {
//  CHECK-NEXT: affine.load %{{.+}}[%[[I]]] : memref<315xf32>
//  CHECK-NEXT: affine.store %{{.+}}, %{{.+}}[%[[I]]] : memref<315xf32>
func.func @all(%x: memref<5x7x9xf32>, %r: memref<5x7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %c = 0 to 5 {
    affine.for %h = 0 to 7 {
      affine.for %w = 0 to 9 {
        %0 = affine.load %x[%c, %h, %w] : memref<5x7x9xf32>
        affine.store %0, %r[%c, %h, %w] : memref<5x7x9xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @enough
//       CHECK: affine.for %{{.+}} = 0 to 5 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 1022 {
//       CHECK: affine.for %{{.+}} = 0 to 3 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 512 {
func.func @enough(%x: memref<5x2x511xf32>, %y: memref<3x512xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %c = 0 to 5 {
    affine.for %h = 0 to 2 {
      affine.for %w = 0 to 511 {
        affine.store %z, %x[%c, %h, %w] : memref<5x2x511xf32>
      }
    }
  }
  affine.for %h = 0 to 3 {
    affine.for %w = 0 to 512 {
      affine.store %z, %y[%h, %w] : memref<3x512xf32>
    }
  }
  return
}

// CHECK-LABEL: func @sum
//       CHECK: affine.for %[[C:.+]] = 0 to 5 {
//  CHECK-NEXT: %[[S:.+]]:2 = affine.for %[[I:.+]] = 0 to 63 iter_args(%[[A:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}) -> (f32, f32) {
//  CHECK-NEXT: %[[V:.+]] = affine.load %{{.+}}[%[[C]], %[[I]]]
//  CHECK-NEXT: %[[T:.+]] = arith.addf %[[V]], %[[A]]
//  CHECK-NEXT: %[[U:.+]] = arith.maximumf %[[V]], %[[M]]
//  CHECK-NEXT: affine.yield %[[T]], %[[U]]
//       CHECK: affine.store %[[S]]#0
//       CHECK: affine.store %[[S]]#1
func.func @sum(%x: memref<5x7x9xf32>, %r: memref<5xf32> {polynest.result}, %q: memref<5xf32> {polynest.result}) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %c = 0 to 5 {
    %s:2 = affine.for %h = 0 to 7 iter_args(%a = %z, %b = %z) -> (f32, f32) {
      %t:2 = affine.for %w = 0 to 9 iter_args(%d = %a, %e = %b) -> (f32, f32) {
        %0 = affine.load %x[%c, %h, %w] : memref<5x7x9xf32>
        %1 = arith.addf %0, %d : f32
        %2 = arith.maximumf %0, %e : f32
        affine.yield %1, %2 : f32, f32
      }
      affine.yield %t#0, %t#1 : f32, f32
    }
    affine.store %s#0, %r[%c] : memref<5xf32>
    affine.store %s#1, %q[%c] : memref<5xf32>
  }
  return
}

// CHECK-LABEL: func @flat
//       CHECK: affine.for %[[N:.+]] = 0 to 6 {
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 56 {
//  CHECK-NEXT: affine.load %arg0[%[[N]], %[[I]] * 2 + 3]
//  CHECK-NEXT: affine.store %{{.+}}, %arg1[%[[N]], -%[[I]] + 55]
func.func @flat(%x: memref<6x120xf32>, %r: memref<6x56xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %n = 0 to 6 {
    affine.for %h = 0 to 7 {
      affine.for %w = 0 to 8 {
        %0 = affine.load %x[%n, %h * 16 + %w * 2 + 3] : memref<6x120xf32>
        affine.store %0, %r[%n, 55 - %h * 8 - %w] : memref<6x56xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @added
//       CHECK: affine.for %[[N:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 63 {
//  CHECK-NEXT: affine.load %{{.+}}[%[[I]] + %[[N]] * 18 + 9] : memref<144xf32>
func.func @added(%x: memref<16x9xf32>, %r: memref<3x7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %n = 0 to 3 {
    affine.for %h = 0 to 7 {
      affine.for %w = 0 to 9 {
        %0 = affine.load %x[%h + %n * 2 + 1, %w] : memref<16x9xf32>
        affine.store %0, %r[%n, %h, %w] : memref<3x7x9xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @private
//       CHECK: memref.alloc() {alignment = 64 : i64} : memref<63xf32>
//   CHECK-NOT: memref<7x9xf32> into
//       CHECK: return
func.func @private(%r: memref<9x7xf32> {polynest.result}) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %p = memref.alloc() {alignment = 64 : i64} : memref<7x9xf32>
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %p[%h, %w] : memref<7x9xf32>
    }
  }
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      %0 = affine.load %p[%h, %w] : memref<7x9xf32>
      %1 = arith.negf %0 : f32
      affine.store %1, %p[%h, %w] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @both
//       CHECK: %[[P:.+]] = memref.alloc() : memref<7x9xf32>
//       CHECK: memref.collapse_shape %[[P]]
//       CHECK: affine.for %{{.+}} = 0 to 63 {
//       CHECK: affine.for %[[W:.+]] = 0 to 9 {
//  CHECK-NEXT: affine.for %[[H:.+]] = 0 to 7 {
//  CHECK-NEXT: affine.load %[[P]][%[[H]], %[[W]]]
func.func @both(%r: memref<9x7xf32> {polynest.result}) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<7x9xf32>
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %p[%h, %w] : memref<7x9xf32>
    }
  }
  affine.for %w = 0 to 9 {
    affine.for %h = 0 to 7 {
      %0 = affine.load %p[%h, %w] : memref<7x9xf32>
      affine.store %0, %r[%w, %h] : memref<9x7xf32>
    }
  }
  return
}

// CHECK-LABEL: func @late
//       CHECK: %[[V:.+]] = memref.collapse_shape %arg0
//       CHECK: affine.store %{{.+}}, %[[V]][
//       CHECK: memref.collapse_shape %arg0
func.func @late(%x: memref<7x9xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%h, %w] : memref<7x9xf32>
    }
  }
  %v = memref.collapse_shape %x [[0, 1]] : memref<7x9xf32> into memref<63xf32>
  affine.for %i = 0 to 9 {
    affine.store %z, %v[%i] : memref<63xf32>
  }
  return
}
