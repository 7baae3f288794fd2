// Properties: where the code behind the sums takes the loops of the columns at
// indices of dimensions that follow each other, one loop runs through all of them:
// a residual is read and the result stored as rows of 7 * 7 (@residual). The loop of
// a dimension that something else depends on stays (@by_row), and so do loops over a
// part of a dimension (@part), at other indices (@mirrored), and one whose index is
// stored (@index). What that gives is what the plain program gives, also where the last
// block has fewer columns (@gradient). Long rows of which a block has no whole number of
// vectors stay (@long_rows): 12 * 22 columns and the 10 * 22 left over are 33 and 27.5
// of them.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | FileCheck %s
// RUN: polynestc run %s --check --entry residual
// RUN: polynestc run %s --check --entry by_row
// RUN: polynestc run %s --check --entry part
// RUN: polynestc run %s --check --entry mirrored
// RUN: polynestc run %s --check --entry index
// RUN: polynestc run %s --check --entry gradient
// RUN: polynestc run %s --check --entry long_rows

// CHECK-LABEL: func @residual
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<2x24x9x9xf32>, %{{[a-z0-9]+}}: memref<40x24x3x3xf32>, %[[D:[a-z0-9]+]]: memref<2x40x7x7xf32>, %[[C:[a-z0-9]+]]: memref<2x40x7x7xf32>
//   CHECK-DAG: %[[FROM:.+]] = memref.collapse_shape %[[D]] {{\[\[}}0], [1], [2, 3]]
//   CHECK-DAG: %[[TO:.+]] = memref.collapse_shape %[[C]] {{\[\[}}0], [1], [2, 3]]
//       CHECK: vector.fma
//       CHECK: affine.for %[[P:.+]] = 0 to 49 {
//       CHECK: affine.load %[[FROM]][%{{.+}}, %{{.+}}, %[[P]]] : memref<2x40x49xf32>
//       CHECK: affine.store %{{.+}}, %[[TO]][%{{.+}}, %{{.+}}, %[[P]]] : memref<2x40x49xf32>
//       CHECK: return
func.func @residual(%x: memref<2x24x9x9xf32>, %w: memref<40x24x3x3xf32>,
                    %d: memref<2x40x7x7xf32>,
                    %c: memref<2x40x7x7xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
    affine.for %o = 0 to 40 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          %0 = affine.for %k = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %a = affine.load %x[%n, %k, %i + %u, %j + %v] : memref<2x24x9x9xf32>
                %b = affine.load %w[%o, %k, %u, %v] : memref<40x24x3x3xf32>
                %p = arith.mulf %a, %b : f32
                %t = arith.addf %s2, %p : f32
                affine.yield %t : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          %r = affine.load %d[%n, %o, %i, %j] : memref<2x40x7x7xf32>
          %sum = arith.addf %0, %r : f32
          affine.store %sum, %c[%n, %o, %i, %j] : memref<2x40x7x7xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @by_row
//       CHECK: vector.fma
//       CHECK: affine.load %{{.+}} : memref<7xf32>
//       CHECK: affine.store %{{.+}} : memref<2x40x7x7xf32>
//       CHECK: return
func.func @by_row(%x: memref<2x24x9x9xf32>, %w: memref<40x24x3x3xf32>,
                  %d: memref<7xf32>,
                  %c: memref<2x40x7x7xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
    affine.for %o = 0 to 40 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          %0 = affine.for %k = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %a = affine.load %x[%n, %k, %i + %u, %j + %v] : memref<2x24x9x9xf32>
                %b = affine.load %w[%o, %k, %u, %v] : memref<40x24x3x3xf32>
                %p = arith.mulf %a, %b : f32
                %t = arith.addf %s2, %p : f32
                affine.yield %t : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          %r = affine.load %d[%i] : memref<7xf32>
          %sum = arith.addf %0, %r : f32
          affine.store %sum, %c[%n, %o, %i, %j] : memref<2x40x7x7xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @part
//       CHECK: vector.fma
//       CHECK: affine.store %{{.+}} : memref<2x40x7x9xf32>
//       CHECK: return
func.func @part(%x: memref<2x24x9x9xf32>, %w: memref<40x24x3x3xf32>,
                %c: memref<2x40x7x9xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
    affine.for %o = 0 to 40 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 9 {
          affine.store %zero, %c[%n, %o, %i, %j] : memref<2x40x7x9xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %o = 0 to 40 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          %0 = affine.for %k = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %a = affine.load %x[%n, %k, %i + %u, %j + %v] : memref<2x24x9x9xf32>
                %b = affine.load %w[%o, %k, %u, %v] : memref<40x24x3x3xf32>
                %p = arith.mulf %a, %b : f32
                %t = arith.addf %s2, %p : f32
                affine.yield %t : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %c[%n, %o, %i, %j] : memref<2x40x7x9xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @mirrored
//       CHECK: vector.fma
//       CHECK: affine.store %{{.+}} : memref<2x40x7x7xf32>
//       CHECK: return
func.func @mirrored(%x: memref<2x24x9x9xf32>, %w: memref<40x24x3x3xf32>,
                    %c: memref<2x40x7x7xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
    affine.for %o = 0 to 40 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          %0 = affine.for %k = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %a = affine.load %x[%n, %k, %i + %u, %j + %v] : memref<2x24x9x9xf32>
                %b = affine.load %w[%o, %k, %u, %v] : memref<40x24x3x3xf32>
                %p = arith.mulf %a, %b : f32
                %t = arith.addf %s2, %p : f32
                affine.yield %t : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %c[%n, %o, 6 - %i, %j] : memref<2x40x7x7xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @index
//   CHECK-NOT: memref.collapse_shape %{{.+}} : memref<64x6x7x
//       CHECK: vector.fma
//       CHECK: affine.store %{{.+}} : memref<64x6x7xindex>
//       CHECK: return
func.func @index(%a: memref<64x96xf32>, %b: memref<96x6x7xf32>,
                 %c: memref<64x6x7xf32> {polynest.result},
                 %d: memref<64x6x7xindex> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %h = 0 to 6 {
      affine.for %w = 0 to 7 {
        %r = affine.for %k = 0 to 96 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%i, %k] : memref<64x96xf32>
          %y = affine.load %b[%k, %h, %w] : memref<96x6x7xf32>
          %p = arith.mulf %x, %y : f32
          %t = arith.addf %s, %p : f32
          affine.yield %t : f32
        }
        affine.store %r, %c[%i, %h, %w] : memref<64x6x7xf32>
        affine.store %w, %d[%i, %h, %w] : memref<64x6x7xindex>
      }
    }
  }
  return
}

// 130 channels of 3 by 3 weights: blocks of whole channels, and a last one of fewer.
// CHECK-LABEL: func @gradient
//       CHECK: %[[TO:.+]] = memref.collapse_shape %{{.+}} {{\[\[}}0], [1, 2, 3]] : memref<512x130x3x3xf32> into memref<512x1170xf32>
//       CHECK: vector.fma
//       CHECK: affine.for %[[P:.+]] = 0 to min
//       CHECK: affine.store %{{.+}}, %[[TO]][%{{.+}}, %{{.+}} + %[[P]]]
//       CHECK: return
func.func @gradient(%x: memref<1x130x9x9xf32>, %g: memref<1x512x7x7xf32>,
                    %c: memref<512x130x3x3xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %o = 0 to 512 {
    affine.for %k = 0 to 130 {
      affine.for %u = 0 to 3 {
        affine.for %v = 0 to 3 {
          %0 = affine.for %n = 0 to 1 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %i = 0 to 7 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %j = 0 to 7 iter_args(%s2 = %s1) -> f32 {
                %a = affine.load %x[%n, %k, %i + %u, %j + %v] : memref<1x130x9x9xf32>
                %b = affine.load %g[%n, %o, %i, %j] : memref<1x512x7x7xf32>
                %p = arith.mulf %a, %b : f32
                %t = arith.addf %s2, %p : f32
                affine.yield %t : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %c[%o, %k, %u, %v] : memref<512x130x3x3xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @long_rows
//       CHECK: vector.fma
//       CHECK: affine.store %{{.+}} : memref<2x40x22x22xf32>
//       CHECK: return
func.func @long_rows(%x: memref<2x24x24x24xf32>, %w: memref<40x24x3x3xf32>,
                     %c: memref<2x40x22x22xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
    affine.for %o = 0 to 40 {
      affine.for %i = 0 to 22 {
        affine.for %j = 0 to 22 {
          %0 = affine.for %k = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %a = affine.load %x[%n, %k, %i + %u, %j + %v] : memref<2x24x24x24xf32>
                %b = affine.load %w[%o, %k, %u, %v] : memref<40x24x3x3xf32>
                %p = arith.mulf %a, %b : f32
                %t = arith.addf %s2, %p : f32
                affine.yield %t : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %c[%n, %o, %i, %j] : memref<2x40x22x22xf32>
        }
      }
    }
  }
  return
}
