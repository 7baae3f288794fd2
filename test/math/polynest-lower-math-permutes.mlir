// Properties: exp in f32 looks eight numbers up by the narrowest instruction that
// holds its lanes, cut in parts where none does, whatever its shape, and so does
// 1 + tanh (@sum); f64, vectors of a size that is not known and other functions do
// not.
// RUN: polynest-opt %s --polynest-lower-math=permutes=512:llvm.wide,256:llvm.narrow | FileCheck %s

// CHECK-LABEL: func @eight
//   CHECK-DAG: %[[T:.+]] = arith.constant dense<[0, {{.*}}]> : vector<8xi32>
//       CHECK: llvm.call_intrinsic "llvm.narrow"(%[[T]], %{{.+}}) : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>
//   CHECK-NOT: vector.shuffle
//       CHECK: return
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
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.narrow"
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
