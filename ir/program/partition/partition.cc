// Reading guide. `Partitioner::Run` visits the ops phase by phase. `Request` is its core: it returns an op's value in a
// wanted layout, made in the cheapest way from what exists already. rewrite.h has what concerns the whole program.

#include "ir/program/partition/partition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/unique_names.h"
#include "ir/program/partition/glances.h"
#include "ir/program/partition/kept_copies.h"
#include "ir/program/partition/manual.h"
#include "ir/program/partition/merge.h"
#include "ir/program/partition/repeats.h"
#include "ir/program/partition/rewrite.h"
#include "ir/program/partition/split_backward.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

// The reader that asks for a value in some layout.
struct Demand {
  Phase phase = Phase::kForward;
  int line = 0;
  absl::string_view reader;       // "h2.matmul", "h1.weight", …
  absl::string_view wants = "";   // " reads", " stores", …: continued by what is read and how.
  std::optional<int> stage = {};  // Of the reader, in a pipeline.
  Repeat repeat = Repeat::kEach;  // kEachBefore; of all other readers SetRepeats finds it.
};

// The axis of time, and how it treats each op.
struct TimeAxis {
  Mesh mesh;  // The plan's with the axis.
  AxisId axis;
  int64_t size = 1;
  IdVector<OpId, BatchUse> uses;
};

class Partitioner {
 public:
  Partitioner(const Graph& graph, const Plan& plan, std::optional<TimeAxis> time, const PartitionOptions& options)
      : graph_(graph),
        plan_(plan),
        time_(std::move(time)),
        computed_(graph.ops.size()),
        made_(graph.ops.size()),
        names_(graph),
        ways_between_(options.ways != nullptr ? *options.ways : own_.emplace(plan.mesh, options.price)) {
    CLEAVE_CHECK(ways_between_.mesh() == plan.mesh);
    program_.model = graph.model;
    program_.file = graph.file;
    program_.mesh = time_.has_value() ? time_->mesh : plan.mesh;
    if (time_.has_value()) program_.time = time_->axis;
    program_.pipeline = plan.pipeline;
    program_.is_manual = graph.is_manual();
    program_.steps.reserve(2 * graph.ops.size());
  }

  absl::StatusOr<Program> Run() && {
    FindDelayed();
    for (const Phase phase : {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kUpdate}) {
      for (const Op& op : graph_.ops) {
        if (op.phase != phase || is_delayed_[op.id] != 0) continue;
        const bool is_before = IsBefore(op);
        if (is_before && !IsSumOverSamples(op)) continue;  // The sums ask for it.
        const Repeat repeat = is_before ? Repeat::kEachBefore : Repeat::kEach;
        CLEAVE_RETURN_IF_ERROR(Add(op, phase, StageOf(op), repeat));
      }
      CLEAVE_RETURN_IF_ERROR(AddResults(phase));
    }
    InsertCopiesOut();
    return std::move(program_);
  }

 private:
  const Mesh& mesh() const { return program_.mesh; }

  // Whether the op runs in the loop over the micro-batches before the others only.
  bool IsBefore(const Op& op) const {
    return time_.has_value() && time_->uses[op.id].kind == BatchUse::Kind::kEachBefore;
  }
  bool IsSumOverSamples(const Op& op) {
    const auto factor = static_cast<size_t>(time_->uses[op.id].index);
    return rules_.Of(graph_, op).factors[factor].kind == FactorKind::kReduced;
  }
  // What is known before the micro-batches waits for all of them.
  Retention RetentionOf(const Op& op) const { return IsBefore(op) ? Retention::kKeep : plan_.ops[op.id].retention; }

  // The stage whose ranks have what the op makes.
  std::optional<int> StageOf(const Op& op) const {
    if (!plan_.pipeline.has_value() || IsOnEveryStage(op)) return std::nullopt;
    return plan_.ops[op.id].stage;
  }

  absl::StatusOr<Strategy> StrategyOf(const Op& op, const Rule& rule) const {
    const Strategy& planned = plan_.ops[op.id].strategy;
    if (!time_.has_value()) return planned;
    absl::StatusOr<Strategy> strategy = OverTime(planned, time_->uses[op.id], time_->axis, rule, mesh());
    if (strategy.ok()) return strategy;
    return absl::InvalidArgumentError(
        absl::StrCat("`", op.name, "` in ", time_->size, " micro-batches: ", strategy.status().message()));
  }

  // Ops that are computed again in the backward pass are not computed before it where only that pass reads them. What
  // the backward pass of another stage reads is sent there in the forward pass.
  void FindDelayed() {
    IdVector<OpId, uint8_t> is_read(graph_.ops.size(), 0);
    if (graph_.loss.has_value()) is_read[*graph_.loss] = 1;
    for (const Look& look : graph_.looks) is_read[look.value] = 1;
    is_delayed_ = IdVector<OpId, uint8_t>(graph_.ops.size(), 0);
    for (auto op = graph_.ops.end(); op-- != graph_.ops.begin();) {
      is_delayed_[op->id] = RetentionOf(*op) == Retention::kRecompute && is_read[op->id] == 0;
      if (is_delayed_[op->id] != 0) continue;
      for (const OpId input : op->inputs) {
        is_read[input] |= !IsInBackwardHalf(op->phase) || StageOf(*op) != StageOf(graph_.op(input));
      }
    }
  }

  // Computes `op`: in its own phase and stage, or again in the backward pass, in the stage of a reader, or for a sum
  // that is known before the micro-batches.
  absl::Status Add(const Op& op, Phase phase, std::optional<int> stage, Repeat repeat) {
    if (DefinitionOf(op).rank_use == RankUse::kOthers) return AddManual(op);
    const OpPlan& op_plan = plan_.ops[op.id];
    const Rule& rule = rules_.Of(graph_, op);
    Compute compute{
        .op = op.id, .kind = op.kind, .attributes = op.attributes, .inputs = {}, .output = {}, .strategy = {}};
    CLEAVE_ASSIGN_OR_RETURN(compute.strategy, StrategyOf(op, rule));
    const AxisList turned = op.kind == OpKind::kTurn ? AxesOfTurn(op, rule, compute.strategy) : AxisList();
    compute.inputs.reserve(op.inputs.size());
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Demand demand{
          .phase = phase, .line = op.line, .reader = op.name, .wants = " reads", .stage = stage, .repeat = repeat};
      CLEAVE_ASSIGN_OR_RETURN(const ValueId input,
                              Request(op.inputs[i], InputLayout(compute.strategy, rule, static_cast<int>(i)), demand));
      compute.inputs.push_back(input);
    }
    const bool is_first = made_[op.id].empty();
    std::string name = is_first ? op.name : names_.Take(absl::StrCat(op.name, ".again"));
    ValueId made = program_.values.push_back({.name = name,
                                              .type = op.type,
                                              .layout = OutputLayout(compute.strategy, rule),
                                              .origin = op.id,
                                              .stage = stage});
    if (is_first) computed_[op.id] = made;
    compute.output = made;
    Step step{.action = compute, .name = std::move(name), .phase = phase, .line = op.line, .repeat = repeat};
    if (!turned.empty()) {
      step.action = Collective{.kind = CollectiveKind::kPermute,
                               .axes = turned,
                               .transfers = {{.input = compute.inputs[0], .output = made}},
                               .why = "pieces go round",
                               .turn = static_cast<int>(op.attributes.Get(attribute::kTurn))};
    }
    program_.steps.push_back(std::move(step));
    std::vector<Made> earlier = std::exchange(made_[op.id], {{.value = made, .phase = phase, .repeat = repeat}});
    if (op_plan.output.has_value()) {
      const Demand demand{
          .phase = phase, .line = op.line, .reader = "the plan asks for", .stage = stage, .repeat = repeat};
      const Layout wanted = OverTimeLike(program_.value(made).layout, *op_plan.output);
      CLEAVE_ASSIGN_OR_RETURN(made, Request(op.id, wanted, demand));
      // Readers see the value in this layout only.
      made_[op.id] = {{.value = made, .phase = phase, .repeat = repeat}};
    }
    made_[op.id].insert(made_[op.id].begin(), earlier.begin(), earlier.end());
    AddSumOverTime(op, made, phase, repeat);
    return absl::OkStatus();
  }

  // The axes that cut the pieces of a `turn` into single ones, each of which then comes from another rank. Empty, and
  // the pieces are whole, where `strategy` cuts them otherwise.
  AxisList AxesOfTurn(const Op& op, const Rule& rule, Strategy& strategy) const {
    const auto axis = static_cast<size_t>(op.attributes.Get(attribute::kAxis));
    AxisList& axes = strategy.cuts[static_cast<size_t>(rule.output[axis].front())];
    if (mesh().Size(axes) != op.attributes.Get(attribute::kPieces)) axes.clear();
    return op.attributes.Get(attribute::kTurn) == 0 ? AxisList() : axes;
  }

  // The dimension that the micro-batches cut.
  std::optional<size_t> SamplesOf(const Layout& layout) const {
    return time_.has_value() ? SampleDimension(layout, time_->axis) : std::nullopt;
  }
  bool IsPartOfSum(const Layout& layout) const {
    return time_.has_value() && !layout.partial.empty() && layout.partial.back().axis == time_->axis;
  }
  void AddTime(size_t dimension, Layout& layout) const {
    layout.dimensions[dimension].insert(layout.dimensions[dimension].begin(), time_->axis);
  }

  // `layout`, over time as `own` is.
  Layout OverTimeLike(const Layout& own, Layout layout) const {
    if (const std::optional<size_t> d = SamplesOf(own)) AddTime(*d, layout);
    if (IsPartOfSum(own)) layout.partial.push_back(own.partial.back());
    return layout;
  }

  // The sum over the micro-batches, where `made`, the op's value, is a part of it.
  void AddSumOverTime(const Op& op, ValueId made, Phase phase, Repeat repeat) {
    if (!IsPartOfSum(program_.value(made).layout)) return;
    const Value part = program_.value(made);
    Layout whole = part.layout;
    const Reduction reduction = whole.partial.back().reduction;
    whole.partial.pop_back();
    const std::string name = names_.Take(absl::StrCat(op.name, ".total"));
    const ValueId total = program_.values.push_back(
        {.name = name, .type = part.type, .layout = std::move(whole), .origin = op.id, .stage = part.stage});
    program_.steps.push_back({.action = Collective{.kind = CollectiveKind::kAllReduce,
                                                   .axes = {time_->axis},
                                                   .reduction = reduction,
                                                   .transfers = {{.input = made, .output = total}},
                                                   .why = absl::StrCat(op.name, " of all micro-batches")},
                              .name = name,
                              .phase = phase,
                              .line = op.line,
                              .repeat = repeat});
    made_[op.id].push_back({.value = total, .phase = phase, .is_total = true});
  }

  // A communicating op of a manual model.
  absl::Status AddManual(const Op& op) {
    const Demand demand{.phase = op.phase, .line = op.line, .reader = op.name, .wants = " sends"};
    CLEAVE_ASSIGN_OR_RETURN(const ValueId x,
                            Request(op.inputs[0], Layout::Replicated(graph_.op(op.inputs[0]).type.rank()), demand));
    ValueId value = x;
    if (!IsAlone(op)) {
      ManualMove move = ManualMoveOf(graph_, op, mesh());
      Transfer& transfer = move.collective.transfers[0];
      transfer.input = move.collective.messages.has_value()
                           ? x
                           : AddView(op, x, move.sent, move.before, names_.Take(absl::StrCat(op.name, ".view")));
      const bool is_value = move.received == op.type && move.after == Layout::Replicated(op.type.rank());
      const std::string kind(CollectiveKindName(move.collective.kind));
      const std::string name = is_value ? op.name : names_.Take(absl::StrCat(op.name, ".", kind));
      transfer.output =
          program_.values.push_back({.name = name, .type = move.received, .layout = move.after, .origin = op.id});
      value = transfer.output;
      move.collective.why = op.gradient_of.has_value() ? absl::StrCat("gradient of ", graph_.op(*op.gradient_of).name)
                                                       : "written in the model";
      program_.steps.push_back(
          {.action = std::move(move.collective), .name = name, .phase = op.phase, .line = op.line});
      if (!is_value) value = AddView(op, value, op.type, Layout::Replicated(op.type.rank()), op.name);
    } else {
      value = AddView(op, x, op.type, Layout::Replicated(op.type.rank()), op.name);
    }
    computed_[op.id] = value;
    made_[op.id] = {{.value = value, .phase = op.phase}};
    return absl::OkStatus();
  }

  ValueId AddView(const Op& op, ValueId value, const TensorType& type, const Layout& layout, const std::string& name) {
    const ValueId view = program_.values.push_back({.name = name, .type = type, .layout = layout, .origin = op.id});
    program_.steps.push_back({.action = View{value, view}, .name = name, .phase = op.phase, .line = op.line});
    return view;
  }

  // What the program gives back at the end of a phase.
  absl::Status AddResults(Phase phase) {
    if (phase == Phase::kForward && graph_.loss.has_value()) {
      CLEAVE_ASSIGN_OR_RETURN(program_.loss, Report(*graph_.loss, phase, "the loss", program_.loss_of));
    }
    if (phase == Phase::kMetric) {
      for (const Metric& metric : graph_.metrics) {
        ProgramMetric& result = program_.metrics.emplace_back();
        result.name = metric.name;
        CLEAVE_ASSIGN_OR_RETURN(result.value, Report(metric.value, phase, metric.name, result.of));
      }
    }
    if (phase == Phase::kUpdate) {
      for (const StateUpdate& update : graph_.updates) {
        const Op& state = graph_.op(update.state);
        const ValueId stored = computed_[state.id];
        const Demand demand{
            .phase = phase, .line = state.line, .reader = state.name, .wants = " stores", .stage = StageOf(state)};
        CLEAVE_ASSIGN_OR_RETURN(const ValueId value, Request(update.value, program_.value(stored).layout, demand));
        program_.updates.push_back({.state = stored, .value = value});
      }
    }
    return absl::OkStatus();
  }

  // A number that every rank reports: on the ranks where it is made, and `of` each stage.
  absl::StatusOr<ValueId> Report(OpId id, Phase phase, absl::string_view name, std::vector<ValueId>& of) {
    const Op& op = graph_.op(id);
    const Layout whole = Layout::Replicated(op.type.rank());
    Demand demand{
        .phase = phase, .line = op.line, .reader = "every rank reports ", .wants = name, .stage = StageOf(op)};
    CLEAVE_ASSIGN_OR_RETURN(const ValueId value, Request(id, whole, demand));
    if (!plan_.pipeline.has_value()) return value;
    // The last stage of each part of the ranks.
    for (int part = PartCount(program_); part > 0; --part) {
      demand.stage = StageCount(plan_) - part;
      CLEAVE_ASSIGN_OR_RETURN(const ValueId own, Request(id, whole, demand));
      of.push_back(own);
    }
    return value;
  }

  // A value of an op in one of its layouts.
  struct Made {
    ValueId value;
    Phase phase;                    // The phase of the step that wrote it.
    bool is_total = false;          // The sum over the micro-batches, which cannot be made from a part of it again.
    bool is_received = false;       // By another stage than the op's.
    Repeat repeat = Repeat::kEach;  // kEachBefore: for readers there.
  };

  static bool IsInBackwardHalf(Phase phase) { return phase == Phase::kBackward || phase == Phase::kUpdate; }

  // Values of metric steps exist only when these run: at some steps, and only for metrics. What the plan does not
  // retain exists in one half of the step only, up to the metrics or from the backward pass on. What another stage has
  // received it keeps: the stage that sent it would have to make it again before its own backward pass.
  bool Exists(OpId op, const Made& made, const Demand& demand) const {
    const std::optional<int>& stage = program_.value(made.value).stage;
    if (stage.has_value() && (!IsAt(*stage, demand) || !IsMadeBefore(made, *stage, demand))) return false;
    const bool is_source = DefinitionOf(graph_.op(op)).op_class == OpClass::kSource && made.value == computed_[op];
    if (made.repeat != demand.repeat && !is_source) return false;
    const Phase reader = demand.phase;
    const Retention retention = RetentionOf(graph_.op(op));
    const bool is_own = made.value == made_[op].front().value || made.is_total;
    const bool is_retained = retention == Retention::kKeep || retention == Retention::kOffload ||
                             (retention == Retention::kRedistribute && is_own) || made.is_received;
    if (!is_retained && IsInBackwardHalf(made.phase) != IsInBackwardHalf(reader)) return false;
    return made.phase != Phase::kMetric || reader == Phase::kMetric;
  }

  // Whether the ranks of the stage are those of the reader.
  bool IsAt(int stage, const Demand& demand) const {
    return demand.stage.has_value() && AreOnSameRanks(stage, *demand.stage, PartCount(program_));
  }

  // Ranks with several stages do the forward passes of earlier stages first, and the backward passes of later ones.
  static bool IsMadeBefore(const Made& made, int stage, const Demand& demand) {
    if (made.phase == Phase::kUpdate || IsInBackwardHalf(made.phase) != IsInBackwardHalf(demand.phase)) return true;
    return made.phase == Phase::kBackward ? stage >= *demand.stage || demand.phase == Phase::kUpdate
                                          : stage <= *demand.stage;
  }

  bool IsMade(OpId op, const Demand& demand) const {
    return std::any_of(made_[op].begin(), made_[op].end(), [&](const Made& made) { return Exists(op, made, demand); });
  }

  // By value: the layout may be that of a value of the program, which grows here.
  absl::StatusOr<ValueId> Request(OpId op, Layout layout, const Demand& demand) {
    const std::optional<int> home = StageOf(graph_.op(op));
    const bool is_before = demand.repeat == Repeat::kEachBefore;
    const bool is_elsewhere = home.has_value() && !IsAt(*home, demand) && !is_before;
    // What was received for another reader may be complete, where this one takes partial sums.
    if (is_elsewhere && !Cheapest(op, layout, demand).ok()) CLEAVE_RETURN_IF_ERROR(Fetch(op, layout, demand));
    const bool may_be_made = is_before || RetentionOf(graph_.op(op)) == Retention::kRecompute;
    if (!is_elsewhere && may_be_made && !IsMade(op, demand)) {
      CLEAVE_RETURN_IF_ERROR(Add(graph_.op(op), demand.phase, home.has_value() ? demand.stage : home, demand.repeat));
    }
    CLEAVE_ASSIGN_OR_RETURN(const Source source, Cheapest(op, layout, demand));
    ValueId value = WhereReadersAre(op, source.made, demand);
    for (const Move& move : source.way.moves) value = AddMove(op, value, move, layout, demand);
    return value;
  }

  // From what a layout is made, and how.
  struct Source {
    Made made;
    Redistribution way;
  };

  absl::StatusOr<Source> Cheapest(OpId op, const Layout& layout, const Demand& demand) {
    std::optional<Source> best;
    absl::Status refusal;
    for (const Made& made : made_[op]) {
      if (!Exists(op, made, demand)) continue;
      const Value& value = program_.value(made.value);
      if (value.layout == layout) return Source{.made = made, .way = {}};
      absl::StatusOr<Redistribution> way = Way(value, layout);
      if (!way.ok()) {
        refusal = absl::InvalidArgumentError(absl::StrCat("`", value.name, "`: ", way.status().message()));
      } else if (!best.has_value() || IsCheaper(*way, best->way)) {
        best = Source{.made = made, .way = *std::move(way)};
      }
    }
    if (best.has_value()) return *std::move(best);
    if (!refusal.ok()) return refusal;
    return absl::InternalError(absl::StrCat("`", graph_.op(op).name, "` is read before it is made"));
  }

  // Sends the value from the stage where it is made to that of the reader, in the layout from which the wanted one is
  // made at least cost. Partial sums are completed before, so that they are sent once. A forward value is sent in the
  // forward pass whoever reads it: afterwards its stage waits for the gradients of the reader's.
  absl::Status Fetch(OpId op, const Layout& layout, const Demand& demand) {
    Demand sender = demand;
    sender.stage = StageOf(graph_.op(op));
    const bool goes_on = !IsInBackwardHalf(graph_.op(op).phase) && demand.phase == Phase::kBackward;
    if (goes_on) sender.phase = Phase::kForward;
    CLEAVE_ASSIGN_OR_RETURN(Source source, Cheapest(op, layout, sender));
    ValueId sent = source.made.value;
    if (program_.value(sent).layout.is_partial() && !IsPartOfSum(program_.value(sent).layout)) {
      CLEAVE_ASSIGN_OR_RETURN(sent, Request(op, layout, sender));
    }
    const Value value = program_.value(sent);
    const std::string name = names_.Take(absl::StrCat(graph_.op(op).name, ".stage_", *demand.stage));
    const ValueId received = program_.values.push_back(
        {.name = name, .type = value.type, .layout = value.layout, .origin = op, .stage = demand.stage});
    const int line = graph_.op(op).line > 0 ? graph_.op(op).line : demand.line;
    const auto add = [&](auto action, const std::string& step) {
      program_.steps.push_back({.action = action, .name = step, .phase = sender.phase, .line = line});
    };
    add(Send{.input = sent, .to = *demand.stage}, absl::StrCat(name, ".send"));
    add(Receive{.output = received, .from = *sender.stage}, name);
    made_[op].push_back(
        {.value = received, .phase = sender.phase, .is_total = source.made.is_total, .is_received = true});
    return absl::OkStatus();
  }

  // The value itself, or its copy from the host's memory if it has waited there for the backward half.
  ValueId WhereReadersAre(OpId op, const Made& made, const Demand& demand) {
    const bool waits = IsInBackwardHalf(demand.phase) && !IsInBackwardHalf(made.phase);
    if (!waits || RetentionOf(graph_.op(op)) != Retention::kOffload) return made.value;
    const auto [back, is_new] = copied_back_.emplace(made.value, ValueId());
    if (!is_new) return back->second;
    const ValueId on_host =
        AddHostCopy(op, made.value, HostCopy::Direction::kOut, {.phase = Phase::kForward, .line = demand.line});
    back->second = AddHostCopy(op, on_host, HostCopy::Direction::kBack, demand);
    return back->second;
  }

  // Copies out wait in `copies_out_` until all steps of the forward phase are known.
  ValueId AddHostCopy(OpId op, ValueId input, HostCopy::Direction direction, const Demand& demand) {
    const bool goes_out = direction == HostCopy::Direction::kOut;
    const Value source = program_.value(input);
    const std::string name = names_.Take(absl::StrCat(graph_.op(op).name, goes_out ? ".out" : ".back"));
    const ValueId output =
        program_.values.push_back({.name = name, .type = source.type, .layout = source.layout, .origin = op});
    Step step{.action = HostCopy{.direction = direction, .input = input, .output = output},
              .name = name,
              .phase = demand.phase,
              .line = graph_.op(op).line > 0 ? graph_.op(op).line : demand.line};
    (goes_out ? copies_out_ : program_.steps).push_back(std::move(step));
    return output;
  }

  void InsertCopiesOut() {
    const auto end = std::find_if(program_.steps.begin(), program_.steps.end(),
                                  [](const Step& step) { return step.phase != Phase::kForward; });
    program_.steps.insert(end, copies_out_.begin(), copies_out_.end());
  }

  absl::StatusOr<Redistribution> Way(const Value& value, const Layout& target) {
    const auto key = std::make_tuple(value.type.dtype, value.type.shape, value.layout, target);
    const auto found = ways_.find(key);
    if (found != ways_.end()) return found->second;
    CLEAVE_ASSIGN_OR_RETURN(Redistribution way, PlanWay(value, target));
    return ways_.emplace(key, std::move(way)).first->second;
  }

  // Ranks exchange what one micro-batch needs.
  absl::StatusOr<Redistribution> PlanWay(const Value& value, const Layout& target) {
    const std::optional<size_t> from = SamplesOf(value.layout);
    const std::optional<size_t> to = SamplesOf(target);
    if (IsPartOfSum(value.layout) != IsPartOfSum(target) || (from.has_value() && from != to)) {
      return absl::InvalidArgumentError("the axis of time is not one along which values are sent");
    }
    if (!time_.has_value()) return ways_between_.Plan(value.type, value.layout, target);
    const Layout source = WithoutTime(value.layout, time_->axis);
    Layout wanted = WithoutTime(target, time_->axis);
    if (to.has_value() && !from.has_value() && !target.windows.empty()) return PlanWindows(value, *to, target);
    TensorType type = value.type;
    if (from.has_value()) type.shape[*from] = PieceOf(type.shape[*from], time_->size, time_->size - 1).size;
    // What all micro-batches have in common is cut last, where nothing needs to be sent any more.
    if (to.has_value() && !from.has_value()) wanted.dimensions[*to].clear();
    CLEAVE_ASSIGN_OR_RETURN(Redistribution way, ways_between_.Plan(type, source, wanted));
    for (Move& move : way.moves) move.result = OverTimeLike(value.layout, std::move(move.result));
    if (to == from) return way;
    if (!way.moves.empty() && !way.moves.back().collective.has_value()) way.moves.pop_back();
    way.moves.push_back({.collective = std::nullopt, .axes = {}, .result = target});
    return way;
  }

  // The windows of each micro-batch in what all of them have in common, whose dimension `samples` they cut: exchanged
  // after the cut, because windows cannot be cut any more.
  absl::StatusOr<Redistribution> PlanWindows(const Value& value, size_t samples, const Layout& target) {
    Layout common = value.layout;
    common.dimensions[samples].clear();
    CLEAVE_ASSIGN_OR_RETURN(Redistribution way, ways_between_.Plan(value.type, value.layout, common));
    Layout own = common;
    AddTime(samples, own);
    way.moves.push_back({.collective = std::nullopt, .axes = {}, .result = own});
    TensorType type = value.type;
    type.shape[samples] = PieceOf(type.shape[samples], time_->size, time_->size - 1).size;
    CLEAVE_ASSIGN_OR_RETURN(Redistribution rest, ways_between_.Plan(type, common, WithoutTime(target, time_->axis)));
    for (Move& move : rest.moves) {
      AddTime(samples, move.result);
      way.moves.push_back(std::move(move));
    }
    way.cost += rest.cost;
    way.collectives += rest.collectives;
    return way;
  }

  // Where ranks have several stages, a move is made in the pass that reads it.
  std::optional<int> StageOfMove(ValueId source, const Demand& demand) const {
    const bool is_interleaved = plan_.pipeline.has_value() && plan_.pipeline->schedule.stages_per_rank > 1;
    return is_interleaved ? demand.stage : program_.value(source).stage;
  }

  ValueId AddMove(OpId op, ValueId source, const Move& move, const Layout& target, const Demand& demand) {
    const std::string what = move.collective.has_value() ? std::string(CollectiveKindName(*move.collective)) : "slice";
    const std::string name = names_.Take(absl::StrCat(graph_.op(op).name, ".", what));
    const ValueId output = program_.values.push_back({.name = name,
                                                      .type = program_.value(source).type,
                                                      .layout = move.result,
                                                      .origin = op,
                                                      .stage = StageOfMove(source, demand)});
    Step step{.action = Slice{source, output},
              .name = name,
              .phase = demand.phase,
              .line = demand.line,
              .repeat = demand.repeat};
    if (move.collective.has_value()) {
      const bool reduces =
          *move.collective == CollectiveKind::kAllReduce || *move.collective == CollectiveKind::kReduceScatter;
      step.action = Collective{.kind = *move.collective,
                               .axes = move.axes,
                               .reduction = move.reduction,
                               .transfers = {{.input = source,
                                              .output = output,
                                              .from_dimension = move.from_dimension,
                                              .to_dimension = move.to_dimension}},
                               .why = reduces ? WhyReduced(op, move.reduction)
                                              : WhyMoved(op, program_.value(source).layout, target, demand)};
      // The maker of a partial value causes its reduction; a reader causes any other change of layout.
      const int maker_line = graph_.op(op).line;
      if ((reduces || step.line == 0) && maker_line > 0) step.line = maker_line;
    }
    program_.steps.push_back(std::move(step));
    made_[op].push_back({.value = output, .phase = demand.phase, .repeat = demand.repeat});
    return output;
  }

  std::string WhyReduced(OpId op, Reduction reduction) const {
    const std::optional<OpId>& gradient_of = graph_.op(op).gradient_of;
    if (gradient_of.has_value() && graph_.op(*gradient_of).inputs.empty()) {
      return absl::StrCat("gradient of ", graph_.op(*gradient_of).name);
    }
    switch (reduction) {
      case Reduction::kSum:
        return absl::StrCat("partial sums of ", graph_.op(op).name);
      case Reduction::kMax:
        return absl::StrCat("partial maxima of ", graph_.op(op).name);
      case Reduction::kMin:
        return absl::StrCat("partial minima of ", graph_.op(op).name);
      case Reduction::kProd:
        return absl::StrCat("partial products of ", graph_.op(op).name);
    }
    return "";
  }

  std::string WhyMoved(OpId op, const Layout& source, const Layout& target, const Demand& demand) const {
    return absl::StrCat(demand.reader, demand.wants, " ", graph_.op(op).name, " as ", LayoutText(target, mesh()),
                        ", it lies as ", LayoutText(source, mesh()));
  }

  const Graph& graph_;
  const Plan& plan_;
  const std::optional<TimeAxis> time_;
  Program program_;
  IdVector<OpId, ValueId> computed_;        // As the op itself makes it: where a state is kept from step to step.
  IdVector<OpId, std::vector<Made>> made_;  // What consumers may read.
  std::map<ValueId, ValueId> copied_back_;  // From the host's memory, by the value that was copied there.
  std::vector<Step> copies_out_;
  IdVector<OpId, uint8_t> is_delayed_;  // Until the backward pass reads the value.
  RuleTable rules_;
  UniqueNames names_;
  std::optional<SharedRedistributions> own_;
  SharedRedistributions& ways_between_;
  std::map<std::tuple<DType, Shape, Layout, Layout>, Redistribution> ways_;
};

// What adds up sums over micro-batches that lie on other ranks does so when these are complete, so that each is sent
// once in a step; and so does what reads the result.
void AddUpLate(const Graph& graph, const Plan& plan, IdVector<OpId, BatchUse>& uses) {
  if (!plan.pipeline.has_value()) return;
  const int64_t parts = plan.mesh.axis(plan.pipeline->axis).size;
  IdVector<OpId, uint8_t> is_late(graph.ops.size(), 0);
  for (const Op& op : graph.ops) {
    if (uses[op.id].kind != BatchUse::Kind::kPass) continue;
    is_late[op.id] = std::any_of(op.inputs.begin(), op.inputs.end(), [&](OpId input) {
      const bool is_elsewhere = !AreOnSameRanks(plan.ops[input].stage, plan.ops[op.id].stage, parts);
      return is_late[input] != 0 || (is_elsewhere && !IsOnEveryStage(graph.op(input)));
    });
    if (is_late[op.id] != 0) uses[op.id] = BatchUse();
  }
}

absl::StatusOr<std::optional<TimeAxis>> TimeAxisOf(const Graph& graph, const Plan& plan) {
  if (plan.micro_batches == 1) return std::nullopt;
  BatchUses uses = FindBatchUses(graph);
  if (uses.obstacle.has_value()) {
    return absl::InvalidArgumentError(ObstacleText(graph, *uses.obstacle));
  }
  AddUpLate(graph, plan, uses.ops);
  CLEAVE_ASSIGN_OR_RETURN(Mesh mesh, WithTime(plan.mesh, plan.micro_batches));
  const AxisId axis = mesh.AxisIds().back();
  return TimeAxis{.mesh = std::move(mesh), .axis = axis, .size = plan.micro_batches, .uses = std::move(uses.ops)};
}

}  // namespace

absl::StatusOr<Program> Partition(const Graph& graph, const Plan& plan, const PartitionOptions& options) {
  CLEAVE_ASSIGN_OR_RETURN(Program program, WithoutMessages(graph, plan, options));
  return WithMessages(graph, plan, std::move(program), options);
}

absl::StatusOr<Program> WithoutMessages(const Graph& graph, const Plan& plan, const PartitionOptions& options) {
  CLEAVE_ASSIGN_OR_RETURN(std::optional<TimeAxis> time, TimeAxisOf(graph, plan));
  CLEAVE_ASSIGN_OR_RETURN(Program program, Partitioner(graph, plan, std::move(time), options).Run());
  // A value in another layout, or made again, is made of its op.
  for (Value& value : program.values) {
    const Op& op = graph.op(value.origin);
    const absl::string_view role = absl::StripPrefix(value.name, op.name);
    value.repetition = role.empty() ? op.repetition : Derived(op.repetition, role);
  }
  SetRepeats(plan, program);
  FuseReduceScatters(program);
  RemoveDeadMoves(program);
  return program;
}

Program WithMessages(const Graph& graph, const Plan& plan, Program program, const PartitionOptions& options) {
  if (options.merge_collectives) {
    MergeCollectives(program,
                     {.sizes = options.buckets, .piece_counts = options.piece_counts, .layers = options.layers});
  }
  MoveCopiesOut(program);
  AddGlances(graph, plan, program);
  SplitBackward(graph, program);
  KeepCopies(program);
  RenumberValues(program);
  return program;
}

}  // namespace cleave::ir
