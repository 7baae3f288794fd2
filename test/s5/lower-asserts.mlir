// Properties: a failed assertion returns its number, counted from 1 by first
// appearance, and equal messages share one (@entry); the status of a kernel is
// handed on (@caller); an entry without assertion returns 0 (@plain). What has
// no status is left (@other), also by a second run.
// RUN: polynest-opt %s --polynest-lower-asserts > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --polynest-lower-asserts | FileCheck %s --check-prefix=TWICE
// TWICE-LABEL: func @entry
// TWICE-SAME: -> i32
//      TWICE: return

// CHECK: module attributes {polynest.asserts = ["first", "second", "in kernel"]}

// CHECK-LABEL: func @entry
//  CHECK-SAME: (%[[P:.+]]: i1, %[[Q:.+]]: i1) -> i32
//       CHECK: cf.cond_br %[[P]], ^[[NEXT:.+]], ^[[FAIL1:.+]]
//       CHECK: ^[[NEXT]]:
//       CHECK: cf.cond_br %[[Q]], ^[[LAST:.+]], ^[[FAIL2:.+]]
//       CHECK: ^[[LAST]]:
//       CHECK: cf.cond_br %[[P]], ^[[END:.+]], ^[[FAIL3:.+]]
//       CHECK: ^[[END]]:
//       CHECK: %[[OK:.+]] = arith.constant 0 : i32
//       CHECK: return %[[OK]]
//       CHECK: ^[[FAIL1]]:
//       CHECK: %[[ONE:.+]] = arith.constant 1 : i32
//       CHECK: return %[[ONE]]
//       CHECK: ^[[FAIL2]]:
//       CHECK: %[[TWO:.+]] = arith.constant 2 : i32
//       CHECK: return %[[TWO]]
//       CHECK: ^[[FAIL3]]:
//       CHECK: %[[SAME:.+]] = arith.constant 1 : i32
//       CHECK: return %[[SAME]]
func.func @entry(%p: i1, %q: i1) attributes {polynest.entry} {
  cf.assert %p, "first"
  cf.assert %q, "second"
  cf.assert %p, "first"
  return
}

// CHECK-LABEL: func @caller
//       CHECK: %[[STATUS:.+]] = call @kernel(%{{.+}}) : (i1) -> i32
//       CHECK: %[[ZERO:.+]] = arith.constant 0 : i32
//       CHECK: %[[OK:.+]] = arith.cmpi eq, %[[STATUS]], %[[ZERO]]
//       CHECK: cf.cond_br %[[OK]], ^[[NEXT:.+]], ^[[FAIL:.+]]
//       CHECK: ^[[NEXT]]:
//       CHECK: return
//       CHECK: ^[[FAIL]]:
//       CHECK: return %[[STATUS]] : i32
func.func @caller(%p: i1) attributes {polynest.entry} {
  func.call @kernel(%p) : (i1) -> ()
  return
}

// CHECK-LABEL: func private @kernel
//  CHECK-SAME: -> i32
//       CHECK: cf.cond_br
//       CHECK: arith.constant 3 : i32
func.func private @kernel(%p: i1) attributes {polynest.kernel} {
  cf.assert %p, "in kernel"
  return
}

// CHECK-LABEL: func @plain
//       CHECK: %[[ZERO:.+]] = arith.constant 0 : i32
//  CHECK-NEXT: return %[[ZERO]] : i32
func.func @plain() attributes {polynest.entry} {
  return
}

// CHECK-LABEL: func @other
//       CHECK: cf.assert
//       CHECK: return
//   CHECK-NOT: i32
//       CHECK: }
func.func @other(%p: i1) {
  cf.assert %p, "not an entry"
  return
}
