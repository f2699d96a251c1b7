// Turns the mistakes that the expansion finds into diagnostics about the user's file.
//
// The same function is expanded many times, in places that the user has not written (the prelude) or does not see (the
// text of an override). A Reporter knows which calls are being expanded: a label outside the user's files
// moves to the call that led there, a mistake inside a function also shows the call in the model, and nothing is
// reported twice.
#ifndef CLEAVE_FRONTEND_REPORT_REPORT_H_
#define CLEAVE_FRONTEND_REPORT_REPORT_H_

#include <set>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"

namespace cleave::frontend {

class Reporter {
 public:
  Reporter(const SourceSet& sources, Diagnostics& diagnostics) : sources_(sources), diagnostics_(diagnostics) {}

  void Report(Diagnostic diagnostic);

  // Called when a call of a function of the language begins and ends.
  void EnterCall(Span call, const std::string& callee) { calls_.push_back({call, callee}); }
  void LeaveCall() { calls_.pop_back(); }
  int depth() const { return static_cast<int>(calls_.size()); }

  // While set, diagnostics without a place in the user's files start with this text: "`--set lr=x`: …".
  void SetContext(std::string context) { context_ = std::move(context); }

  // While set, every diagnostic gets this note: "on rank 3".
  void SetNote(std::string note) { note_ = std::move(note); }

  bool IsUserPlace(Span span) const { return sources_.IsIn(TextOrigin::kFile, span); }

  // The innermost place in the user's files on the way to `span`; `span` itself if it is such a place.
  Span UserPlace(Span span) const;

  // The line, in the model's own body, of the outermost call that is being expanded; without one, the line of `span`.
  int ModelLine(Span span) const;
  int Line(Span span) const;

  // While muted, nothing is reported: what would be is found again later, or is no mistake.
  void Mute(bool muted) { is_muted_ = muted; }

  // Warnings are held back until here, and dropped when there are errors: after a mistake, unused names are expected.
  void Flush();

  bool has_errors() const { return has_errors_; }

 private:
  struct CallUnderWay {
    Span call;
    std::string callee;
  };

  const SourceSet& sources_;
  Diagnostics& diagnostics_;
  std::vector<CallUnderWay> calls_;
  std::string context_;
  std::string note_;
  std::set<std::string> said_;
  std::vector<Diagnostic> warnings_;
  bool has_errors_ = false;
  bool is_muted_ = false;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_REPORT_REPORT_H_
