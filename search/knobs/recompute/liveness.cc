// Reading guide: the Builder reads a program into stored values, fused steps of the forward pass and units. NeedsOf
// finds which values the backward half then needs from where, Of sums their live bytes over the places of a step, and
// BoundsOf bounds that for sets that are partly decided. `stage` in names is a fused step (liveness.h).
#include "search/knobs/recompute/liveness.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/disjoint_sets/disjoint_sets.h"
#include "ir/program/fuse/fuse.h"
#include "search/price/cost/predict.h"

namespace cleave::search {
namespace {

bool IsInForwardHalf(ir::Phase phase) { return phase == ir::Phase::kForward || phase == ir::Phase::kMetric; }

struct Picture {
  Bytes always;
  std::vector<Liveness::Stored> values;
  std::vector<Liveness::ForwardStage> forward;
  std::vector<Unit> units;
  int repeated_begin = 0;
  int passes_begin = -1, passes_end = -1;
};

class Builder {
 public:
  Builder(const ir::Distributed& distributed, const ir::Program& program, const ir::MemoryPlan& memory,
          const Cluster& cluster, const OpTimes& times)
      : distributed_(distributed),
        times_(times),
        program_(program),
        fusion_(memory.fusion),
        storage_(memory.storage),
        seconds_(StageTimes(program, memory.fusion, cluster)),
        stored_(program.values.size()) {}

  Picture Build(const std::map<ir::OpId, ir::Retention>& asked) && {
    for (const ir::BufferRequest& request : storage_.requests) {
      if (request.always_live) {
        always_live_.insert(request.value);
        picture_.always += request.size * TimesOf(request.value);
      }
    }
    for (size_t place = 0; place < fusion_.stages.size(); ++place) Add(static_cast<int>(place));
    RepeatGradients();
    MakeUnits();
    for (Unit& unit : picture_.units) Ask(asked, unit);
    return std::move(picture_);
  }

 private:
  const ir::Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }
  ir::OpId OriginalOf(ir::ValueId value) const { return distributed_.originals[program_.value(value).origin]; }

  int64_t TimesOf(ir::ValueId value) const { return times_.empty() ? 1 : times_[OriginalOf(value)]; }
  // How many micro-batches under way in a pipeline each have a copy of a value that waits from one pass for another.
  int64_t UnderWay(ir::PassKind from, ir::PassKind to, ir::ValueId value) {
    const std::optional<int>& stage = program_.value(value).stage;
    if (!program_.part.has_value() || !stage.has_value()) return 1;
    const auto [found, is_new] = under_way_.emplace(std::tuple(*stage, from, to), 1);
    if (is_new) found->second = ir::TimetableOf(program_).MicroBatchesBetween({*stage, from}, {*stage, to});
    return found->second;
  }
  // The mean of its results.
  double TimesOf(const ir::StageSteps& steps) const {
    double sum = 0, count = 0;
    for (const int i : steps) {
      for (const ir::ValueId value : ir::Writes(StepAt(i))) {
        sum += static_cast<double>(TimesOf(value));
        ++count;
      }
    }
    return count == 0 ? 1 : sum / count;
  }

  void Add(int place) {
    const ir::FusedStage& stage = fusion_.stages[static_cast<size_t>(place)];
    const ir::StageSteps steps = ir::StepsOf(stage);
    if (steps.size() == 1 && fusion_.DoesNothing(StepAt(steps[0]))) {
      AddAlias(StepAt(steps[0]));
      return;
    }
    const Seconds seconds = seconds_[static_cast<size_t>(place)] * TimesOf(steps);
    Liveness::ForwardStage own{.place = place,
                               .seconds = seconds,
                               .least = seconds * LeastShare(stage),
                               .may_join = !ir::LoopsOf(stage).empty(),
                               .reads = {},
                               .writes = {},
                               .name = StepAt(steps.back()).name};
    const ir::Step& last = StepAt(steps.back());
    const ir::StepValues written = ir::Writes(last);
    const ir::ValueId value = written.empty() ? ir::Reads(last).front() : written.front();
    const ir::Op& op = distributed_.graph.op(program_.value(value).origin);
    own.text = ir::Within(ir::PlaceOf(op), last.action.index());  // A value and its copies in other layouts differ.
    own.passes = op.repetition.passes;
    for (const int i : steps) {
      for (const ir::ValueId value : ir::Reads(StepAt(i))) {
        for (const int number : stored_[value]) {
          Read(number, place, stage.phase, own);
          Liveness::Stored& stored = picture_.values[static_cast<size_t>(number)];
          if (stage.phase == ir::Phase::kWeights && stored.in_pass) {
            const ir::PassKind made = stored.made_by >= 0 ? ir::PassKind::kForward : ir::PassKind::kBackward;
            stored.times = UnderWay(made, ir::PassKind::kWeights, value);
            stored.may_wait = true;
          }
        }
      }
    }
    if (stage.pass.has_value()) {
      if (picture_.passes_begin < 0) picture_.passes_begin = place;
      picture_.passes_end = place;
    }
    // What a call of the forward pass makes for the backward pass is not made again.
    const bool is_forward = IsInForwardHalf(last.phase);
    if (stage.phase == ir::Phase::kUpdate) first_update_ = std::min(first_update_, place);
    for (const int i : steps) {
      for (const ir::ValueId value : ir::Writes(StepAt(i))) {
        const std::optional<ir::ValueId> root = storage_.root[value];
        if (!root.has_value() || always_live_.count(*root) > 0 || storage_.host.Find(*root) != nullptr) continue;
        const int number = static_cast<int>(picture_.values.size());
        stored_[value] = {number};
        own.writes.push_back(number);
        const auto [last, is_new] = last_in_.emplace(*root, number);
        const int before = is_new ? -1 : std::exchange(last->second, number);
        picture_.values.push_back({.size = ir::LargestLocalBytes(program_, value),
                                   .writer = place,
                                   // Parts of one tensor are next to each other.
                                   .overwrites = fusion_.parts.contains(value) ? -1 : before,
                                   .made_by = is_forward ? static_cast<int>(picture_.forward.size()) : -1,
                                   .times = is_forward ? TimesOf(value) : 1,
                                   .in_pass = stage.pass.has_value(),
                                   .may_wait = is_forward && stage.pass.has_value()});
        if (picture_.values.back().may_wait) {
          picture_.values.back().times = UnderWay(ir::PassKind::kForward, ir::PassKind::kBackward, value);
        }
        if (stage.phase == ir::Phase::kBackward && TimesOf(value) > 1) {
          const bool is_first = picture_.repeated_begin == 0 && ir::ComputeOf(StepAt(i)) != nullptr;
          if (is_first) picture_.repeated_begin = place;
          last_repeated_ = place;
          repeated_.emplace_back(number, TimesOf(value));
        }
      }
    }
    const bool is_copy = std::holds_alternative<ir::HostCopy>(StepAt(steps[0]).action);
    if (is_forward && !is_copy) picture_.forward.push_back(std::move(own));
  }

  // What equal layers make for the update in the backward pass is live for all of them after the last one.
  void RepeatGradients() {
    for (const auto& [value, times] : repeated_) {
      Liveness::Stored others = picture_.values[static_cast<size_t>(value)];
      others.writer = last_repeated_ + 1;
      if (others.backward_end < std::max(others.writer, first_update_)) continue;
      others.backward_begin = std::max(others.backward_begin, others.writer);
      others.overwrites = -1;
      others.size = others.size * (times - 1);
      picture_.values.push_back(others);
    }
  }

  // ForwardStage::least, as a share of ForwardStage::seconds.
  double LeastShare(const ir::FusedStage& stage) const {
    if (std::holds_alternative<ir::JointCall>(stage.action)) return 1;
    if (const auto* single = std::get_if<ir::SingleStep>(&stage.action)) {
      return ir::ComputeOf(StepAt(single->step)) != nullptr ? 1 : 0;
    }
    if (ir::LoopsOf(stage).empty()) return 0;
    Bytes written;
    std::set<ir::ValueId> touched;
    for (const int i : ir::StepsOf(stage)) {
      for (const ir::ValueId value : ir::Reads(StepAt(i))) touched.insert(value);
      for (const ir::ValueId value : ir::Writes(StepAt(i))) {
        touched.insert(value);
        if (!fusion_.inside.contains(value)) written += ir::LargestLocalBytes(program_, value);
      }
    }
    Bytes bytes;
    for (const ir::ValueId value : touched) {
      if (!fusion_.inside.contains(value)) bytes += ir::LargestLocalBytes(program_, value);
    }
    return bytes == Bytes(0) ? 0 : -2 * static_cast<double>(written.value()) / static_cast<double>(bytes.value());
  }

  // Of a step that takes no time.
  void AddAlias(const ir::Step& step) {
    const ir::ValueId output = ir::Writes(step).front();
    // The backward pass and metrics may reshape a value too; what they compute is not made again.
    const bool is_of_unit = ir::ComputeOf(step) != nullptr && step.phase == ir::Phase::kForward;
    for (const ir::ValueId input : ir::Reads(step)) {
      for (const int number : stored_[input]) {
        stored_[output].push_back(number);
        if (is_of_unit) aliases_[number].push_back(OriginalOf(output));
      }
    }
  }

  void Read(int value, int place, ir::Phase phase, Liveness::ForwardStage& own) {
    Liveness::Stored& stored = picture_.values[static_cast<size_t>(value)];
    if (IsInForwardHalf(phase)) {
      stored.forward_end = place;
      if (std::find(own.reads.begin(), own.reads.end(), value) == own.reads.end()) own.reads.push_back(value);
    } else {
      stored.backward_begin = std::min(stored.backward_begin, place);
      stored.backward_end = place;
    }
  }

  // Whether a fused step can be made again: it runs for each micro-batch, and makes no sum over them.
  bool CanBeMadeAgain(const Liveness::ForwardStage& own) const {
    const ir::FusedStage& stage = fusion_.stages[static_cast<size_t>(own.place)];
    if (stage.phase != ir::Phase::kForward || stage.repeat != ir::Repeat::kEach) return false;
    const ir::StageSteps steps = ir::StepsOf(stage);
    return std::all_of(steps.begin(), steps.end(), [&](int i) {
      const ir::Step& step = StepAt(i);
      const auto* collective = std::get_if<ir::Collective>(&step.action);
      if (collective != nullptr && ir::IsSumOverTime(program_, *collective)) return false;
      const ir::StepValues writes = ir::Writes(step);
      return !writes.empty() && std::all_of(writes.begin(), writes.end(), [&](ir::ValueId value) {
        const ir::Op& op = distributed_.graph.op(program_.value(value).origin);
        return ir::ComputeOf(step) == nullptr || ir::CanBeRecomputed(distributed_.graph, op);
      });
    });
  }

  // Joins the fused steps of one op into a unit, and those of its redistributions.
  void MakeUnits() {
    DisjointSets<int> groups(picture_.forward.size());
    std::map<ir::OpId, int> computed_by, copied_by;
    for (size_t i = 0; i < picture_.forward.size(); ++i) {
      for (const auto& [op, is_copy] : OpsOf(picture_.forward[i])) {
        // Readers of a value that the plan wants in another layout see only that one.
        const bool is_own = !is_copy || distributed_.plan.ops[distributed_.values[op]].output.has_value();
        const auto [found, is_new] = (is_own ? computed_by : copied_by).emplace(op, static_cast<int>(i));
        if (!is_new) groups.Join(found->second, static_cast<int>(i));
      }
    }
    std::map<int, int> unit_of;  // By the first fused step of a unit.
    for (size_t i = 0; i < picture_.forward.size(); ++i) {
      const auto [found, is_new] = unit_of.emplace(groups.Of(static_cast<int>(i)), picture_.units.size());
      if (is_new) picture_.units.push_back({.stages = {}, .ops = {}, .retention = ir::Retention::kRedistribute});
      Unit& unit = picture_.units[static_cast<size_t>(found->second)];
      unit.stages.push_back(static_cast<int>(i));
      for (const auto& [op, is_copy] : OpsOf(picture_.forward[i])) {
        unit.ops.push_back(op);
        if (!is_copy) unit.retention = ir::Retention::kRecompute;
      }
    }
    std::map<ir::OpId, int> unit_of_copies;
    for (size_t u = 0; u < picture_.units.size(); ++u) {
      Unit& unit = picture_.units[u];
      std::sort(unit.ops.begin(), unit.ops.end());
      unit.ops.erase(std::unique(unit.ops.begin(), unit.ops.end()), unit.ops.end());
      if (unit.retention != ir::Retention::kRedistribute) continue;
      for (const ir::OpId op : unit.ops) unit_of_copies[op] = static_cast<int>(u);
    }
    for (size_t u = 0; u < picture_.units.size(); ++u) Finish(static_cast<int>(u), unit_of_copies);
  }

  // The ops of the training graph that a fused step computes, or whose values it redistributes (true).
  std::vector<std::pair<ir::OpId, bool>> OpsOf(const Liveness::ForwardStage& stage) const {
    std::vector<std::pair<ir::OpId, bool>> ops;
    for (const int i : ir::StepsOf(fusion_.stages[static_cast<size_t>(stage.place)])) {
      const bool is_copy = ir::ComputeOf(StepAt(i)) == nullptr;
      for (const ir::ValueId value : ir::Writes(StepAt(i))) ops.emplace_back(OriginalOf(value), is_copy);
    }
    return ops;
  }

  void Finish(int index, const std::map<ir::OpId, int>& unit_of_copies) {
    Unit& unit = picture_.units[static_cast<size_t>(index)];
    const bool possible = std::all_of(unit.stages.begin(), unit.stages.end(),
                                      [&](int i) { return CanBeMadeAgain(picture_.forward[static_cast<size_t>(i)]); });
    for (const int i : unit.stages) {
      Liveness::ForwardStage& stage = picture_.forward[static_cast<size_t>(i)];
      if (possible) stage.unit = index;
      for (const int value : stage.writes) {
        const std::vector<ir::OpId>& own = aliases_[value];
        unit.reshapes.insert(unit.reshapes.end(), own.begin(), own.end());
      }
    }
    const auto add_copies_of = [&](ir::OpId op) {
      const auto found = unit_of_copies.find(op);
      const bool is_new = found != unit_of_copies.end() && found->second != index &&
                          std::find(unit.copies.begin(), unit.copies.end(), found->second) == unit.copies.end();
      if (is_new) unit.copies.push_back(found->second);
    };
    if (unit.retention == ir::Retention::kRecompute) std::for_each(unit.ops.begin(), unit.ops.end(), add_copies_of);
    std::for_each(unit.reshapes.begin(), unit.reshapes.end(), add_copies_of);
  }

  // A pin on one op holds for its whole unit; of several pins `keep` wins.
  void Ask(const std::map<ir::OpId, ir::Retention>& asked, Unit& unit) const {
    for (const std::vector<ir::OpId>* const ops : {&unit.ops, &unit.reshapes}) {
      for (const ir::OpId op : *ops) {
        const auto found = asked.find(op);
        if (found == asked.end()) continue;
        const bool again = found->second == ir::Retention::kRecompute;
        if (again && unit.retention != ir::Retention::kRecompute) continue;
        unit.asked = unit.asked.value_or(true) && again;
      }
    }
  }

  const ir::Distributed& distributed_;
  const OpTimes& times_;
  const ir::Program& program_;
  const ir::Fusion& fusion_;
  const ir::Storage& storage_;
  const std::vector<Seconds> seconds_;
  // The stored values that hold it: one, or those of its parts; none where it is always live.
  IdVector<ir::ValueId, absl::InlinedVector<int, 1>> stored_;
  std::set<ir::ValueId> always_live_;
  std::map<ir::ValueId, int> last_in_;            // By root: the stored value written there last.
  std::map<int, std::vector<ir::OpId>> aliases_;  // By stored value: reshapes and parts of it.
  // What the backward pass makes for several layers, with their number, and the place where the last of it is made.
  std::vector<std::pair<int, int64_t>> repeated_;
  int last_repeated_ = 0;
  int first_update_ = Liveness::Stored::kNever;                               // The first place of the update.
  std::map<std::tuple<int, ir::PassKind, ir::PassKind>, int64_t> under_way_;  // By stage of the pipeline: UnderWay.
  Picture picture_;
};

}  // namespace

Liveness::Liveness(const ir::Distributed& distributed, const ir::Program& program, const ir::MemoryPlan& memory,
                   const Cluster& cluster, const std::map<ir::OpId, ir::Retention>& asked, const OpTimes& times)
    : places_(static_cast<int>(memory.fusion.stages.size())) {
  Picture picture = Builder(distributed, program, memory, cluster, times).Build(asked);
  always_ = picture.always;
  values_ = std::move(picture.values);
  forward_ = std::move(picture.forward);
  units_ = std::move(picture.units);
  repeated_begin_ = picture.repeated_begin;
  passes_begin_ = picture.passes_begin;
  passes_end_ = picture.passes_end;
  Prepare();
}

Liveness::Liveness(int places, Bytes always, std::vector<Stored> values, std::vector<ForwardStage> forward,
                   std::vector<Unit> units)
    : places_(places),
      always_(always),
      values_(std::move(values)),
      forward_(std::move(forward)),
      units_(std::move(units)) {
  Prepare();
}

void Liveness::Prepare() {
  for (const ForwardStage& stage : forward_) unit_of_stage_.push_back(stage.unit);
  for (const Stored& value : values_) {
    backward_begin_.push_back(value.backward_begin);
    backward_end_.push_back(value.backward_end);
    unit_of_value_.push_back(value.made_by >= 0 ? unit_of_stage_[static_cast<size_t>(value.made_by)] : -1);
  }
  overwriters_.resize(values_.size());
  for (size_t v = 0; v < values_.size(); ++v) {
    const int overwritten = values_[v].overwrites;
    if (overwritten >= 0) overwriters_[static_cast<size_t>(overwritten)].push_back(static_cast<int>(v));
  }
  nothing_.assign(units_.size(), false);
  kept_ = NeedsOf(nothing_);
  kept_change_.assign(static_cast<size_t>(places_) + 1, 0);
  for (size_t v = 0; v < values_.size(); ++v) Hold(v, kept_, nothing_, /*is_chain=*/false, 1, kept_change_);
}

Liveness::Needs Liveness::NeedsOf(const std::vector<bool>& again) const {
  Needs needs{
      .begin = backward_begin_, .end = backward_end_, .runs = std::vector<bool>(forward_.size(), false), .changed = {}};
  for (size_t i = forward_.size(); i-- > 0;) {
    if (!IsMadeAgain(unit_of_stage_[i], again)) continue;
    const ForwardStage& stage = forward_[i];
    needs.changed.insert(needs.changed.end(), stage.writes.begin(), stage.writes.end());
    int begin = Stored::kNever;
    for (const int value : stage.writes) begin = std::min(begin, needs.begin[static_cast<size_t>(value)]);
    if (begin == Stored::kNever) continue;
    needs.runs[i] = true;
    needs.changed.insert(needs.changed.end(), stage.reads.begin(), stage.reads.end());
    for (const int value : stage.writes) needs.begin[static_cast<size_t>(value)] = begin;
    for (const int value : stage.reads) {
      const auto v = static_cast<size_t>(value);
      needs.begin[v] = std::min(needs.begin[v], begin);
      needs.end[v] = std::max(needs.end[v], begin);
    }
  }
  return needs;
}

int Liveness::EndOf(size_t v, const Needs& needs, const std::vector<bool>& again) const {
  const bool waits = !IsMadeAgain(unit_of_value_[v], again) && needs.end[v] >= 0;
  return std::max(values_[v].writer, waits ? needs.end[v] : values_[v].forward_end);
}

void Liveness::Hold(size_t v, const Needs& needs, const std::vector<bool>& again, bool is_chain, int64_t sign,
                    std::vector<int64_t>& change) const {
  const auto hold = [&](Bytes size, int begin, int last) {
    if (begin > last) return;
    change[static_cast<size_t>(begin)] += sign * size.value();
    change[static_cast<size_t>(last) + 1] -= sign * size.value();
  };
  // Whether the first memory of a value, or that of the value that is made again, is free after a place.
  const auto ends_at = [&](size_t own, int place) {
    return EndOf(own, needs, again) == place || needs.end[own] == place;
  };
  const Stored& value = values_[v];
  const bool made_again = IsMadeAgain(unit_of_value_[v], again);
  const bool waits = !made_again && needs.end[v] >= 0;
  const bool shares = value.overwrites >= 0 && ends_at(static_cast<size_t>(value.overwrites), value.writer);
  // A value that only the backward pass reads is not made before it.
  const bool is_delayed = made_again && value.forward_end < 0 && needs.end[v] >= 0;
  if (waits && value.may_wait) {
    hold(value.size * value.times, passes_begin_, passes_end_);
  } else if (!is_delayed) {
    hold(value.size * (waits ? value.times : 1), value.writer + (shares ? 1 : 0), EndOf(v, needs, again));
  }
  const int64_t times = is_chain && needs.begin[v] < repeated_begin_ ? value.times : 1;
  if (made_again && needs.end[v] >= 0) hold(value.size * times, needs.begin[v], needs.end[v]);
}

std::vector<int64_t> Liveness::ChangeOf(const Needs& needs, const std::vector<bool>& again, bool is_chain) const {
  // Those that overwrite a value depend on where its memory ends.
  std::vector<bool> is_changed(values_.size(), false);
  std::vector<size_t> changed;
  const auto add = [&](int value) {
    const auto v = static_cast<size_t>(value);
    if (is_changed[v]) return;
    is_changed[v] = true;
    changed.push_back(v);
  };
  for (const int value : needs.changed) {
    add(value);
    for (const int other : overwriters_[static_cast<size_t>(value)]) add(other);
  }
  // Both what it is and what it was of a value are looked at.
  if (2 * changed.size() > values_.size()) {
    std::vector<int64_t> change(static_cast<size_t>(places_) + 1, 0);
    for (size_t v = 0; v < values_.size(); ++v) Hold(v, needs, again, is_chain, 1, change);
    return change;
  }
  std::vector<int64_t> change = kept_change_;
  for (const size_t v : changed) {
    Hold(v, kept_, nothing_, /*is_chain=*/false, -1, change);
    Hold(v, needs, again, is_chain, 1, change);
  }
  return change;
}

Outcome Liveness::Of(const std::vector<bool>& again, Bytes limit) const {
  const Needs needs = NeedsOf(again);
  const bool is_chain = IsChain(needs, again);
  Outcome outcome;
  for (size_t i = 0; i < forward_.size(); ++i) {
    if (needs.runs[i]) outcome.seconds += forward_[i].seconds;
  }
  const std::vector<int64_t> change = ChangeOf(needs, again, is_chain);
  int64_t live = always_.value(), peak = 0, excess = 0;
  for (int place = 0; place < places_; ++place) {
    live += change[static_cast<size_t>(place)];
    peak = std::max(peak, live);
    excess += std::max<int64_t>(0, live - limit.value());
  }
  outcome.peak = Bytes(peak);
  outcome.excess = static_cast<double>(excess);
  return outcome;
}

// The more units are made again, the more values are needed, and the earlier. An input of a value that is made again is
// needed at least until the earliest place where that can be. A value that may reuse another one's memory is taken to
// do so.
Liveness::Bounds Liveness::BoundsOf(const std::vector<bool>& again, const std::vector<bool>& possible,
                                    Bounded bounded) const {
  const bool is_program = bounded == Bounded::kProgram;
  Needs needs = NeedsOf(again);
  const Needs most = NeedsOf(possible);
  for (size_t v = 0; v < values_.size(); ++v) needs.end[v] = values_[v].backward_end;
  for (size_t i = 0; i < forward_.size(); ++i) {
    if (!needs.runs[i]) continue;
    int earliest = Stored::kNever;
    for (const int value : forward_[i].writes) earliest = std::min(earliest, most.begin[static_cast<size_t>(value)]);
    for (const int value : forward_[i].reads) {
      int& end = needs.end[static_cast<size_t>(value)];
      end = std::max(end, is_program ? earliest - 1 : earliest);
    }
  }
  Bounds bounds{.live = std::vector<int64_t>(static_cast<size_t>(places_) + 1, 0),
                .units = std::vector<OpenUnit>(units_.size())};
  const auto open_unit = [&](int stage) {
    const int unit = stage < 0 ? -1 : forward_[static_cast<size_t>(stage)].unit;
    const bool is_open = unit >= 0 && possible[static_cast<size_t>(unit)] && !again[static_cast<size_t>(unit)];
    return is_open ? unit : -1;
  };
  for (size_t i = 0; i < forward_.size(); ++i) {
    const ForwardStage& stage = forward_[i];
    const Seconds seconds = is_program ? stage.least : stage.seconds;
    if (seconds < Seconds(0)) {
      if (IsMadeAgain(stage.unit, possible)) bounds.gain += seconds;
      continue;
    }
    if (needs.runs[i]) bounds.seconds += seconds;
    const int unit = open_unit(static_cast<int>(i));
    const bool would_run = std::any_of(stage.writes.begin(), stage.writes.end(),
                                       [&](int value) { return needs.end[static_cast<size_t>(value)] >= 0; });
    if (unit >= 0 && would_run) bounds.units[static_cast<size_t>(unit)].seconds += seconds;
  }
  bounds.seconds += bounds.gain;
  const auto hold = [&](Bytes size, int begin, int last) {
    if (begin > last) return;
    bounds.live[static_cast<size_t>(begin)] += size.value();
    bounds.live[static_cast<size_t>(last) + 1] -= size.value();
  };
  // Where a value has memory for the second time, if it is made again.
  const auto second = [&](size_t v) -> std::pair<int, int> {
    const Stored& value = values_[v];
    if (!is_program) return {needs.begin[v], needs.end[v]};
    const bool may_be_inside =
        value.backward_begin == value.backward_end && forward_[static_cast<size_t>(value.made_by)].may_join;
    return may_be_inside ? std::pair(Stored::kNever, -1) : std::pair(value.backward_begin, value.backward_end);
  };
  std::vector<int> kept_end(values_.size()), again_end(values_.size());  // Of the first memory of each value.
  const auto may_end_at = [&](size_t v, int place) { return again_end[v] == place || kept_end[v] <= place; };
  for (size_t v = 0; v < values_.size(); ++v) {
    const Stored& value = values_[v];
    const bool is_needed = needs.end[v] >= 0;
    const bool made_again = IsMadeAgain(unit_of_value_[v], again);
    again_end[v] = std::max(value.writer, value.forward_end);
    kept_end[v] = is_needed ? std::max(value.writer, needs.end[v]) : again_end[v];
    const bool may_share = value.overwrites >= 0 && may_end_at(static_cast<size_t>(value.overwrites), value.writer);
    const int begin = value.writer + (may_share ? 1 : 0);
    // A value that only the backward pass reads is not made before it.
    const bool is_delayed = value.forward_end < 0 && is_needed;
    const bool waits = is_needed && value.may_wait;
    if (!made_again && waits) {
      hold(value.size * value.times, passes_begin_, passes_end_);
      // At most.
      if (const int open = open_unit(value.made_by); open >= 0) {
        bounds.units[static_cast<size_t>(open)].frees.push_back(
            {.size = value.size * value.times, .begin = passes_begin_, .end = passes_end_});
      }
      continue;
    }
    if (!made_again) hold(value.size * (is_needed ? value.times : 1), begin, kept_end[v]);
    if (made_again && !is_delayed) hold(value.size, begin, again_end[v]);
    const int open = open_unit(value.made_by);
    if (!is_needed || (open < 0 && !made_again)) continue;
    const auto [again_from, again_to] = second(v);
    if (made_again) hold(value.size, again_from, again_to);
    if (open < 0) continue;
    if (value.times > 1) {
      bounds.units[static_cast<size_t>(open)].frees.push_back(
          {.size = value.size * (value.times - 1), .begin = begin, .end = kept_end[v]});
    }
    const int freed_from = is_delayed ? begin : std::max(begin, again_end[v] + 1);
    for (const auto& [from, to] : {std::pair(freed_from, std::min(kept_end[v], again_from - 1)),
                                   std::pair(std::max(freed_from, again_to + 1), again_to < 0 ? -1 : kept_end[v])}) {
      if (from > to) continue;
      bounds.units[static_cast<size_t>(open)].frees.push_back({.size = value.size, .begin = from, .end = to});
    }
  }
  for (size_t place = 1; place < bounds.live.size(); ++place) bounds.live[place] += bounds.live[place - 1];
  for (int64_t& live : bounds.live) live += always_.value();
  bounds.live.pop_back();
  return bounds;
}

Bytes Liveness::Bounds::LeastPeak() const {
  std::vector<int64_t> freed(live.size() + 1, 0);
  for (const OpenUnit& unit : units) {
    for (const Interval& interval : unit.frees) {
      freed[static_cast<size_t>(interval.begin)] += interval.size.value();
      freed[static_cast<size_t>(interval.end) + 1] -= interval.size.value();
    }
  }
  int64_t least = 0, now = 0;
  for (size_t place = 0; place < live.size(); ++place) {
    now += freed[place];
    least = std::max(least, live[place] - now);
  }
  return Bytes(least);
}

Seconds Liveness::MostGain() const {
  const std::vector<bool> none(units_.size(), false), all(units_.size(), true);
  return BoundsOf(none, all, Bounded::kProgram).gain;
}

bool Liveness::IsChain(const Needs& needs, const std::vector<bool>& again) const {
  if (!StandsForMore()) return false;
  const auto is_made_early = [&](int value) {
    const auto v = static_cast<size_t>(value);
    return values_[v].made_by >= 0 && IsMadeAgain(unit_of_value_[v], again) && needs.begin[v] < repeated_begin_ &&
           !StandsForSeveral(forward_[static_cast<size_t>(values_[v].made_by)]);
  };
  for (size_t i = 0; i < forward_.size(); ++i) {
    const ForwardStage& stage = forward_[i];
    const bool reads_early =
        needs.runs[i] && StandsForSeveral(stage) && std::any_of(stage.reads.begin(), stage.reads.end(), is_made_early);
    if (reads_early) return true;
  }
  return false;
}

bool Liveness::StandsForSeveral(const ForwardStage& stage) const {
  return !stage.writes.empty() && values_[static_cast<size_t>(stage.writes.front())].times > 1;
}

std::map<ir::OpId, ir::Retention> Liveness::RetentionsOf(const std::vector<bool>& again) const {
  std::map<ir::OpId, ir::Retention> retentions;
  const auto set = [&](ir::OpId op, ir::Retention retention) {
    ir::Retention& own = retentions.emplace(op, retention).first->second;
    if (retention == ir::Retention::kRecompute) own = retention;
  };
  for (size_t u = 0; u < units_.size(); ++u) {
    if (!again[u]) continue;
    for (const ir::OpId op : units_[u].ops) set(op, units_[u].retention);
    for (const ir::OpId op : units_[u].reshapes) set(op, ir::Retention::kRecompute);
  }
  return retentions;
}

std::vector<bool> Liveness::Needed(const std::vector<bool>& again) const {
  const Needs needs = NeedsOf(again);
  std::vector<bool> needed(units_.size(), false);
  for (size_t i = 0; i < forward_.size(); ++i) {
    if (needs.runs[i]) needed[static_cast<size_t>(forward_[i].unit)] = true;
  }
  return needed;
}

}  // namespace cleave::search
