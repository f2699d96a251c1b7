#include "frontend/testing.h"

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/parse/parse.h"

namespace cleave::frontend {

Analyzed AnalyzeText(const std::string& text, const std::vector<std::pair<std::string, std::string>>& overrides,
                     const std::string& path, const std::string& target) {
  SourceSet sources;
  Diagnostics diagnostics;
  const FileId id = sources.Add(path, text);
  const std::optional<dsl::syntax::File> file = dsl::Parse(id, sources, diagnostics);
  Analyzed result;
  if (file) result.module = Analyze(*file, sources, {.overrides = overrides, .target = target}, diagnostics);
  if (!diagnostics.items().empty()) result.messages = RenderText(diagnostics, sources);
  return result;
}

Analyzed AnalyzeBody(const std::string& body, const std::string& rest) {
  const bool has_loss = body.find("loss ") != std::string::npos;
  return AnalyzeText("model M() { input x: f32[8, 6];\n" + body + (has_loss ? "" : "\nloss reduce_mean(x);") + "\n}\n" +
                     rest);
}

}  // namespace cleave::frontend
