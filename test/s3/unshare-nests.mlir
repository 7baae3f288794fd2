// Properties: each call is replaced by all that the function holds, buffers it
// makes among it; a constant that the caller begins with is used, one that it
// does not have is made, each once; functions that share nothing stay, as does
// one that calls another (@nested). A second run changes nothing.
// RUN: polynest-opt %s --polynest-unshare-nests | FileCheck %s
// RUN: polynest-opt %s --polynest-unshare-nests --polynest-unshare-nests | FileCheck %s

// CHECK-LABEL: func @f(
//  CHECK-SAME: %[[R:[a-z0-9]+]]: memref<16xf32> {polynest.result}, %[[S:[a-z0-9]+]]: memref<16xf32> {polynest.result})
//       CHECK: %[[TWO:.+]] = arith.constant 2.000000e+00 : f32
//       CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
//   CHECK-NOT: arith.constant
//       CHECK: %[[T:.+]] = memref.alloc() : memref<4xf32>
//       CHECK: affine.for
//       CHECK: affine.store %[[ONE]], %[[T]]
//       CHECK: affine.for
//       CHECK: affine.store %[[TWO]], %[[R]]
//       CHECK: %[[U:.+]] = memref.alloc() : memref<4xf32>
//       CHECK: affine.for
//       CHECK: affine.store %[[ONE]], %[[U]]
//       CHECK: affine.for
//       CHECK: affine.store %[[TWO]], %[[S]]
//       CHECK: call @other()
//       CHECK: call @nested()
//       CHECK: return
func.func @f(%r: memref<16xf32> {polynest.result},
             %s: memref<16xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  call @f_shared0(%r) : (memref<16xf32>) -> ()
  call @f_shared0(%s) : (memref<16xf32>) -> ()
  call @other() : () -> ()
  call @nested() : () -> ()
  return
}

// CHECK-NOT: @f_shared0
func.func private @f_shared0(%a: memref<16xf32> {llvm.noalias})
    attributes {polynest.shared} {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %t = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %one, %t[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 16 {
    affine.store %two, %a[%i] : memref<16xf32>
  }
  return
}

// CHECK: func private @other
func.func private @other() {
  return
}

// CHECK: func private @nested
func.func private @nested() attributes {polynest.shared} {
  call @other() : () -> ()
  return
}
