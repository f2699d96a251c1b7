#include "tools/contract/causes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "search/explain/ledger.h"

namespace cleave::tools {
namespace {

// A part of a figure.
struct Part {
  int line = 0;
  double amount = 0;
  double weight = 0;  // Of two lines that of the larger one comes first.
  std::string what;
};

// Adds up the parts of each line; the largest of a line says what they are.
std::vector<Cause> CausesOf(std::vector<Part> parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.weight > b.weight; });
  struct Line {
    Cause cause;
    double weight = 0;
    int64_t parts = 0;
  };
  std::vector<Line> lines;
  std::map<int, size_t> line_of;
  for (Part& part : parts) {
    const auto [found, is_new] = line_of.emplace(part.line, lines.size());
    if (is_new) lines.push_back({.cause = {.line = part.line, .what = std::move(part.what)}});
    Line& line = lines[found->second];
    line.cause.amount += part.amount;
    line.weight += part.weight;
    ++line.parts;
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.weight > b.weight; });
  std::vector<Cause> causes;
  for (Line& line : lines) {
    if (line.parts > 1) absl::StrAppend(&line.cause.what, ", and ", line.parts - 1, " more");
    causes.push_back(std::move(line.cause));
  }
  return causes;
}

// How many collectives a step has, of a kind or of all.
MeasuredFigure Count(std::optional<ir::CollectiveKind> kind, const ir::Program& program) {
  MeasuredFigure measured;
  std::vector<Part> parts;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* const collective = ir::CommunicationOf(program, step);
    if (collective == nullptr || step.phase == ir::Phase::kMetric) continue;
    if (kind.has_value() && collective->kind != *kind) continue;
    const auto runs = static_cast<double>(ir::RunsOf(program, step));
    measured.value += runs;
    parts.push_back({.line = step.line,
                     .amount = runs,
                     .weight = ir::SentBytes(program, *collective) * runs,
                     .what = collective->why});
  }
  measured.causes = CausesOf(std::move(parts));
  return measured;
}

// Of the rank of each part of a pipeline, or of all ranks, the ledger that has most of something.
template <typename Amount>
std::pair<search::Ledger, const ir::Program*> LargestLedger(const search::Explained& explained, const Amount& amount) {
  const ir::LoweredProgram& made = explained.made;
  if (made.parts.empty()) return {search::LedgerOf(explained, 0), &made.program};
  const ir::Mesh mesh = ir::RankMesh(made.program);
  std::pair<search::Ledger, const ir::Program*> largest;
  double most = -1;
  for (size_t p = 0; p < made.parts.size(); ++p) {
    std::vector<int> coordinates(static_cast<size_t>(mesh.axis_count()), 0);
    coordinates[static_cast<size_t>(made.program.pipeline->axis.value())] = static_cast<int>(p);
    search::Ledger ledger = search::LedgerOf(explained, mesh.Rank(coordinates));
    double sum = 0;
    for (const search::LedgerRow& row : ledger.rows) sum += amount(row);
    if (sum <= most) continue;
    most = sum;
    largest = {std::move(ledger), &made.parts[p].program};
  }
  return largest;
}

template <typename Amount>
std::vector<Cause> LedgerCauses(const search::Explained& explained, const Amount& amount) {
  const auto [ledger, program] = LargestLedger(explained, amount);
  std::vector<Part> parts;
  for (const search::LedgerRow& row : ledger.rows) {
    const double of_row = amount(row);
    if (of_row <= 0) continue;
    const ir::Step& step = program->steps[static_cast<size_t>(row.step)];
    const auto* const collective = std::get_if<ir::Collective>(&step.action);
    parts.push_back({.line = step.line,
                     .amount = of_row,
                     .weight = of_row,
                     .what = collective != nullptr
                                 ? absl::StrCat(row.what, ", ", collective->why)
                                 : absl::StrCat(row.names.front(), ", ", search::WorkKindName(row.kind))});
  }
  return CausesOf(std::move(parts));
}

std::vector<Cause> HeldCauses(const ir::MemoryUse& use) {
  std::vector<Part> parts;
  for (const ir::HeldTensor& tensor : use.at_peak) {
    const auto bytes = static_cast<double>(tensor.size.value());
    parts.push_back({.line = tensor.line,
                     .amount = bytes,
                     .weight = bytes,
                     .what = absl::StrCat(tensor.name, " (", ir::MemoryRoleName(tensor.role), ")")});
  }
  return CausesOf(std::move(parts));
}

}  // namespace

MeasuredFigure Measure(absl::string_view figure, const search::Explained& explained) {
  const ir::LoweredProgram& made = explained.made;
  if (figure == frontend::kSent) {
    return {.value = explained.predicted.sent_bytes_per_rank,
            .causes = LedgerCauses(explained, [](const search::LedgerRow& row) {
              return row.each.sent * static_cast<double>(row.Runs());
            })};
  }
  if (figure == frontend::kStep) {
    return {.value = explained.predicted.step.value(),
            .causes = LedgerCauses(explained, [](const search::LedgerRow& row) { return row.AllSeconds().value(); })};
  }
  if (figure == frontend::kMemory) {
    const ir::MemoryUse& use = made.memory.use;
    return {.value = static_cast<double>(use.prediction.peak.value()), .causes = HeldCauses(use)};
  }
  const std::optional<ir::CollectiveKind> kind = ir::ParseCollectiveKind(figure);
  CLEAVE_CHECK(kind.has_value() || figure == frontend::kAllCollectives) << figure;
  return Count(kind, made.program);
}

std::optional<Span> SpanOfModelLine(int line, FileId model, const SourceSet& sources) {
  if (line <= 0) return std::nullopt;
  const Span span = sources.file(model).SpanOfLine(model, line);
  return span.begin < span.end ? std::optional(span) : std::nullopt;
}

}  // namespace cleave::tools
