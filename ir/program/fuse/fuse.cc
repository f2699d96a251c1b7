#include "ir/program/fuse/fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/disjoint_sets/disjoint_sets.h"
#include "base/match/match.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/program/fuse/image_blocks.h"
#include "ir/program/fuse/loop_batches.h"

namespace cleave::ir {
namespace {

// The readers of a value. Uses that are no step (updates, loss, metrics) count as a reader of their own.
class Readers {
 public:
  explicit Readers(const Program& program) : readers_(program.values.size()) {
    constexpr int kOutside = -1;
    for (size_t i = 0; i < program.steps.size(); ++i) {
      for (const ValueId value : Reads(program.steps[i])) readers_[value].push_back(static_cast<int>(i));
    }
    for (const ProgramUpdate& update : program.updates) {
      readers_[update.value].push_back(kOutside);
      readers_[update.state].push_back(kOutside);
    }
    if (program.loss.has_value()) readers_[*program.loss].push_back(kOutside);
    for (const ProgramMetric& metric : program.metrics) readers_[metric.value].push_back(kOutside);
  }

  bool Only(ValueId value, const std::set<int>& steps) const {
    return std::all_of(readers_[value].begin(), readers_[value].end(),
                       [&](int reader) { return steps.count(reader) > 0; });
  }
  bool OnlyOnce(ValueId value, int step) const { return readers_[value].size() == 1 && readers_[value][0] == step; }

 private:
  IdVector<ValueId, absl::InlinedVector<int, 4>> readers_;
};

class Fuser {
 public:
  Fuser(const Program& program, const FuseOptions& options)
      : program_(program), readers_(program), updated_together_(program.values.size()) {
    fusion_.written_by = IdVector<ValueId, int>(program.values.size(), -1);
    loop_of_ = IdVector<ValueId, int>(program.values.size(), -1);
    JoinUpdates();
    fusion_.images = options.images;
    fusion_.in_blocks = FindImagesInBlocks(program, options.images);
    if (options.uses_parts) fusion_.parts = FindParts(program);
    Attention attention = FindAttention(program);
    for (AttentionForward& piece : attention.forward) Plan(std::move(piece));
    for (AttentionBackward& piece : attention.backward) Plan(std::move(piece));
    for (JointCall& call : FindJointCalls(program, options.epilogues)) {
      for (const int ahead : call.ahead) pieces_[ahead] = std::nullopt;
      Plan(std::move(call));
    }
  }

  Fusion Run() && {
    for (int i = 0; i < static_cast<int>(program_.steps.size()); ++i) {
      const Step& step = program_.steps[static_cast<size_t>(i)];
      if (IsSource(step)) continue;
      if (const auto piece = pieces_.find(i); piece != pieces_.end()) {
        if (!piece->second.has_value()) continue;
        CloseLoop();
        if (const auto* const call = std::get_if<JointCall>(&*piece->second)) {
          for (const int ahead : std::vector<int>(call->ahead)) Append(FusedLoop{{ahead}}, step);
        }
        Append(*std::move(piece->second), step);
        continue;
      }
      if (!loop_.empty() && !RunsWith(step, StepAt(loop_.front()))) CloseLoop();
      const bool only_looks = std::holds_alternative<Glance>(step.action) || IsCopyOut(step);
      if (only_looks && !loop_.empty() && ReadsLoop(step)) {
        behind_loop_.push_back(i);
        continue;
      }
      const bool can_loop = CanLoop(step);
      if (can_loop && Joins(step)) {
        AddToLoop(i);
        continue;
      }
      if (!loop_.empty() && IsMovedAhead(step) && !ReadsLoop(step)) {
        Append(SingleStep{i}, step);
        continue;
      }
      CloseLoop();
      if (can_loop) {
        AddToLoop(i);
      } else if (std::optional<Product> product = ProductAt(i); product.has_value()) {
        for (int between = i + 1; between < product->last; ++between) {
          const Step& other = StepAt(between);
          if (IsSource(other)) continue;
          if (IsCast(other)) {
            Append(FusedLoop{{between}}, other);
          } else {
            Append(SingleStep{between}, other);
          }
        }
        Append(std::move(product->action), step);
        i = product->last;
      } else {
        Append(SingleStep{i}, step);
      }
    }
    CloseLoop();
    FindInsideValues();
    return std::move(fusion_);
  }

 private:
  using Action = decltype(FusedStage::action);

  const Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }

  bool RunsWith(const Step& a, const Step& b) const {
    return a.phase == b.phase && a.repeat == b.repeat && PassIn(program_, a) == PassIn(program_, b);
  }

  bool CanLoop(const Step& step) {
    const Compute* compute = ComputeOf(step);
    if (compute == nullptr || !CanBeLooped(DefinitionOf(compute->kind))) return false;
    const Rule& rule = RuleOf(program_, *compute, rules_);
    const auto [found, is_new] = has_spans_.emplace(&rule, true);
    for (size_t input = 0; is_new && input < compute->inputs.size(); ++input) {
      found->second = found->second && SpanOfInput(rule, static_cast<int>(input)).has_value();
    }
    return found->second;
  }

  // A cast of a bias, for example, stands between a product and the op that adds the bias.
  static bool IsCast(const Step& step) {
    const Compute* compute = ComputeOf(step);
    return compute != nullptr && compute->kind == OpKind::kCast;
  }

  // Communication, slices and reshapes between two ops of a chain move in front of the chain.
  static bool IsMovedAhead(const Step& step) { return IsAlias(step) || ComputeOf(step) == nullptr; }

  bool ReadsLoop(const Step& step) const {
    const StepValues reads = Reads(step);
    return std::any_of(reads.begin(), reads.end(), [&](ValueId value) { return WrittenInLoop(value); });
  }

  bool WrittenInLoop(ValueId value) const { return loop_of_[value] == loop_number_; }

  void AddToLoop(int i) {
    loop_.push_back(i);
    loop_of_[ComputeOf(StepAt(i))->output] = loop_number_;
  }

  // Whether the open loop takes `step`, which can be looped: its index space must be the same, and what it reads of the
  // loop's values it must read at the loop's own index.
  bool Joins(const Step& step) {
    if (loop_.empty()) return false;
    const Compute& compute = *ComputeOf(step);
    const Value& mine = program_.value(compute.output);
    const ValueId theirs_output = ComputeOf(StepAt(loop_.front()))->output;
    const Value& theirs = program_.value(theirs_output);
    if (mine.type.shape != theirs.type.shape || mine.layout.dimensions != theirs.layout.dimensions) return false;
    if (fusion_.in_blocks.contains(compute.output) != fusion_.in_blocks.contains(theirs_output)) return false;
    if (IsApartFrom(StepAt(loop_.back()), step)) return false;
    for (size_t input = 0; input < compute.inputs.size(); ++input) {
      if (!WrittenInLoop(compute.inputs[input])) continue;
      if (program_.value(compute.inputs[input]).type.shape != mine.type.shape) return false;
    }
    return true;
  }

  // Steps of different layers stay apart where they share nothing, so that equal layers have equal stages. So they do
  // anyway in the update, where a sum over all parameters passes through the layers; and there steps of different
  // parameters are such parts, too.
  bool IsApartFrom(const Step& last, const Step& step) {
    const bool shares_nothing = !ReadsLoop(step);
    if (step.phase != Phase::kUpdate) return shares_nothing && PassesOf(step) != PassesOf(last);
    return PassesOf(step) != PassesOf(last) || (shares_nothing && ParameterOf(step) != ParameterOf(last));
  }

  const LoopPasses& PassesOf(const Step& step) const { return RepetitionOf(program_, step).passes; }

  // One value for all elementwise steps that update a parameter: what they read and write, element by element, hangs
  // together.
  ValueId ParameterOf(const Step& step) { return updated_together_.Of(ComputeOf(step)->output); }

  void JoinUpdates() {
    for (const Step& step : program_.steps) {
      const Compute* const compute = ComputeOf(step);
      if (step.phase != Phase::kUpdate || compute == nullptr) continue;
      const Shape& shape = program_.value(compute->output).type.shape;
      if (shape.empty()) continue;  // A learning rate, say, is read for all parameters.
      for (const ValueId input : compute->inputs) {
        if (program_.value(input).type.shape == shape) updated_together_.Join(input, compute->output);
      }
    }
  }

  template <typename Piece>
  void Plan(Piece piece) {
    for (const int i : piece.steps) pieces_[i] = std::nullopt;
    const int place = piece.place;
    pieces_[place] = std::move(piece);
  }

  // `step`: one of those of the stage.
  void Append(Action action, const Step& step) {
    const int stage = static_cast<int>(fusion_.stages.size());
    fusion_.stages.push_back(
        {.action = std::move(action), .phase = step.phase, .repeat = step.repeat, .pass = PassIn(program_, step)});
    for (const int i : StepsOf(fusion_.stages.back())) {
      for (const ValueId value : Writes(StepAt(i))) fusion_.written_by[value] = stage;
    }
  }

  void CloseLoop() {
    if (loop_.empty()) return;
    const Step& first = StepAt(loop_.front());
    Append(FusedLoop{std::exchange(loop_, {})}, first);
    ++loop_number_;
    for (const int step : behind_loop_) Append(SingleStep{step}, first);
    behind_loop_.clear();
  }

  // The first step after `i` that cannot be moved in front of `value`'s step, or the number of steps if there is none.
  int Next(int i, ValueId value) const {
    const int count = static_cast<int>(program_.steps.size());
    const auto passes = [&](const Step& step) {
      const StepValues reads = Reads(step);
      const bool goes_before = IsMovedAhead(step) || IsCast(step);
      return IsSource(step) || (goes_before && std::find(reads.begin(), reads.end(), value) == reads.end());
    };
    do ++i;
    while (i < count && pieces_.count(i) == 0 && passes(StepAt(i)));
    return i;
  }

  // A product with the step that takes it in, its last.
  struct Product {
    Action action;
    int last = 0;
  };

  // The product at step `i`, or another op that can add to what is there, with its only reader, in the same phase: its
  // sum over micro-batches, or its sum with another value.
  std::optional<Product> ProductAt(int i) const {
    const Compute* product = ComputeOf(StepAt(i));
    if (product == nullptr || !IsAccumulated(*product)) return std::nullopt;
    const int next = Next(i, product->output);
    if (next >= static_cast<int>(program_.steps.size()) || !RunsWith(StepAt(next), StepAt(i))) return std::nullopt;
    if (!readers_.OnlyOnce(product->output, next)) return std::nullopt;
    if (AddsUp(StepAt(next)) || AddsTo(product->output, next)) {
      return Product{.action = AccumulatedProduct{.product = i, .sum = next}, .last = next};
    }
    return std::nullopt;
  }

  // Whether its call can add it to what is there.
  bool IsAccumulated(const Compute& product) const {
    if (program_.value(product.output).type.dtype != DType::kF32) return false;
    const std::vector<KernelCall> calls = CallsOf(program_, product);
    return calls.size() == 1 && !calls.front().accumulating.empty() && calls.front().repetitions.dimensions.empty();
  }

  bool AddsUp(const Step& reader) const {
    const Collective* sum = std::get_if<Collective>(&reader.action);
    return sum != nullptr && IsSumOverTime(program_, *sum) && sum->reduction == Reduction::kSum;
  }

  // Whether step `reader` adds the value to another one that a step of the same pass has made for it alone.
  bool AddsTo(ValueId value, int reader) const {
    const Compute* const sum = ComputeOf(StepAt(reader));
    if (sum == nullptr || sum->kind != OpKind::kAdd) return false;
    const ValueId other = sum->inputs[sum->inputs[0] == value ? 1 : 0];
    const Value& whole = program_.value(sum->output);
    for (const ValueId part : {value, other}) {
      const bool is_alike = program_.value(part).type == whole.type && program_.value(part).layout == whole.layout;
      if (!is_alike || fusion_.in_blocks.contains(part)) return false;
    }
    const int stage = fusion_.written_by[other];
    return stage >= 0 && readers_.OnlyOnce(other, reader) &&
           RunsWith(StepAt(StepsOf(fusion_.stages[static_cast<size_t>(stage)]).front()), StepAt(reader));
  }

  void FindInsideValues() {
    for (const FusedStage& stage : fusion_.stages) {
      const StageSteps steps = StepsOf(stage);
      if (steps.size() < 2) continue;
      const std::set<int> within(steps.begin(), steps.end());
      for (const int i : steps) {
        const ValueId value = Writes(StepAt(i)).front();
        if (i != steps.back() && readers_.Only(value, within)) fusion_.inside.insert(value);
      }
    }
  }

  const Program& program_;
  Readers readers_;
  DisjointSets<ValueId> updated_together_;
  RuleTable rules_;
  absl::flat_hash_map<const Rule*, bool> has_spans_;  // Whether each input has one.
  Fusion fusion_;
  std::vector<int> loop_;                        // The loop that is being filled,
  int loop_number_ = 0;                          // its number,
  IdVector<ValueId, int> loop_of_;               // and that of the loop that writes a value; -1 where none does.
  std::vector<int> behind_loop_;                 // Glances at its values and copies of them, until it is complete.
  std::map<int, std::optional<Action>> pieces_;  // Per step of attention or of a joint call: the piece, at its place.
};

}  // namespace

const Compute* ComputeOf(const Step& step) { return std::get_if<Compute>(&step.action); }

bool IsSource(const Step& step) {
  const Compute* compute = ComputeOf(step);
  return compute != nullptr && (compute->is_kept || DefinitionOf(compute->kind).op_class == OpClass::kSource);
}

std::vector<KernelCall> CallsOf(const Program& program, const Compute& compute,
                                absl::Span<const std::optional<int>> companions) {
  const auto calls = DefinitionOf(compute.kind).calls;
  if (calls == nullptr) return {};
  std::vector<TensorType> inputs;
  for (const ValueId input : compute.inputs) inputs.push_back(program.value(input).type);
  return calls({.inputs = inputs,
                .output = program.value(compute.output).type,
                .attributes = compute.attributes,
                .is_manual = program.is_manual,
                .companions = companions});
}

std::optional<CallList> CallListOf(absl::string_view function) {
  if (function == "SumOfSquares") return CallList{.function = "SumsOfSquares", .row = "SquaredTensor"};
  if (function == "UnitOf") return CallList{.function = "UnitsOf", .row = "MeasuredTensor"};
  return std::nullopt;
}

bool IsAlias(const Step& step) { return std::holds_alternative<View>(step.action) || IsReshape(step); }

absl::Span<const FusedLoop> LoopsOf(const FusedStage& stage) {
  if (const auto* const loop = std::get_if<FusedLoop>(&stage.action)) return absl::MakeSpan(loop, 1);
  if (const auto* const batch = std::get_if<LoopBatch>(&stage.action)) return batch->loops;
  return {};
}

absl::Span<const JointCall> JointCallsOf(const FusedStage& stage) {
  if (const auto* const call = std::get_if<JointCall>(&stage.action)) return absl::MakeSpan(call, 1);
  if (const auto* const batch = std::get_if<CallBatch>(&stage.action)) return batch->calls;
  return {};
}

StageSteps StepsOf(const FusedStage& stage) {
  const auto all = [](const std::vector<int>& steps) { return StageSteps(steps.begin(), steps.end()); };
  return Match(
      stage.action, [](const SingleStep& single) { return StageSteps{single.step}; },
      [&](const FusedLoop& loop) { return all(loop.steps); },
      [](const LoopBatch& batch) {
        StageSteps steps;
        for (const FusedLoop& loop : batch.loops) steps.insert(steps.end(), loop.steps.begin(), loop.steps.end());
        return steps;
      },
      [](const AccumulatedProduct& product) {
        return StageSteps{product.product, product.sum};
      },
      [&](const AttentionForward& attention) { return all(attention.steps); },
      [&](const AttentionBackward& attention) { return all(attention.steps); },
      [&](const JointCall& call) { return all(call.steps); },
      [](const CallBatch& batch) {
        StageSteps steps;
        for (const JointCall& call : batch.calls) steps.insert(steps.end(), call.steps.begin(), call.steps.end());
        return steps;
      });
}

std::optional<std::vector<bool>> SpanOfInput(const Program& program, const Compute& compute, int input) {
  return SpanOfInput(RuleOf(program, compute), input);
}

std::optional<std::vector<bool>> SpanOfInput(const Rule& rule, int input) {
  const auto is_compound = [](const FactorList& factors) { return factors.size() > 1; };
  if (std::any_of(rule.output.begin(), rule.output.end(), is_compound)) return std::nullopt;
  std::vector<bool> span(rule.output.size(), false);
  auto next = rule.output.begin();
  for (const FactorList& factors : rule.inputs[static_cast<size_t>(input)]) {
    if (factors.empty()) continue;
    next = std::find(next, rule.output.end(), factors);
    if (next == rule.output.end()) return std::nullopt;
    span[static_cast<size_t>(next++ - rule.output.begin())] = true;
  }
  return span;
}

bool CanBeLooped(const OpDefinition& op) { return op.op_class == OpClass::kElementwise && !op.depends_on_place; }

Fusion Fuse(const Program& program, const FuseOptions& options) {
  Fusion fusion = Fuser(program, options).Run();
  BatchLoops(program, options.loop_batches, fusion);
  fusion.piece_counts = options.piece_counts;
  return fusion;
}

}  // namespace cleave::ir
