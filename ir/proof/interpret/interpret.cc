#include "ir/proof/interpret/interpret.h"

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check/check.h"
#include "base/match/match.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/interpret/collectives.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

bool ComesFromOutside(const OpDefinition& definition) {
  return definition.op_class == OpClass::kSource && definition.evaluate == nullptr;
}

// The tensor that a rank has of a source.
using SourceOnRank = std::function<Tensor(const Value& value, int rank)>;

// Runs a Program's steps one after another, each on all ranks.
class Lockstep {
 public:
  Lockstep(const Program& program, const SourceOnRank& source, int64_t step)
      : program_(program), source_(source), step_(step), values_(program.values.size()) {}

  absl::Status Run() {
    for (const Step& step : program_.steps) {
      for (ValueId read : Reads(step)) {
        if (values_[read].empty()) {
          return absl::InternalError(
              absl::StrCat("`", step.name, "` reads `", program_.value(read).name, "`, which no step has written"));
        }
      }
      CLEAVE_RETURN_IF_ERROR(Match(
          step.action, [&](const Compute& compute) { return RunCompute(compute); },
          [&](const Collective& collective) { return RunCollective(program_, collective, values_); },
          [&](const Slice& slice) { return RunSlice(program_, slice, values_); },
          [&](const View& view) { return RunView(program_, view, values_); },
          [](const Glance&) { return absl::OkStatus(); },
          [&](const HostCopy& copy) {
            values_[copy.output] = values_[copy.input];
            return absl::OkStatus();
          },
          [&](const Send& send) { return RunSend(send); },
          [&](const Receive& receive) { return RunReceive(receive); }));
    }
    for (const auto& [stages, sent] : sent_) {
      if (!sent.empty()) {
        return absl::InternalError(absl::StrCat("stage ", stages.second, " never takes `",
                                                program_.value(sent.front()).name, "`, which stage ", stages.first,
                                                " sends"));
      }
    }
    return absl::OkStatus();
  }

  IdVector<ValueId, std::vector<Tensor>> Values() && { return std::move(values_); }

 private:
  absl::Status RunCompute(const Compute& compute) {
    const OpDefinition& definition = DefinitionOf(compute.kind);
    const Value& output = program_.value(compute.output);
    const Rule rule = RuleOf(program_, compute);
    values_[compute.output].resize(static_cast<size_t>(program_.mesh.rank_count()));
    for (const int rank : RanksOf(program_, output.stage)) {
      Tensor& made = values_[compute.output][static_cast<size_t>(rank)];
      if (ComesFromOutside(definition)) {
        made = source_(output, rank);
        continue;
      }
      std::vector<const Tensor*> inputs;
      for (ValueId input : compute.inputs) inputs.push_back(&values_[input][static_cast<size_t>(rank)]);
      const std::vector<FactorRange> ranges = RangesOf(compute.strategy, rule, program_.mesh, rank);
      Tensor result = Zeros(LocalShape(program_, compute.output, rank));
      definition.evaluate(Evaluation{.attributes = compute.attributes,
                                     .inputs = inputs,
                                     .ranges = ranges,
                                     .output = result,
                                     .step = step_,
                                     .rank = rank});
      if (static_cast<int64_t>(result.values.size()) != ElementCount(result.shape)) {
        return absl::InternalError(absl::StrCat("`", output.name, "` has the wrong number of elements on rank ", rank));
      }
      made = std::move(result);
    }
    return absl::OkStatus();
  }

  absl::Status RunSend(const Send& send) {
    sent_[{*program_.value(send.input).stage, send.to}].push_back(send.input);
    return absl::OkStatus();
  }

  // Takes what the other stage has sent first.
  absl::Status RunReceive(const Receive& receive) {
    const Value& output = program_.value(receive.output);
    std::deque<ValueId>& sent = sent_[{receive.from, *output.stage}];
    if (sent.empty()) {
      return absl::InternalError(
          absl::StrCat("`", output.name, "` waits for what stage ", receive.from, " has not sent"));
    }
    const std::vector<Tensor>& source = values_[sent.front()];
    sent.pop_front();
    std::vector<Tensor>& received = values_[receive.output];
    received.resize(source.size());
    for (const int rank : RanksOf(program_, output.stage)) {
      received[static_cast<size_t>(rank)] = source[static_cast<size_t>(PeerOf(program_, rank, receive.from))];
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const SourceOnRank& source_;
  int64_t step_;
  IdVector<ValueId, std::vector<Tensor>> values_;
  std::map<std::pair<int, int>, std::deque<ValueId>> sent_;  // By the stages that send and receive.
};

}  // namespace

Tensor LocalPart(const Program& program, const Value& value, const Tensor& whole, int rank) {
  Shape begin, size;
  for (const Piece& piece : SliceOf(value.layout, program.mesh, value.type.shape, rank)) {
    begin.push_back(piece.begin);
    size.push_back(piece.size);
  }
  return Box(whole, begin, size);
}

IdVector<OpId, Tensor> InterpretGraph(const Graph& graph, const SourceValues& sources, int64_t step) {
  IdVector<OpId, Tensor> values(graph.ops.size());
  for (const Op& op : graph.ops) {
    const OpDefinition& definition = DefinitionOf(op);
    if (ComesFromOutside(definition)) {
      const auto source = sources.find(op.id);
      CLEAVE_CHECK(source != sources.end()) << "no value for source `" << op.name << "`";
      CLEAVE_CHECK(source->second.shape == op.type.shape) << "wrong shape of source `" << op.name << "`";
      values[op.id] = source->second;
      continue;
    }
    std::vector<const Tensor*> inputs;
    for (OpId input : op.inputs) inputs.push_back(&values[input]);
    const std::vector<FactorRange> ranges = WholeRanges(RuleOf(graph, op));
    values[op.id] = Zeros(op.type.shape);
    definition.evaluate(Evaluation{
        .attributes = op.attributes, .inputs = inputs, .ranges = ranges, .output = values[op.id], .step = step});
  }
  return values;
}

absl::StatusOr<IdVector<ValueId, std::vector<Tensor>>> InterpretProgram(const Program& program,
                                                                        const SourceValues& sources, int64_t step) {
  const SourceOnRank source = [&](const Value& value, int rank) {
    const auto found = sources.find(value.origin);
    CLEAVE_CHECK(found != sources.end()) << "no value for source `" << value.name << "`";
    return LocalPart(program, value, found->second, rank);
  };
  Lockstep lockstep(program, source, step);
  CLEAVE_RETURN_IF_ERROR(lockstep.Run());
  return std::move(lockstep).Values();
}

absl::StatusOr<IdVector<ValueId, std::vector<Tensor>>> InterpretProgram(const Program& program,
                                                                        const RankSources& sources, int64_t step) {
  CLEAVE_CHECK(program.is_manual);
  const SourceOnRank source = [&](const Value& value, int rank) {
    const auto found = sources.find(value.origin);
    CLEAVE_CHECK(found != sources.end()) << "no value for source `" << value.name << "`";
    return found->second[static_cast<size_t>(rank)];
  };
  Lockstep lockstep(program, source, step);
  CLEAVE_RETURN_IF_ERROR(lockstep.Run());
  return std::move(lockstep).Values();
}

}  // namespace cleave::ir
