# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a program of N nests, each of which reads the one before."""

import sys

count = int(sys.argv[1])
print("func.func @f(%a0: memref<64xf32>,")
print(f"             %a{count}: memref<64xf32> {{polynest.result}}) {{")
for i in range(1, count):
    print(f"  %a{i} = memref.alloc() : memref<64xf32>")
for i in range(count):
    print("  affine.for %i = 0 to 64 {")
    print(f"    %x = affine.load %a{i}[%i] : memref<64xf32>")
    print("    %y = math.absf %x : f32")
    print(f"    affine.store %y, %a{i + 1}[%i] : memref<64xf32>")
    print("  }")
print("  return\n}")
