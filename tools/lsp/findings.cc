#include "tools/lsp/findings.h"

#include <utility>

#include "tools/lsp/json_fields.h"

namespace cleave::tools {
namespace {

FileRange RangeOf(const Json& json) {
  return {.path = TextOf(At(json, {"path"})),
          .begin = static_cast<int32_t>(NumberOf(At(json, {"begin"}))),
          .end = static_cast<int32_t>(NumberOf(At(json, {"end"})))};
}

FoundDiagnostic DiagnosticOf(const Json& json) {
  FoundDiagnostic diagnostic{.severity = TextOf(At(json, {"severity"})),
                             .code = TextOf(At(json, {"code"})),
                             .message = TextOf(At(json, {"message"})),
                             .labels = {},
                             .notes = TextsOf(At(json, {"notes"})),
                             .help = TextsOf(At(json, {"help"}))};
  for (const Json& label : ListAt(json, "labels")) {
    diagnostic.labels.push_back({.range = RangeOf(label), .text = TextOf(At(label, {"text"}))});
  }
  return diagnostic;
}

}  // namespace

void Findings::Take(const Json& part) {
  const Json& seen = At(part, {"seen"});
  const Json& read = At(part, {"read"});
  const Json& planned = At(part, {"planned"});
  if (seen.is_object()) {
    is_seen = true;
    for (const Json& each : ListAt(seen, "values")) {
      values[RangeOf(each)] = {.types = TextsOf(At(each, {"types"})),
                               .has_more_types = TruthOf(At(each, {"more"})),
                               .times = NumberOf(At(each, {"times"})),
                               .plan = ""};
    }
    for (const Json& each : ListAt(seen, "meanings")) {
      meanings[RangeOf(At(each, {"use"}))] = RangeOf(At(each, {"definition"}));
    }
    return;
  }
  if (!read.is_object() && !planned.is_object()) return;
  const Json& said = read.is_object() ? read : planned;
  diagnostics.clear();  // What is planned has all that was read.
  for (const Json& each : ListAt(said, "diagnostics")) diagnostics.push_back(DiagnosticOf(each));
  bug = TextOf(At(said, {"bug"}));
  if (read.is_object()) {
    is_read = true;
    files = TextsOf(At(read, {"files"}));
    return;
  }
  is_planned = TruthOf(At(planned, {"found"}));
  verdict = TextOf(At(planned, {"verdict"}));
  for (const Json& each : ListAt(planned, "values")) values[RangeOf(each)].plan = TextOf(At(each, {"plan"}));
}

Json RangeJson(const FileRange& range) {
  return JsonObject({{"path", range.path}, {"begin", range.begin}, {"end", range.end}});
}

Json DiagnosticJson(const FoundDiagnostic& diagnostic) {
  Json labels = Json::array();
  for (const FoundLabel& label : diagnostic.labels) {
    Json json = RangeJson(label.range);
    json["text"] = label.text;
    labels.push_back(std::move(json));
  }
  return JsonObject({{"severity", diagnostic.severity},
                     {"code", diagnostic.code},
                     {"message", diagnostic.message},
                     {"labels", std::move(labels)},
                     {"notes", diagnostic.notes},
                     {"help", diagnostic.help}});
}

}  // namespace cleave::tools
