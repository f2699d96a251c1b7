#include "frontend/report/report.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave::frontend {

Span Reporter::UserPlace(Span span) const {
  if (IsUserPlace(span)) return span;
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (IsUserPlace(call->call)) return call->call;
  }
  return span;
}

int Reporter::Line(Span span) const {
  return IsUserPlace(span) ? sources_.file(*span.file).Locate(span.begin).line : 0;
}

int Reporter::ModelLine(Span span) const { return calls_.empty() ? Line(span) : Line(calls_.front().call); }

void Reporter::Report(Diagnostic diagnostic) {
  if (is_muted_) return;
  // A place on the command line is shown where the message does not begin with the argument.
  const auto is_argument = [&](const Label& label) {
    return context_.empty() && sources_.IsIn(TextOrigin::kCommandLine, label.span);
  };
  const bool elsewhere = !diagnostic.labels.empty() && !IsUserPlace(diagnostic.labels.front().span) &&
                         !is_argument(diagnostic.labels.front());
  if (elsewhere && diagnostic.severity == Severity::kWarning) return;  // The user cannot change the prelude.

  const bool is_of_argument =
      diagnostic.labels.empty() || (!is_argument(diagnostic.labels.front()) &&
                                    sources_.IsIn(TextOrigin::kCommandLine, diagnostic.labels.front().span));
  std::vector<Label> labels;
  for (size_t i = 0; i < diagnostic.labels.size(); ++i) {
    Label& label = diagnostic.labels[i];
    if (IsUserPlace(label.span) || is_argument(label)) {
      labels.push_back(std::move(label));
    } else if (i == 0 && IsUserPlace(UserPlace(label.span))) {
      labels.push_back({UserPlace(label.span), std::move(label.text)});
    }
  }
  if (elsewhere && !calls_.empty()) {
    diagnostic.notes.insert(diagnostic.notes.begin(),
                            absl::StrCat("found while expanding `", calls_.back().callee, "`"));
  }
  if (!note_.empty()) diagnostic.notes.push_back(note_);
  // A mistake in a function of the user may depend on the call, so the call in the model is shown too.
  if (!labels.empty() && !calls_.empty() && calls_.front().call != labels.front().span) {
    labels.push_back({calls_.front().call, absl::StrCat("in this call of `", calls_.front().callee, "`")});
  }
  diagnostic.labels = std::move(labels);
  if ((diagnostic.labels.empty() || is_of_argument) && !context_.empty()) {
    diagnostic.message = absl::StrCat(context_, ": ", diagnostic.message);
  }

  std::string key = absl::StrCat(CodeName(diagnostic.code), "|", diagnostic.message);
  if (!diagnostic.labels.empty()) {
    const Span& place = diagnostic.labels.front().span;
    absl::StrAppend(&key, "|", place.file->value(), ":", place.begin, "-", place.end);
  }
  if (diagnostic.severity == Severity::kError) has_errors_ = true;
  if (!said_.insert(std::move(key)).second) return;
  if (diagnostic.severity == Severity::kWarning) {
    warnings_.push_back(std::move(diagnostic));
  } else {
    diagnostics_.Add(std::move(diagnostic));
  }
}

void Reporter::Flush() {
  if (has_errors_) warnings_.clear();
  for (Diagnostic& warning : warnings_) diagnostics_.Add(std::move(warning));
  warnings_.clear();
}

}  // namespace cleave::frontend
