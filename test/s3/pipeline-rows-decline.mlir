// Properties: rows stay as they are, with the reason, where blocks would be too short
// (@few), what the last loop reads is written by another iteration (@shifted), by an
// earlier loop (@earlier), behind it for all rows (@shared), or lies behind the loop
// (@behind), where the next row reads what
// the last loop writes (@chained), where a row hands on an index (@handed) or sizes
// a buffer (@sized), and where something
// unknown is called (@called). What has another form gets no remark: loops of other steps
// (@steps), without functions (@plain), that do not stream (@kept), or short ones (@short).
// The first loop of a row stays where a row writes what the next one reads first (@written),
// or writes in front of it (@before), hands on an index (@index), or calls something unknown
// (@unknown); without a remark where it
// carries more than registers hold (@many), or others hold loops (@nested).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-pipeline-rows))' --remarks-filter='.*' 2>%t.remarks > %t
// RUN: polynest-opt %s | diff - %t
// RUN: FileCheck %s --implicit-check-not=Missed < %t.remarks

func.func private @any()

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="the rows are too few"
// 255 < 4 * 64.
func.func @few(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (255) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="the next row writes what the last loop reads"
func.func @shifted(%x: memref<300x1040xf32>, %r: memref<300x1040xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1040xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1040xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1040xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1040xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j + 1] : memref<1040xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1040xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="the next row writes what the last loop reads"
func.func @earlier(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      affine.vector_store %a, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="the next row writes what the last loop reads"
func.func @shared(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
  affine.parallel (%i) = (0) to (300) {
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="the next row writes what the last loop reads"
func.func @behind(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
    %p2 = affine.vector_load %e[512] : memref<1024xf32>, vector<16xf32>
    affine.vector_store %p2, %r[%i, 512] : memref<300x1024xf32>, vector<16xf32>
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="the next row touches what the last loop writes"
func.func @chained(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %old = affine.vector_load %r[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="a row hands on more than numbers"
func.func @handed(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}, %o: memref<300xindex>, %t: memref<300xindex> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %n = memref.load %o[%i] : memref<300xindex>
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
    memref.store %n, %t[%i] : memref<300xindex>
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="the size of a buffer is not known"
func.func @sized(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}, %o: memref<300xindex>) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %one = arith.constant 1.0 : f32
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %n = memref.load %o[%i] : memref<300xindex>
    %u = memref.alloc(%n) : memref<?xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      memref.store %one, %u[%i] : memref<?xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="what an operation touches is not known"
func.func @called(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    func.call @any() : () -> ()
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

func.func @steps(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 32 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

func.func @plain(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = arith.negf %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

func.func @kept(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      affine.vector_store %q, %r[%i, %j] : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// 1008 * 4 bytes.
func.func @short(%x: memref<300x1008xf32>, %r: memref<300x1008xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1008xf32>
    %m = affine.for %j = 0 to 1008 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1008xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1008 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1008xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1008xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1008 step 16 {
      %p = affine.vector_load %e[%j] : memref<1008xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1008xf32>, vector<16xf32>
    }
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="a row writes what the first loop of the next one reads"
func.func @written(%x: memref<300x1024xf32> {polynest.mutable}, %o: memref<300x16xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %m = affine.for %j = 0 to 1024 step 16 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.vector_store %s, %o[%i, 0] : memref<300x16xf32>, vector<16xf32>
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="a row writes before its first loop"
func.func @before(%x: memref<300x1024xf32>, %o: memref<300x16xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    affine.vector_store %zero, %o[%i, 0] : memref<300x16xf32>, vector<16xf32>
    %m = affine.for %j = 0 to 1024 step 16 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.vector_store %s, %o[%i, 0] : memref<300x16xf32>, vector<16xf32>
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="a row hands on more than numbers"
func.func @index(%x: memref<300x1024xf32>, %n: memref<300xindex>, %o: memref<300x16xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %m = affine.for %j = 0 to 1024 step 16 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %k = affine.load %n[%i] : memref<300xindex>
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    vector.store %s, %o[%k, %k] : memref<300x16xf32>, vector<16xf32>
  } {polynest.grain = 2 : i64}
  return
}

// CHECK: [Missed] pipeline-rows
// CHECK-SAME: reason="what an operation touches is not known"
func.func @unknown(%x: memref<300x1024xf32>, %o: memref<300x16xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %m = affine.for %j = 0 to 1024 step 16 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.vector_store %s, %o[%i, 0] : memref<300x16xf32>, vector<16xf32>
    func.call @any() : () -> ()
  } {polynest.grain = 2 : i64}
  return
}

// 6 + 3 values.
func.func @many(%x: memref<300x1024xf32>, %o: memref<300x16xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %m:6 = affine.for %j = 0 to 1024 step 16 iter_args(%c0 = %least, %c1 = %least, %c2 = %least, %c3 = %least, %c4 = %least, %c5 = %least) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c0 : vector<16xf32>
      affine.yield %c1, %c2, %c3, %c4, %c5, %b : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
    }
    %s:3 = affine.for %j = 0 to 1024 step 16 iter_args(%c0 = %zero, %c1 = %zero, %c2 = %zero) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>) {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m#5 : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      %b = arith.addf %p, %c0 : vector<16xf32>
      affine.yield %c1, %c2, %b : vector<16xf32>, vector<16xf32>, vector<16xf32>
    }
    affine.vector_store %s#2, %o[%i, 0] : memref<300x16xf32>, vector<16xf32>
  } {polynest.grain = 2 : i64}
  return
}

func.func @nested(%x: memref<300x1024xf32>, %o: memref<300x16xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %m = affine.for %j = 0 to 1024 step 16 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %k = 0 to 2 {
      affine.for %j = 0 to 4 {
        affine.vector_store %s, %o[%i, 0] : memref<300x16xf32>, vector<16xf32>
      }
    }
  } {polynest.grain = 2 : i64}
  return
}
