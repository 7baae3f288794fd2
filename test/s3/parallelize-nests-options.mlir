// Properties: each option has a range, and takes effect.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{min-work-ns=1000000001}))' 2>&1 | FileCheck %s --check-prefix=WORK
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{frequency-mhz=0}))' 2>&1 | FileCheck %s --check-prefix=FREQUENCY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{collapse-below=65537}))' 2>&1 | FileCheck %s --check-prefix=COLLAPSE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{cache-size-kib=9999999999}))' 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{min-work-ns=-5}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{min-work-ns=1000000000}))' | FileCheck %s --check-prefix=SERIAL
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{collapse-below=0}))' | FileCheck %s --check-prefix=OUTER

//      WORK: option min-work-ns has value 1000000001; it must be 0 to 1000000000
// FREQUENCY: option frequency-mhz has value 0; it must be 1 to 100000
//  COLLAPSE: option collapse-below has value 65537; it must be 0 to 65536
//     CACHE: option cache-size-kib has value 9999999999; it must be 0 to 1048576
//  NEGATIVE: '-5' value invalid

// SERIAL-LABEL: func @rows
//   SERIAL-NOT: affine.parallel
//       SERIAL: return
// OUTER-LABEL: func @rows
//       OUTER: affine.parallel (%{{.+}}) = (0) to (4)
//       OUTER: return
func.func @rows(%o: memref<4x300x1000xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 300 {
      affine.for %k = 0 to 1000 {
        %a = affine.load %o[%i, %j, %k] : memref<4x300x1000xf32>
        %b = math.exp %a : f32
        affine.store %b, %o[%i, %j, %k] : memref<4x300x1000xf32>
      }
    }
  }
  return
}
