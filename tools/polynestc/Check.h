/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Check.h: the optimized program against the plainly lowered one, on
 * the same inputs.
 *
 * Usage: fill the first fields, pn_check_open once, pn_check_options any number
 * of times, pn_check_close in any case.
 */
#ifndef POLYNESTC_CHECK_H
#define POLYNESTC_CHECK_H

#include "Call.h"
#include "Session.h"

typedef struct pn_check {
  const pn_input_options_t *inputs;
  double reduction_length; /* 0: guessed */
  pn_stage_t stage;        /* past input: go through this stage's text */
  bool quiet;              /* do not report differences */
  /* Filled in. */
  pn_call_t start; /* inputs as they are before a call */
  pn_call_t want;  /* of the plain program */
  pn_call_t got;   /* of the last checked one */
  double worst;    /* largest difference in terms of its bound */
  bool differs;    /* the last run gave another result */
} pn_check_t;

/* Compiles and runs the plainly lowered program. */
pn_exit_t pn_check_open(pn_session_t *session, pn_check_t *check);

/* Compiles with `options`, runs on the same inputs and compares. Reports the
 * first element that differs, and then returns PN_EXIT_FAILURE. */
pn_exit_t pn_check_options(pn_session_t *session,
                           const pn_compile_options_t *options,
                           pn_check_t *check);

void pn_check_close(pn_check_t *check);

#endif /* POLYNESTC_CHECK_H */
