// Pads, slices, joins, reshapes, transposes and broadcasts.
// A line "// arguments:" holds arguments of polynestc run.

func.func @concat(%a: tensor<3x4xf32>, %b: tensor<2x4xf32>, %c: tensor<1x4xf32>) -> tensor<6x4xf32> {
  %r = tensor.concat dim(0) %a, %b, %c : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// -----

// arguments: --size 5
func.func @concat_dynamic(%a: tensor<3x?xf32>, %b: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %r = tensor.concat dim(1) %a, %b : (tensor<3x?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>
  return %r : tensor<3x?xf32>
}

// -----

func.func @pad_one_side(%x: tensor<4x5xi32>) -> tensor<7x9xi32> {
  %v = arith.constant -3 : i32
  %r = tensor.pad %x low[1, 4] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : i32
  } : tensor<4x5xi32> to tensor<7x9xi32>
  return %r : tensor<7x9xi32>
}

// -----

func.func @slice_with_steps(%x: tensor<9x14xf32>) -> tensor<3x5xf32> {
  %r = tensor.extract_slice %x[1, 2] [3, 5] [3, 2] : tensor<9x14xf32> to tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----

func.func @insert(%x: tensor<3x4xf32>, %y: tensor<8x9xf32>) -> (tensor<8x9xf32>, tensor<8x9xf32>) {
  %r = tensor.insert_slice %x into %y[2, 1] [3, 4] [2, 1] : tensor<3x4xf32> into tensor<8x9xf32>
  return %r, %y : tensor<8x9xf32>, tensor<8x9xf32>
}

// -----

func.func @transpose_reshape(%x: tensor<4x6x5xf32>) -> tensor<5x24xf32> {
  %e = tensor.empty() : tensor<5x4x6xf32>
  %t = linalg.transpose ins(%x : tensor<4x6x5xf32>) outs(%e : tensor<5x4x6xf32>) permutation = [2, 0, 1]
  %r = tensor.collapse_shape %t [[0], [1, 2]] : tensor<5x4x6xf32> into tensor<5x24xf32>
  return %r : tensor<5x24xf32>
}

// -----

func.func @expand_twice(%x: tensor<24xf32>) -> (tensor<2x3x4xf32>, tensor<4x6xf32>) {
  %a = tensor.expand_shape %x [[0, 1, 2]] output_shape [2, 3, 4] : tensor<24xf32> into tensor<2x3x4xf32>
  %b = tensor.expand_shape %x [[0, 1]] output_shape [4, 6] : tensor<24xf32> into tensor<4x6xf32>
  return %a, %b : tensor<2x3x4xf32>, tensor<4x6xf32>
}

// -----

func.func @broadcast(%x: tensor<7xf32>) -> tensor<3x7x2xf32> {
  %e = tensor.empty() : tensor<3x7x2xf32>
  %r = linalg.broadcast ins(%x : tensor<7xf32>) outs(%e : tensor<3x7x2xf32>) dimensions = [0, 2]
  return %r : tensor<3x7x2xf32>
}

// -----

// Rotates rows by two: pieces of the input in another order.
func.func @roll(%x: tensor<5x6xf32>) -> tensor<5x6xf32> {
  %a = tensor.extract_slice %x[3, 0] [2, 6] [1, 1] : tensor<5x6xf32> to tensor<2x6xf32>
  %b = tensor.extract_slice %x[0, 0] [3, 6] [1, 1] : tensor<5x6xf32> to tensor<3x6xf32>
  %r = tensor.concat dim(0) %a, %b : (tensor<2x6xf32>, tensor<3x6xf32>) -> tensor<5x6xf32>
  return %r : tensor<5x6xf32>
}

// -----

// A result that is the argument itself, and one without any element.
func.func @identity(%x: tensor<4xf32>, %y: tensor<0x3xf32>) -> (tensor<4xf32>, tensor<0x3xf32>) {
  return %x, %y : tensor<4xf32>, tensor<0x3xf32>
}

// -----

func.func @strided_input(%x: tensor<5x6xf32> {polynest.strides = array<i64: 1, 5>}) -> tensor<5x6xf32> {
  %e = tensor.empty() : tensor<5x6xf32>
  %r = linalg.exp ins(%x : tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  return %r : tensor<5x6xf32>
}
