// Properties: images around convolutions with constant weights, or weights computed
// from constants (@rounded) and from nothing else (@patched, @patched_before), get
// their channels last, with the padding before (@chain, also of dynamic batch), the nest between
// two convolutions and a pooling behind; loops run in the order in which memory
// lies, the reduction too. What the caller sees keeps its layout (@chain's %x and
// %r). Groups stay in front of their channels (@groups). Where one loop of a nest
// carries a dependence its order stays (@carried). Behind a nest whose loop over
// channels makes a buffer for each of them, images keep their layout (@rows). Constant windows of channels
// are copied so that they are contiguous where the result is, whatever their
// order and first element (@window). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-assign-layouts))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-assign-layouts))' | diff %t.once -

// CHECK-LABEL: func @chain
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x8x14x14xf32>, %[[V:[a-z0-9]+]]: memref<24x8x3x3xf32>
//  CHECK-SAME: %[[W:[a-z0-9]+]]: memref<16x24x1x1xf32>
//  CHECK-SAME: %[[R:[a-z0-9]+]]: memref<?x16x14x14xf32>
//       CHECK: %[[P:.+]] = memref.alloc(%[[N:.+]]) : memref<?x16x16x8xf32>
//       CHECK: affine.for %[[B:.+]] = 0 to %[[N]]
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 14
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 14
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 8
//  CHECK-NEXT: affine.load %[[X]][%[[B]], %[[C]], %[[I]], %[[J]]]
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]][%[[B]], %[[I]] + 1, %[[J]] + 1, %[[C]]]
//       CHECK: %[[T:.+]] = memref.alloc(%[[N]]) {alignment = 64 : i64} : memref<?x14x14x24xf32>
//       CHECK: affine.for %[[B:.+]] = 0 to %[[N]]
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 14
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 14
//  CHECK-NEXT: affine.for %[[O:.+]] = 0 to 24
//  CHECK-NEXT: affine.for %[[U:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[S:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 8
//       CHECK: affine.load %[[P]][%[[B]], %[[I]] + %[[U]], %[[J]] + %[[S]], %[[C]]]
//       CHECK: affine.load %[[V]][%[[O]], %[[C]], %[[U]], %[[S]]]
//       CHECK: affine.store %{{.+}}, %[[T]][%[[B]], %[[I]], %[[J]], %[[O]]]
//       CHECK: %[[Q:.+]] = memref.alloc(%[[N]]) : memref<?x14x14x24xf32>
//       CHECK: affine.load %[[T]][%[[B:.+]], %[[I:.+]], %[[J:.+]], %[[O:.+]]]
//       CHECK: affine.store %{{.+}}, %[[Q]][%[[B]], %[[I]], %[[J]], %[[O]]]
//       CHECK: affine.load %[[Q]][%{{.+}}, %{{.+}}, %{{.+}}, %[[C:.+]]]
//       CHECK: affine.load %[[W]][%{{.+}}, %[[C]], 0, 0]
//       CHECK: affine.store %{{.+}}, %[[R]][
func.func @chain(%x: memref<?x8x14x14xf32>,
                 %v: memref<24x8x3x3xf32> {polynest.constant},
                 %w: memref<16x24x1x1xf32> {polynest.constant},
                 %r: memref<?x16x14x14xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc(%n) : memref<?x8x16x16xf32>
  affine.for %b = 0 to %n {
    affine.for %c = 0 to 8 {
      affine.for %i = 0 to 14 {
        affine.for %j = 0 to 14 {
          %e = affine.load %x[%b, %c, %i, %j] : memref<?x8x14x14xf32>
          affine.store %e, %p[%b, %c, %i + 1, %j + 1] : memref<?x8x16x16xf32>
        }
      }
    }
  }
  %t = memref.alloc(%n) {alignment = 64 : i64} : memref<?x24x14x14xf32>
  affine.for %b = 0 to %n {
    affine.for %o = 0 to 24 {
      affine.for %i = 0 to 14 {
        affine.for %j = 0 to 14 {
          %0 = affine.for %c = 0 to 8 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %s = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %p[%b, %c, %i + %u, %j + %s]
                    : memref<?x8x16x16xf32>
                %f = affine.load %v[%o, %c, %u, %s] : memref<24x8x3x3xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %t[%b, %o, %i, %j] : memref<?x24x14x14xf32>
        }
      }
    }
  }
  %q = memref.alloc(%n) : memref<?x24x14x14xf32>
  affine.for %b = 0 to %n {
    affine.for %o = 0 to 24 {
      affine.for %i = 0 to 14 {
        affine.for %j = 0 to 14 {
          %e = affine.load %t[%b, %o, %i, %j] : memref<?x24x14x14xf32>
          %m = arith.maximumf %e, %zero : f32
          affine.store %m, %q[%b, %o, %i, %j] : memref<?x24x14x14xf32>
        }
      }
    }
  }
  affine.for %b = 0 to %n {
    affine.for %o = 0 to 16 {
      affine.for %i = 0 to 14 {
        affine.for %j = 0 to 14 {
          %0 = affine.for %c = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %d = affine.load %q[%b, %c, %i, %j] : memref<?x24x14x14xf32>
            %f = affine.load %w[%o, %c, 0, 0] : memref<16x24x1x1xf32>
            %m = arith.mulf %d, %f : f32
            %a = arith.addf %s0, %m : f32
            affine.yield %a : f32
          }
          affine.store %0, %r[%b, %o, %i, %j] : memref<?x16x14x14xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @groups
//       CHECK: memref.alloc() : memref<2x18x18x8xf32>
//       CHECK: memref.alloc() : memref<2x16x16x12xf32>
//       CHECK: affine.for %{{.+}} = 0 to 2
//       CHECK: affine.for %{{.+}} = 0 to 16
//       CHECK: affine.for %{{.+}} = 0 to 16
//       CHECK: affine.for %[[O:.+]] = 0 to 12
//       CHECK: return
func.func @groups(%x: memref<2x8x18x18xf32>,
                  %w: memref<2x12x8x3x3xf32> {polynest.constant},
                  %r: memref<2x12x16x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x8x18x18xf32>
  affine.for %g = 0 to 2 {
    affine.for %c = 0 to 8 {
      affine.for %i = 0 to 18 {
        affine.for %j = 0 to 18 {
          %e = affine.load %x[%g, %c, %i, %j] : memref<2x8x18x18xf32>
          %n = arith.negf %e : f32
          affine.store %n, %p[%g, %c, %i, %j] : memref<2x8x18x18xf32>
        }
      }
    }
  }
  %t = memref.alloc() : memref<2x12x16x16xf32>
  affine.for %g = 0 to 2 {
    affine.for %o = 0 to 12 {
      affine.for %i = 0 to 16 {
        affine.for %j = 0 to 16 {
          %0 = affine.for %c = 0 to 8 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %s = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %p[%g, %c, %i + %u, %j + %s]
                    : memref<2x8x18x18xf32>
                %f = affine.load %w[%g, %o, %c, %u, %s] : memref<2x12x8x3x3xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %t[%g, %o, %i, %j] : memref<2x12x16x16xf32>
        }
      }
    }
  }
  affine.for %g = 0 to 2 {
    affine.for %o = 0 to 12 {
      affine.for %i = 0 to 16 {
        affine.for %j = 0 to 16 {
          %e = affine.load %t[%g, %o, %i, %j] : memref<2x12x16x16xf32>
          affine.store %e, %r[%g, %o, %i, %j] : memref<2x12x16x16xf32>
        }
      }
    }
  }
  return
}

// The buffer changes; the loops of the nest that sums up along its rows do not.
// CHECK-LABEL: func @carried
//       CHECK: %[[P:.+]] = memref.alloc() : memref<16x16x8xf32>
//       CHECK: affine.store %{{.+}}, %[[P]]
//       CHECK: affine.for %[[C:.+]] = 0 to 8
//  CHECK-NEXT: affine.for %[[I:.+]] = 1 to 16
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 16
//  CHECK-NEXT: affine.load %[[P]][%[[I]] - 1, %[[J]], %[[C]]]
//       CHECK: return
func.func @carried(%x: memref<8x16x16xf32>,
                   %w: memref<12x8x3x3xf32> {polynest.constant},
                   %r: memref<12x14x14xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<8x16x16xf32>
  affine.for %c = 0 to 8 {
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 16 {
        %e = affine.load %x[%c, %i, %j] : memref<8x16x16xf32>
        affine.store %e, %p[%c, %i, %j] : memref<8x16x16xf32>
      }
    }
  }
  affine.for %c = 0 to 8 {
    affine.for %i = 1 to 16 {
      affine.for %j = 0 to 16 {
        %e = affine.load %p[%c, %i - 1, %j] : memref<8x16x16xf32>
        %f = affine.load %p[%c, %i, %j] : memref<8x16x16xf32>
        %a = arith.addf %e, %f : f32
        affine.store %a, %p[%c, %i, %j] : memref<8x16x16xf32>
      }
    }
  }
  affine.for %o = 0 to 12 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %0 = affine.for %c = 0 to 8 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %s = 0 to 3 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%c, %i + %u, %j + %s] : memref<8x16x16xf32>
              %f = affine.load %w[%o, %c, %u, %s] : memref<12x8x3x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%o, %i, %j] : memref<12x14x14xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @rows
//       CHECK: memref.alloc() : memref<4x20x24xf32>
//       CHECK: %[[U:.+]] = memref.alloc() : memref<4x24x20xf32>
//       CHECK: affine.store %{{.+}}, %[[U]][%{{.+}}, %[[C:.+]], %[[S:.+]]]
//       CHECK: affine.load %[[U]][%{{.+}}, %[[C:.+]], %[[S:.+]]]
func.func @rows(%x: memref<4x20x8xf32>,
                %w: memref<24x8xf32> {polynest.constant},
                %r: memref<4x24x20xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x24x20xf32>
  affine.for %b = 0 to 4 {
    affine.for %s = 0 to 20 {
      affine.for %c = 0 to 24 {
        %0 = affine.for %k = 0 to 8 iter_args(%s0 = %zero) -> f32 {
          %d = affine.load %x[%b, %s, %k] : memref<4x20x8xf32>
          %f = affine.load %w[%c, %k] : memref<24x8xf32>
          %m = arith.mulf %d, %f : f32
          %a = arith.addf %s0, %m : f32
          affine.yield %a : f32
        }
        affine.store %0, %t[%b, %c, %s] : memref<4x24x20xf32>
      }
    }
  }
  %u = memref.alloc() : memref<4x24x20xf32>
  affine.for %b = 0 to 4 {
    affine.for %c = 0 to 24 {
      %row = memref.alloca() : memref<20xf32>
      affine.for %s = 0 to 20 {
        %d = affine.load %t[%b, %c, %s] : memref<4x24x20xf32>
        %e = math.exp %d : f32
        affine.store %e, %row[%s] : memref<20xf32>
      }
      affine.for %s = 0 to 20 {
        %e = affine.load %row[19 - %s] : memref<20xf32>
        affine.store %e, %u[%b, %c, %s] : memref<4x24x20xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %c = 0 to 24 {
      affine.for %s = 0 to 20 {
        %e = affine.load %u[%b, %c, %s] : memref<4x24x20xf32>
        %n = arith.negf %e : f32
        affine.store %n, %r[%b, %c, %s] : memref<4x24x20xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @window
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x16x16x24xf32>, %[[W:[a-z0-9]+]]: memref<3x25x3xf32>
//       CHECK: %[[T:.+]] = memref.alloc() {alignment = 64 : i64} : memref<3x3x24xf32>
//  CHECK-NEXT: affine.for %[[U:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[S:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 24
//  CHECK-NEXT: %[[E:.+]] = affine.load %[[W]][%[[S]], %[[C]] + 1, %[[U]]]
//  CHECK-NEXT: affine.store %[[E]], %[[T]][%[[U]], %[[S]], %[[C]]]
//       CHECK: affine.for %[[B:.+]] = 0 to
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 14
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 14
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 24
//  CHECK-NEXT: affine.for %[[U:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[S:.+]] = 0 to 3
//   CHECK-NOT: affine.load %[[W]]
//       CHECK: affine.load %[[T]][%[[U]], %[[S]], %[[C]]]
//       CHECK: return
func.func @window(%x: memref<?x16x16x24xf32>, %w: memref<3x25x3xf32> {polynest.constant},
                 %r: memref<?x14x14x24xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %b = 0 to %n {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        affine.for %c = 0 to 24 {
          %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %s = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %d = affine.load %x[%b, %i + %u, %j + %s, %c] : memref<?x16x16x24xf32>
              %f = affine.load %w[%s, %c + 1, %u] : memref<3x25x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s1, %m : f32
              affine.yield %a : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%b, %i, %j, %c] : memref<?x14x14x24xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @rounded
//       CHECK: memref.alloc() : memref<14x14x8xbf16>
func.func @rounded(%x: memref<8x14x14xbf16>, %w: memref<16x8xf32> {polynest.constant}, %r: memref<16x14x14xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x14x14xbf16>
  affine.for %c = 0 to 8 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %a = affine.load %x[%c, %i, 13 - %j] : memref<8x14x14xbf16>
        affine.store %a, %t[%c, %i, %j] : memref<8x14x14xbf16>
      }
    }
  }
  %v = memref.alloc() : memref<16x8xbf16>
  affine.for %o = 0 to 16 {
    affine.for %c = 0 to 8 {
      %a = affine.load %w[%o, %c] : memref<16x8xf32>
      %b = arith.truncf %a : f32 to bf16
      affine.store %b, %v[%o, %c] : memref<16x8xbf16>
    }
  }
  affine.for %o = 0 to 16 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %s = affine.for %c = 0 to 8 iter_args(%sum = %zero) -> f32 {
          %a = affine.load %t[%c, %i, %j] : memref<8x14x14xbf16>
          %wide = arith.extf %a : bf16 to f32
          %b = affine.load %v[%o, %c] : memref<16x8xbf16>
          %weight = arith.extf %b : bf16 to f32
          %p = arith.mulf %wide, %weight : f32
          %d = arith.addf %sum, %p : f32
          affine.yield %d : f32
        }
        affine.store %s, %r[%o, %i, %j] : memref<16x14x14xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @patched
//       CHECK: memref.alloc() : memref<8x14x14xbf16>
func.func @patched(%x: memref<8x14x14xbf16>, %w: memref<16x8xf32> {polynest.constant}, %y: memref<16xbf16>, %r: memref<16x14x14xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x14x14xbf16>
  affine.for %c = 0 to 8 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %a = affine.load %x[%c, %i, 13 - %j] : memref<8x14x14xbf16>
        affine.store %a, %t[%c, %i, %j] : memref<8x14x14xbf16>
      }
    }
  }
  %v = memref.alloc() : memref<16x8xbf16>
  affine.for %o = 0 to 16 {
    affine.for %c = 0 to 8 {
      %a = affine.load %w[%o, %c] : memref<16x8xf32>
      %b = arith.truncf %a : f32 to bf16
      affine.store %b, %v[%o, %c] : memref<16x8xbf16>
    }
  }
  affine.for %o = 0 to 16 {
    %a = affine.load %y[%o] : memref<16xbf16>
    affine.store %a, %v[%o, 0] : memref<16x8xbf16>
  }
  affine.for %o = 0 to 16 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %s = affine.for %c = 0 to 8 iter_args(%sum = %zero) -> f32 {
          %a = affine.load %t[%c, %i, %j] : memref<8x14x14xbf16>
          %wide = arith.extf %a : bf16 to f32
          %b = affine.load %v[%o, %c] : memref<16x8xbf16>
          %weight = arith.extf %b : bf16 to f32
          %p = arith.mulf %wide, %weight : f32
          %d = arith.addf %sum, %p : f32
          affine.yield %d : f32
        }
        affine.store %s, %r[%o, %i, %j] : memref<16x14x14xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @patched_before
//       CHECK: memref.alloc() : memref<8x14x14xbf16>
func.func @patched_before(%x: memref<8x14x14xbf16>, %w: memref<16x8xf32> {polynest.constant}, %y: memref<16xbf16>, %r: memref<16x14x14xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x14x14xbf16>
  affine.for %c = 0 to 8 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %a = affine.load %x[%c, %i, 13 - %j] : memref<8x14x14xbf16>
        affine.store %a, %t[%c, %i, %j] : memref<8x14x14xbf16>
      }
    }
  }
  %v = memref.alloc() : memref<16x8xbf16>
  affine.for %o = 0 to 16 {
    %a = affine.load %y[%o] : memref<16xbf16>
    affine.store %a, %v[%o, 0] : memref<16x8xbf16>
  }
  affine.for %o = 0 to 16 {
    affine.for %c = 0 to 8 {
      %a = affine.load %w[%o, %c] : memref<16x8xf32>
      %b = arith.truncf %a : f32 to bf16
      affine.store %b, %v[%o, %c] : memref<16x8xbf16>
    }
  }
  affine.for %o = 0 to 16 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %s = affine.for %c = 0 to 8 iter_args(%sum = %zero) -> f32 {
          %a = affine.load %t[%c, %i, %j] : memref<8x14x14xbf16>
          %wide = arith.extf %a : bf16 to f32
          %b = affine.load %v[%o, %c] : memref<16x8xbf16>
          %weight = arith.extf %b : bf16 to f32
          %p = arith.mulf %wide, %weight : f32
          %d = arith.addf %sum, %p : f32
          affine.yield %d : f32
        }
        affine.store %s, %r[%o, %i, %j] : memref<16x14x14xf32>
      }
    }
  }
  return
}
