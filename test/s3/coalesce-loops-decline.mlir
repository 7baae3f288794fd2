// Properties: two loops stay, with a remark, where one reads more or fewer columns
// than the other's rows have (@wide, @narrow), across (@across), from a column on
// (@shifted), with gaps (@gaps), a place that one alone moves (@row), or one whose
// variable is stored (@stored) or asked for (@asked); where the memref has a layout
// (@layout) or is made inside (@inside). No remark where something stands between
// the two (@between), a carried value is used there (@used), they do not begin at 0 by
// steps of 1 (@steps: declined) or run none or an unknown number of times (@unknown),
// or are done (@done).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-coalesce-loops))' --remarks-filter='.*' 2>%t.remarks > %t
// RUN: polynest-opt %s | diff - %t
// RUN: FileCheck %s --implicit-check-not=Passed --implicit-check-not=Missed < %t.remarks

// CHECK-COUNT-11: [Missed] coalesce-loops {{.*}}reason="something moves otherwise than in order"
func.func @wide(%x: memref<7x10xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%h, %w] : memref<7x10xf32>
    }
  }
  return
}

func.func @narrow(%x: memref<70xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%h * 8 + %w] : memref<70xf32>
    }
  }
  return
}

func.func @across(%x: memref<9x7xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%w, %h] : memref<9x7xf32>
    }
  }
  return
}

func.func @shifted(%x: memref<8x9xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 8 {
      affine.store %z, %x[%h, %w + 1] : memref<8x9xf32>
    }
  }
  return
}

func.func @gaps(%x: memref<14x9xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%h * 2, %w] : memref<14x9xf32>
    }
  }
  return
}

func.func @row(%x: memref<7x9xf32>, %y: memref<7xf32>) attributes {polynest.entry} {
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      %0 = affine.load %y[%h] : memref<7xf32>
      affine.store %0, %x[%h, %w] : memref<7x9xf32>
    }
  }
  return
}

func.func @stored(%x: memref<7x9xindex>) attributes {polynest.entry} {
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %w, %x[%h, %w] : memref<7x9xindex>
    }
  }
  return
}

func.func @asked(%x: memref<7x9xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.if affine_set<(d0) : (d0 - 3 >= 0)>(%w) {
        affine.store %z, %x[%h, %w] : memref<7x9xf32>
      }
    }
  }
  return
}

func.func @layout(%x: memref<7x9xf32, strided<[10, 1]>>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%h, %w] : memref<7x9xf32, strided<[10, 1]>>
    }
  }
  return
}

func.func @inside(%r: memref<7x9xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      %p = memref.alloca() : memref<7x9xf32>
      affine.store %z, %p[%h, %w] : memref<7x9xf32>
      %0 = affine.load %p[%h, %w] : memref<7x9xf32>
      affine.store %0, %r[%h, %w] : memref<7x9xf32>
    }
  }
  return
}

func.func @between(%x: memref<7x9xf32>, %y: memref<7xf32>) attributes {polynest.entry} {
  affine.for %h = 0 to 7 {
    %0 = affine.load %y[%h] : memref<7xf32>
    affine.for %w = 0 to 9 {
      affine.store %0, %x[%h, %w] : memref<7x9xf32>
    }
  }
  return
}

func.func @used(%x: memref<7x9xf32>, %r: memref<f32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %s = affine.for %h = 0 to 7 iter_args(%a = %z) -> f32 {
    %t = affine.for %w = 0 to 9 iter_args(%b = %a) -> f32 {
      %0 = affine.load %x[%h, %w] : memref<7x9xf32>
      %1 = arith.addf %b, %0 : f32
      %2 = arith.mulf %1, %a : f32
      affine.yield %2 : f32
    }
    affine.yield %t : f32
  }
  affine.store %s, %r[] : memref<f32>
  return
}

func.func @steps(%x: memref<7x9xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 1 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%h, %w] : memref<7x9xf32>
    }
  }
  return
}

func.func @unknown(%x: memref<7x?xf32>, %n: index) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to %n {
      affine.store %z, %x[%h, %w] : memref<7x?xf32>
    }
  }
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 0 {
      affine.store %z, %x[%h, %w] : memref<7x?xf32>
    }
  }
  return
}

func.func @done(%x: memref<7x9xf32>) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %h = 0 to 7 {
    affine.for %w = 0 to 9 {
      affine.store %z, %x[%h, %w] : memref<7x9xf32>
    } {polynest.vectorized}
  }
  return
}
