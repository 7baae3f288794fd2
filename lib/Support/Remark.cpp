// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/Remark.cpp: remarks over MLIR's RemarkEngine.

#include "Support/Remark.h"

#include "Support/MlirBridge.h"
#include "mlir/CAPI/IR.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace polynest {
namespace {

/// Hands each remark to a C callback with its arguments as strings.
class CallbackStreamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  CallbackStreamer(pn_remark_fn callback, void *user)
      : callback(callback), user(user) {}

  void streamOptimizationRemark(const remark::detail::Remark &r) override {
    llvm::SmallVector<const char *, 8> keys, values;
    for (const remark::detail::Remark::Arg &a : r.getArgs()) {
      keys.push_back(a.key.c_str());
      values.push_back(a.val.c_str());
    }
    std::string pass = r.getCategoryName().str();
    std::string location;
    llvm::raw_string_ostream os(location);
    r.getLocation().print(os);
    callback(user, pass.c_str(), kindOf(r), location.c_str(), keys.data(),
             values.data(), keys.size());
  }

private:
  static pn_remark_kind_t kindOf(const remark::detail::Remark &r) {
    switch (r.getRemarkType()) {
    case llvm::remarks::Type::Passed:
      return PN_REMARK_APPLIED;
    case llvm::remarks::Type::Missed:
    case llvm::remarks::Type::Failure:
      return PN_REMARK_DECLINED;
    default:
      return PN_REMARK_ANALYSIS;
    }
  }

  pn_remark_fn callback;
  void *user;
};

} // namespace

remark::detail::InFlightRemark remark(RemarkKind kind, Location loc,
                                      llvm::StringRef pass,
                                      llvm::StringRef reason) {
  if (!remarksWanted(loc.getContext()))
    return {};
  auto opts = remark::RemarkOpts::name(pass).category(pass);
  auto start = [&]() -> remark::detail::InFlightRemark {
    switch (kind) {
    case RemarkKind::Applied:
      return remark::passed(loc, opts);
    case RemarkKind::Declined:
      return remark::missed(loc, opts);
    case RemarkKind::Analysis:
      return remark::analysis(loc, opts);
    }
    llvm_unreachable("all kinds are handled");
  };
  remark::detail::InFlightRemark result = start();
  result << arg("reason", reason);
  return result;
}

bool remarksWanted(MLIRContext *context) {
  return context->getRemarkEngine() != nullptr;
}

void installRemarkCallback(MLIRContext *context, pn_remark_fn callback,
                           void *user) {
  if (!callback) {
    context->setRemarkEngine(nullptr);
    return;
  }
  // `all` is only consulted for kinds that have a filter of their own.
  remark::RemarkCategories all{".*", ".*", ".*", ".*", ".*"};
  // Cannot fail: the streamer opens no file.
  (void)remark::enableOptimizationRemarks(
      *context, std::make_unique<CallbackStreamer>(callback, user),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
}

} // namespace polynest

void pn_mlir_set_remark_callback(MlirContext context, pn_remark_fn callback,
                                 void *user) {
  polynest::installRemarkCallback(unwrap(context), callback, user);
}
