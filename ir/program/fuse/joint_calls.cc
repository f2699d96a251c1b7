#include "ir/program/fuse/joint_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/place_of_piece.h"
#include "ir/program/value_set.h"

namespace cleave::ir {
namespace {

const Compute& ComputeAt(const Program& program, int step) {
  return std::get<Compute>(program.steps[static_cast<size_t>(step)].action);
}

const std::vector<Companion>& CompanionsOf(const Program& program, const JointCall& call) {
  return DefinitionOf(ComputeAt(program, call.op).kind).companions;
}

class JointCallFinder {
 public:
  JointCallFinder(const Program& program, Epilogues epilogues)
      : program_(program), epilogues_(epilogues), places_(program) {
    for (const ProgramUpdate& update : program.updates) asked_for_.insert(update.value);
    if (program.loss.has_value()) asked_for_.insert(*program.loss);
    for (const ProgramMetric& metric : program.metrics) asked_for_.insert(metric.value);
  }

  std::vector<JointCall> Run() {
    std::vector<std::pair<size_t, int>> ops;  // Those with more companions first: some are companions of others.
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const auto* const compute = std::get_if<Compute>(&program_.steps[i].action);
      const size_t companions = compute == nullptr ? 0 : DefinitionOf(compute->kind).companions.size();
      if (companions > 0) ops.emplace_back(companions, static_cast<int>(i));
    }
    absl::c_stable_sort(ops, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [companions, op] : ops) AddCallOf(op);
    return std::move(found_);
  }

 private:
  void AddCallOf(int op) {
    if (taken_.count(op) > 0) return;
    JointCall call = {.steps = {op}, .place = op, .op = op, .companions = {}};
    const std::vector<Companion>& companions = CompanionsOf(program_, call);
    call.companions.resize(companions.size());
    for (size_t i = 0; i < companions.size(); ++i) {
      if (IsWanted(companions[i], op)) AddCompanion(companions[i], i, call);
    }
    if (call.steps.size() == 1) return;
    taken_.insert(call.steps.begin(), call.steps.end());
    for (const int ahead : call.ahead) made_ahead_.emplace(ahead, op);
    found_.push_back(std::move(call));
  }

  bool IsWanted(const Companion& companion, int op) const {
    if (!IsEpilogue(companion, op)) return true;
    const ValueId product = ComputeAt(program_, op).output;
    if (epilogues_ != Epilogues::kAll || IsAddedUp(product)) return false;
    return !IsOfGelu(companion) || HasRowsOfEights(product);
  }

  static bool IsOfGelu(const Companion& companion) {
    return companion.kind == OpKind::kGelu || companion.kind == OpKind::kGeluGradient;
  }

  // cuBLASLt keeps what gelu is of, and reads it, in rows of a multiple of 8 elements.
  bool HasRowsOfEights(ValueId id) const {
    const Value& value = program_.value(id);
    return value.type.shape.back() % (8 * CutCounts(value.layout, program_.mesh).back()) == 0;
  }

  bool IsEpilogue(const Companion& companion, int op) const {
    return DefinitionOf(ComputeAt(program_, op).kind).op_class == OpClass::kProduct &&
           companion.kind != OpKind::kBiasAdd;
  }

  // Whether the product is added to another value (AccumulatedProduct).
  bool IsAddedUp(ValueId product) const {
    const auto& readers = places_.ReadersOf(product);
    if (readers.size() != 1) return false;
    const Step& reader = program_.steps[static_cast<size_t>(readers.front())];
    if (const auto* const sum = std::get_if<Collective>(&reader.action)) return IsSumOverTime(program_, *sum);
    const auto* const add = std::get_if<Compute>(&reader.action);
    return add != nullptr && add->kind == OpKind::kAdd;
  }

  // Whether loops go on from what the step makes. It would then be stored for them.
  bool BeginsALoop(int step) const {
    const auto is_looped = [](const OpDefinition& op) {
      return op.op_class == OpClass::kElementwise && !op.depends_on_place && !op.is_alias;
    };
    const Compute& compute = ComputeAt(program_, step);
    if (!is_looped(DefinitionOf(compute.kind))) return false;
    return absl::c_any_of(places_.ReadersOf(compute.output), [&](int reader) {
      const auto* const other = std::get_if<Compute>(&program_.steps[static_cast<size_t>(reader)].action);
      // Numbers of 8 bits wait for the largest of all that they are made of.
      if (other != nullptr && other->kind == OpKind::kQuantize) return false;
      return other != nullptr && is_looped(DefinitionOf(other->kind)) && places_.RunTogether(step, reader);
    });
  }

  // The first op that is this companion, if there is one that can run with the others.
  void AddCompanion(const Companion& companion, size_t number, JointCall& call) const {
    for (const int step : CandidatesFor(companion, call)) {
      if (taken_.count(step) > 0 || absl::c_linear_search(call.steps, step)) continue;
      if (!IsCompanion(companion, call, step)) continue;
      if (!places_.RunTogether(call.op, step)) {
        if (companion.comes_early && AddEarly(number, step, call)) return;
        continue;
      }
      if (IsEpilogue(companion, call.op) && BeginsALoop(step)) continue;
      // What is read through a cast is only smaller.
      if (companion.gives.has_value() && !companion.hides.has_value() && !EndsALoop(companion, call, step)) continue;
      JointCall joined = call;
      joined.steps.insert(absl::c_lower_bound(joined.steps, step), step);
      joined.companions[number] = step;
      if (companion.hides.has_value() && !IsReadWithin(*ValueOf(program_, joined, *companion.hides), joined)) continue;
      const std::optional<int> place = places_.PlaceOf(joined.steps);
      if (!place.has_value()) continue;
      joined.place = *place;
      call = std::move(joined);
      return;
    }
  }

  // Adds a step of the backward pass to a call of the forward pass, if it can run there. Returns whether it can.
  bool AddEarly(size_t number, int step, JointCall& call) const {
    if (!places_.RunsBackwardOf(call.op, step)) return false;
    std::set<int> ahead;
    const bool is_known = absl::c_all_of(ComputeAt(program_, step).inputs,
                                         [&](ValueId input) { return BecomesKnown(input, call.op, ahead); });
    if (!is_known) return false;
    JointCall joined = call;
    joined.steps.insert(absl::c_lower_bound(joined.steps, step), step);
    joined.companions[number] = step;
    joined.ahead.assign(ahead.begin(), ahead.end());
    for (const int tensor : OverwrittenBy(program_, joined, step)) {
      if (IsReadBehind(OriginOf(*ValueOf(program_, joined, tensor)), joined)) return false;
    }
    call = std::move(joined);
    return true;
  }

  // Whether the value exists where step `place` runs, or is a number that can be made there; then the steps that make
  // it are added to `ahead`.
  bool BecomesKnown(ValueId value, int place, std::set<int>& ahead) const {
    const int writer = places_.WriterOf(value);
    if (writer < place) return true;
    if (const auto found = made_ahead_.find(writer); found != made_ahead_.end()) return found->second < place;
    const Step& step = program_.steps[static_cast<size_t>(writer)];
    const auto* const compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr || compute->is_kept) return compute != nullptr;
    const OpDefinition& definition = DefinitionOf(compute->kind);
    if (definition.op_class == OpClass::kSource) return true;
    const bool is_number = definition.op_class == OpClass::kElementwise && !definition.depends_on_place &&
                           program_.value(value).type.rank() == 0;
    if (!is_number || taken_.count(writer) > 0 || !places_.RunsBackwardOf(place, writer)) return false;
    const bool is_known =
        absl::c_all_of(compute->inputs, [&](ValueId input) { return BecomesKnown(input, place, ahead); });
    if (is_known) ahead.insert(writer);
    return is_known;
  }

  // The value whose elements this one has under another shape.
  ValueId OriginOf(ValueId value) const {
    while (IsOtherShape(places_.WriterOf(value))) {
      value = Reads(program_.steps[static_cast<size_t>(places_.WriterOf(value))]).front();
    }
    return value;
  }
  bool IsOtherShape(int step) const {
    if (step < 0) return false;
    const Step& own = program_.steps[static_cast<size_t>(step)];
    return std::holds_alternative<View>(own.action) || IsReshape(own);
  }

  // Whether a step behind the call reads the value, in whatever shape, or the program gives it.
  bool IsReadBehind(ValueId value, const JointCall& call) const {
    if (asked_for_.contains(value)) return true;
    return absl::c_any_of(places_.ReadersOf(value), [&](int reader) {
      if (absl::c_binary_search(call.steps, reader)) return false;
      if (!IsOtherShape(reader)) return reader > call.place;
      return IsReadBehind(Writes(program_.steps[static_cast<size_t>(reader)]).front(), call);
    });
  }

  // Steps that make what the companion gives, or that read what it reads.
  std::vector<int> CandidatesFor(const Companion& companion, const JointCall& call) const {
    if (companion.gives.has_value()) {
      const std::optional<ValueId> made = ValueOf(program_, call, *companion.gives);
      const int writer = made.has_value() ? places_.WriterOf(*made) : -1;
      return writer < 0 ? std::vector<int>() : std::vector<int>{writer};
    }
    for (const int tensor : companion.inputs) {
      const std::optional<ValueId> read = ValueOf(program_, call, tensor);
      if (!read.has_value()) continue;
      const auto& readers = places_.ReadersOf(*read);
      return {readers.begin(), readers.end()};
    }
    return {};
  }

  // Whether nothing is lost if the step is in no loop with those that make what it reads: none of them is in a loop
  // with it, but for those that may be companions themselves.
  bool EndsALoop(const Companion& companion, const JointCall& call, int step) const {
    const Compute& compute = ComputeAt(program_, step);
    for (size_t i = 0; i < compute.inputs.size(); ++i) {
      const int writer = places_.WriterOf(compute.inputs[i]);
      const auto* const made =
          writer < 0 ? nullptr : std::get_if<Compute>(&program_.steps[static_cast<size_t>(writer)].action);
      if (made == nullptr || !places_.RunTogether(writer, step)) continue;
      const OpDefinition& definition = DefinitionOf(made->kind);
      if (definition.op_class != OpClass::kElementwise || definition.depends_on_place || definition.is_alias) continue;
      const bool may_join = absl::c_any_of(CompanionsOf(program_, call), [&](const Companion& other) {
        return other.kind == made->kind && other.gives == companion.inputs[i];
      });
      if (!may_join && places_.ReadersOf(compute.inputs[i]).size() == 1) return false;
    }
    return true;
  }

  bool IsReadWithin(ValueId value, const JointCall& call) const {
    return !asked_for_.contains(value) && absl::c_all_of(places_.ReadersOf(value), [&](int reader) {
      return absl::c_binary_search(call.steps, reader);
    });
  }

  bool IsCompanion(const Companion& companion, const JointCall& call, int step) const {
    const auto* const compute = std::get_if<Compute>(&program_.steps[static_cast<size_t>(step)].action);
    if (compute == nullptr || compute->kind != companion.kind) return false;
    if (compute->inputs.size() != companion.inputs.size()) return false;
    if (companion.gives.has_value() && ValueOf(program_, call, *companion.gives) != compute->output) return false;
    for (size_t i = 0; i < companion.inputs.size(); ++i) {
      const std::optional<ValueId> known = ValueOf(program_, call, companion.inputs[i]);
      if (known.has_value() && known != compute->inputs[i]) return false;
    }
    return companion.fits == nullptr || Fits(companion, ComputeAt(program_, call.op), *compute);
  }

  bool Fits(const Companion& companion, const Compute& op, const Compute& other) const {
    const std::vector<TensorType> inputs = InputTypesOf(op), others = InputTypesOf(other);
    const auto site = [&](const Compute& compute, const std::vector<TensorType>& types) {
      return CallSite{.inputs = types,
                      .output = program_.value(compute.output).type,
                      .attributes = compute.attributes,
                      .is_manual = program_.is_manual};
    };
    return companion.fits(site(op, inputs), site(other, others));
  }

  std::vector<TensorType> InputTypesOf(const Compute& compute) const {
    std::vector<TensorType> types;
    for (const ValueId input : compute.inputs) types.push_back(program_.value(input).type);
    return types;
  }

  const Program& program_;
  const Epilogues epilogues_;
  const PlacesOfPieces places_;
  std::vector<JointCall> found_;
  ValueSet asked_for_;             // Values that are read besides by steps.
  std::set<int> taken_;            // Steps of calls that were found.
  std::map<int, int> made_ahead_;  // By step of JointCall::ahead: before which call it runs.
};

}  // namespace

std::vector<JointCall> FindJointCalls(const Program& program, Epilogues epilogues) {
  return JointCallFinder(program, epilogues).Run();
}

int TensorOf(const Program& program, const JointCall& call, int step, int input) {
  const auto companion = absl::c_find(call.companions, step);
  if (companion == call.companions.end()) return input;
  const auto number = static_cast<size_t>(companion - call.companions.begin());
  return CompanionsOf(program, call)[number].inputs[static_cast<size_t>(input)];
}

std::vector<int> OverwrittenBy(const Program& program, const JointCall& call, int step) {
  std::vector<int> tensors;
  const std::optional<int> input = DefinitionOf(ComputeAt(program, step).kind).overwrites;
  if (input.has_value()) tensors.push_back(TensorOf(program, call, step, *input));
  const auto companion = absl::c_find(call.companions, step);
  if (companion != call.companions.end()) {
    const std::vector<int>& also =
        CompanionsOf(program, call)[static_cast<size_t>(companion - call.companions.begin())].overwrites;
    tensors.insert(tensors.end(), also.begin(), also.end());
  }
  return tensors;
}

std::optional<ValueId> ValueOf(const Program& program, const JointCall& call, int tensor) {
  const Compute& op = ComputeAt(program, call.op);
  if (tensor == kResult) return op.output;
  if (const std::optional<int> companion = CompanionOf(tensor); companion.has_value()) {
    const std::optional<int> step = call.companions[static_cast<size_t>(*companion)];
    return step.has_value() ? std::make_optional(ComputeAt(program, *step).output) : std::nullopt;
  }
  if (tensor < static_cast<int>(op.inputs.size())) return op.inputs[static_cast<size_t>(tensor)];
  const std::vector<Companion>& companions = CompanionsOf(program, call);
  for (size_t i = 0; i < companions.size(); ++i) {
    const auto place = absl::c_find(companions[i].inputs, tensor);
    if (!call.companions[i].has_value() || place == companions[i].inputs.end()) continue;
    const Compute& own = ComputeAt(program, *call.companions[i]);
    return own.inputs[static_cast<size_t>(place - companions[i].inputs.begin())];
  }
  return std::nullopt;
}

}  // namespace cleave::ir
