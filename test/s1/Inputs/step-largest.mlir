func.func @f(%a: memref<4xf32> {polynest.result}) {
  %x = arith.constant 1.0 : f32
  %y = arith.constant 5.0 : f32
  affine.for %i = 0 to 4 {
    affine.store %y, %a[%i] : memref<4xf32>
  }
  affine.for %i = 1 to 4 step 4611686018427387904 {
    affine.store %x, %a[%i] : memref<4xf32>
  }
  return
}
