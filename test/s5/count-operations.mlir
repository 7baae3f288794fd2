// Properties: floating-point instructions of an entry count by the lanes of 32 bits
// that they fill, an FMA once, f64 twice, integers and conversions not at all (@f: a
// kernel as often as its range says, once more for the second call, of two branches
// the longer one; in a loop each time, @looped). A loop whose trips are not known is
// reported as uncounted, and so is a range that is not known (@dynamic). Functions that
// run once, and kernels alone, have no remark. Nothing is changed.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-count-operations)' --remarks-filter=count-operations 2>%t.remarks > %t
// RUN: FileCheck %s --implicit-check-not=lanes= < %t.remarks
// RUN: polynest-opt %s | diff %t -

// A row has 4 * (16 + 16) lanes, and 2 of the f64: 130. 10 and 3 rows are 1690. Of the
// branches the first has 10 rows, 1300, the second 5 lanes.
// CHECK: count-operations
// CHECK-SAME: entry=f
// CHECK-SAME: lanes=2990
// CHECK-SAME: uncounted=0
func.func @f(%a: memref<640xf32>, %d: memref<1xf64>, %c: i1) attributes {polynest.entry} {
  %0 = arith.constant 0 : index
  %3 = arith.constant 3 : index
  %10 = arith.constant 10 : index
  func.call @rows(%0, %10, %a, %d) : (index, index, memref<640xf32>, memref<1xf64>) -> ()
  func.call @rows(%0, %3, %a, %d) : (index, index, memref<640xf32>, memref<1xf64>) -> ()
  scf.if %c {
    func.call @rows(%0, %10, %a, %d) : (index, index, memref<640xf32>, memref<1xf64>) -> ()
  } else {
    func.call @single(%a) : (memref<640xf32>) -> ()
  }
  return
}

func.func private @rows(%begin: index, %end: index, %a: memref<640xf32>, %d: memref<1xf64>) attributes {polynest.kernel, polynest.grain = 1 : i64} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %16 = arith.constant 16 : index
  %64 = arith.constant 64 : index
  scf.for %i = %begin to %end step %1 {
    scf.for %j = %0 to %64 step %16 {
      %p = arith.muli %i, %64 : index
      %q = arith.addi %p, %j : index
      %x = vector.load %a[%q] : memref<640xf32>, vector<16xf32>
      %y = math.fma %x, %x, %x : vector<16xf32>
      %z = arith.addf %y, %x : vector<16xf32>
      vector.store %z, %a[%q] : memref<640xf32>, vector<16xf32>
    }
    %u = memref.load %d[%0] : memref<1xf64>
    %v = arith.mulf %u, %u : f64
    %w = arith.truncf %v : f64 to f32
    %s = arith.extf %w : f32 to f64
    memref.store %s, %d[%0] : memref<1xf64>
  }
  return
}

func.func private @single(%a: memref<640xf32>) attributes {polynest.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %5 = arith.constant 5 : index
  scf.for %i = %0 to %5 step %1 {
    %x = memref.load %a[%i] : memref<640xf32>
    %y = arith.mulf %x, %x : f32
    memref.store %y, %a[%i] : memref<640xf32>
  }
  return
}

// 6 times 5 lanes, and of the branches in the loop the one with 3 rows: 6 * (5 + 390).
// CHECK: count-operations
// CHECK-SAME: entry=looped
// CHECK-SAME: lanes=2370
// CHECK-SAME: uncounted=0
func.func @looped(%a: memref<640xf32>, %d: memref<1xf64>, %c: i1) attributes {polynest.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %6 = arith.constant 6 : index
  scf.for %i = %0 to %6 step %1 {
    func.call @single(%a) : (memref<640xf32>) -> ()
    scf.if %c {
      func.call @single(%a) : (memref<640xf32>) -> ()
    } else {
      func.call @rows(%0, %3, %a, %d) : (index, index, memref<640xf32>, memref<1xf64>) -> ()
    }
  }
  return
}

// CHECK: count-operations
// CHECK-SAME: entry=dynamic
// CHECK-SAME: lanes=0
// CHECK-SAME: uncounted=4
func.func @dynamic(%a: memref<640xf32>, %d: memref<1xf64>, %n: index) attributes {polynest.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  func.call @rows(%0, %n, %a, %d) : (index, index, memref<640xf32>, memref<1xf64>) -> ()
  scf.for %i = %0 to %n step %1 {
    %x = memref.load %a[%i] : memref<640xf32>
    %y = arith.mulf %x, %x : f32
    memref.store %y, %a[%i] : memref<640xf32>
  }
  return
}

func.func @once(%a: memref<640xf32>) attributes {polynest.entry, polynest.init = @f} {
  %0 = arith.constant 0 : index
  %x = memref.load %a[%0] : memref<640xf32>
  %y = arith.mulf %x, %x : f32
  memref.store %y, %a[%0] : memref<640xf32>
  return
}
