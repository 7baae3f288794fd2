// Fault B007: the minimum of zeros of both signs is -0, the maximum +0, in either
// order and in vector body and scalar tail alike.
// RUN: %npy %t.m.npy f4 33 "-0.0 0.0"
// RUN: %npy %t.p.npy f4 33 "0.0 -0.0"
// RUN: %npy %t.m1.npy f4 1 "-0.0 0.0"
// RUN: %npy %t.p1.npy f4 1 "0.0 -0.0"
// RUN: %npy %t.m8.npy f4 8 "-0.0 0.0"
// RUN: %npy %t.p8.npy f4 8 "0.0 -0.0"
// RUN: %npy %t.m9.npy f4 9 "-0.0 0.0"
// RUN: %npy %t.p9.npy f4 9 "0.0 -0.0"
// RUN: polynestc run %s --entry minimumf_f16 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=LOW
// RUN: polynestc run %s --entry maximumf_f16 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=HIGH
// RUN: polynestc run %s --entry minimumf_bf16 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=LOW
// RUN: polynestc run %s --entry maximumf_bf16 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=HIGH
// RUN: polynestc run %s --entry minimumf_f32 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=LOW
// RUN: polynestc run %s --entry minimumf_f32 --input %t.m1.npy --input %t.p1.npy --print --check | FileCheck %s --check-prefix=LOW
// RUN: polynestc run %s --entry minimumf_f32 --input %t.m8.npy --input %t.p8.npy --print --check | FileCheck %s --check-prefix=LOW
// RUN: polynestc run %s --entry minimumf_f32 --input %t.m9.npy --input %t.p9.npy --print --check | FileCheck %s --check-prefix=LOW
// RUN: polynestc run %s --entry maximumf_f32 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=HIGH
// RUN: polynestc run %s --entry maximumf_f32 --input %t.m1.npy --input %t.p1.npy --print --check | FileCheck %s --check-prefix=HIGH
// RUN: polynestc run %s --entry maximumf_f32 --input %t.m8.npy --input %t.p8.npy --print --check | FileCheck %s --check-prefix=HIGH
// RUN: polynestc run %s --entry maximumf_f32 --input %t.m9.npy --input %t.p9.npy --print --check | FileCheck %s --check-prefix=HIGH
// RUN: polynestc run %s --entry minimumf_f64 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=LOW
// RUN: polynestc run %s --entry maximumf_f64 --input %t.m.npy --input %t.p.npy --print --check | FileCheck %s --check-prefix=HIGH
// LOW: {{^\[(-0, )*-0\]$}}
// HIGH: {{^\[(0, )*0\]$}}

#id = affine_map<(d0) -> (d0)>

func.func @minimumf_f16(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.truncf %a0 : f32 to f16
    %q = arith.truncf %a1 : f32 to f16
    %m = arith.minimumf %p, %q : f16
    %r = arith.extf %m : f16 to f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @maximumf_f16(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.truncf %a0 : f32 to f16
    %q = arith.truncf %a1 : f32 to f16
    %m = arith.maximumf %p, %q : f16
    %r = arith.extf %m : f16 to f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @minimumf_bf16(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.truncf %a0 : f32 to bf16
    %q = arith.truncf %a1 : f32 to bf16
    %m = arith.minimumf %p, %q : bf16
    %r = arith.extf %m : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @maximumf_bf16(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.truncf %a0 : f32 to bf16
    %q = arith.truncf %a1 : f32 to bf16
    %m = arith.maximumf %p, %q : bf16
    %r = arith.extf %m : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @minimumf_f32(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.minimumf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @maximumf_f32(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.maximumf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @minimumf_f64(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.extf %a0 : f32 to f64
    %q = arith.extf %a1 : f32 to f64
    %m = arith.minimumf %p, %q : f64
    %r = arith.truncf %m : f64 to f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @maximumf_f64(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.extf %a0 : f32 to f64
    %q = arith.extf %a1 : f32 to f64
    %m = arith.maximumf %p, %q : f64
    %r = arith.truncf %m : f64 to f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}
