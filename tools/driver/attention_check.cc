#include "tools/driver/attention_check.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "ir/transforms/join_attention/kept_scores.h"
#include "tools/driver/element_limit.h"

namespace cleave::tools {
namespace {

// Less is not worth a line.
constexpr int64_t kLeastBytes = int64_t{16} << 20;

// How often a step reads or writes a matrix of scores. Forward: the product writes it, softmax reads it and writes
// another one, which the second product reads. Backward: the gradient of the second is written, softmax's gradient
// reads both and writes one, two products read it, and one more reads the softmax.
constexpr int64_t kForwardPasses = 4, kBackwardPasses = 7;

// Whether the scores are larger than all that the op of attention reads and writes.
bool AreLarge(const ir::Graph& graph, const ir::KeptScores& kept, int64_t bytes) {
  int64_t others = graph.op(kept.mixed).type.elements() + graph.op(graph.op(kept.mixed).inputs[1]).type.elements();
  for (const ir::OpId input : graph.op(kept.scores).inputs) others += graph.op(input).type.elements();
  return bytes >= kLeastBytes && graph.op(kept.softmax).type.elements() > others;
}

struct LineOfScores {
  const ir::KeptScores* first = nullptr;
  int64_t count = 0;
  int64_t bytes = 0;
};

}  // namespace

void CheckAttention(const ir::Graph& joined, const ir::JoinAttentionOptions& options, const ir::Pins& pins,
                    ir::Precision precision, const search::Cluster& device, FileId file, const SourceSet& sources,
                    Diagnostics& diagnostics) {
  const int64_t element = precision == ir::Precision::kF32 || precision == ir::Precision::kTf32 ? 4 : 2;
  const std::vector<ir::KeptScores> all = ir::FindKeptScores(joined, options, pins);
  std::map<int, LineOfScores> lines;
  for (const ir::KeptScores& kept : all) {
    const ir::Op& softmax = joined.op(kept.softmax);
    const int64_t bytes = softmax.type.elements() * element;
    if (!AreLarge(joined, kept, bytes)) continue;
    LineOfScores& line = lines[softmax.line];
    if (line.first == nullptr) line.first = &kept;
    ++line.count;
    line.bytes += bytes;
  }
  for (const auto& [number, line] : lines) {
    const ir::Op& softmax = joined.op(line.first->softmax);
    const int64_t passes = kForwardPasses + (options.trains ? kBackwardPasses : 0);
    const Seconds time(static_cast<double>(passes * line.bytes) / device.memory_bytes_per_second);
    const std::string what = absl::StrCat("`", softmax.name, "` is ", softmax.type.ToString(),
                                          line.count > 1 ? absl::StrCat(", as in ", line.count - 1, " more") : "");
    Diagnostic warning = Warning(Code::kW0620, "attention that does not become one op, and so keeps its scores");
    if (const std::optional<Span> place = LineOf(softmax, file, sources)) {
      warning.labels.push_back({*place, what});
    } else {
      warning.notes.push_back(what);
    }
    warning.notes.push_back(absl::StrCat("because ", line.first->reason));
    warning.notes.push_back(absl::StrCat("of the whole batch the scores take ", FormatBytes(Bytes(line.bytes)),
                                         options.trains ? " from the forward pass to the backward pass" : "",
                                         ", which a step reads and writes ", passes, " times: about ",
                                         FormatSeconds(time), " of one device; the op `attention` has none of this"));
    warning.help.push_back("`attend(query, key, value, …)` of the prelude, or what it computes");
    diagnostics.Add(std::move(warning));
  }
}

}  // namespace cleave::tools
