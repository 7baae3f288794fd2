// Properties: a copy stays if the buffer changes after it (@later), if the
// target is in use before (@before), if its target may overlap other arguments
// (@mutable), if it covers a part (@part), if the source changes while the
// copy is read (@changes), and if the loop around it may not run (@never); a
// buffer stays if it is passed on (@passed), returned (@returned), or read in a
// condition of something that stays (@condition), or if data choose its places and
// the copy moves them (@scattered_turned); assertions stay (@assert); stores
// stay that the next nest does not overwrite for certain (@seen). Where sizes are not
// known, a copy of fewer rows is one of a part (@unknown_part), what is stored above a
// place may reach any other (@unknown_before), and an assertion may be why the target is
// large enough (@unknown_checked).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-eliminate-buffers)' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @later
//       CHECK: memref.alloc
//       CHECK: memref.copy
//       CHECK: return
//      REMARK: reason="the source is written after the copy"
func.func @later(%x: memref<8xf32>, %o: memref<8xf32> {polynest.result},
                 %p: memref<8xf32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %t[%i] : memref<8xf32>
  }
  memref.copy %t, %o : memref<8xf32> to memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[7 - %i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %p[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @before
//       CHECK: memref.alloc
//       CHECK: memref.copy
//       CHECK: return
//      REMARK: reason="the target is in use before the copy"
func.func @before(%x: memref<8xf32>, %o: memref<8xf32> {polynest.result},
                  %p: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %o[%i] : memref<8xf32>
    affine.store %b, %t[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %o[%i] : memref<8xf32>
    affine.store %a, %p[%i] : memref<8xf32>
  }
  memref.copy %t, %o : memref<8xf32> to memref<8xf32>
  return
}

// CHECK-LABEL: func @mutable
//       CHECK: memref.alloc
//       CHECK: memref.copy
//       CHECK: return
//      REMARK: reason="the target may share storage"
func.func @mutable(%x: memref<8xf32>, %o: memref<8xf32> {polynest.mutable})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[7 - %i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<8xf32>
  }
  memref.copy %t, %o : memref<8xf32> to memref<8xf32>
  return
}

// CHECK-LABEL: func @part
//       CHECK: memref.alloc
//       CHECK: affine.for %{{.+}} = 0 to 7
//       CHECK: return
//      REMARK: reason="the source is not a whole private buffer"
func.func @part(%x: memref<8xf32>, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[7 - %i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 7 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %o[%i] : memref<8xf32>
  }
  return
}

// The roll of B103 uses old values only.
// CHECK-LABEL: func @changes
//       CHECK: memref.alloc
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
//      REMARK: [Missed] eliminate-buffers
func.func @changes(%o: memref<10xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<10xf32>
  affine.for %i = 0 to 10 {
    %a = affine.load %o[%i] : memref<10xf32>
    affine.store %a, %t[%i] : memref<10xf32>
  }
  affine.for %i = 0 to 5 {
    %a = affine.load %t[%i] : memref<10xf32>
    affine.store %a, %o[%i + 5] : memref<10xf32>
    %b = affine.load %t[%i + 5] : memref<10xf32>
    affine.store %b, %o[%i] : memref<10xf32>
  }
  return
}

// CHECK-LABEL: func @never
//       CHECK: memref.alloc
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
//      REMARK: [Missed] eliminate-buffers
func.func @never(%x: memref<8xf32>, %o: memref<8xf32> {polynest.result}, %n: index)
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[7 - %i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<8xf32>
  }
  affine.for %k = 0 to %n {
    affine.for %i = 0 to 8 {
      %a = affine.load %t[%i] : memref<8xf32>
      affine.store %a, %o[%i] : memref<8xf32>
    }
  }
  return
}

func.func private @f(memref<8xf32>)

// CHECK-LABEL: func @passed
//       CHECK: memref.alloc
//       CHECK: affine.store
//       CHECK: call @f
//       CHECK: return
func.func @passed(%x: f32) {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    affine.store %x, %t[%i] : memref<8xf32>
  }
  call @f(%t) : (memref<8xf32>) -> ()
  return
}

// CHECK-LABEL: func @returned
//       CHECK: memref.alloc
//       CHECK: affine.store
//       CHECK: return %{{.+}} : memref<8xf32>
func.func @returned(%x: f32) -> memref<8xf32> {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    affine.store %x, %t[%i] : memref<8xf32>
  }
  return %t : memref<8xf32>
}

// CHECK-LABEL: func @condition
//       CHECK: memref.alloc
//       CHECK: affine.store
//       CHECK: affine.load
//       CHECK: scf.if
//       CHECK:   affine.store
//       CHECK: return
func.func @condition(%x: i1, %v: f32, %o: memref<1xf32> {polynest.result}) {
  %t = memref.alloc() : memref<1xi1>
  affine.store %x, %t[0] : memref<1xi1>
  %c = affine.load %t[0] : memref<1xi1>
  scf.if %c {
    affine.store %v, %o[0] : memref<1xf32>
  }
  return
}

// CHECK-LABEL: func @assert
//       CHECK: memref.alloc
//       CHECK: affine.store
//       CHECK: affine.load
//       CHECK: cf.assert
//       CHECK: return
func.func @assert(%x: i1) {
  %t = memref.alloc() : memref<1xi1>
  affine.store %x, %t[0] : memref<1xi1>
  %c = affine.load %t[0] : memref<1xi1>
  cf.assert %c, "no"
  return
}

// The next nest: it also reads them.
// CHECK-LABEL: func @seen_reads
//       CHECK: affine.store %[[ONE:.+]], %{{.+}}[%{{.+}}] : memref<8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 8
//       CHECK: return
func.func @seen_reads(%f: f32, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %one, %o[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %v = affine.load %o[%i] : memref<8xf32>
    affine.store %v, %o[%i] : memref<8xf32>
  }
  return
}

// The next nest: it leaves one out.
// CHECK-LABEL: func @seen_all
//       CHECK: affine.store %[[ONE:.+]], %{{.+}}[%{{.+}}] : memref<8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 7
//       CHECK: return
func.func @seen_all(%f: f32, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %one, %o[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 7 {
    affine.store %zero, %o[%i] : memref<8xf32>
  }
  return
}

// The next nest: it asks.
// CHECK-LABEL: func @seen_asks
//       CHECK: affine.store %[[ONE:.+]], %{{.+}}[%{{.+}}] : memref<8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 8
//       CHECK: return
func.func @seen_asks(%f: f32, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %one, %o[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %c = arith.cmpf ogt, %f, %zero : f32
    scf.if %c {
      affine.store %zero, %o[%i] : memref<8xf32>
    }
  }
  return
}

// The next nest: another place of each pair.
// CHECK-LABEL: func @seen_twice
//       CHECK: affine.store %[[ONE:.+]], %{{.+}}[%{{.+}}] : memref<8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 8
//       CHECK: return
func.func @seen_twice(%f: f32, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %one, %o[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    affine.store %zero, %o[%i - %i mod 2] : memref<8xf32>
  }
  return
}

// The next nest: it may end the call.
// CHECK-LABEL: func @seen_fails
//       CHECK: affine.store %[[ONE:.+]], %{{.+}}[%{{.+}}] : memref<8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 8
//       CHECK: return
func.func @seen_fails(%f: f32, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %one, %o[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %c = arith.cmpf ogt, %f, %zero : f32
    cf.assert %c, "not positive"
    affine.store %zero, %o[%i] : memref<8xf32>
  }
  return
}

// The copy moves each element, and data choose which one is stored.
// CHECK-LABEL: func @scattered_turned
//       CHECK: %[[T:.+]] = memref.alloc
//       CHECK: memref.store %{{.+}}, %[[T]]
//       CHECK: return
//      REMARK: the source has other uses than plain accesses
func.func @scattered_turned(%x: memref<8x8xf32>, %p: memref<4xindex>, %o: memref<8x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8x8xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %a = affine.load %x[%i, %j] : memref<8x8xf32>
      %b = arith.negf %a : f32
      affine.store %b, %t[%i, %j] : memref<8x8xf32>
    }
  }
  affine.for %i = 0 to 4 {
    %j = affine.load %p[%i] : memref<4xindex>
    %a = affine.load %x[%i, %i] : memref<8x8xf32>
    memref.store %a, %t[%j, %i] : memref<8x8xf32>
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%i, %j] : memref<8x8xf32>
      affine.store %a, %o[%j, %i] : memref<8x8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @unknown_part
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="the source is not a whole private buffer"
func.func @unknown_part(%x: memref<?xf32>, %o: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = arith.addi %n, %c1 : index
  %t = memref.alloc(%m) : memref<?xf32>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i + 1] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %a = affine.load %t[%i] : memref<?xf32>
    affine.store %a, %o[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @unknown_before
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="the target is in use before the copy"
func.func @unknown_before(%x: memref<?xf32>, %o: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<?xf32>
  }
  affine.store %zero, %o[9] : memref<?xf32>
  affine.for %i = 0 to %n {
    %a = affine.load %t[%i] : memref<?xf32>
    affine.store %a, %o[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @unknown_checked
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="sizes are checked after the source is made"
func.func @unknown_checked(%x: memref<?xf32>, %o: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %o, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<?xf32>
  }
  %fits = arith.cmpi eq, %n, %m : index
  cf.assert %fits, "sizes differ"
  affine.for %i = 0 to %n {
    %a = affine.load %t[%i] : memref<?xf32>
    affine.store %a, %o[%i] : memref<?xf32>
  }
  return
}

// Rows of the target may be longer.
// CHECK-LABEL: func @unknown_larger
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="the target is not proven to be as large as what is copied"
func.func @unknown_larger(%x: memref<?x?xf32>, %o: memref<?x?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  %t = memref.alloc(%n, %m) : memref<?x3x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 3 {
      affine.for %k = 0 to %m {
        %a = affine.load %x[%i, %k] : memref<?x?xf32>
        affine.store %a, %t[%i, %j, %k] : memref<?x3x?xf32>
      }
    }
  }
  %v = memref.collapse_shape %t [[0], [1, 2]] : memref<?x3x?xf32> into memref<?x?xf32>
  %r = memref.dim %v, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %r {
      %a = affine.load %v[%i, %j] : memref<?x?xf32>
      affine.store %a, %o[%i, %j] : memref<?x?xf32>
    }
  }
  return
}

// The assertion that says so comes after the first nest.
// CHECK-LABEL: func @unknown_late
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="the target is not proven to be as large as what is copied"
func.func @unknown_late(%x: memref<?x?xf32>, %o: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  %t = memref.alloc(%n, %m) : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      %a = affine.load %x[%i, %j] : memref<?x?xf32>
      affine.store %a, %t[%i, %j] : memref<?x?xf32>
    }
  }
  %all = arith.muli %n, %m : index
  %size = memref.dim %o, %c0 : memref<?xf32>
  %fits = arith.cmpi eq, %all, %size : index
  cf.assert %fits, "sizes differ"
  %v = memref.collapse_shape %t [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  %r = memref.dim %v, %c0 : memref<?xf32>
  affine.for %i = 0 to %r {
    %a = affine.load %v[%i] : memref<?xf32>
    affine.store %a, %o[%i] : memref<?xf32>
  }
  return
}

// Something else reads the reshape.
// CHECK-LABEL: func @unknown_read
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="the source is not a whole private buffer"
func.func @unknown_read(%x: memref<?x?xf32>, %o: memref<?x?xf32> {polynest.result},
                        %p: memref<?x?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  %t = memref.alloc(%n, %m) : memref<?x3x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 3 {
      affine.for %k = 0 to %m {
        %a = affine.load %x[%i, %k] : memref<?x?xf32>
        affine.store %a, %t[%i, %j, %k] : memref<?x3x?xf32>
      }
    }
  }
  %v = memref.collapse_shape %t [[0], [1, 2]] : memref<?x3x?xf32> into memref<?x?xf32>
  %r = memref.dim %v, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %r {
      %a = affine.load %v[%i, %j] : memref<?x?xf32>
      affine.store %a, %o[%i, %j] : memref<?x?xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %r {
      %a = affine.load %v[%i, %j] : memref<?x?xf32>
      %b = arith.negf %a : f32
      affine.store %b, %p[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
func.func @unknown_read_shapes(%n: index, %m: index) -> (index, index, index, index) attributes {polynest.shapes} {
  %c3 = arith.constant 3 : index
  %r = arith.muli %m, %c3 : index
  return %n, %r, %n, %r : index, index, index, index
}
