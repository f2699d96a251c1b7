#include "ir/program/redistributions.h"

#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"

namespace cleave::ir {
namespace {

struct Change {
  ValueId input;
  ValueId output;
};

std::vector<Change> ChangesOf(const Program& program, const Step& step) {
  std::vector<Change> changes;
  if (const Collective* collective = CommunicationOf(program, step)) {
    for (const Transfer& transfer : collective->transfers) changes.push_back({transfer.input, transfer.output});
  } else if (const auto* slice = std::get_if<Slice>(&step.action)) {
    changes.push_back({slice->input, slice->output});
  }
  return changes;
}

// The collective with only the transfer that makes `output`.
Collective Alone(const Collective& collective, ValueId output) {
  Collective alone = collective;
  alone.transfers.clear();
  for (const Transfer& transfer : collective.transfers) {
    if (transfer.output == output) alone.transfers.push_back(transfer);
  }
  return alone;
}

std::string AxisNames(const Program& program, const Collective& collective) {
  return absl::StrJoin(collective.axes, " ",
                       [&](std::string* out, AxisId axis) { absl::StrAppend(out, program.mesh.axis(axis).name); });
}

// "all_reduce(m0 m1) 131072 B as h2.matmul.all_reduce", for the tensor that becomes `output`.
std::string OperationText(const Program& program, const Step& step, ValueId output) {
  const auto* collective = std::get_if<Collective>(&step.action);
  if (collective == nullptr) return absl::StrCat("local_slice 0 B as ", step.name);
  return absl::StrCat(CollectiveKindName(collective->kind), "(", AxisNames(program, *collective), ") ",
                      CollectiveBytes(program, Alone(*collective, output)).value(), " B as ", step.name);
}

std::string LineOf(const Program& program, const ProgramRedistribution& redistribution) {
  const Value& from = program.value(redistribution.from);
  const Value& to = program.value(redistribution.to);
  std::string line = absl::StrCat(from.name, " ", from.type.ToString(), ": ", LayoutText(from.layout, program.mesh),
                                  " -> ", LayoutText(to.layout, program.mesh));
  ValueId at = redistribution.from;
  for (const int index : redistribution.steps) {
    const Step& step = program.steps[static_cast<size_t>(index)];
    for (const Change& change : ChangesOf(program, step)) {
      if (change.input != at) continue;
      absl::StrAppend(&line, "; ", OperationText(program, step, change.output));
      at = change.output;
      break;
    }
  }
  const Step& first = program.steps[static_cast<size_t>(redistribution.steps.front())];
  return absl::StrCat(line, "; ", PhaseName(first.phase), ", ", program.file, ":", first.line, "\n");
}

}  // namespace

std::vector<ProgramRedistribution> RedistributionsOf(const Program& program) {
  std::vector<ProgramRedistribution> redistributions;
  if (program.is_manual) return redistributions;
  IdVector<ValueId, int> readers(program.values.size(), 0);
  for (const Step& step : program.steps) {
    for (const ValueId value : Reads(step)) ++readers[value];
  }
  std::map<ValueId, size_t> ending;  // By the value that a redistribution makes.
  for (size_t index = 0; index < program.steps.size(); ++index) {
    for (const Change& change : ChangesOf(program, program.steps[index])) {
      const auto before = ending.find(change.input);
      if (before != ending.end() && readers[change.input] == 1) {
        redistributions[before->second].to = change.output;
        redistributions[before->second].steps.push_back(static_cast<int>(index));
        ending[change.output] = before->second;
      } else {
        ending[change.output] = redistributions.size();
        redistributions.push_back({change.input, change.output, {static_cast<int>(index)}});
      }
    }
  }
  return redistributions;
}

std::string RedistributionsText(const Program& program) {
  std::string text;
  const std::vector<ProgramRedistribution> redistributions = RedistributionsOf(program);
  for (const ProgramRedistribution& redistribution : redistributions) text += LineOf(program, redistribution);
  int64_t operations = 0, bytes = 0;
  double sent = 0;
  for (const Step& step : program.steps) {
    const Collective* collective = CommunicationOf(program, step);
    if (collective == nullptr) continue;
    const int64_t times = RunsOf(program, step);
    operations += times;
    bytes += CollectiveBytes(program, *collective).value() * times;
    sent += SentBytes(program, *collective) * static_cast<double>(times);
  }
  return absl::StrCat(text, "total: ", Plural(static_cast<int64_t>(redistributions.size()), "redistribution"), ", ",
                      Plural(operations, "collective"), ", ", bytes, " B, ", absl::StrFormat("%.0f", sent),
                      " B sent per rank\n");
}

}  // namespace cleave::ir
