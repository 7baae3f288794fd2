// Properties: exp in f32 looks numbers up, sixteen by an instruction that holds as
// many, however few its lanes are, else eight (prefix EIGHT); vectors are cut in
// parts where it holds fewer lanes. 1 + tanh looks eight up by the narrowest
// instruction that holds its lanes (@sum); f64, vectors of a size that is not known
// and other functions do not.
// RUN: polynest-opt %s --polynest-lower-math=permutes=512:llvm.wide,256:llvm.narrow | FileCheck %s
// RUN: polynest-opt %s --polynest-lower-math=permutes=256:llvm.narrow | FileCheck %s --check-prefix=EIGHT

// 2^(1/8) and 2^(1/4) less 1 and what j below the exponent is.
// CHECK-LABEL: func @eight
//   CHECK-DAG: %[[T:.+]] = arith.constant dense<[0, 234946, {{.*}}]> : vector<16xi32>
//   CHECK-DAG: %[[X:.+]] = vector.shuffle %{{.+}} [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7]
//       CHECK: llvm.call_intrinsic "llvm.wide"(%[[T]], %[[X]]) : (vector<16xi32>, vector<16xi32>) -> vector<16xi32>
//       CHECK: vector.shuffle %{{.+}} [0, 1, 2, 3, 4, 5, 6, 7]
//       CHECK: return
// EIGHT-LABEL: func @eight
//   EIGHT-DAG: %[[T:.+]] = arith.constant dense<[0, 538608, {{.*}}]> : vector<8xi32>
//       EIGHT: llvm.call_intrinsic "llvm.narrow"(%[[T]], %{{.+}}) : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>
//   EIGHT-NOT: vector.shuffle
//       EIGHT: return
func.func @eight(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func @sixteen
//       CHECK: llvm.call_intrinsic "llvm.wide"({{.*}}) : (vector<16xi32>, vector<16xi32>) -> vector<16xi32>
//       CHECK: return
func.func @sixteen(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: func @sum
//   CHECK-DAG: %[[T:.+]] = arith.constant dense<[0, {{.*}}]> : vector<8xi32>
//       CHECK: llvm.call_intrinsic "llvm.narrow"(%[[T]], %{{.+}}) : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>
//       CHECK: return
func.func @sum(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %t = math.tanh %x : vector<8xf32>
  %y = arith.addf %t, %one : vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func @parts
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.wide"
//   CHECK-NOT: llvm.call_intrinsic
//       CHECK: return
func.func @parts(%x: vector<24xf32>) -> vector<24xf32> {
  %y = math.exp %x : vector<24xf32>
  return %y : vector<24xf32>
}

// CHECK-LABEL: func @shapes
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.wide"
//   CHECK-NOT: llvm.call_intrinsic
//       CHECK: return
func.func @shapes(%a: f32, %b: vector<2x3xf32>, %c: vector<f32>)
    -> (f32, vector<2x3xf32>, vector<f32>) {
  %x = math.exp %a : f32
  %y = math.exp %b : vector<2x3xf32>
  %z = math.exp %c : vector<f32>
  return %x, %y, %z : f32, vector<2x3xf32>, vector<f32>
}

// CHECK-LABEL: func @others
//   CHECK-NOT: llvm.call_intrinsic
//       CHECK: return
func.func @others(%a: vector<4xf64>, %b: vector<[4]xf32>, %c: vector<8xf32>)
    -> (vector<4xf64>, vector<[4]xf32>, vector<8xf32>) {
  %x = math.exp %a : vector<4xf64>
  %y = math.exp %b : vector<[4]xf32>
  %z = math.log %c : vector<8xf32>
  return %x, %y, %z : vector<4xf64>, vector<[4]xf32>, vector<8xf32>
}
