// Outline: `Describer` writes down what a loop does, so that loops that are alike have equal texts; `Batcher` goes
// through the stages once, keeps the batches that may take more loops by that text, and says where a loop or a whole
// batch can run instead.
#include "ir/program/fuse/loop_batches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/reader.h"
#include "ir/program/value_set.h"

namespace cleave::ir {
namespace {

// With more tensors few loops have room among the parameters of a kernel.
constexpr size_t kMostTensors = 32;

// What a loop does, whatever its size and its tensors are.
class Describer {
 public:
  Describer(const Program& program, const Fusion& fusion) : program_(program), fusion_(fusion) {
    source_ = IdVector<ValueId, const Compute*>(program.values.size(), nullptr);
    for (const Step& step : program.steps) {
      if (IsSource(step)) source_[ComputeOf(step)->output] = ComputeOf(step);
    }
  }

  // Equal for loops that are alike; nullopt where a loop cannot be batched.
  std::optional<std::string> TextOf(const FusedLoop& loop) {
    std::string text;
    std::map<ValueId, size_t> numbers;  // Of the loop's values, as they are named first.
    for (const int i : loop.steps) {
      const Compute& compute = *ComputeOf(program_.steps[static_cast<size_t>(i)]);
      const Rule& rule = RuleOf(program_, compute, rules_);
      absl::StrAppend(&text, OpKindName(compute.kind), " ", AttributesText(compute.attributes));
      for (size_t input = 0; input < compute.inputs.size(); ++input) {
        const ValueId value = compute.inputs[input];
        if (const std::optional<std::string> number = NumberText(value)) {
          absl::StrAppend(&text, " ", *number);
          continue;
        }
        const std::optional<bool> is_whole = HasAllElements(*SpanOfInput(rule, static_cast<int>(input)), compute);
        if (!is_whole.has_value() || LiesElsewhere(value)) return std::nullopt;
        const size_t number = numbers.try_emplace(value, numbers.size()).first->second;
        absl::StrAppend(&text, *is_whole ? " tensor " : " scalar ", number, TypeText(value));
      }
      if (LiesElsewhere(compute.output)) return std::nullopt;
      const size_t number = numbers.try_emplace(compute.output, numbers.size()).first->second;
      absl::StrAppend(&text, fusion_.inside.contains(compute.output) ? " inside " : " to ", number,
                      TypeText(compute.output), "\n");
    }
    const auto is_stored = [&](const auto& named) { return !fusion_.inside.contains(named.first); };
    if (static_cast<size_t>(std::count_if(numbers.begin(), numbers.end(), is_stored)) > kMostTensors)
      return std::nullopt;
    return text;
  }

  // Whether the value exists from the beginning of a step.
  bool IsFromTheBeginning(ValueId value) const { return source_[value] != nullptr; }

  // Whether the loop reads only what exists from the beginning of a step.
  bool ReadsSourcesOnly(const FusedLoop& loop) const {
    std::set<ValueId> own;
    for (const int i : loop.steps) {
      const Compute& compute = *ComputeOf(program_.steps[static_cast<size_t>(i)]);
      for (const ValueId input : compute.inputs) {
        if (source_[input] == nullptr && own.count(input) == 0) return false;
      }
      own.insert(compute.output);
    }
    return true;
  }

 private:
  // A number that is written into the kernel, or that is one for all of the program.
  std::optional<std::string> NumberText(ValueId value) const {
    const Compute* const source = source_[value];
    if (source == nullptr) return std::nullopt;
    if (source->kind == OpKind::kStepScalar) return absl::StrCat("step scalar ", value.value());
    if (source->kind != OpKind::kConstant) return std::nullopt;
    return absl::StrCat(FormatDouble(source->attributes.Get(attribute::kValue)), TypeText(value));
  }

  std::string TypeText(ValueId value) const { return absl::StrCat(":", DTypeName(program_.value(value).type.dtype)); }

  // False for one number, nullopt for what lacks only some of the dimensions. A dimension of one element may lack.
  std::optional<bool> HasAllElements(const std::vector<bool>& span, const Compute& compute) const {
    const Value& output = program_.value(compute.output);
    bool has_all = true, has_none = true;
    for (size_t d = 0; d < span.size(); ++d) {
      if (output.type.shape[d] == 1 && output.layout.dimensions[d].empty()) continue;
      (span[d] ? has_none : has_all) = false;
    }
    if (!has_all && !has_none) return std::nullopt;
    return has_all;
  }

  // Not in one piece from the beginning of a buffer on, in the order of its elements.
  bool LiesElsewhere(ValueId value) const { return fusion_.parts.contains(value) || fusion_.in_blocks.contains(value); }

  const Program& program_;
  const Fusion& fusion_;
  RuleTable rules_;
  IdVector<ValueId, const Compute*> source_;
};

class Batcher {
 public:
  Batcher(const Program& program, LoopBatches batches, Fusion& fusion)
      : program_(program),
        batches_(batches),
        fusion_(fusion),
        describer_(program, fusion),
        place_(program.values.size(), -1),
        last_reading_(program.values.size(), -1),
        open_of_(program.values.size(), -1),
        state_(program.values.size()) {
    for (const ProgramUpdate& update : program.updates) state_[update.value].push_back(update.state);
    for (const Step& step : program.steps) {
      if (step.phase != Phase::kBackward) continue;
      for (const ValueId value : Reads(step)) read_backward_.insert(value);
    }
  }

  void Run() {
    for (FusedStage& stage : fusion_.stages) {
      if (!Joins(stage)) Append(std::move(stage));
    }
    Finish();
  }

 private:
  // Loops that may take more.
  struct Open {
    int number = 0;
    int place = 0;                             // In stages_.
    int sent = 0;                              // How much was sent before the first of them.
    std::set<ValueId> reads, writes, updates;  // The states whose new values they write.
  };

  const Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }
  FusedStage& StageAt(int place) { return *stages_[static_cast<size_t>(place)]; }
  int count() const { return static_cast<int>(stages_.size()); }

  // Equal for loops, or calls, of one pass that may be batched: what they do, and their layer where it has to be one.
  std::optional<std::string> KeyOf(const FusedStage& stage) {
    const auto* const loop = std::get_if<FusedLoop>(&stage.action);
    const auto* const call = std::get_if<JointCall>(&stage.action);
    const bool is_update = stage.phase == Phase::kUpdate;
    if (loop == nullptr && call == nullptr) return std::nullopt;
    const bool is_early = !is_update && FollowsCallsOfSources(stage);
    if (!is_update && !is_early && (loop == nullptr || !describer_.ReadsSourcesOnly(*loop))) return std::nullopt;
    std::optional<std::string> text = loop != nullptr ? describer_.TextOf(*loop) : ListOf(*call);
    if (!text.has_value()) return std::nullopt;
    absl::StrAppend(&*text, static_cast<int>(stage.phase), " ", static_cast<int>(stage.repeat), " ");
    if (stage.pass.has_value()) absl::StrAppend(&*text, stage.pass->stage, " ", static_cast<int>(stage.pass->kind));
    if ((is_update || is_early) && batches_ == LoopBatches::kAll) return text;
    for (const LoopPass& pass : RepetitionOf(program_, StepAt(StepsOf(stage).front())).passes) {
      absl::StrAppend(&*text, " ", pass.loop, " ", pass.number);
    }
    return text;
  }

  // Whether it is a call that reads only what exists from the beginning of a step, or a loop that reads what such calls
  // make, of which the backward pass reads what is made in the forward pass.
  bool FollowsCallsOfSources(const FusedStage& stage) const {
    const bool is_call = std::holds_alternative<JointCall>(stage.action);
    bool reads_early = is_call;
    std::set<ValueId> own;
    for (const int i : StepsOf(stage)) {
      for (const ValueId value : Reads(StepAt(i))) {
        if (early_.count(value) > 0) {
          reads_early = true;
        } else if (!describer_.IsFromTheBeginning(value) && own.count(value) == 0) {
          return false;
        }
      }
      const auto writes = Writes(StepAt(i));
      own.insert(writes.begin(), writes.end());
    }
    return reads_early && stage.phase == Phase::kForward && std::all_of(own.begin(), own.end(), [&](ValueId value) {
             return fusion_.inside.contains(value) || read_backward_.contains(value);
           });
  }

  // The function that takes a list of such calls.
  std::optional<std::string> ListOf(const JointCall& call) const {
    const std::vector<KernelCall> calls = CallsOf(program_, *ComputeOf(StepAt(call.op)), call.companions);
    const std::optional<CallList> list = calls.size() == 1 ? CallListOf(calls.front().function) : std::nullopt;
    return list.has_value() ? std::make_optional(list->function) : std::nullopt;
  }

  // What a loop or call reads from outside and writes.
  Open AccessesOf(const FusedStage& stage) const {
    Open own;
    for (const int i : StepsOf(stage)) {
      const ValueId output = ComputeOf(StepAt(i))->output;
      for (const ValueId value : Reads(StepAt(i))) {
        if (own.writes.count(value) == 0) own.reads.insert(value);
      }
      own.writes.insert(output);
      own.updates.insert(state_[output].begin(), state_[output].end());
    }
    return own;
  }

  static bool Meet(const std::set<ValueId>& a, const std::set<ValueId>& b) {
    if (a.size() > b.size()) return Meet(b, a);
    return std::any_of(a.begin(), a.end(), [&](ValueId value) { return b.count(value) > 0; });
  }

  bool Joins(FusedStage& stage) {
    const std::optional<std::string> key = KeyOf(stage);
    if (!key.has_value()) return false;
    Open own = AccessesOf(stage);
    if (std::holds_alternative<JointCall>(stage.action)) early_.insert(own.writes.begin(), own.writes.end());
    const auto found = open_.find(*key);
    if (found == open_.end() || !MayJoin(own, found->second)) {
      own.place = count();
      own.sent = sent_;
      own.number = next_number_++;
      for (const ValueId value : own.writes) open_of_[value] = own.number;
      if (found != open_.end()) numbered_.erase(found->second.number);
      const auto opened = open_.insert_or_assign(*key, std::move(own)).first;
      numbered_.emplace(opened->second.number, opened);
      return false;
    }
    Open& batch = found->second;
    FusedStage joined = std::move(StageAt(batch.place));
    if (const auto* const loop = std::get_if<FusedLoop>(&stage.action)) {
      if (auto* const first = std::get_if<FusedLoop>(&joined.action)) joined.action = LoopBatch{{std::move(*first)}};
      std::get<LoopBatch>(joined.action).loops.push_back(*loop);
    } else {
      if (auto* const first = std::get_if<JointCall>(&joined.action)) joined.action = CallBatch{{std::move(*first)}};
      std::get<CallBatch>(joined.action).calls.push_back(std::get<JointCall>(stage.action));
    }
    batch.reads.insert(own.reads.begin(), own.reads.end());
    batch.writes.insert(own.writes.begin(), own.writes.end());
    for (const ValueId value : own.writes) open_of_[value] = batch.number;
    batch.updates.insert(own.updates.begin(), own.updates.end());
    if (CanRunAt(batch.place, own)) {
      StageAt(batch.place) = std::move(joined);
      Note(own, batch.place);
    } else {
      stages_[static_cast<size_t>(batch.place)].reset();
      batch.place = count();
      stages_.push_back(std::move(joined));
      Note(batch, batch.place);
    }
    return true;
  }

  // Whether they can run at the same time, at the place of the batch or behind all stages so far.
  bool MayJoin(const Open& own, const Open& batch) const {
    if (Meet(own.reads, batch.writes) || Meet(own.reads, batch.updates) || Meet(batch.reads, own.updates)) return false;
    return CanRunAt(batch.place, own) || CanRunLast(batch);
  }

  // Whether the loop can run at an earlier place: what it reads is there, and no stage behind reads a state that it
  // updates.
  bool CanRunAt(int place, const Open& own) const {
    return std::all_of(own.reads.begin(), own.reads.end(), [&](ValueId value) { return place_[value] < place; }) &&
           std::all_of(own.updates.begin(), own.updates.end(),
                       [&](ValueId state) { return last_reading_[state] < place; });
  }

  bool CanRunLast(const Open& batch) const {
    return batch.sent == sent_ && std::all_of(batch.writes.begin(), batch.writes.end(),
                                              [&](ValueId value) { return last_reading_[value] <= batch.place; });
  }

  void Append(FusedStage stage) {
    Open own;
    for (const int i : StepsOf(stage)) {
      for (const ValueId value : Reads(StepAt(i))) own.reads.insert(value);
      for (const ValueId value : Writes(StepAt(i))) own.writes.insert(value);
    }
    const Step& first = StepAt(StepsOf(stage).front());
    const bool is_sent = CommunicationOf(program_, first) != nullptr ||
                         std::holds_alternative<HostCopy>(first.action) || std::holds_alternative<Send>(first.action) ||
                         std::holds_alternative<Receive>(first.action);
    // What is sent ends the batch that writes it, and no other one moves behind it.
    if (is_sent) {
      for (const ValueId value : own.reads) {
        const auto batch = numbered_.find(open_of_[value]);
        if (batch == numbered_.end()) continue;
        open_.erase(batch->second);
        numbered_.erase(batch);
      }
      ++sent_;
    }
    Note(own, count());
    stages_.push_back(std::move(stage));
  }

  void Note(const Open& own, int place) {
    for (const ValueId value : own.reads) last_reading_[value] = std::max(last_reading_[value], place);
    for (const ValueId value : own.writes) place_[value] = place;
  }

  void Finish() {
    fusion_.stages.clear();
    for (std::optional<FusedStage>& stage : stages_) {
      if (!stage.has_value()) continue;
      for (const int i : StepsOf(*stage)) {
        for (const ValueId value : Writes(StepAt(i)))
          fusion_.written_by[value] = static_cast<int>(fusion_.stages.size());
      }
      fusion_.stages.push_back(*std::move(stage));
    }
  }

  const Program& program_;
  const LoopBatches batches_;
  Fusion& fusion_;
  Describer describer_;
  std::vector<std::optional<FusedStage>> stages_;                  // Nothing where a batch has moved away.
  std::map<std::string, Open> open_;                               // By KeyOf.
  std::map<int, std::map<std::string, Open>::iterator> numbered_;  // The same by their numbers.
  int next_number_ = 0;
  int sent_ = 0;                                   // So many stages that send.
  IdVector<ValueId, int> place_;                   // Where a value is written; -1 for sources.
  IdVector<ValueId, int> last_reading_;            // The last place so far that reads a value.
  IdVector<ValueId, int> open_of_;                 // The number of the loops that write a value; -1 for others.
  IdVector<ValueId, std::vector<ValueId>> state_;  // The states whose new value it is.
  ValueSet read_backward_;                         // In the backward pass.
  std::set<ValueId> early_;                        // What calls give that may be batched.
};

}  // namespace

std::set<ValueId> ReadByAll(const Program& program, const LoopBatch& batch) {
  std::map<ValueId, size_t> readers;
  for (const FusedLoop& loop : batch.loops) {
    std::set<ValueId> reads;
    for (const int i : loop.steps) {
      for (const ValueId value : Reads(program.steps[static_cast<size_t>(i)])) reads.insert(value);
    }
    for (const ValueId value : reads) ++readers[value];
  }
  std::set<ValueId> all;
  for (const auto& [value, count] : readers) {
    if (count == batch.loops.size()) all.insert(value);
  }
  return all;
}

void BatchLoops(const Program& program, LoopBatches batches, Fusion& fusion) {
  if (batches != LoopBatches::kNone) Batcher(program, batches, fusion).Run();
}

}  // namespace cleave::ir
