// Properties: plain against optimized where borders of unknown extent are filled: of
// a padded image (@padded), of none, one and several rows and columns; where the loop
// that overwrites ends before it begins (@short), and where it goes on behind the
// fill, over what was there before (@behind).
// RUN: polynestc run --check %s --entry padded --size 0
// RUN: polynestc run --check %s --entry padded --size 1
// RUN: polynestc run --check %s --entry padded --size 7
// RUN: polynestc run --check %s --entry padded --size 33
// RUN: polynestc run --check %s --entry short --size 0
// RUN: polynestc run --check %s --entry short --size 2
// RUN: polynestc run --check %s --entry short --size 5
// RUN: polynestc run --check %s --entry short --size 6
// RUN: polynestc run --check %s --entry short --size 40
// RUN: polynestc run --check %s --entry behind --size 4
// RUN: polynestc run --check %s --entry behind --size 9
// RUN: polynestc run --check %s --entry behind --size 40

func.func @padded(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c = arith.constant 1.5 : f32
  %r = tensor.pad %x low[1, 3] high[4, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<?x?xf32> to tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

func.func @short(%x: memref<?x3xf32>, %y: memref<?x3xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  %t = memref.alloc(%n) : memref<?x3xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 3 {
      affine.store %one, %t[%i, %j] : memref<?x3xf32>
    }
  }
  affine.for %i = 0 to affine_map<()[s0] -> (s0 - 5)>()[%n] {
    affine.for %j = 0 to 2 {
      %a = affine.load %x[%i, %j] : memref<?x3xf32>
      affine.store %a, %t[%i + 3, %j + 1] : memref<?x3xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 3 {
      %a = affine.load %t[%i, %j] : memref<?x3xf32>
      %b = affine.load %t[%i, 0] : memref<?x3xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %y[%i, %j] : memref<?x3xf32>
    }
  }
  return
}

func.func @behind(%x: memref<?x4xf32>, %y: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<?x4xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 4 {
      %a = affine.load %x[%i, 3 - %j] : memref<?x4xf32>
      affine.store %a, %t[%i, %j] : memref<?x4xf32>
    }
  }
  affine.for %i = 0 to affine_map<()[s0] -> (s0 floordiv 2)>()[%n] {
    affine.for %j = 0 to 4 {
      affine.store %one, %t[%i, %j] : memref<?x4xf32>
    }
  }
  affine.for %i = 0 to affine_map<()[s0] -> (s0 - 1)>()[%n] {
    affine.for %j = 0 to 2 {
      %a = affine.load %x[%i, %j] : memref<?x4xf32>
      affine.store %a, %t[%i + 1, %j + 1] : memref<?x4xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 4 {
      %a = affine.load %t[%i, %j] : memref<?x4xf32>
      %b = affine.load %t[%i, 0] : memref<?x4xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %y[%i, %j] : memref<?x4xf32>
    }
  }
  return
}
