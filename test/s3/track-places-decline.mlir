// Properties: the later loop stays where the extreme may be what it begins with
// (@begins), loops differ (@bounds), it reads something else (@other), its condition
// leaves out NaN (@not_nan), takes all beside it (@beside_nan) or what is below
// (@all), where places descend (@descends), are not affine (@loaded), or come behind
// what stands for none (@none), and where what is read is written in between
// (@written, @written_inside).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-track-places))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @begins
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: the extreme may be what it begins with
func.func @begins(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0.0 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @bounds
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: the loops differ
func.func @bounds(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 99 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @other
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: the condition does not ask for an extreme
func.func @other(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %U[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @not_nan
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: the condition does not ask for an extreme
func.func @not_nan(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf one, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @beside_nan
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: the condition does not ask for an extreme
func.func @beside_nan(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf ueq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @all
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: the condition does not ask for an extreme
func.func @all(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf ole, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @descends
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: places do not ascend
func.func @descends(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %hundred = arith.constant 99 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %d = arith.subi %hundred, %k : i64
    %s = arith.select %t, %d, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @none
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: what stands for no place may come first
func.func @none(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 98 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @written
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: what is read may be written in between
func.func @written(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  affine.store %m, %X[5] : memref<100xf32>
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @written_inside
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: what is read may be written in between
func.func @written_inside(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    affine.store %low, %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @loaded
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   iter_args(%{{.+}} = %{{.+}}) -> (i64)
//       CHECK: return
//      REMARK: places are not affine
func.func @loaded(%X: memref<100xf32>, %Y: memref<i64> {polynest.result},
  %U: memref<100xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 100 : i64
  %m = affine.for %j = 0 to 100 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to 100 iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %l = affine.load %U[%j] : memref<100xi64>
    %s = arith.select %t, %l, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}
