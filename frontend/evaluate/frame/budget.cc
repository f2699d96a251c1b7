#include "frontend/evaluate/frame/budget.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/functions/functions.h"

namespace cleave::frontend {
namespace {

constexpr int64_t kMaxSteps = 2'000'000;
constexpr int64_t kMaxStepsAfterMistake = 20'000;  // To find further ones: to report one takes longer than a step.
constexpr int kMaxDepth = 2000;                    // Of expressions within calls: as deep as the stack allows.

}  // namespace

bool Budget::Exhausted(Span span, int64_t steps) {
  if (exhausted_) return true;
  if (reporter_.has_errors() && ++steps_after_mistake_ > kMaxStepsAfterMistake) return exhausted_ = true;
  std::string why;
  steps_ += steps;
  if (steps_ > kMaxSteps) why = absl::StrCat("expanding it takes more than ", FormatCount(kMaxSteps), " steps");
  if (ops_.graph().ops.size() > kMaxOps) why = absl::StrCat("it has more than ", FormatCount(kMaxOps), " ops");
  if (reporter_.depth() > static_cast<int>(kMaxCallDepth)) {
    why = absl::StrCat("functions call each other more than ", kMaxCallDepth, " deep");
  }
  if (depth_ > kMaxDepth) why = absl::StrCat("its expressions nest more than ", kMaxDepth, " deep through calls");
  if (why.empty()) return false;
  exhausted_ = true;
  reporter_.Report(Error(Code::kE0213, "the model is too large").At(span, absl::StrCat("given up here: ", why)));
  return true;
}

}  // namespace cleave::frontend
