// A loop that never ends.
func.func @f(%a: memref<4xf32> {polynest.result}) {
  %x = arith.constant 1.0 : f32
  // Refused here:
  affine.for %i = 0 to 4 step 0 {
    affine.store %x, %a[%i] : memref<4xf32>
  }
  return
}
