#include "tools/lsp/study.h"

#include <poll.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic/severity.h"
#include "dsl/parse/parse.h"
#include "frontend/sightings/sightings.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/report.h"
#include "tools/driver/summary.h"
#include "tools/lsp/findings.h"
#include "tools/lsp/plan_text.h"

namespace cleave::tools {
namespace {

// A plan is begun when nothing has been typed for so long.
constexpr int kMillisecondsToPlan = 150;

// Paths as frontend::IdentityOf gives them, each asked for once.
const std::string& IdentityOf(const std::string& path) {
  static auto& known = *new std::map<std::string, std::string>();
  const auto [found, is_new] = known.try_emplace(path);
  if (is_new) found->second = frontend::IdentityOf(path);
  return found->second;
}

FileRange RangeOf(Span span, const SourceSet& sources) {
  return {.path = IdentityOf(sources.file(*span.file).path()), .begin = span.begin, .end = span.end};
}

// Whether it may be imported by others, and so needs no model itself.
bool IsImportable(const dsl::syntax::File& file) {
  for (const dsl::syntax::Item& item : file.items) {
    if (std::holds_alternative<dsl::syntax::Train>(item.kind)) return false;
    if (std::holds_alternative<dsl::syntax::Parallel>(item.kind)) return false;
    if (std::holds_alternative<dsl::syntax::Expect>(item.kind)) return false;
  }
  return !file.items.empty();
}

Json DiagnosticsJson(const Diagnostics& diagnostics, const SourceSet& sources, bool is_importable) {
  Json list = Json::array();
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    if (is_importable && diagnostic.code == Code::kE0501) continue;
    FoundDiagnostic found{.severity = std::string(SeverityName(diagnostic.severity)),
                          .code = std::string(CodeName(diagnostic.code)),
                          .message = diagnostic.message,
                          .labels = {},
                          .notes = {},
                          .help = diagnostic.help};
    for (const Label& label : diagnostic.labels) {
      if (sources.IsIn(TextOrigin::kFile, label.span)) {
        found.labels.push_back({.range = RangeOf(label.span, sources), .text = label.text});
      } else if (sources.IsIn(TextOrigin::kCommandLine, label.span)) {
        found.notes.push_back(label.text + ": `" + sources.file(*label.span.file).path() + "`");
      }
    }
    found.notes.insert(found.notes.end(), diagnostic.notes.begin(), diagnostic.notes.end());
    list.push_back(DiagnosticJson(found));
  }
  return list;
}

Json SeenJson(const frontend::Sightings& sightings, const SourceSet& sources) {
  Json values = Json::array(), meanings = Json::array();
  for (const auto& [span, seen] : sightings.values()) {
    Json value = RangeJson(RangeOf(span, sources));
    value["types"] = seen.types;
    value["more"] = seen.has_more_types;
    value["times"] = seen.ops.size();
    values.push_back(std::move(value));
  }
  for (const auto& [use, definition] : sightings.meanings()) {
    if (!sources.IsIn(TextOrigin::kFile, definition)) continue;
    meanings.push_back(JsonObject(
        {{"use", RangeJson(RangeOf(use, sources))}, {"definition", RangeJson(RangeOf(definition, sources))}}));
  }
  return JsonObject({{"seen", JsonObject({{"values", std::move(values)}, {"meanings", std::move(meanings)}})}});
}

// The files that were read, also those with mistakes.
Json FilesJson(SourceSet& sources) {
  Json files = Json::array();
  const FileId end = sources.Add("", "", TextOrigin::kBuiltIn);
  for (int32_t i = 0; i < end.value(); ++i) {
    const SourceFile& file = sources.file(FileId(i));
    if (file.origin() == TextOrigin::kFile) files.push_back(IdentityOf(file.path()));
  }
  return files;
}

Json PlannedValues(const CompiledModel& compiled, const frontend::Sightings& sightings, const SourceSet& sources) {
  const search::Explained explained = ExplainedOf(compiled);
  PlanTexts texts(explained);
  Json values = Json::array();
  for (const auto& [span, seen] : sightings.values()) {
    const std::string plan = texts.Of(seen.ops);
    if (plan.empty()) continue;
    Json value = RangeJson(RangeOf(span, sources));
    value["plan"] = plan;
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace

void Study(const StudyRequest& request, const std::function<void(const Json&)>& tell) {
  CompileOptions options = request.options;
  options.model = request.path;
  options.plan_only = true;
  Report report;
  const std::optional<FileId> id = dsl::AddSource(request.path, request.text, report.sources, report.diagnostics);
  dsl::syntax::File file;
  if (id.has_value()) file = dsl::ParseWhatFits(*id, report.sources, report.diagnostics);
  const bool is_whole = !report.diagnostics.has_errors();
  const bool is_importable = is_whole && IsImportable(file);
  frontend::Sightings sightings;
  sightings.WhenExpanded([&] { tell(SeenJson(sightings, report.sources)); });
  // Of a text with mistakes only these are told: others may follow from what is left out.
  const Diagnostics of_text = report.diagnostics;
  std::optional<UnderstoodModel> model;
  if (id.has_value()) model = Understand(options, file, report, &request.open, &sightings);
  if (!is_whole) report.diagnostics = of_text;
  tell(JsonObject(
      {{"read", JsonObject({{"files", FilesJson(report.sources)},
                            {"diagnostics", DiagnosticsJson(report.diagnostics, report.sources, is_importable)},
                            {"bug", report.bug}})}}));
  if (!is_whole || !model.has_value()) return;
  poll(nullptr, 0, kMillisecondsToPlan);
  const std::optional<CompiledModel> compiled = CompileModel(options, *std::move(model), report);
  Json planned = JsonObject({{"found", compiled.has_value()},
                             {"diagnostics", DiagnosticsJson(report.diagnostics, report.sources, is_importable)},
                             {"bug", report.bug}});
  if (compiled.has_value()) {
    planned["verdict"] = VerdictLine(*compiled);
    planned["values"] = PlannedValues(*compiled, sightings, report.sources);
  }
  tell(JsonObject({{"planned", std::move(planned)}}));
}

}  // namespace cleave::tools
