// Properties: the description has one line an argument (@f), names that C does
// not take are replaced and kept in a line of their own (@"a b", @free), bytes
// of the arena come from its argument (@arena), a scalar and what may be
// written are told apart (@scalars), strides stand where the layout is not the
// identity (@strided). Functions and globals get names with a dot; ranks and
// what overlaps nothing are left on kernels. Functions of which all arguments
// have a static form take addresses, others do not, whatever the text said
// (@address). The target stands in front, where it is known (TARGET).
// RUN: polynest-opt %s --split-input-file --polynest-describe-entries="target=cpu:haswell features=avx2,f16c" | FileCheck %s --check-prefix=TARGET
// RUN: not polynest-opt %s --split-input-file --polynest-describe-entries="target=a;b" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not polynest-opt %s --split-input-file --polynest-describe-entries="features=avx2" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: polynest-opt %s --split-input-file --polynest-describe-entries | FileCheck %s

// NAME: error: target and features must be names of letters, digits and
// TARGET: polynest.info = "target cpu:haswell avx2 f16c\0Aentry f arena

// CHECK: module attributes {polynest.info = "entry f arena 0\0Ain f32 2 3 ?\0Aout i64 0\0A"}
// CHECK-LABEL: func @f.body
//  CHECK-SAME: polynest.arena_bytes = 0 : i64
//  CHECK-SAME: polynest.arg_ranks = array<i64: 2, 0>
//  CHECK-SAME: polynest.symbol = "f"
// CHECK-LABEL: func private @f_shapes.body
//  CHECK-SAME: polynest.symbol = "f"
func.func @f(%a: memref<3x?xf32>, %r: memref<i64> {polynest.result})
    attributes {polynest.entry} {
  return
}
func.func @f_shapes(%d: index) attributes {polynest.shapes} {
  return
}

// -----

// A word with a blank, a name of the C library, and one that both would take.
// CHECK: polynest.info = "entry entry_a_b arena 0\0Aname a b\0Aentry entry_free arena 0\0Aname free\0Aentry entry_a_b_2 arena 0\0Aname a-b\0A"
// CHECK: func @a_b.body
// CHECK: func @free.body
// CHECK: func @a_b_2.body
func.func @"a b"() attributes {polynest.entry} {
  return
}
func.func @free() attributes {polynest.entry} {
  return
}
func.func @"a-b"() attributes {polynest.entry} {
  return
}

// -----

// Six symbols belong to @g: g_init is one of them, so the other is renamed.
// CHECK: polynest.info = "entry g arena 0\0Aentry entry_g_init arena 0\0Aname g_init\0A"
func.func @g() attributes {polynest.entry} {
  return
}
func.func @g_init() attributes {polynest.entry} {
  return
}

// -----

// CHECK: polynest.info = "entry h arena 192\0Ain i8 1 4\0A"
// CHECK: polynest.arena_bytes = 192 : i64, polynest.arg_ranks = array<i64: 1, -2>
func.func @h(%a: memref<4xi8>, %t: memref<192xi8> {polynest.arena})
    attributes {polynest.entry} {
  return
}

// -----

// CHECK: polynest.info = "entry s arena 0\0Ain index 0 scalar\0Ain bf16 1 4\0Amutable\0Ain f32 2 ? 4 strides ? 1\0A"
// CHECK: polynest.arg_ranks = array<i64: -1, 1, 2>
func.func @s(%n: index, %a: memref<4xbf16> {polynest.mutable},
             %b: memref<?x4xf32, strided<[?, 1]>>)
    attributes {polynest.entry} {
  return
}

// -----

// CHECK: polynest.info = "entry e arena 0\0A"
// CHECK: memref.global "private" constant @table.data : memref<2xf32>
// CHECK: func @e.body
// CHECK:   memref.get_global @table.data
// CHECK:   call @e_kernel0.body
// CHECK: func private @e_kernel0.body
// CHECK-SAME: polynest.arg_ranks = array<i64: -1, -1, 1, 1>, polynest.distinct = array<i64: 3>
memref.global constant @table : memref<2xf32> = dense<1.0>
func.func @e() attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = memref.get_global @table : memref<2xf32>
  %r = memref.alloc() : memref<2xf32>
  func.call @e_kernel0(%c0, %c2, %t, %r)
    : (index, index, memref<2xf32>, memref<2xf32>) -> ()
  return
}
func.func private @e_kernel0(%b: index, %e: index, %t: memref<2xf32>,
                             %r: memref<2xf32> {llvm.noalias})
    attributes {polynest.kernel, polynest.grain = 1 : i64} {
  return
}

// -----

// A constant that calls read and one that only what fills the state reads; the
// latter function has the entry's symbol and no description.
// CHECK: polynest.info = "entry w arena 0\0Astate 128\0Ain f32 1 4\0Aconstant read\0Ain f32 1 4\0Aconstant unread\0A"
// CHECK: func @w.body
// CHECK: polynest.arg_ranks = array<i64: 1, 1, -3>
// CHECK-SAME: polynest.state_bytes = 128 : i64
// CHECK-SAME: polynest.symbol = "w"
// CHECK: func @w_init.body
// CHECK-SAME: polynest.init = @w.body
// CHECK-SAME: polynest.symbol = "w"
func.func @w(%a: memref<4xf32> {polynest.constant},
             %b: memref<4xf32> {polynest.constant},
             %s: memref<128xi8> {polynest.state}) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<4xf32>
  return
}
func.func @w_init(%a: memref<4xf32> {polynest.constant},
                  %b: memref<4xf32> {polynest.constant},
                  %s: memref<128xi8> {polynest.state})
    attributes {polynest.entry, polynest.init = @w} {
  return
}

// -----

// CHECK: func @address.body
// CHECK-SAME: llvm.bareptr
// CHECK: func private @address_kernel0.body
// CHECK-SAME: llvm.bareptr
// CHECK: func private @address_kernel1.body
// CHECK-NOT: llvm.bareptr
// CHECK: func private @address_kernel2.body
// CHECK-NOT: llvm.bareptr
// CHECK: func @sizes.body
// CHECK-NOT: llvm.bareptr
// CHECK: func private @address_shapes.body
// CHECK-NOT: llvm.bareptr
// CHECK: return
func.func @address(%a: memref<4x3xf32>, %n: i64,
                   %r: memref<4x3xf32, strided<[6, 2]>> {polynest.result})
    attributes {polynest.entry} {
  return
}
func.func private @address_kernel0(%b: index, %e: index, %r: memref<4x3xf32, strided<[6, 2], offset: 1>>)
    attributes {polynest.kernel, polynest.grain = 1 : i64} {
  return
}
func.func private @address_kernel1(%a: memref<4x?xf32>) attributes {polynest.kernel, llvm.bareptr} {
  return
}
func.func private @address_kernel2(%a: memref<4xf32, strided<[1], offset: ?>>)
    attributes {polynest.kernel} {
  return
}
func.func @sizes(%a: memref<4xf32>, %b: memref<?xf32>) attributes {polynest.entry, llvm.bareptr} {
  return
}
func.func private @address_shapes(%a: memref<4xf32>) attributes {llvm.bareptr} {
  return
}

// -----

// A module without entries has an empty description.
// CHECK: module attributes {polynest.info = ""}
func.func private @nothing()
