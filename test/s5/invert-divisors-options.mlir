// Properties: each option of polynest-invert-divisors has a range, which the error
// names.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{vector-width-bits=0}))' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{fma-ports=0}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{fma-ports=17}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{divide-cycles=257}))' 2>&1 | FileCheck %s --check-prefix=CYCLES

// WIDTH: option vector-width-bits has value 0; it must be 64 to 2048
// PORTS: option fma-ports has value {{0|17}}; it must be 1 to 16
// CYCLES: option divide-cycles has value 257; it must be 0 to 256
func.func @f() {
  return
}
