#include "ir/program/partition/kept_copies.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

constexpr int kNone = -1;

class Keeper {
 public:
  explicit Keeper(Program& program)
      : program_(program),
        writer_(program.values.size(), kNone),
        copies_(program.values.size()),
        goes_out_(program.values.size(), 0) {
    for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
      const Step& step = StepAt(i);
      for (const ValueId value : Writes(step)) writer_[value] = i;
      if (IsCopyOut(step)) goes_out_[Reads(step).front()] = 1;
      if (IsCopyIn16Bits(step)) copies_[Reads(step).front()].push_back(i);
    }
  }

  void Run() {
    std::multimap<int, Step> made;  // By the step behind which they stand.
    const std::vector<ProgramUpdate> updates = program_.updates;
    for (const ProgramUpdate& update : updates) {
      const std::optional<int> copy = CopyToKeep(update);
      if (!copy.has_value()) continue;
      made.emplace(writer_[update.value], Keep(*copy, update.value));
    }
    if (made.empty()) return;
    std::vector<Step> steps;
    steps.reserve(program_.steps.size() + made.size());
    for (int i = 0; i < static_cast<int>(program_.steps.size()); ++i) {
      steps.push_back(std::move(program_.steps[static_cast<size_t>(i)]));
      for (auto [own, end] = made.equal_range(i); own != end; ++own) steps.push_back(std::move(own->second));
    }
    program_.steps = std::move(steps);
  }

 private:
  const Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }
  const Compute* WriterOf(ValueId value) const {
    return writer_[value] == kNone ? nullptr : std::get_if<Compute>(&StepAt(writer_[value]).action);
  }

  bool IsCopyIn16Bits(const Step& step) const {
    const auto* const compute = std::get_if<Compute>(&step.action);
    return compute != nullptr && compute->kind == OpKind::kCast && step.phase != Phase::kUpdate &&
           Is16Bit(program_.value(compute->output).type.dtype);
  }

  // The only copy of the state, where its new value is made as it lies by an elementwise op of the update, which no
  // other state takes.
  std::optional<int> CopyToKeep(const ProgramUpdate& update) const {
    if (copies_[update.state].size() != 1 || update.state == update.value) return std::nullopt;
    const int copy = copies_[update.state].front();
    const ValueId value = Writes(StepAt(copy)).front();
    const Compute* const source = WriterOf(update.state);
    const Compute* const made = WriterOf(update.value);
    if (goes_out_[value] != 0 || source == nullptr || !source->inputs.empty() || made == nullptr) return std::nullopt;
    const bool is_alike = program_.value(update.value).layout == program_.value(update.state).layout &&
                          program_.value(update.state).stage == program_.value(value).stage &&
                          program_.value(update.value).stage == program_.value(value).stage;
    const bool is_loop = DefinitionOf(made->kind).op_class == OpClass::kElementwise &&
                         StepAt(writer_[update.value]).phase == Phase::kUpdate;
    return is_alike && is_loop ? std::optional(copy) : std::nullopt;
  }

  // Returns the step that makes the copy of the new value.
  Step Keep(int copy, ValueId new_value) {
    Step& kept = program_.steps[static_cast<size_t>(copy)];
    auto& compute = std::get<Compute>(kept.action);
    compute.is_kept = true;
    Value next = program_.value(compute.output);
    next.name = NewName(absl::StrCat(next.name, ".new"));
    // It is of the passes in which the new value is made: loops do both.
    next.repetition.passes = program_.value(new_value).repetition.passes;
    const Step& update = StepAt(writer_[new_value]);
    Step step = {
        .action = compute, .name = next.name, .phase = update.phase, .line = kept.line, .repeat = update.repeat};
    auto& made = std::get<Compute>(step.action);
    made.inputs = {new_value};
    made.is_kept = false;
    const ValueId state = compute.output;
    made.output = program_.values.push_back(std::move(next));
    program_.updates.push_back({.state = state, .value = made.output});
    return step;
  }

  std::string NewName(const std::string& wish) {
    if (names_.empty()) {
      for (const Value& value : program_.values) names_.insert(value.name);
    }
    std::string name = wish;
    for (int i = 1; !names_.insert(name).second; ++i) name = absl::StrCat(wish, "_", i);
    return name;
  }

  Program& program_;
  IdVector<ValueId, int> writer_;               // The step that writes a value.
  IdVector<ValueId, std::vector<int>> copies_;  // The steps that cast a value to 16 bits.
  IdVector<ValueId, uint8_t> goes_out_;         // Whether it is copied to the host's memory.
  absl::flat_hash_set<std::string> names_;      // Of all values, once a name is asked for.
};

}  // namespace

void KeepCopies(Program& program) {
  if (!program.is_manual) Keeper(program).Run();
}

}  // namespace cleave::ir
