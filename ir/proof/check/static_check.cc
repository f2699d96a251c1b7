// The static half of the proof: every rank's view of every collective, and the layouts along the way.

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/match/match.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/proof/check/check.h"
#include "ir/proof/check/messages.h"
#include "ir/proof/check/schedule_check.h"
#include "ir/sharding/layout/boxes.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

bool EndsWith(const AxisList& axes, const AxisList& suffix) {
  return suffix.size() <= axes.size() && std::equal(suffix.rbegin(), suffix.rend(), axes.rbegin());
}

void RemoveSuffix(AxisList& axes, size_t count) { axes.resize(axes.size() - count); }

void Append(AxisList& axes, const AxisList& more) { axes.insert(axes.end(), more.begin(), more.end()); }

// Removes `axes` from the partial axes; false when one of them is not partial with this reduction.
bool Resolve(Layout& layout, const AxisList& axes, Reduction reduction) {
  for (AxisId axis : axes) {
    const auto it = std::find(layout.partial.begin(), layout.partial.end(), PartialAxis{axis, reduction});
    if (it == layout.partial.end()) return false;
    layout.partial.erase(it);
  }
  return true;
}

// What a collective makes of an input's layout; nullopt when the collective cannot be applied to it.
std::optional<Layout> ResultLayout(const Collective& collective, const Transfer& transfer, Layout layout) {
  const int rank = static_cast<int>(layout.dimensions.size());
  const auto has = [&](int dimension) { return dimension >= 0 && dimension < rank; };
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      if (!Resolve(layout, collective.axes, collective.reduction)) return std::nullopt;
      return layout;
    case CollectiveKind::kReduceScatter:
      if (!has(transfer.to_dimension) || !Resolve(layout, collective.axes, collective.reduction)) return std::nullopt;
      Append(layout.dimensions[static_cast<size_t>(transfer.to_dimension)], collective.axes);
      return layout;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: {
      if (!has(transfer.from_dimension)) return std::nullopt;
      AxisList& from = layout.dimensions[static_cast<size_t>(transfer.from_dimension)];
      if (!EndsWith(from, collective.axes)) return std::nullopt;
      RemoveSuffix(from, collective.axes.size());
      if (collective.kind == CollectiveKind::kAllGather) return layout;
      if (!has(transfer.to_dimension) || transfer.to_dimension == transfer.from_dimension) return std::nullopt;
      Append(layout.dimensions[static_cast<size_t>(transfer.to_dimension)], collective.axes);
      return layout;
    }
    case CollectiveKind::kBroadcast:
      return layout;
    case CollectiveKind::kPermute:
    case CollectiveKind::kNeighborExchange:
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kNeighborExchangeV2:
      // Their axes alone do not decide what they make; PermuteFits, ExchangeFits and CheckMessages do.
      return std::nullopt;
  }
  return std::nullopt;
}

// How many pieces of a dimension lie from one to the next along `axis`, if this cuts it.
std::optional<int64_t> StrideOf(AxisId axis, const AxisList& axes, const Mesh& mesh) {
  const auto place = std::find(axes.begin(), axes.end(), axis);
  if (place == axes.end()) return std::nullopt;
  return mesh.Size(absl::MakeConstSpan(axes).subspan(static_cast<size_t>(place - axes.begin()) + 1));
}

// A permute keeps the cut counts and the partial axes and moves pieces only along its axes.
bool PermuteFits(const Program& program, const Collective& collective, const Layout& input, const Layout& output) {
  const Mesh& mesh = program.mesh;
  if (CutCounts(input, mesh) != CutCounts(output, mesh) || input.partial != output.partial) return false;
  for (size_t d = 0; d < input.dimensions.size(); ++d) {
    for (AxisId axis : mesh.AxisIds()) {
      const bool moves = StrideOf(axis, input.dimensions[d], mesh) != StrideOf(axis, output.dimensions[d], mesh);
      const bool named = std::find(collective.axes.begin(), collective.axes.end(), axis) != collective.axes.end();
      if (moves && !named) return false;
    }
  }
  return true;
}

// The members of a group have one piece each of a dimension, all of one size.
bool TurnFits(const Program& program, const Collective& collective, const Layout& input, const Layout& output) {
  const Mesh& mesh = program.mesh;
  const int64_t members = mesh.Size(collective.axes);
  return input == output && input.windows.empty() && 0 < collective.turn && collective.turn < members &&
         std::find(input.dimensions.begin(), input.dimensions.end(), collective.axes) != input.dimensions.end();
}

// An exchange turns pieces into windows, in groups in which every windowed dimension is whole.
bool ExchangeFits(const Collective& collective, const Layout& input, const Layout& output) {
  return !output.windows.empty() && output.WithoutWindows() == input && collective.axes == WindowedAxes(output);
}

bool Fits(const Program& program, const Collective& collective, const Transfer& transfer) {
  const Layout& input = program.value(transfer.input).layout;
  const Layout& output = program.value(transfer.output).layout;
  switch (collective.kind) {
    case CollectiveKind::kPermute:
      return collective.turn == 0 ? PermuteFits(program, collective, input, output)
                                  : TurnFits(program, collective, input, output);
    case CollectiveKind::kNeighborExchange:
      return ExchangeFits(collective, input, output);
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kNeighborExchangeV2:
      return false;  // It needs messages.
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBroadcast:
      return input.windows.empty() && ResultLayout(collective, transfer, input) == output;
  }
  return false;
}

class StaticCheck {
 public:
  explicit StaticCheck(const Program& program)
      : program_(program),
        written_(program.values.size(), false),
        is_source_(program.values.size(), false),
        is_on_host_(program.values.size(), false),
        computes_(program.values.size(), nullptr),
        phases_(program.values.size(), Phase::kForward),
        repeats_(program.values.size(), Repeat::kEach) {}

  std::vector<std::string> Run() && {
    for (const Step& step : program_.steps) {
      CheckPhase(step);
      step_ = &step;
      if (!CheckUse(step)) continue;
      CheckRepeat(step);
      CheckStage(step);
      Match(
          step.action, [&](const Compute& compute) { CheckCompute(compute); },
          [&](const Collective& collective) { CheckCollective(collective); },
          [&](const Slice& slice) { CheckSlice(slice); }, [&](const View& view) { CheckView(view); },
          [](const Glance&) {},  // It takes a value as it lies.
          [&](const HostCopy& copy) { CheckHostCopy(copy); }, [&](const Send& send) { CheckSend(step, send); },
          [&](const Receive& receive) { CheckReceive(step, receive); });
    }
    CheckResults();
    CheckMailbox();
    return std::move(findings_);
  }

 private:
  void Find(const std::string& what) {
    findings_.push_back(step_ == nullptr ? what : absl::StrCat("step `", step_->name, "`: ", what));
  }

  const Value& value(ValueId id) const { return program_.value(id); }
  std::string Describe(const Layout& layout) const { return LayoutText(layout, program_.mesh); }

  // Steps of one kind of repeat follow one another, and within it phases do. REQUIRES: step_ is the step before.
  void CheckPhase(const Step& step) {
    if (step_ == nullptr) return;
    if (step.repeat < step_->repeat) {
      Find(absl::StrCat("`", step.name, "`, which runs ", RepeatName(step.repeat), ", stands behind it"));
    } else if (step.repeat == step_->repeat && step.phase < step_->phase) {
      Find(absl::StrCat("a step of the ", PhaseName(step.phase), " phase, `", step.name, "`, stands behind it"));
    }
  }

  // What belongs to a micro-batch is read and written only by steps that run for each of them, and sums over them only
  // after them.
  void CheckRepeat(const Step& step) {
    const Collective* collective = std::get_if<Collective>(&step.action);
    const bool is_sum = collective != nullptr && IsSumOverTime(program_, *collective);
    const Repeat complete = step.repeat == Repeat::kEachBefore ? Repeat::kOnceBefore : Repeat::kOnceAfter;
    for (ValueId write : Writes(step)) repeats_[write] = is_sum ? complete : step.repeat;
    if (!program_.time.has_value()) {
      if (step.repeat != Repeat::kEach) Find("runs once, and the program has no micro-batches");
      return;
    }
    if (step.phase == Phase::kUpdate && step.repeat == Repeat::kEach) Find("updates after each micro-batch");
    for (ValueId read : Reads(step)) {
      if (is_source_[read] || repeats_[read] == step.repeat) continue;
      if (repeats_[read] == Repeat::kOnceBefore && step.repeat != Repeat::kEachBefore) continue;
      // A copy of a parameter that is gathered for each of them is the same in all.
      const bool is_alike = repeats_[read] == Repeat::kEach && !DependsOn(value(read).layout, *program_.time);
      if (is_alike && step.repeat == Repeat::kOnceAfter) continue;
      Find(absl::StrCat("runs ", RepeatName(step.repeat), ", and `", value(read).name, "` is there ",
                        RepeatName(repeats_[read])));
    }
    StepValues own = Writes(step);
    for (ValueId read : Reads(step)) own.push_back(read);
    const bool depends =
        std::any_of(own.begin(), own.end(), [&](ValueId id) { return DependsOn(value(id).layout, *program_.time); });
    if (depends && !IsForEach(step.repeat)) Find("uses what belongs to a micro-batch, and does not run for each");
    if (collective == nullptr || is_sum) {
      if (is_sum && collective->kind != CollectiveKind::kAllReduce) Find("sends along the axis of time");
      return;
    }
    const AxisList& axes = collective->axes;
    if (std::find(axes.begin(), axes.end(), *program_.time) != axes.end()) Find("sends along the axis of time");
  }

  // What a step touches, the ranks of its stage have.
  void CheckStage(const Step& step) {
    const std::optional<int> stage = StageOf(program_, step);
    StepValues own = Writes(step);
    for (ValueId read : Reads(step)) own.push_back(read);
    for (ValueId id : own) {
      const std::optional<int>& held = value(id).stage;
      if (held.has_value() && (*held < 0 || *held >= StageCount(program_))) {
        Find(absl::StrCat("`", value(id).name, "` is of stage ", *held, " of ", StageCount(program_)));
      } else if (held.has_value() && (!stage.has_value() || !AreOnSameRanks(*held, *stage, PartCount(program_)))) {
        Find(absl::StrCat("reads `", value(id).name, "`, which is of stage ", *held));
      }
    }
    for (const ValueId read : Reads(step)) {
      if (stage.has_value() && IsOfLaterPass(read, step, *stage)) {
        Find(absl::StrCat("reads `", value(read).name, "`, which a later pass makes"));
      }
    }
    const bool splits = program_.pipeline.has_value() && program_.pipeline->schedule == PipelineSchedule::kZeroBubble;
    const bool is_in_pass = program_.time.has_value() && step.repeat == Repeat::kEach && stage.has_value();
    if (step.phase == Phase::kWeights && !(splits && is_in_pass)) Find("has no pass for the weights");
    if (!program_.pipeline.has_value()) return;
    const AxisId axis = program_.pipeline->axis;
    const Collective* collective = std::get_if<Collective>(&step.action);
    if (collective != nullptr &&
        std::find(collective->axes.begin(), collective->axes.end(), axis) != collective->axes.end())
      Find("communicates along the axis of stages");
    for (ValueId write : Writes(step)) {
      if (DependsOn(value(write).layout, axis)) Find("makes a value that the axis of stages cuts");
    }
  }

  // Ranks with several stages do the forward passes of earlier stages first, and the backward passes of later ones.
  bool IsOfLaterPass(ValueId id, const Step& step, int stage) const {
    const std::optional<int>& made = value(id).stage;
    const bool are_passes = program_.pipeline.has_value() && step.repeat == Repeat::kEach &&
                            repeats_[id] == Repeat::kEach && step.phase != Phase::kUpdate &&
                            phases_[id] != Phase::kUpdate;
    if (!are_passes || !made.has_value() || PassOf(phases_[id]) != PassOf(step.phase)) return false;
    return PassOf(step.phase) == PassKind::kForward ? *made > stage : *made < stage;
  }

  // Values go to later stages in the forward pass and to earlier ones in the backward pass: a stage waits for others
  // only while these do not wait for it. Outside of the micro-batches all stages run their steps in one order.
  void CheckSend(const Step& step, const Send& send) {
    const std::optional<int>& from = value(send.input).stage;
    if (!from.has_value() || send.to < 0 || send.to >= StageCount(program_) ||
        AreOnSameRanks(*from, send.to, PartCount(program_)))
      return Find("sends to no other stage");
    if (step.phase == Phase::kWeights) Find("sends what no other stage waits for");
    const bool is_backward = step.phase == Phase::kBackward;
    if (program_.time.has_value() && step.repeat == Repeat::kEach && is_backward != (send.to < *from))
      Find(
          absl::StrCat("sends from stage ", *from, " to stage ", send.to, " in the ", PhaseName(step.phase), " phase"));
    mailbox_[{*from, send.to}].push_back(&step);
  }

  void CheckReceive(const Step& step, const Receive& receive) {
    const Value& output = value(receive.output);
    if (!output.stage.has_value()) return Find("receives on no stage");
    std::deque<const Step*>& sent = mailbox_[{receive.from, *output.stage}];
    if (sent.empty()) return Find(absl::StrCat("waits for what stage ", receive.from, " does not send"));
    const Step& sender = *sent.front();
    const Value& input = value(std::get<Send>(sender.action).input);
    sent.pop_front();
    if (input.type != output.type || input.origin != output.origin || input.layout != output.layout)
      Find(absl::StrCat("takes `", input.name, "`, which is another value"));
    if (sender.repeat != step.repeat || sender.phase != step.phase) Find("is sent at another time than it is taken");
  }

  void CheckMailbox() {
    step_ = nullptr;
    for (const auto& [stages, sent] : mailbox_) {
      for (const Step* step : sent)
        Find(absl::StrCat("step `", step->name, "`: stage ", stages.second, " never takes it"));
    }
  }

  // Metric steps do not run at every step of training, and when only metrics are asked for, training does not run.
  bool Runs(ValueId made, Phase reader) const { return phases_[made] != Phase::kMetric || reader == Phase::kMetric; }

  // Every id exists, every read comes after its write, every value is written once. False when later checks would be
  // meaningless.
  bool CheckUse(const Step& step) {
    for (ValueId read : Reads(step)) {
      if (!program_.values.contains(read)) return Find("reads a value that does not exist"), false;
      if (!written_[read]) Find(absl::StrCat("reads `", value(read).name, "` before it is written"));
      CheckPlaceOf(read, step);
      if (!Runs(read, step.phase)) Find(absl::StrCat("reads `", value(read).name, "`, which is made for metrics only"));
    }
    for (ValueId write : Writes(step)) {
      if (!program_.values.contains(write)) return Find("writes a value that does not exist"), false;
      if (written_[write]) Find(absl::StrCat("writes `", value(write).name, "` a second time"));
      written_[write] = true;
      is_on_host_[write] = IsCopyOut(step);
      phases_[write] = step.phase;
    }
    return true;
  }

  bool MakesItsType(const Compute& compute) const {
    std::vector<TensorType> types;
    types.reserve(compute.inputs.size());
    for (ValueId input : compute.inputs) types.push_back(value(input).type);
    const InferResult result = InferType(DefinitionOf(compute.kind), types, compute.attributes);
    const TensorType* type = std::get_if<TensorType>(&result);
    return type != nullptr && *type == value(compute.output).type;
  }

  void CheckCompute(const Compute& compute) {
    if (!MakesItsType(compute)) return Find("its value has another type than the op makes");
    const Rule& rule = RuleOf(program_, compute, rules_);
    if (const absl::Status valid = VerifyStrategy(compute.strategy, rule, program_.mesh); !valid.ok()) {
      return Find(std::string(valid.message()));
    }
    for (size_t i = 0; i < compute.inputs.size(); ++i) {
      const Layout wanted = InputLayout(compute.strategy, rule, static_cast<int>(i));
      const Value& input = value(compute.inputs[i]);
      if (input.layout != wanted) {
        Find(absl::StrCat("reads `", input.name, "` as ", Describe(wanted), ", it lies as ", Describe(input.layout)));
      }
    }
    if (compute.is_kept && (compute.inputs.size() != 1 || is_source_[compute.inputs[0]] == 0))
      Find("is kept from step to step, and made of what is not");
    if (compute.inputs.empty() || compute.is_kept) is_source_[compute.output] = true;
    computes_[compute.output] = &compute;
    const Layout made = OutputLayout(compute.strategy, rule);
    if (value(compute.output).layout != made) {
      Find(absl::StrCat("makes ", Describe(made), ", its value says ", Describe(value(compute.output).layout)));
    }
  }

  void CheckCollective(const Collective& collective) {
    if (collective.messages.has_value()) return CheckMessages(collective);
    if (collective.root < 0 || collective.root >= program_.mesh.Size(collective.axes)) {
      return Find(absl::StrCat("member ", collective.root, " of a group of ", program_.mesh.Size(collective.axes)));
    }
    if (collective.transfers.size() > 1) CheckMerged(collective);
    for (const Transfer& transfer : collective.transfers) {
      const Value& input = value(transfer.input);
      const Value& output = value(transfer.output);
      if (input.type != output.type || (input.origin == output.origin) != (collective.turn == 0))
        Find("changes a tensor's type or meaning");
      if (!Fits(program_, collective, transfer)) {
        Find(absl::StrCat("cannot turn ", Describe(input.layout), " into ", Describe(output.layout)));
        continue;
      }
      CheckAgreement(collective, transfer);
    }
  }

  // One call has one element type, and only three kinds have calls for several tensors.
  void CheckMerged(const Collective& collective) {
    const bool has_call = collective.kind == CollectiveKind::kAllReduce ||
                          collective.kind == CollectiveKind::kAllGather ||
                          collective.kind == CollectiveKind::kReduceScatter;
    if (!has_call) Find(absl::StrCat("carries several tensors in one ", CollectiveKindName(collective.kind)));
    const DType dtype = value(collective.transfers.front().input).type.dtype;
    for (const Transfer& transfer : collective.transfers) {
      if (value(transfer.input).type.dtype != dtype) Find("carries several element types in one call");
    }
  }

  // Every rank is in one group, at the place that its own coordinates give it. A reduction also needs the same count on
  // all ranks.
  void CheckAgreement(const Collective& collective, const Transfer& transfer) {
    const auto [found, is_new] = groups_.emplace(collective.axes, "");
    if (is_new) found->second = GroupsDisagree(collective.axes);
    if (!found->second.empty()) return Find(found->second);
    const bool reduces =
        collective.kind == CollectiveKind::kAllReduce || collective.kind == CollectiveKind::kReduceScatter;
    if (reduces) CheckCounts(collective, transfer);
  }

  // What is wrong with the groups over `axes`; empty when nothing is. Each group is expanded once, from its first
  // member, so that the time is linear in the number of ranks.
  std::string GroupsDisagree(const AxisList& axes) const {
    const Mesh& mesh = program_.mesh;
    std::vector<bool> seen(static_cast<size_t>(mesh.rank_count()), false);
    for (int rank = 0; rank < mesh.rank_count(); ++rank) {
      if (mesh.Index(rank, axes) != 0) continue;
      const std::vector<int> group = mesh.Group(rank, axes);
      for (size_t i = 0; i < group.size(); ++i) {
        const int member = group[i];
        if (seen[static_cast<size_t>(member)] || mesh.Index(member, axes) != static_cast<int64_t>(i)) {
          return absl::StrCat("ranks ", rank, " and ", member, " disagree about the group");
        }
        seen[static_cast<size_t>(member)] = true;
      }
    }
    const auto left_out = std::find(seen.begin(), seen.end(), false);
    return left_out == seen.end() ? "" : absl::StrCat("rank ", left_out - seen.begin(), " is in no group");
  }

  // A piece depends only on the coordinates along the axes that cut its tensor. Where the group's axes are not among
  // them, all members hold equal counts.
  void CheckCounts(const Collective& collective, const Transfer& transfer) {
    const Mesh& mesh = program_.mesh;
    const Layout& layout = value(transfer.input).layout;
    const auto cuts = [&](AxisId axis) {
      return std::any_of(layout.dimensions.begin(), layout.dimensions.end(),
                         [&](const AxisList& axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
    };
    if (std::none_of(collective.axes.begin(), collective.axes.end(), cuts)) return;
    for (int rank = 0; rank < mesh.rank_count(); ++rank) {
      if (mesh.Index(rank, collective.axes) != 0) continue;
      const std::vector<int> group = mesh.Group(rank, collective.axes);
      const int64_t count = ElementCount(LocalShape(program_, transfer.input, rank));
      for (int member : group) {
        const int64_t other = ElementCount(LocalShape(program_, transfer.input, member));
        if (other != count) {
          return Find(absl::StrCat("reduces ", count, " and ", other, " elements in the group (",
                                   absl::StrJoin(group, ", "), ")"));
        }
      }
    }
  }

  // Every part that a rank sends is received, in the same order and with the same size, and no rank waits for anything
  // else.
  void CheckMessages(const Collective& collective) {
    for (const std::string& finding : FindMismatches(program_, collective)) Find(finding);
  }

  // A rank's local tensor as its part of another tensor. The layouts do not say which tensor that is; the simulation
  // compares its values.
  void CheckView(const View& view) {
    const Value& input = value(view.input);
    const Value& output = value(view.output);
    if (!program_.is_manual) Find("sees a tensor under another description, and the model is for one device");
    if (input.type.dtype != output.type.dtype) Find("sees elements as those of another type");
    if (!input.layout.windows.empty() || !output.layout.windows.empty()) Find("sees windows as another tensor");
    for (int rank = 0; rank < program_.mesh.rank_count(); ++rank) {
      const int64_t before = ElementCount(LocalShape(program_, view.input, rank));
      const int64_t after = ElementCount(LocalShape(program_, view.output, rank));
      if (before == after) continue;
      return Find(absl::StrCat("sees ", before, " elements as ", after, " on rank ", rank));
    }
  }

  // The device has no access to what lies in the host's memory, except to copy it back.
  void CheckPlaceOf(ValueId read, const Step& step) {
    const bool is_back = std::holds_alternative<HostCopy>(step.action) && !IsCopyOut(step);
    if (is_on_host_[read] != 0 && !is_back) Find(absl::StrCat("reads `", value(read).name, "` in the host's memory"));
    if (is_on_host_[read] == 0 && is_back)
      Find(absl::StrCat("copies back `", value(read).name, "`, which is not there"));
  }

  void CheckHostCopy(const HostCopy& copy) {
    const Value& input = value(copy.input);
    const Value& output = value(copy.output);
    if (input.type != output.type || input.origin != output.origin) Find("changes a tensor's type or meaning");
    if (input.layout != output.layout) {
      Find(absl::StrCat("copies ", Describe(input.layout), " as ", Describe(output.layout)));
    }
  }

  void CheckSlice(const Slice& slice) {
    const Value& input = value(slice.input);
    const Value& output = value(slice.output);
    const bool fits = input.type == output.type && input.origin == output.origin &&
                      input.layout.partial == output.layout.partial && input.layout.windows.empty() &&
                      IsWithin(input.layout, output.layout, program_.mesh, input.type.shape);
    if (!fits) Find(absl::StrCat("cannot slice ", Describe(input.layout), " into ", Describe(output.layout)));
  }

  void CheckResults() {
    step_ = nullptr;
    if (program_.loss.has_value()) {
      CheckWhole("the loss", *program_.loss);
      CheckStages("the loss", *program_.loss, program_.loss_of);
      if (phases_[*program_.loss] != Phase::kForward) Find("the loss is not made in the forward phase");
    }
    for (const ProgramMetric& metric : program_.metrics) {
      CheckWhole(absl::StrCat("metric `", metric.name, "`"), metric.value);
      CheckStages(absl::StrCat("metric `", metric.name, "`"), metric.value, metric.of);
      if (phases_[metric.value] > Phase::kMetric)
        Find(absl::StrCat("metric `", metric.name, "` is made after its phase"));
    }
    for (const ProgramUpdate& update : program_.updates) {
      // The next step makes every copy again from the state itself.
      if (!is_source_[update.state]) {
        Find(absl::StrCat("the update goes to `", value(update.state).name, "`, which is a copy of the state"));
      }
      if (!written_[update.value])
        Find(absl::StrCat("`", value(update.state).name, "` takes a value that is never written"));
      if (is_on_host_[update.value] != 0)
        Find(absl::StrCat("`", value(update.state).name, "` takes a value in the host's memory"));
      if (!Runs(update.value, Phase::kUpdate)) Find("a state takes a value that is made for metrics only");
      if (value(update.state).layout != value(update.value).layout) {
        Find(absl::StrCat("`", value(update.state).name, "` lies as ", Describe(value(update.state).layout),
                          ", its new value as ", Describe(value(update.value).layout)));
      }
      if (value(update.value).layout.is_partial()) Find("a state takes a partial value");
    }
    for (const Step& step : program_.steps) {
      const auto* compute = std::get_if<Compute>(&step.action);
      if (compute != nullptr && compute->is_kept) CheckKept(step, *compute);
    }
  }

  // What is kept is at the beginning of each step what the op makes of its source: so it is before the first one, and
  // each step makes it by the same op, of the source's new value.
  void CheckKept(const Step& step, const Compute& compute) {
    std::vector<ValueId> sources, copies;  // Their new values.
    for (const ProgramUpdate& update : program_.updates) {
      if (update.state == compute.inputs.front()) sources.push_back(update.value);
      if (update.state == compute.output) copies.push_back(update.value);
    }
    if (sources.size() != 1 || copies.size() != 1)
      return Find(absl::StrCat("`", step.name, "` is kept, and made ", copies.size(), " times for the next step"));
    const Compute* const made = computes_[copies.front()];
    const bool is_same = made != nullptr && !made->is_kept && made->op == compute.op && made->kind == compute.kind &&
                         made->attributes == compute.attributes && made->strategy == compute.strategy &&
                         made->inputs == decltype(made->inputs){sources.front()};
    if (!is_same) Find(absl::StrCat("`", step.name, "` is kept, and made in another way for the next step"));
  }

  // Every part of the ranks has the number.
  void CheckStages(const std::string& what, ValueId id, const std::vector<ValueId>& of) {
    const size_t parts = program_.pipeline.has_value() ? static_cast<size_t>(PartCount(program_)) : 0;
    if (of.size() != parts) return Find(absl::StrCat(what, " is known on ", of.size(), " of ", parts, " stages"));
    for (size_t part = 0; part < parts; ++part) {
      CheckWhole(what, of[part]);
      const std::optional<int>& held = value(of[part]).stage;
      if (held.has_value() && !AreOnSameRanks(*held, static_cast<int>(part), PartCount(program_)))
        Find(absl::StrCat(what, " of stage ", part, " is on stage ", *held));
      if (value(of[part]).origin != value(id).origin) Find(absl::StrCat(what, " of stage ", part, " is another value"));
    }
  }

  void CheckWhole(const std::string& what, ValueId id) {
    if (!written_[id]) Find(absl::StrCat(what, " is never written"));
    if (is_on_host_[id] != 0) Find(absl::StrCat(what, " lies in the host's memory"));
    if (value(id).layout != Layout::Replicated(value(id).type.rank())) {
      Find(absl::StrCat(what, " lies as ", Describe(value(id).layout), " instead of whole on every rank"));
    }
  }

  const Program& program_;
  RuleTable rules_;
  IdVector<ValueId, char> written_;
  IdVector<ValueId, char> is_source_;
  IdVector<ValueId, char> is_on_host_;
  IdVector<ValueId, const Compute*> computes_;                      // The op that makes each value, if one does.
  IdVector<ValueId, Phase> phases_;                                 // The phase in which each value is made.
  IdVector<ValueId, Repeat> repeats_;                               // Where each value may be read.
  std::map<AxisList, std::string> groups_;                          // What is wrong with the groups over some axes.
  std::map<std::pair<int, int>, std::deque<const Step*>> mailbox_;  // What stages have sent to others.
  const Step* step_ = nullptr;
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> CheckStatically(const Program& program) {
  std::vector<std::string> findings = StaticCheck(program).Run();
  return findings.empty() ? CheckSchedule(program) : findings;
}

}  // namespace cleave::ir
