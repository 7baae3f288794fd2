// Properties: an entry gets its five C symbols (@entry), of which the packed
// one reads a descriptor of rank 1 field by field; a call of a kernel with a
// grain is a parallel loop over a block of captures, one without stays a call
// (@parallel); malloc is pn_rt_alloc of the call's context, which allocating
// kernels get handed, with an early return of -1 where memory is short, and
// free is dropped (@alloc), while a parallel kernel gives back what it allocates
// first (@own); a boolean is a byte, the arena is asked of the
// context (@values); sizes of results are stored one by one, of
// inputs only those that are read are loaded (@shapes); the
// description carries the messages of assertions, escaped. What takes addresses
// gets the aligned pointer of each descriptor, the state and the arena, and
// noalias stands where it belongs (@bare). What fills the state is cold, and so
// are kernels that nothing else calls and that name no instruction (@fill).
// RUN: polynest-opt %s --split-input-file --polynest-lower-entries | FileCheck %s

// CHECK: llvm.mlir.global external constant @polynest_info("polynest 2\0Aentry entry arena 0\0Ain f32 1 4\0A\00")
// CHECK-LABEL: llvm.func internal @entry.body
// CHECK-SAME: attributes {dso_local,
// CHECK-LABEL: llvm.func @entry_packed(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr) -> i32
//       CHECK: %[[D:.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.ptr
// Allocated and aligned pointer, offset, size and stride: 8 bytes each, of which
// the body uses two.
//       CHECK: %[[Q:.+]] = llvm.getelementptr %[[D]][8]
//       CHECK: %[[B:.+]] = llvm.load %[[Q]]
//   CHECK-NOT: llvm.load
//       CHECK: %[[R:.+]] = llvm.getelementptr %[[D]][24]
//       CHECK: %[[N:.+]] = llvm.load %[[R]]
//   CHECK-NOT: llvm.load
//       CHECK: %[[S:.+]] = llvm.call @entry.body(%[[B]], %[[N]])
//       CHECK: llvm.return %[[S]] : i32
// CHECK-LABEL: llvm.func @entry(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr) -> i32
//       CHECK: llvm.call @entry_packed(
// CHECK-LABEL: llvm.func @entry_state_size() -> i64
//       CHECK: llvm.mlir.constant(0 : i64)
// CHECK-LABEL: llvm.func @entry_init(
//       CHECK: llvm.mlir.constant(0 : i32)
module attributes {polynest.info = "entry entry arena 0\0Ain f32 1 4\0A"} {
  llvm.func @entry.body(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64, %n: i64, %s: i64) -> i32
      attributes {polynest.entry, polynest.symbol = "entry",
                  polynest.arg_ranks = array<i64: 1>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
    llvm.store %n, %b : i64, !llvm.ptr
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

// -----

// What fills the state is called like the packed one, with constants for
// arguments; nothing is read of a constant that the entry does not use.
// CHECK-LABEL: llvm.func internal @c.body
//   CHECK-NOT: cold
// CHECK-LABEL: llvm.func internal @fill.body
//  CHECK-SAME: passthrough = ["cold"]
// CHECK-LABEL: llvm.func @c_packed(
//  CHECK-SAME: %{{.+}}: !llvm.ptr, %[[STATE:[a-z0-9]+]]: !llvm.ptr, %{{.+}}: !llvm.ptr) -> i32
//   CHECK-NOT: llvm.load
//       CHECK: %[[BYTES:.+]] = llvm.mlir.constant(128 : i64)
//       CHECK: llvm.call @c.body(%[[STATE]], %[[BYTES]])
// CHECK-LABEL: llvm.func @c_state_size() -> i64
//       CHECK: llvm.mlir.constant(128 : i64)
// CHECK-LABEL: llvm.func @c_init(
//  CHECK-SAME: %{{.+}}: !llvm.ptr, %[[STATE:[a-z0-9]+]]: !llvm.ptr, %{{.+}}: !llvm.ptr) -> i32
//  CHECK-SAME: passthrough = ["cold"]
//       CHECK: llvm.load
//       CHECK: llvm.call @fill.body(%{{.+}}, %[[STATE]], %{{.+}})
module {
  llvm.func @c.body(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64,
                    %c: !llvm.ptr, %d: !llvm.ptr, %p: i64, %n: i64, %s: i64) -> i32
      attributes {polynest.entry, polynest.symbol = "c",
                  polynest.arg_ranks = array<i64: 0, -3>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 128 : i64} {
    llvm.store %n, %d : i64, !llvm.ptr
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
  llvm.func @fill.body(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64,
                       %c: !llvm.ptr, %d: !llvm.ptr, %p: i64, %n: i64, %s: i64) -> i32
      attributes {polynest.entry, polynest.init = @c.body, polynest.symbol = "c",
                  polynest.arg_ranks = array<i64: 0, -3>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 128 : i64} {
    llvm.store %n, %b : i64, !llvm.ptr
    llvm.store %n, %d : i64, !llvm.ptr
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

// -----

// CHECK-LABEL: llvm.func internal @c.body
// CHECK-LABEL: llvm.func internal @fill.body
//  CHECK-SAME: passthrough = ["cold"]
// CHECK-LABEL: llvm.func internal @once.body
//  CHECK-SAME: passthrough = ["cold"]
// CHECK-LABEL: llvm.func internal @both.body
//   CHECK-NOT: cold
// CHECK-LABEL: llvm.func internal @named.body
//   CHECK-NOT: cold
// CHECK-LABEL: llvm.func @c_packed(
module {
  llvm.func @c.body(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64,
                    %c: !llvm.ptr, %d: !llvm.ptr, %p: i64, %n: i64, %s: i64) -> i32
      attributes {polynest.entry, polynest.symbol = "c",
                  polynest.arg_ranks = array<i64: 0, -3>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 128 : i64} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %1 = llvm.call @both.body(%a) : (!llvm.ptr) -> i32
    llvm.return %0 : i32
  }
  llvm.func @fill.body(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64,
                       %c: !llvm.ptr, %d: !llvm.ptr, %p: i64, %n: i64, %s: i64) -> i32
      attributes {polynest.entry, polynest.init = @c.body, polynest.symbol = "c",
                  polynest.arg_ranks = array<i64: 0, -3>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 128 : i64} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %1 = llvm.call @once.body(%a) : (!llvm.ptr) -> i32
    %2 = llvm.call @both.body(%a) : (!llvm.ptr) -> i32
    %3 = llvm.call @named.body(%a) : (!llvm.ptr) -> i32
    llvm.return %0 : i32
  }
  llvm.func @once.body(%a: !llvm.ptr) -> i32 attributes {polynest.kernel} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.store %0, %a : i32, !llvm.ptr
    llvm.return %0 : i32
  }
  llvm.func @both.body(%a: !llvm.ptr) -> i32 attributes {polynest.kernel} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    llvm.store %0, %a : i32, !llvm.ptr
    llvm.return %0 : i32
  }
  llvm.func @named.body(%a: !llvm.ptr) -> i32 attributes {polynest.kernel} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.call_intrinsic "llvm.x86.sse.sfence"() : () -> ()
    llvm.return %0 : i32
  }
}

// -----

// CHECK-LABEL: llvm.func internal @p.body
//       CHECK: %[[ARGS:.+]] = llvm.alloca %{{.+}} x !llvm.struct<(ptr, i64)>
//       CHECK: llvm.call @serial.body(
//       CHECK: %[[F0:.+]] = llvm.getelementptr %[[ARGS]][0, 0]
//       CHECK: llvm.store %{{.+}}, %[[F0]]
//       CHECK: %[[F1:.+]] = llvm.getelementptr %[[ARGS]][0, 1]
//       CHECK: llvm.store %{{.+}}, %[[F1]]
//       CHECK: %[[CHUNK:.+]] = llvm.mlir.addressof @kernel.body_chunk
//       CHECK: %[[GRAIN:.+]] = llvm.mlir.constant(16 : i64)
//       CHECK: %[[S:.+]] = llvm.call @pn_parallel_for(%[[CHUNK]], %[[ARGS]], %{{.+}}, %{{.+}}, %[[GRAIN]])
//       CHECK: llvm.return %[[S]]
// CHECK-LABEL: llvm.func internal @kernel.body
// CHECK-LABEL: llvm.func internal @serial.body
// CHECK-LABEL: llvm.func internal @kernel.body_chunk(
//  CHECK-SAME: %[[BLOCK:[a-z0-9]+]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64, %[[END:[a-z0-9]+]]: i64
//       CHECK: llvm.getelementptr %[[BLOCK]][0, 0]
//       CHECK: llvm.getelementptr %[[BLOCK]][0, 1]
//       CHECK: llvm.call @kernel.body(%[[BEGIN]], %[[END]], %{{.+}}, %{{.+}})
module {
  llvm.func @p.body(%a: !llvm.ptr, %n: i64) -> i32
      attributes {polynest.entry, polynest.symbol = "p",
                  polynest.arg_ranks = array<i64: -1, -1>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
    %0 = llvm.mlir.constant(0 : i64) : i64
    %t = llvm.call @serial.body(%n) : (i64) -> i32
    %s = llvm.call @kernel.body(%0, %n, %a, %n) : (i64, i64, !llvm.ptr, i64) -> i32
    llvm.return %s : i32
  }
  llvm.func @kernel.body(%b: i64, %e: i64, %a: !llvm.ptr, %n: i64) -> i32
      attributes {polynest.kernel, polynest.grain = 16 : i64,
                  polynest.arg_ranks = array<i64: -1, -1, -1, -1>,
                  polynest.distinct = array<i64>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
  llvm.func @serial.body(%n: i64) -> i32 attributes {polynest.kernel} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

// -----

// The pointer that overlaps nothing is the second field of its descriptor.
// CHECK-LABEL: llvm.func internal @n_kernel.body(
//  CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: i64, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: i64
module {
  llvm.func @n_kernel.body(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64,
                           %c: !llvm.ptr, %d: !llvm.ptr, %p: i64) -> i32
      attributes {polynest.kernel, polynest.arg_ranks = array<i64: 0, 0>,
                  polynest.distinct = array<i64: 1>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

// -----

// CHECK-LABEL: llvm.func internal @alloc.body(
//  CHECK-SAME: %{{[a-z0-9]+}}: i64, %[[CTX:[a-z0-9]+]]: !llvm.ptr
//       CHECK: %[[M:.+]] = llvm.call @pn_rt_alloc(%[[CTX]], %{{.+}})
//       CHECK: %[[NULL:.+]] = llvm.mlir.zero : !llvm.ptr
//       CHECK: %[[FAILED:.+]] = llvm.icmp "eq" %[[M]], %[[NULL]]
//       CHECK: llvm.cond_br %[[FAILED]], ^[[FAIL:.+]], ^[[NEXT:.+]]
//       CHECK: ^[[NEXT]]:
//       CHECK: llvm.store %{{.+}}, %[[M]]
//       CHECK: llvm.call @scratch.body(%{{.+}}, %[[CTX]])
//   CHECK-NOT: llvm.call @free
//       CHECK: llvm.return
//       CHECK: ^[[FAIL]]:
//       CHECK: %[[STATUS:.+]] = llvm.mlir.constant(-1 : i32)
//       CHECK: llvm.return %[[STATUS]]
// CHECK-LABEL: llvm.func internal @scratch.body(
//       CHECK: llvm.call @pn_rt_alloc
// CHECK-LABEL: llvm.func @alloc_packed(
//       CHECK: llvm.call @alloc.body(
//       CHECK: llvm.call @pn_rt_context_reset(
//       CHECK: llvm.return
module {
  llvm.func @malloc(i64) -> !llvm.ptr
  llvm.func @free(!llvm.ptr)
  llvm.func @alloc.body(%n: i64) -> i32
      attributes {polynest.entry, polynest.symbol = "alloc",
                  polynest.arg_ranks = array<i64: -1>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
    %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
    llvm.store %n, %p : i64, !llvm.ptr
    %s = llvm.call @scratch.body(%n) : (i64) -> i32
    llvm.call @free(%p) : (!llvm.ptr) -> ()
    llvm.return %s : i32
  }
  llvm.func @scratch.body(%n: i64) -> i32
      attributes {polynest.kernel, polynest.arg_ranks = array<i64: -1>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
    llvm.store %n, %p : i64, !llvm.ptr
    llvm.return %0 : i32
  }
}

// -----

// CHECK-LABEL: llvm.func internal @own_kernel.body(
//  CHECK-SAME: %[[CTX:[a-z0-9]+]]: !llvm.ptr)
//       CHECK: %[[A:.+]] = llvm.call @pn_rt_alloc(%[[CTX]], %{{.+}})
//       CHECK: %[[B:.+]] = llvm.call @pn_rt_alloc(%[[CTX]], %{{.+}})
//       CHECK: llvm.store
//       CHECK: %[[LATER:.+]] = llvm.call @pn_rt_alloc(%[[CTX]], %{{.+}})
//       CHECK: llvm.call @pn_rt_free(%[[CTX]], %[[A]])
//  CHECK-NEXT: llvm.call @pn_rt_free(%[[CTX]], %[[B]])
//  CHECK-NEXT: llvm.return
module {
  llvm.func @malloc(i64) -> !llvm.ptr
  llvm.func @own.body(%n: i64) -> i32
      attributes {polynest.entry, polynest.symbol = "own",
                  polynest.arg_ranks = array<i64: -1>,
                  polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
    %0 = llvm.mlir.constant(0 : i64) : i64
    %s = llvm.call @own_kernel.body(%0, %n, %n) : (i64, i64, i64) -> i32
    llvm.return %s : i32
  }
  llvm.func @own_kernel.body(%b: i64, %e: i64, %n: i64) -> i32
      attributes {polynest.kernel, polynest.grain = 1 : i64,
                  polynest.arg_ranks = array<i64: -1>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
    %q = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
    llvm.store %n, %p : i64, !llvm.ptr
    llvm.store %n, %q : i64, !llvm.ptr
    llvm.br ^loop
  ^loop:
    %r = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
    llvm.store %n, %r : i64, !llvm.ptr
    llvm.return %0 : i32
  }
}

// -----

// CHECK-LABEL: llvm.func @values_packed(
//  CHECK-SAME: %[[CTX:[a-z0-9]+]]: !llvm.ptr, %[[ARGS:[a-z0-9]+]]: !llvm.ptr
//       CHECK: %[[BYTE:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i8
//       CHECK: %[[ZERO:.+]] = llvm.mlir.constant(0 : i8)
//       CHECK: %[[BOOL:.+]] = llvm.icmp "ne" %[[BYTE]], %[[ZERO]]
//       CHECK: llvm.call @pn_rt_arena(%[[CTX]], %{{.+}})
//       CHECK: llvm.call @values.body(%[[BOOL]], %{{.+}})
// The arena is no argument of the caller's.
// CHECK-LABEL: llvm.func @values(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr) -> i32
module {
  llvm.func @values.body(%p: i1, %a: !llvm.ptr, %b: !llvm.ptr, %o: i64, %n: i64, %s: i64) -> i32
      attributes {polynest.entry, polynest.symbol = "values",
                  polynest.arg_ranks = array<i64: -1, -2>,
                  polynest.arena_bytes = 192 : i64, polynest.state_bytes = 0 : i64} {
    llvm.store %p, %b : i1, !llvm.ptr
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

// -----

// CHECK-LABEL: llvm.func @s_shapes(
//  CHECK-SAME: %[[DIMS:[a-z0-9]+]]: !llvm.ptr, %[[OUT:[a-z0-9]+]]: !llvm.ptr)
//       CHECK: %[[P0:.+]] = llvm.getelementptr %[[DIMS]][0]
//       CHECK: %[[A:.+]] = llvm.load %[[P0]]
//       CHECK: %[[P2:.+]] = llvm.getelementptr %[[DIMS]][16]
//       CHECK: %[[B:.+]] = llvm.load %[[P2]]
//       CHECK: %[[R:.+]] = llvm.call @s_shapes.body(%[[A]], %[[B]])
//       CHECK: %[[R0:.+]] = llvm.extractvalue %[[R]][0]
//       CHECK: %[[Q0:.+]] = llvm.getelementptr %[[OUT]][0]
//       CHECK: llvm.store %[[R0]], %[[Q0]]
//       CHECK: %[[R1:.+]] = llvm.extractvalue %[[R]][1]
//       CHECK: %[[Q1:.+]] = llvm.getelementptr %[[OUT]][8]
//       CHECK: llvm.store %[[R1]], %[[Q1]]
module {
  llvm.func @s_shapes.body(%a: i64, %n: i64, %b: i64) -> !llvm.struct<(i64, i64)>
      attributes {polynest.shapes, polynest.symbol = "s"} {
    %u = llvm.mlir.poison : !llvm.struct<(i64, i64)>
    %v = llvm.insertvalue %a, %u[0] : !llvm.struct<(i64, i64)>
    %w = llvm.insertvalue %b, %v[1] : !llvm.struct<(i64, i64)>
    llvm.return %w : !llvm.struct<(i64, i64)>
  }
}

// -----

// A line end and a backslash in a message are two characters each.
// CHECK: @polynest_info("polynest 2\0Aassert a\\nb\\\\c\0A\00")
module attributes {polynest.asserts = ["a\nb\\c"]} {
}

// -----

// CHECK-LABEL: llvm.func internal @bare_kernel0.body(
//  CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: f32)
// CHECK-LABEL: llvm.func @bare_packed(
//  CHECK-SAME: %{{.+}}: !llvm.ptr, %[[STATE:[a-z0-9]+]]: !llvm.ptr, %[[ARGS:[a-z0-9]+]]: !llvm.ptr) -> i32
// The first argument: its descriptor, and the pointer at byte 8 of it.
//       CHECK: %[[SLOT:.+]] = llvm.getelementptr %[[ARGS]][0]
//       CHECK: %[[D:.+]] = llvm.load %[[SLOT]]
//       CHECK: %[[FIELD:.+]] = llvm.getelementptr %[[D]][8]
//       CHECK: %[[A:.+]] = llvm.load %[[FIELD]] : !llvm.ptr -> !llvm.ptr
// The second is a scalar.
//  CHECK-NEXT: %[[SLOT1:.+]] = llvm.getelementptr %[[ARGS]][8]
//  CHECK-NEXT: %[[D1:.+]] = llvm.load %[[SLOT1]]
//  CHECK-NEXT: %[[S:.+]] = llvm.load %[[D1]] : !llvm.ptr -> f32
//       CHECK: %[[ARENA:.+]] = llvm.call @pn_rt_arena(
//       CHECK: llvm.call @bare.body(%[[A]], %[[S]], %[[STATE]], %[[ARENA]])
module {
  llvm.func @bare_kernel0.body(%a: !llvm.ptr, %b: !llvm.ptr, %s: f32) -> i32
      attributes {polynest.kernel, llvm.bareptr, polynest.arg_ranks = array<i64: 2, 1, -1>,
                  polynest.distinct = array<i64: 1>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
  llvm.func @bare.body(%a: !llvm.ptr, %s: f32, %state: !llvm.ptr, %arena: !llvm.ptr) -> i32
      attributes {polynest.entry, polynest.symbol = "bare", llvm.bareptr,
                  polynest.arg_ranks = array<i64: 2, -1, -3, -2>,
                  polynest.arena_bytes = 64 : i64, polynest.state_bytes = 128 : i64} {
    llvm.store %s, %state : f32, !llvm.ptr
    %0 = llvm.call @bare_kernel0.body(%a, %arena, %s) : (!llvm.ptr, !llvm.ptr, f32) -> i32
    llvm.return %0 : i32
  }
}
