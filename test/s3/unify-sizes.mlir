// Properties: bounds of loops and sizes of buffers that an assertion shows to be
// equal become the first value (@asserted), through buffers and views (@views),
// through products (@products, @expressions, @bounds), and those of results by the shape function
// (@results); what stands in front of the assertion stays (@front). Sizes that
// nothing shows to be equal stay apart (@apart), as do those that an assertion
// in a branch compares (@branch); the comparison itself stays (@asserted). A
// second run changes nothing.
// RUN: polynest-opt %s --polynest-unify-sizes --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --polynest-unify-sizes | diff %t.once -

// CHECK-LABEL: func @asserted
//       CHECK: %[[N:.+]] = memref.dim %{{.+}}
//       CHECK: %[[M:.+]] = memref.dim %{{.+}}
//       CHECK: arith.cmpi eq, %[[N]], %[[M]]
//       CHECK: memref.alloc(%[[N]])
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
//      REMARK: [Passed] unify-sizes {{.*}}uses=2
func.func @asserted(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %same = arith.cmpi eq, %n, %m : index
  cf.assert %same, "sizes differ"
  %t = memref.alloc(%m) : memref<?xf32>
  affine.for %i = 0 to %m {
    %v = affine.load %y[%i] : memref<?xf32>
    affine.store %v, %t[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @views
//       CHECK: %[[N:.+]] = memref.dim %{{.+}}
//       CHECK: cf.assert
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
func.func @views(%x: memref<?xf32>, %y: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?x4xf32>
  %same = arith.cmpi eq, %n, %m : index
  cf.assert %same, "sizes differ"
  %t = memref.alloc(%m) : memref<?xf32>
  %v = memref.transpose %y (i, j) -> (j, i) : memref<?x4xf32> to memref<4x?xf32, strided<[1, 4]>>
  %a = memref.dim %t, %c0 : memref<?xf32>
  %b = memref.dim %v, %c1 : memref<4x?xf32, strided<[1, 4]>>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to %a {
    affine.store %zero, %t[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %b {
    affine.store %zero, %t[%i] : memref<?xf32>
  }
  return
}

// A bound that is the product becomes its value; where none is in front, it stays.
// CHECK-LABEL: func @bounds
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}()[%{{.+}}, %{{.+}}]
//       CHECK: %[[P:.+]] = arith.muli
//       CHECK: affine.for %{{.+}} = 0 to %[[P]]
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}()[%{{.+}}, %{{.+}}]
//       CHECK: affine.for %{{.+}} = 0 to min #{{.+}}()[%{{.+}}, %{{.+}}]
func.func @bounds(%x: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  affine.for %i = 0 to affine_map<()[a, b] -> (a * b)>()[%n, %m] {
    affine.store %zero, %x[0, 0] : memref<?x?xf32>
  }
  %p = arith.muli %n, %m : index
  affine.for %i = 0 to affine_map<()[a, b] -> (b * a)>()[%n, %m] {
    affine.store %zero, %x[0, 0] : memref<?x?xf32>
  }
  affine.for %i = 0 to affine_map<()[a, b] -> (b + a)>()[%n, %m] {
    affine.store %zero, %x[0, 0] : memref<?x?xf32>
  }
  affine.for %i = 0 to min affine_map<()[a, b] -> (a * b, 7)>()[%n, %m] {
    affine.store %zero, %x[0, 0] : memref<?x?xf32>
  }
  return
}

// CHECK-LABEL: func @products
//       CHECK: %[[P:.+]] = arith.muli
//       CHECK: memref.alloc(%[[P]])
//       CHECK: memref.alloc(%[[P]])
func.func @products(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x0 = memref.dim %x, %c0 : memref<?x?xf32>
  %x1 = memref.dim %x, %c1 : memref<?x?xf32>
  %y0 = memref.dim %y, %c0 : memref<?x?xf32>
  %y1 = memref.dim %y, %c1 : memref<?x?xf32>
  %same0 = arith.cmpi eq, %x0, %y0 : index
  cf.assert %same0, "sizes differ"
  %same1 = arith.cmpi eq, %x1, %y1 : index
  cf.assert %same1, "sizes differ"
  %p = arith.muli %x0, %x1 : index
  %q = arith.muli %y1, %y0 : index
  %a = memref.alloc(%p) : memref<?xf32>
  %b = memref.alloc(%q) : memref<?xf32>
  return
}

// A product may be an affine expression; a sum is none.
// CHECK-LABEL: func @expressions
//       CHECK: %[[P:.+]] = affine.apply
//       CHECK: %[[Q:.+]] = affine.apply
//       CHECK: %[[S:.+]] = affine.apply
//       CHECK: memref.alloc(%[[P]])
//       CHECK: memref.alloc(%[[P]])
//       CHECK: memref.alloc(%[[S]])
func.func @expressions(%n: index) {
  %p = affine.apply affine_map<()[s] -> (s * 6)>()[%n]
  %q = affine.apply affine_map<()[s] -> ((s * 12) floordiv 2)>()[%n]
  %s = affine.apply affine_map<()[s] -> (s + 6)>()[%n]
  %a = memref.alloc(%p) : memref<?xf32>
  %b = memref.alloc(%q) : memref<?xf32>
  %c = memref.alloc(%s) : memref<?xf32>
  return
}

// CHECK-LABEL: func @results
//       CHECK: %[[N:.+]] = memref.dim %{{.+}}
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
func.func @results(%x: memref<?xf32>, %r: memref<?xf32> {polynest.result}) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %r, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    %v = affine.load %x[%i] : memref<?xf32>
    affine.store %v, %r[%i] : memref<?xf32>
  }
  return
}
func.func @results_shapes(%n: index) -> index {
  return %n : index
}

// CHECK-LABEL: func @front
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>
//       CHECK: %[[M:.+]] = memref.dim %[[Y]]
//       CHECK: affine.for %{{.+}} = 0 to %[[M]]
//       CHECK: cf.assert
func.func @front(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    affine.store %zero, %y[%i] : memref<?xf32>
  }
  %same = arith.cmpi eq, %n, %m : index
  cf.assert %same, "sizes differ"
  return
}

// CHECK-LABEL: func @apart
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>
//       CHECK: %[[N:.+]] = memref.dim %[[X]]
//       CHECK: %[[M:.+]] = memref.dim %[[Y]]
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
//       CHECK: affine.for %{{.+}} = 0 to %[[M]]
func.func @apart(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    affine.store %zero, %x[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %m {
    affine.store %zero, %y[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @branch
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>
//       CHECK: scf.if
//       CHECK: cf.assert
//       CHECK: %[[M:.+]] = memref.dim %[[Y]]
//       CHECK: affine.for %{{.+}} = 0 to %[[M]]
func.func @branch(%x: memref<?xf32>, %y: memref<?xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.if %c {
    %k = memref.dim %y, %c0 : memref<?xf32>
    %same = arith.cmpi eq, %n, %k : index
    cf.assert %same, "sizes differ"
  }
  %m = memref.dim %y, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    affine.store %zero, %y[%i] : memref<?xf32>
  }
  return
}
