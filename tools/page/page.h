// A plan as one HTML page that needs nothing else: no network, no other file. docs/plan_page.md says how to read it.
//
//   const PageFacts facts{.explained = explained, .source = text, .proof = "checked statically", ...};
//   CLEAVE_RETURN_IF_ERROR(CheckPagePlace("plan.html"));
//   CLEAVE_RETURN_IF_ERROR(WritePage("plan.html", PlanPage(facts)));
//
// Names and texts of a model are data on the page: none of them can become part of its markup or of its script.
#ifndef CLEAVE_TOOLS_PAGE_PAGE_H_
#define CLEAVE_TOOLS_PAGE_PAGE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "search/explain/explain.h"
#include "search/price/cost/pipeline.h"

namespace cleave::tools {

// A plan, and what is known of it besides.
struct PageFacts {
  const search::Explained& explained;
  const search::PipelinePrediction* pipeline = nullptr;  // Where the plan is one.
  absl::string_view source;                              // The text of the model's file.
  std::string proof;                                     // What was proven, as a sentence without a full stop.
  const Diagnostics* warnings = nullptr;                 // Those of severity kWarning are shown.
  bool has_others = false;                               // Whether the searches of search/explain/plans.h are made.
};

// Verdict, model, tree, collectives, timeline, memory, slices, choices, and where they are asked for other plans. The
// same facts give the same bytes.
std::string PlanPage(const PageFacts& facts);

// What stands above a page.
struct PageHead {
  std::string kicker;  // What kind of page it is: "Plan".
  std::string title;
  std::string how;
};

// A page without a script: `head`, which is text, and `body`, which is HTML of which the texts are escaped (escape.h).
std::string PageAround(const PageHead& head, absl::string_view body);

// An error where `path` is something else than a page that WritePage has written: FailedPrecondition; Unavailable where
// it cannot be read.
absl::Status CheckPagePlace(const std::string& path);

// Writes the page, where CheckPagePlace allows it: under another name, which is then renamed. Unavailable where it
// cannot.
absl::Status WritePage(const std::string& path, const std::string& page);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PAGE_PAGE_H_
