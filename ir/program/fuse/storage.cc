#include "ir/program/fuse/storage.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "base/match/match.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/program/fuse/host_copies.h"
#include "ir/sharding/stages/stages.h"

namespace cleave::ir {
namespace {

// A step among those of its stage: where loops of a batch run at the same time, of one of its loops.
struct PlaceInStage {
  int position = 0;  // A joint call reads everything at once, at 0.
  int loop = 0;
  int first = 0;  // The position of the loop's first step.

  // Whether what is read there is read before the step at `other` writes.
  bool ReadsBefore(const PlaceInStage& other) const { return loop == other.loop && position <= other.position; }
};

// One reading of a value: in which stage and where in it, and whether each element is read before the stage writes at
// its index: by a loop that reads at its own index, or by a call that may write over the value.
struct Reading {
  int stage = 0;
  PlaceInStage place = {};
  bool own_index = false;
  bool literal = false;  // A constant would be written as a number here.
};

class StoragePlanner {
 public:
  StoragePlanner(const Program& program, const Fusion& fusion)
      : program_(program),
        fusion_(fusion),
        copies_(HoldsOfCopies(program, fusion)),
        readings_(program.values.size()),
        written_at_(program.values.size()),
        classes_(program.values.size()) {
    storage_.root = IdVector<ValueId, std::optional<ValueId>>(program.values.size());
  }

  Storage Run() && {
    RequestMemory();
    PlanMemory();
    return std::move(storage_);
  }

  Bytes Demand() && {
    RequestMemory();
    return PeakDemand(storage_.stages, storage_.requests).bytes;
  }

 private:
  void RequestMemory() {
    CollectReadings();
    RootEveryValue();
    UpdateInPlace();
    AllReduceInPlace();
    WriteInPlace();
    PlanStages();
    PlanRequests();
  }

  const Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }
  int stage_count() const { return static_cast<int>(fusion_.stages.size()); }
  // Loss and metrics are read between the backward pass and the update. That moment is a stage of its own.
  int first_update_stage() const {
    const auto found = absl::c_find_if(fusion_.stages, [](const FusedStage& s) { return s.phase == Phase::kUpdate; });
    return static_cast<int>(found - fusion_.stages.begin());
  }

  void CollectReadings() {
    for (int stage = 0; stage < stage_count(); ++stage) {
      const FusedStage& fused = fusion_.stages[static_cast<size_t>(stage)];
      const bool loop = !LoopsOf(fused).empty();
      const auto* const joint = std::get_if<JointCall>(&fused.action);
      const StageSteps steps = StepsOf(fused);
      std::set<int> overwritten;  // Tensors of a joint call.
      if (joint != nullptr) {
        for (const int step : steps) {
          const std::vector<int> own = OverwrittenBy(program_, *joint, step);
          overwritten.insert(own.begin(), own.end());
        }
      }
      for (const PlaceInStage& place : PlacesIn(fused)) {
        const int position = place.position;
        const Step& step = StepAt(steps[static_cast<size_t>(position)]);
        const StepValues reads = Reads(step);
        for (const ValueId value : Writes(step)) written_at_[value] = place;
        const Rule* const rule = loop ? &RuleOf(program_, *ComputeOf(step), rules_) : nullptr;
        for (size_t input = 0; input < reads.size(); ++input) {
          const Compute* const compute = ComputeOf(step);
          bool own_index = compute != nullptr && DefinitionOf(compute->kind).overwrites == static_cast<int>(input);
          if (loop) {
            const std::optional<std::vector<bool>> span = SpanOfInput(*rule, static_cast<int>(input));
            own_index = span.has_value() && Covers(*span, step);
          }
          if (IsSumOfProduct(fused, position)) own_index = true;
          if (joint != nullptr) {
            const int tensor =
                TensorOf(program_, *joint, steps[static_cast<size_t>(position)], static_cast<int>(input));
            own_index = overwritten.count(tensor) > 0;
          }
          const bool literal = loop || TakesLiteral(step, input);
          readings_[reads[input]].push_back({stage, joint != nullptr ? PlaceInStage() : place, own_index, literal});
        }
      }
    }
    for (const CopyHold& copy : copies_) {
      if (copy.direction == HostCopy::Direction::kOut) readings_[copy.value].push_back({.stage = copy.last});
    }
    const int asked = first_update_stage();
    if (program_.loss.has_value()) readings_[*program_.loss].push_back({.stage = asked, .place = {.position = -1}});
    for (const ProgramMetric& metric : program_.metrics)
      readings_[metric.value].push_back({.stage = asked, .place = {.position = -1}});
  }

  // The places of the stage's steps, in order.
  static std::vector<PlaceInStage> PlacesIn(const FusedStage& fused) {
    std::vector<PlaceInStage> places(StepsOf(fused).size());
    for (int i = 0; i < static_cast<int>(places.size()); ++i) places[static_cast<size_t>(i)].position = i;
    int loop = 0, first = 0;
    for (const FusedLoop& own : LoopsOf(fused)) {
      const int end = first + static_cast<int>(own.steps.size());
      for (int i = first; i < end; ++i) {
        places[static_cast<size_t>(i)].loop = loop;
        places[static_cast<size_t>(i)].first = first;
      }
      first = end;
      ++loop;
    }
    return places;
  }

  // Whether step `position` of the stage adds a product to its other input.
  bool IsSumOfProduct(const FusedStage& fused, int position) const {
    const auto* const product = std::get_if<AccumulatedProduct>(&fused.action);
    return product != nullptr && position == 1 && ComputeOf(StepAt(product->sum)) != nullptr;
  }

  // `span` leaves out only dimensions of size 1.
  bool Covers(const std::vector<bool>& span, const Step& step) const {
    const Shape& shape = program_.value(ComputeOf(step)->output).type.shape;
    for (size_t d = 0; d < span.size(); ++d) {
      if (!span[d] && shape[d] != 1) return false;
    }
    return true;
  }

  void RootEveryValue() {
    for (const Step& step : program_.steps) {
      const Compute* compute = ComputeOf(step);
      for (const ValueId value : Writes(step)) {
        if (fusion_.inside.contains(value) || !NeedsMemory(compute, value)) continue;
        storage_.root[value] = value;
        if (const auto part = fusion_.parts.find(value); part != fusion_.parts.end()) {
          PutInto(part->second.whole, value);
        } else if (IsAlias(step)) {
          storage_.root[value] = storage_.root[Reads(step).front()];
        }
        if (IsSource(step)) permanent_.insert(value);
        if (compute != nullptr && IsSamples(compute->kind, compute->attributes)) inputs_.insert(value);
        if (IsSum(step)) sums_over_time_.insert(value);
        if (IsCopyOut(step)) on_host_.insert(value);
        if (storage_.root[value].has_value()) classes_[*storage_.root[value]].push_back(value);
      }
    }
  }

  // A whole that is written later, part by part, is its own root.
  void PutInto(ValueId whole, ValueId part) {
    const bool is_written = storage_.root[whole].has_value();
    storage_.root[part] = is_written ? storage_.root[whole] : whole;
    if (!is_written) in_parts_.insert(whole);
  }

  bool IsSum(const Step& step) const {
    const Collective* collective = std::get_if<Collective>(&step.action);
    return collective != nullptr && IsSumOverTime(program_, *collective);
  }

  bool NeedsMemory(const Compute* compute, ValueId value) const {
    if (compute == nullptr) return true;
    if (compute->kind == OpKind::kStepScalar) return false;
    // Data that only other stages read.
    if (compute->kind == OpKind::kInput && readings_[value].empty() && program_.part.has_value()) return false;
    if (compute->kind != OpKind::kConstant) return true;
    return absl::c_any_of(readings_[value], [](const Reading& reading) { return !reading.literal; }) ||
           absl::c_any_of(program_.updates, [&](const ProgramUpdate& update) { return update.value == value; });
  }

  // A scalar that calls of the op take by value.
  bool TakesLiteral(const Step& step, size_t input) const {
    const Compute* compute = ComputeOf(step);
    if (compute == nullptr || program_.value(compute->inputs[input]).type.rank() > 0) return false;
    const std::vector<KernelCall> calls = CallsOf(program_, *compute);
    return absl::c_any_of(calls, [&](const KernelCall& call) {
      return absl::c_any_of(call.arguments, [&](const CallArgument& argument) {
        const ScalarInput* scalar = std::get_if<ScalarInput>(&argument);
        return scalar != nullptr && scalar->input == static_cast<int>(input);
      });
    });
  }

  // The values that lie in the buffer of `root`.
  const std::vector<ValueId>& ClassOf(ValueId root) const { return classes_[root]; }

  // Whether nothing reads the buffer of `root` after the step at a place of stage `stage`, and that stage reads each
  // element before it writes there.
  bool DeadAfter(ValueId root, int stage, const PlaceInStage& place) const {
    if (ServesNext(root) && IsForEach(RepeatOf(stage))) return false;
    for (const ValueId value : ClassOf(root)) {
      for (const Reading& reading : readings_[value]) {
        if (reading.stage < stage) continue;
        if (reading.stage > stage || !reading.place.ReadsBefore(place) || !reading.own_index) return false;
      }
    }
    return true;
  }

  Repeat RepeatOf(int stage) const { return fusion_.stages[static_cast<size_t>(stage)].repeat; }

  // Whether a micro-batch finds in the buffer of `root` what was there before it.
  bool ServesNext(ValueId root) const {
    return absl::c_any_of(ClassOf(root), [&](ValueId value) {
      const int stage = fusion_.written_by[value];
      return sums_over_time_.contains(value) || (stage >= 0 && RepeatOf(stage) == Repeat::kOnceBefore);
    });
  }

  void UpdateInPlace() {
    for (const ProgramUpdate& update : program_.updates) {
      if (update.state == update.value) continue;
      const int stage = fusion_.written_by[update.value];
      const bool in_place =
          stage >= 0 && storage_.root[update.value] == update.value && !permanent_.contains(update.value) &&
          !updated_.contains(update.state) && !in_parts_.contains(update.value) &&
          (WritesInPlace(update, stage) || (fusion_.stages[static_cast<size_t>(stage)].phase == Phase::kUpdate &&
                                            DeadAfter(update.state, stage, written_at_[update.value])));
      if (!in_place) {
        storage_.copies.push_back(update);
        continue;
      }
      updated_.insert(update.state);
      Merge(update.value, update.state);
    }
  }

  // Whether the new value is made by a call that changes the state, which nothing reads afterwards.
  bool WritesInPlace(const ProgramUpdate& update, int stage) const {
    const auto* single = std::get_if<SingleStep>(&fusion_.stages[static_cast<size_t>(stage)].action);
    const Compute* compute = single != nullptr ? ComputeOf(StepAt(single->step)) : nullptr;
    return compute != nullptr && DefinitionOf(compute->kind).works_in_place &&
           compute->inputs.front() == update.state && ReadOnceIn(update.state, stage);
  }

  // Another state takes the old value of this state.
  bool IsValueOfUpdate(ValueId state) const {
    return absl::c_any_of(program_.updates, [&](const ProgramUpdate& update) { return update.value == state; });
  }

  void Merge(ValueId from, ValueId to) {
    for (const ValueId member : classes_[from]) storage_.root[member] = to;
    classes_[to].insert(classes_[to].end(), classes_[from].begin(), classes_[from].end());
    classes_[from].clear();
  }

  void AllReduceInPlace() {
    for (int stage = 0; stage < stage_count(); ++stage) {
      const auto* single = std::get_if<SingleStep>(&fusion_.stages[static_cast<size_t>(stage)].action);
      if (single == nullptr) continue;
      const auto* collective = std::get_if<Collective>(&StepAt(single->step).action);
      if (collective == nullptr || !WorksInPlace(collective->kind) || IsSumOverTime(program_, *collective)) continue;
      const bool merged = collective->transfers.size() > 1 && OneType(*collective);
      Bucket bucket;
      for (const Transfer& transfer : collective->transfers) {
        const ValueId root = *storage_.root[transfer.input];
        const bool taken = merged && (bucketed_.contains(root) || absl::c_linear_search(bucket, root));
        const bool in_place = !permanent_.contains(root) && !taken &&
                              storage_.root[transfer.output] == transfer.output && ReadOnceIn(root, stage);
        if (in_place) Merge(transfer.output, root);
        bucket.push_back(*storage_.root[transfer.output]);
      }
      if (!merged) continue;
      // A result that is written into the buffer of a state cannot move into a bucket.
      std::set<ValueId> distinct(bucket.begin(), bucket.end());
      const bool free = distinct.size() == bucket.size() && absl::c_none_of(bucket, [&](ValueId root) {
                          return permanent_.contains(root) || bucketed_.contains(root);
                        });
      if (!free) continue;
      for (const ValueId root : bucket) bucketed_.insert(root);
      storage_.buckets[single->step] = bucket;
    }
  }

  static bool WorksInPlace(CollectiveKind kind) {
    return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBroadcast;
  }

  bool OneType(const Collective& collective) const {
    return absl::c_all_of(collective.transfers, [&](const Transfer& transfer) {
      return program_.value(transfer.output).type.dtype ==
             program_.value(collective.transfers.front().output).type.dtype;
    });
  }

  // Whether no later stage reads the buffer, and this stage reads it exactly once.
  bool ReadOnceIn(ValueId root, int stage) const {
    if (ServesNext(root) && IsForEach(RepeatOf(stage))) return false;
    int here = 0;
    for (const ValueId value : ClassOf(root)) {
      for (const Reading& reading : readings_[value]) {
        if (reading.stage > stage) return false;
        here += reading.stage == stage;
      }
    }
    return here == 1;
  }

  // Results of loops, of calls that may write over an input, and of products that are added to one.
  void WriteInPlace() {
    for (int stage = 0; stage < stage_count(); ++stage) {
      const FusedStage& fused = fusion_.stages[static_cast<size_t>(stage)];
      const bool is_loop = !LoopsOf(fused).empty();
      const auto* const joint = std::get_if<JointCall>(&fused.action);
      const StageSteps steps = StepsOf(fused);
      for (const PlaceInStage& place : PlacesIn(fused)) {
        const int position = place.position;
        if (joint != nullptr) {
          WriteInPlace(*joint, steps[static_cast<size_t>(position)], stage, place);
          continue;
        }
        const Compute* const compute = ComputeOf(StepAt(steps[static_cast<size_t>(position)]));
        const bool is_sum = IsSumOfProduct(fused, position);
        if (compute == nullptr || (!is_loop && !is_sum && !DefinitionOf(compute->kind).overwrites.has_value()))
          continue;
        const ValueId output = compute->output;
        if (storage_.root[output] != output || bucketed_.contains(output)) continue;
        for (int earlier = is_sum ? position : place.first; earlier <= position; ++earlier) {
          if (ReuseInputOf(steps[static_cast<size_t>(earlier)], output, stage, place)) break;
        }
      }
    }
  }

  // The value of a joint call's step.
  void WriteInPlace(const JointCall& call, int step, int stage, const PlaceInStage& place) {
    const ValueId output = ComputeOf(StepAt(step))->output;
    if (storage_.root[output] != output || bucketed_.contains(output)) return;
    for (const int tensor : OverwrittenBy(program_, call, step)) {
      const std::optional<ValueId> value = ValueOf(program_, call, tensor);
      if (value.has_value() && Reuse(*value, output, stage, place)) return;
    }
  }

  // Puts `output` into the buffer of an input of step `i` whose last reading this is.
  bool ReuseInputOf(int i, ValueId output, int stage, const PlaceInStage& place) {
    return absl::c_any_of(ComputeOf(StepAt(i))->inputs,
                          [&](ValueId input) { return Reuse(input, output, stage, place); });
  }
  bool Reuse(ValueId input, ValueId output, int stage, const PlaceInStage& place) {
    const std::optional<ValueId> root = storage_.root[input];
    if (!root.has_value() || *root == output || permanent_.contains(*root) || bucketed_.contains(*root)) return false;
    if (fusion_.written_by[*root] >= stage || SizeOf(*root) != SizeOf(output)) return false;
    if (WrittenIn(*root, stage) || !DeadAfter(*root, stage, place)) return false;
    Merge(output, *root);
    return true;
  }

  bool WrittenIn(ValueId root, int stage) const {
    return absl::c_any_of(ClassOf(root), [&](ValueId member) { return fusion_.written_by[member] == stage; });
  }

  Bytes SizeOf(ValueId value) const { return LargestLocalBytes(program_, value); }

  void PlanStages() {
    std::vector<Stage>& stages = storage_.stages;
    const int asked = first_update_stage();
    for (int stage = 0; stage <= stage_count(); ++stage) {
      if (stage == asked) stages.push_back(AskedFor());
      if (stage < stage_count()) stages.push_back(RootsOf(fusion_.stages[static_cast<size_t>(stage)]));
    }
    Stage copies;
    for (const ProgramUpdate& update : storage_.copies) copies.reads.push_back(*storage_.root[update.value]);
    stages.push_back(std::move(copies));
    KeepThroughMicroBatches();
    KeepWhileUnderWay();
    for (const CopyHold& copy : copies_) {
      // Loss and metrics are read before the stages of the update.
      const auto place = [&](int stage) { return static_cast<size_t>(stage < asked ? stage : stage + 1); };
      const bool goes_out = copy.direction == HostCopy::Direction::kOut;
      AddRoot(copy.value, goes_out ? stages[place(copy.last)].reads : stages[place(copy.first)].writes);
    }
  }

  void PlanRequests() {
    for (int i = 0; i < static_cast<int>(program_.values.size()); ++i) {
      const ValueId value(i);
      if (storage_.root[value] != value) continue;
      BufferRequest request = {.value = value, .size = SizeOf(value)};
      for (const ValueId member : ClassOf(value)) request.size = std::max(request.size, SizeOf(member));
      if (program_.time.has_value() && inputs_.contains(value)) {
        request.size = InputStride(program_, value) * MicroBatches(program_);
      }
      if (const int64_t pieces = storage_.PiecesOf(value); pieces > 1) {
        request.size = Bytes(BufferPlan::Aligned(request.size.value())) * pieces;
      }
      request.always_live = permanent_.contains(value);
      (on_host_.contains(value) ? requests_on_host_ : storage_.requests).push_back(request);
    }
  }

  void PlanMemory() {
    const std::vector<Stage>& stages = storage_.stages;
    const std::vector<BufferRequest>& requests = storage_.requests;
    storage_.host = PlanBuffers(stages, requests_on_host_, {}, FamiliesOf(requests_on_host_, {}));
    std::vector<Bucket> buckets;
    for (const auto& [step, bucket] : storage_.buckets) buckets.push_back(bucket);
    const std::vector<Family> families = FamiliesOf(requests, buckets);
    storage_.buffers = PlanBuffers(stages, requests, buckets, families);
    const auto try_families = [&](const std::vector<Family>& other) {
      BufferPlan plan = PlanBuffers(stages, requests, buckets, other);
      if (plan.total < storage_.buffers.total) storage_.buffers = std::move(plan);
    };
    // Regular places of buckets may take more memory,
    if (!buckets.empty()) try_families(FamiliesOf(requests, {}));
    // and so may those of values that wait in some layers only.
    constexpr int64_t kMostGaps = 32;
    const Bytes demand = PeakDemand(stages, requests).bytes;
    const bool has_gaps = (storage_.buffers.total - demand) * kMostGaps > demand;
    if (has_gaps) try_families(CutFamilies(stages, requests, buckets, families));
  }

  // The stages of the plan and of the fusion are the same up to the update, so also up to the last micro-batch.
  void KeepThroughMicroBatches() {
    if (!program_.time.has_value()) return;
    KeepThroughLoop(Repeat::kEachBefore);
    KeepThroughLoop(Repeat::kEach);
  }

  // The stages of one kind of repeat follow one another.
  void KeepThroughLoop(Repeat repeat) {
    const auto runs_then = [&](const FusedStage& stage) { return stage.repeat == repeat; };
    const auto begin = absl::c_find_if(fusion_.stages, runs_then);
    const auto end = std::find_if_not(begin, fusion_.stages.end(), runs_then);
    if (begin == end) return;
    Stage& first = storage_.stages[static_cast<size_t>(begin - fusion_.stages.begin())];
    Stage& last = storage_.stages[static_cast<size_t>(end - fusion_.stages.begin()) - 1];
    std::set<ValueId> kept;
    for (auto stage = begin; stage != end; ++stage) {
      for (const int i : StepsOf(*stage)) {
        for (const ValueId value : Reads(StepAt(i))) {
          if (storage_.root[value].has_value() && ServesNext(*storage_.root[value])) kept.insert(*storage_.root[value]);
        }
      }
    }
    last.reads.insert(last.reads.end(), kept.begin(), kept.end());
    for (const ValueId sum : sums_over_time_) {
      if (RepeatOf(fusion_.written_by[sum]) != repeat) continue;
      AddRoot(sum, first.writes);
      AddRoot(sum, last.reads);
    }
  }

  // What a pass leaves for a later one, which begins when others have been made, has its memory from the first pass of
  // the first micro-batch to the last pass of the last one.
  void KeepWhileUnderWay() {
    const bool has_several_stages = program_.part.has_value() && program_.pipeline->schedule.stages_per_rank > 1;
    if (MicroBatchesUnderWay(program_) == 1 && !has_several_stages) return;
    std::optional<size_t> first, last;
    for (int stage = 0; stage < stage_count(); ++stage) {
      if (RepeatOf(stage) != Repeat::kEach) continue;
      if (!first.has_value()) first = static_cast<size_t>(stage);
      last = static_cast<size_t>(stage);
    }
    if (!first.has_value()) return;
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const ValueId root(static_cast<int64_t>(i));
      if (storage_.root[root] != root || permanent_.contains(root) || ServesNext(root)) continue;
      const int64_t pieces = PiecesNeeded(root);
      if (pieces == 0 || (pieces == 1 && !has_several_stages)) continue;
      if (pieces > 1) storage_.waiting[root] = pieces;
      storage_.stages[*first].writes.push_back(root);
      storage_.stages[*last].reads.push_back(root);
    }
    // With several pieces a tensor does not lie next to another one's piece.
    std::erase_if(storage_.buckets, [&](const auto& bucket) {
      const bool waits = absl::c_any_of(bucket.second, [&](ValueId root) { return storage_.PiecesOf(root) > 1; });
      if (waits) absl::c_for_each(bucket.second, [&](ValueId root) { bucketed_.erase(root); });
      return waits;
    });
  }

  // For how many micro-batches at once the buffer of `root` holds values from the first pass that makes one of them to
  // the last one that reads one; 0 where that is one pass, and 1 also where other passes come between these.
  int64_t PiecesNeeded(ValueId root) const {
    const Timetable timetable = TimetableOf(program_);
    const std::vector<StagePass> way = timetable.WayThrough(*program_.part);
    const auto pass_of = [&](int stage) -> int64_t {
      if (stage < 0 || stage >= stage_count()) return -1;
      const std::optional<StagePass>& pass = fusion_.stages[static_cast<size_t>(stage)].pass;
      return pass.has_value() ? absl::c_find(way, *pass) - way.begin() : -1;
    };
    int64_t made = -1, read = -1;
    for (const ValueId value : ClassOf(root)) {
      const int64_t own = pass_of(fusion_.written_by[value]);
      if (own >= 0 && (made < 0 || own < made)) made = own;
      for (const Reading& reading : readings_[value]) read = std::max(read, pass_of(reading.stage));
    }
    if (made < 0 || read <= made) return 0;
    return timetable.MicroBatchesBetween(way[static_cast<size_t>(made)], way[static_cast<size_t>(read)]);
  }

  // The phase of the last stage that reads the buffer of `root`.
  Phase LastPhase(ValueId root) const {
    Phase last = Phase::kForward;
    for (const ValueId value : ClassOf(root)) {
      for (const Reading& reading : readings_[value]) {
        if (reading.stage < stage_count()) {
          last = std::max(last, fusion_.stages[static_cast<size_t>(reading.stage)].phase);
        }
      }
    }
    return last;
  }

  // Values of one place of the text in several passes of its loops, of one size, and buckets of such values. Where the
  // backward pass makes a value again in some layers only, those in which it waits are apart.
  std::vector<Family> FamiliesOf(const std::vector<BufferRequest>& requests, const std::vector<Bucket>& buckets) const {
    using Kind = std::vector<std::tuple<TextPlace, Bytes, Phase>>;
    std::map<Kind, std::vector<std::pair<LoopPasses, ValueId>>> alike;
    IdVector<ValueId, Bytes> sizes(program_.values.size());
    for (const BufferRequest& request : requests) sizes[request.value] = request.size;
    const auto add = [&](const Bucket& bucket) {
      const Repetition& first = program_.value(bucket.front()).repetition;
      if (!first.is_repeated()) return;
      Kind kind;
      for (const ValueId value : bucket) {
        kind.emplace_back(program_.value(value).repetition.place, sizes[value], LastPhase(value));
      }
      alike[std::move(kind)].emplace_back(first.passes, bucket.front());
    };
    for (const BufferRequest& request : requests) {
      if (!bucketed_.contains(request.value)) add({request.value});
    }
    for (const Bucket& bucket : buckets) add(bucket);
    std::vector<Family> families;
    for (auto& [kind, members] : alike) {
      if (members.size() < 2) continue;
      absl::c_sort(members);
      Family& family = families.emplace_back();
      for (const auto& [passes, value] : members) family.push_back(value);
    }
    // Large ones first, then in the order of the program: fingerprints have none.
    absl::c_sort(families, [&](const Family& a, const Family& b) {
      return std::pair(-sizes[a.front()].value(), a.front()) < std::pair(-sizes[b.front()].value(), b.front());
    });
    return families;
  }

  Stage AskedFor() const {
    Stage stage;
    if (program_.loss.has_value()) AddRoot(*program_.loss, stage.reads);
    for (const ProgramMetric& metric : program_.metrics) AddRoot(metric.value, stage.reads);
    return stage;
  }

  Stage RootsOf(const FusedStage& fused) const {
    Stage stage;
    for (const int i : StepsOf(fused)) {
      for (const ValueId value : Reads(StepAt(i))) AddRoot(value, stage.reads);
      for (const ValueId value : Writes(StepAt(i))) AddRoot(value, stage.writes);
    }
    return stage;
  }

  void AddRoot(ValueId value, std::vector<ValueId>& roots) const {
    if (storage_.root[value].has_value()) roots.push_back(*storage_.root[value]);
  }

  const Program& program_;
  const Fusion& fusion_;
  const std::vector<CopyHold> copies_;
  RuleTable rules_;
  IdVector<ValueId, absl::InlinedVector<Reading, 2>> readings_;
  IdVector<ValueId, PlaceInStage> written_at_;  // In the stage that writes it.
  IdVector<ValueId, std::vector<ValueId>> classes_;
  ValueSet permanent_;  // Inputs, parameters, states, constants: only their update may overwrite them.
  ValueSet inputs_;
  std::set<ValueId> sums_over_time_;
  ValueSet updated_;  // States that are updated in place.
  ValueSet bucketed_;
  ValueSet in_parts_;  // Written part by part, before the step that makes them.
  ValueSet on_host_;   // In the host's memory.
  std::vector<BufferRequest> requests_on_host_;
  Storage storage_;
};

}  // namespace

Bytes InputStride(const Program& program, ValueId input) {
  return Bytes(BufferPlan::Aligned(LargestLocalBytes(program, input).value()));
}

int64_t Storage::PiecesOf(ValueId value) const {
  const auto found = root[value].has_value() ? waiting.find(*root[value]) : waiting.end();
  return found == waiting.end() ? 1 : found->second;
}

int64_t Storage::StrideOf(ValueId value) const {
  const int64_t pieces = PiecesOf(value);
  return pieces == 1 ? 0 : BufferOf(*root[value]).size.value() / pieces;
}

Storage PlanStorage(const Program& program, const Fusion& fusion) { return StoragePlanner(program, fusion).Run(); }

Bytes DemandOf(const Program& program, const Fusion& fusion) { return StoragePlanner(program, fusion).Demand(); }

}  // namespace cleave::ir
