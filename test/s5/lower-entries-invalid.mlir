// Properties: an entry that has no description is refused, or one of other arguments
// (@more, @wraps).
// RUN: polynest-opt %s --polynest-lower-entries --split-input-file --verify-diagnostics

// expected-error@+1 {{entry was not described; run polynest-describe-entries first}}
llvm.func @ranks(%a: !llvm.ptr) -> i32 attributes {polynest.entry, polynest.symbol = "f", polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}

// -----

// expected-error@+1 {{entry was not described; run polynest-describe-entries first}}
llvm.func @symbol(%a: i64) -> i32 attributes {polynest.entry, polynest.arg_ranks = array<i64: -1>, polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}

// -----

// expected-error@+1 {{entry was not described; run polynest-describe-entries first}}
llvm.func @more(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64, %n: i64, %s: i64) -> i32 attributes {polynest.entry, polynest.symbol = "f", polynest.arg_ranks = array<i64: 2>, polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}

// -----

// 3 + 2 * (2^63 - 1) wraps around to 1.
// expected-error@+1 {{entry was not described; run polynest-describe-entries first}}
llvm.func @wraps(%a: i64) -> i32 attributes {polynest.entry, polynest.symbol = "f", polynest.arg_ranks = array<i64: 9223372036854775807>, polynest.arena_bytes = 0 : i64, polynest.state_bytes = 0 : i64} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
