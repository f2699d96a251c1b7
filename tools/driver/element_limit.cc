#include "tools/driver/element_limit.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/program/memory/element_counts.h"

namespace cleave::tools {
namespace {

std::string Message(const ir::Value& value, const ir::LargeCount& count) {
  const std::string more = absl::StrCat(", more than ", ir::kMaxRankElements);
  if (count.tensors > 1) {
    return absl::StrCat("a device sends ", count.elements, " elements of ", count.tensors, " tensors in one message",
                        more);
  }
  return absl::StrCat("a device holds ", count.elements, " elements of `", value.name, "`", more);
}

}  // namespace

std::optional<Span> LineOf(const ir::Op& op, FileId file, const SourceSet& sources) {
  if (op.line <= 0) return std::nullopt;
  const Span line = sources.file(file).SpanOfLine(file, op.line);
  return line.begin < line.end ? std::optional(line) : std::nullopt;
}

bool CheckElementLimit(const ir::LoweredProgram& split, FileId file, const SourceSet& sources,
                       Diagnostics& diagnostics) {
  const ir::Program& program = split.program;
  const std::vector<ir::LargeCount> counts = ir::LargeCounts(program);
  if (counts.empty()) return true;
  const ir::LargeCount& count =
      *std::max_element(counts.begin(), counts.end(),
                        [](const ir::LargeCount& a, const ir::LargeCount& b) { return a.elements < b.elements; });
  const ir::Value& value = program.value(count.value);
  const std::string sizes =
      absl::StrCat("`", value.name, "` is ", ir::ShapeText(ir::LargestLocalShape(program, count.value)),
                   " on a device, ", ir::ShapeText(value.type.shape), " in whole");
  Diagnostic error = Error(Code::kE0314, Message(value, count));
  const std::optional<Span> line = LineOf(split.distributed.graph.op(value.origin), file, sources);
  if (line.has_value()) {
    error.labels.push_back({*line, sizes});
  } else {
    error.notes.push_back(sizes);
  }
  if (const size_t others = counts.size() - 1; others > 0) {
    error.notes.push_back(absl::StrCat(others, others == 1 ? " more is" : " more are", " too large for a device"));
  }
  error.notes.push_back("MPI counts elements in 32 bits");
  error.help.push_back("use more devices, a smaller batch, or a pin that cuts it");
  diagnostics.Add(std::move(error));
  return false;
}

void AddTooLarge(const ir::LargeDimension& large, const ir::Op& op, FileId file, const SourceSet& sources,
                 Diagnostics& diagnostics) {
  const std::string what = absl::StrCat("`", op.name, "` has ", large.size, " elements in dimension ", large.dimension);
  Diagnostic error = Error(Code::kE0213, "the model is too large to be proven");
  if (const std::optional<Span> line = LineOf(op, file, sources); line.has_value()) {
    error.labels.push_back({*line, what});
  } else {
    error.notes.push_back(what);
  }
  error.notes.push_back(absl::StrFormat(
      "a program is proven with small sizes, but what the ops make of this one stays large: %.1e elements, of %.1e",
      large.elements, large.most));
  diagnostics.Add(std::move(error));
}

}  // namespace cleave::tools
