/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/HalfFloat.h: functions that LLVM's code calls for what a processor
 * lacks: conversions of 16-bit floats, and powers with integer exponents.
 *
 * The names are those of GCC's support library, whose place this takes: code
 * compiled ahead of time needs libc alone, and older versions of that library
 * lack the functions for bf16.
 * Conversions round to nearest even, whatever the rounding mode, from the
 * source in one step; a NaN stays one and becomes quiet.
 * Threads: pure functions.
 */
#ifndef POLYNEST_RUNTIME_HALFFLOAT_H
#define POLYNEST_RUNTIME_HALFFLOAT_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

_Float16 __truncsfhf2(float value);
_Float16 __truncdfhf2(double value);
__bf16 __truncsfbf2(float value);
__bf16 __truncdfbf2(double value);
float __extendhfsf2(_Float16 value);
double __extendhfdf2(_Float16 value);
float __powisf2(float base, int exponent);
double __powidf2(double base, int exponent);

PN_EXTERN_C_END

#endif /* POLYNEST_RUNTIME_HALFFLOAT_H */
