// Text of a model: it parses or gets errors; formatted, it has the same tree, and formatting again changes nothing.
#include <optional>
#include <string>

#include "base/check/check.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/format/format.h"
#include "dsl/parse/parse.h"
#include "dsl/syntax/print.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  SourceSet sources;
  Diagnostics diagnostics;
  const auto tree = dsl::Parse(sources.Add("input.model", tests::fuzz::Text(data, size)), sources, diagnostics);
  CLEAVE_CHECK(tree.has_value() != diagnostics.has_errors());
  RenderText(diagnostics, sources);
  for (const Diagnostic& diagnostic : diagnostics.items()) RenderJson(diagnostic, sources);
  if (!tree.has_value()) return 0;

  const std::string formatted = dsl::Format(*tree);
  const auto again = dsl::Parse(sources.Add("formatted.model", formatted), sources, diagnostics);
  CLEAVE_CHECK(again.has_value()) << RenderText(diagnostics, sources) << "in the formatted text\n" << formatted;
  CLEAVE_CHECK(dsl::syntax::PrintTree(*again) == dsl::syntax::PrintTree(*tree)) << "formatted:\n" << formatted;
  CLEAVE_CHECK(again->comments.size() == tree->comments.size()) << "formatted:\n" << formatted;
  CLEAVE_CHECK(dsl::Format(*again) == formatted) << "formatted:\n"
                                                 << formatted << "and again:\n"
                                                 << dsl::Format(*again);
  return 0;
}
