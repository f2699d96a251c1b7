// Reading guide. `TimingsOf` says when each collective may run, `Merger` puts those that may run together into buckets,
// each with a place in the program, and `Merger::Order` walks the program in the order of places, every step after
// those whose values it reads. Linear in the steps except for sorting.
//
// A send stands before its receive, which needs it as if it read a value of it.
//
// Why a bucket never waits for itself: a collective is merged only with those of its level. The level is the number of
// late collectives on the longest way to it. So a late bucket needs only prompt ones of its level or below, and a
// prompt bucket needs only late ones from below. Prompt collectives are merged only where nothing between them reads
// one of them. Gathers of parameters need nothing.

#include "ir/program/partition/merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"

namespace cleave::ir {
namespace {

// When a collective runs.
enum class Timing {
  kAlone,     // At its place, without others.
  kPrompt,    // Before the first step that reads it.
  kGradient,  // When its bucket is full, or at the end of the backward pass.
  kUpdate,    // Any time in the update.
  kAhead,     // At any time before the first step that reads it: a parameter exists from the start, as its copy does.
};

// The place of a step: by how often it runs, then by phase, then by the step at which it stands (-1: before all), then
// by the distance behind it.
struct Place {
  Repeat repeat = Repeat::kEach;
  Phase phase = Phase::kForward;
  int64_t step = -1;
  int behind = 0;

  bool operator<(const Place& other) const {
    return std::tie(repeat, phase, step, behind) < std::tie(other.repeat, other.phase, other.step, other.behind);
  }
};

const Collective* CollectiveOf(const Step& step) { return std::get_if<Collective>(&step.action); }

bool IsReduction(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
}

// The step that writes each value.
IdVector<ValueId, size_t> WritersOf(const Program& program) {
  IdVector<ValueId, size_t> writers(program.values.size(), 0);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    for (ValueId value : Writes(program.steps[i])) writers[value] = i;
  }
  return writers;
}

// Values that only steps of the update read, directly or after moves, and that are no result of the program.
IdVector<ValueId, char> ForUpdateOnly(const Program& program) {
  IdVector<ValueId, char> for_update(program.values.size(), 1);
  if (program.loss.has_value()) for_update[*program.loss] = 0;
  for (const ProgramMetric& metric : program.metrics) for_update[metric.value] = 0;
  for (size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    const StepValues writes = Writes(step);
    const bool moves = !std::holds_alternative<Compute>(step.action);
    const bool passes_on =
        moves && std::all_of(writes.begin(), writes.end(), [&](ValueId value) { return for_update[value]; }) &&
        (!std::holds_alternative<Send>(step.action) || for_update[Writes(program.steps[i + 1]).front()]);
    if (step.phase == Phase::kUpdate || passes_on) continue;
    for (ValueId value : Reads(step)) for_update[value] = 0;
  }
  return for_update;
}

// What a concatenation puts together: chunks of a product, each of which is reduced while the next one is computed.
IdVector<ValueId, char> InConcatenations(const Program& program) {
  IdVector<ValueId, char> joined(program.values.size(), 0);
  for (const Step& step : program.steps) {
    const Compute* const compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr || compute->kind != OpKind::kConcat) continue;
    for (const ValueId input : compute->inputs) joined[input] = 1;
  }
  return joined;
}

std::vector<Timing> TimingsOf(const Program& program, const IdVector<ValueId, size_t>& writers) {
  const IdVector<ValueId, char> for_update = ForUpdateOnly(program), joined = InConcatenations(program);
  std::set<ValueId> reported;
  if (program.loss.has_value()) reported.insert(*program.loss);
  for (const ProgramMetric& metric : program.metrics) reported.insert(metric.value);
  const auto timing_of = [&](const Step& step) {
    const Collective* collective = CollectiveOf(step);
    if (collective == nullptr || IsSumOverTime(program, *collective)) return Timing::kAlone;
    // What a manual model communicates before its loss stays where it is written.
    if (program.is_manual && step.phase < Phase::kBackward) return Timing::kAlone;
    const bool reduces = IsReduction(collective->kind);
    const Transfer& transfer = collective->transfers[0];
    if (!reduces && collective->kind != CollectiveKind::kAllGather) return Timing::kAlone;
    if (reported.count(transfer.output) > 0 || (reduces && joined[transfer.output])) return Timing::kAlone;
    const Step& maker = program.steps[writers[transfer.input]];
    if (step.phase == Phase::kUpdate) {
      return reduces && maker.phase != Phase::kUpdate ? Timing::kGradient : Timing::kUpdate;
    }
    if (step.phase == Phase::kBackward && reduces && for_update[transfer.output]) return Timing::kGradient;
    const Compute* source = std::get_if<Compute>(&maker.action);
    if (source != nullptr && source->kind == OpKind::kCast)
      source = std::get_if<Compute>(&program.steps[writers[source->inputs[0]]].action);
    return source != nullptr && source->kind == OpKind::kParameter ? Timing::kAhead : Timing::kPrompt;
  };
  std::vector<Timing> timings;
  for (const Step& step : program.steps) timings.push_back(timing_of(step));
  return timings;
}

bool IsLate(Timing timing) { return timing == Timing::kGradient || timing == Timing::kUpdate; }

// For each step: how many late collectives lie on the longest way to it.
std::vector<size_t> LevelsOf(const Program& program, const std::vector<Timing>& timings) {
  std::vector<size_t> levels;
  IdVector<ValueId, size_t> level_of(program.values.size(), 0);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    size_t level = 0;
    for (ValueId value : Reads(program.steps[i])) level = std::max(level, level_of[value]);
    if (std::holds_alternative<Receive>(program.steps[i].action)) {
      CLEAVE_CHECK(i > 0 && std::holds_alternative<Send>(program.steps[i - 1].action)) << program.steps[i].name;
      level = levels[i - 1];
    }
    for (ValueId value : Writes(program.steps[i])) level_of[value] = level + (IsLate(timings[i]) ? 1 : 0);
    levels.push_back(level);
  }
  return levels;
}

// What collectives must have in common to be merged.
struct Key {
  Timing timing = Timing::kAlone;
  size_t level = 0;
  Repeat repeat = Repeat::kEach;
  Phase phase = Phase::kForward;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::optional<int> stage;
  AxisList axes;
  Reduction reduction = Reduction::kSum;
  DType dtype = DType::kF32;
  Bytes most;  // That a bucket holds.

  bool operator<(const Key& other) const {
    return std::tie(timing, level, repeat, phase, kind, stage, axes, reduction, dtype, most) <
           std::tie(other.timing, other.level, other.repeat, other.phase, other.kind, other.stage, other.axes,
                    other.reduction, other.dtype, other.most);
  }
};

struct Bucket {
  std::vector<size_t> steps;  // In the order of their transfers.
  Bytes bytes;
  Bytes packed;  // Of `bytes`, what would be packed.
  bool full = false;
};

// "gradients of h1.weight, h1.bias and 4 more" where every reason is about a gradient, else the first reason and the
// number of the others.
std::string MergedReason(const std::vector<std::string>& reasons) {
  const std::string gradient = "gradient of ";
  const bool all_gradients = std::all_of(reasons.begin(), reasons.end(),
                                         [&](const std::string& reason) { return reason.rfind(gradient, 0) == 0; });
  if (!all_gradients) return absl::StrCat(reasons[0], ", and ", reasons.size() - 1, " more");
  const auto name = [&](size_t i) { return reasons[i].substr(gradient.size()); };
  if (reasons.size() == 2) return absl::StrCat("gradients of ", name(0), " and ", name(1));
  return absl::StrCat("gradients of ", name(0), ", ", name(1), " and ", reasons.size() - 2, " more");
}

class Merger {
 public:
  Merger(Program& program, const MergeOptions& options)
      : program_(program),
        options_(options),
        writers_(WritersOf(program)),
        timings_(TimingsOf(program, writers_)),
        levels_(LevelsOf(program, timings_)),
        readings_(program.values.size(), 0),
        unit_of_(program.steps.size()) {
    for (const Step& step : program.steps) {
      if (CollectiveOf(step) == nullptr) continue;
      for (const ValueId value : Reads(step)) ++readings_[value];
    }
    names_.reserve(program.steps.size());
    for (size_t i = 0; i < program.steps.size(); ++i) {
      names_.insert(program.steps[i].name);
      places_.push_back(
          {.repeat = program.steps[i].repeat, .phase = program.steps[i].phase, .step = static_cast<int64_t>(i)});
      unit_of_[i] = i;
      members_.push_back({i});
    }
  }

  void Run() && {
    FormPrompt();
    FormAhead();
    FormLate();
    Order();
  }

 private:
  const Step& StepAt(size_t i) const { return program_.steps[i]; }
  const Collective& CollectiveAt(size_t i) const { return *CollectiveOf(StepAt(i)); }

  Key KeyOf(size_t step) const {
    const Collective& collective = CollectiveAt(step);
    return {.timing = timings_[step],
            .level = levels_[step],
            .repeat = StepAt(step).repeat,
            .phase = StepAt(step).phase,
            .kind = collective.kind,
            .stage = StageOf(step),
            .axes = collective.axes,
            .reduction = collective.reduction,
            .dtype = program_.value(collective.transfers[0].input).type.dtype,
            .most = MostWith(step)};
  }

  // The stage in whose pass the collective is, or of which it completes something: then the first of the same ranks.
  std::optional<int> StageOf(size_t step) const {
    const std::optional<int> stage = ir::StageOf(program_, StepAt(step));
    if (!stage.has_value() || StepAt(step).repeat == Repeat::kEach) return stage;
    return TimetableOf(program_).PartOf(*stage);
  }

  Bytes BytesOf(size_t step) const { return CollectiveBytes(program_, CollectiveAt(step)); }

  // The most that a bucket with `step` holds; 0: no limit.
  Bytes MostWith(size_t step) const {
    const BucketSizes& sizes = options_.sizes;
    const CollectiveKind kind = CollectiveAt(step).kind;
    const bool is_gather = kind == CollectiveKind::kAllGather;
    const bool is_gradient = timings_[step] == Timing::kGradient;
    // What is reduced in place, what is whole until the update anyway, and what stays whole.
    if (is_gradient && (kind == CollectiveKind::kAllReduce || StepAt(step).phase == Phase::kUpdate)) {
      return sizes.reductions;
    }
    if (is_gather && IsWhole(step)) return sizes.reductions;
    if (is_gradient) return std::min(sizes.reductions, std::max(sizes.others, kMostPackedBytes));
    if (is_gather && timings_[step] == Timing::kAhead) {
      return std::min(sizes.gathers, std::max(sizes.others, kMostPackedBytes));
    }
    return sizes.others;
  }
  // What of a step's bytes would be packed.
  Bytes PackedOf(size_t step) const {
    const Collective& collective = CollectiveAt(step);
    const bool has_pieces =
        collective.kind == CollectiveKind::kAllGather || collective.kind == CollectiveKind::kReduceScatter;
    const bool lies_well = options_.piece_counts == PieceCounts::kEqual && has_pieces &&
                           IsEven(program_, collective, collective.transfers[0]);
    return has_pieces && !lies_well ? BytesOf(step) : Bytes(0);
  }
  // Whether what is gathered stays from then on: a new parameter, or one of which a step gathers pieces or their copies
  // once.
  bool IsWhole(size_t step) const {
    return timings_[step] == Timing::kUpdate ||
           (timings_[step] == Timing::kAhead && readings_[CollectiveAt(step).transfers[0].input] == 1);
  }
  Bytes OfAllLayers(Bytes bytes) const {
    return Bytes(static_cast<int64_t>(static_cast<double>(bytes.value()) / options_.layers));
  }
  static bool Exceeds(Bytes bytes, Bytes most) { return most > Bytes(0) && bytes > most; }
  // Whether so much is more than a bucket with `step` holds.
  bool IsTooMuch(Bytes bytes, Bytes packed, size_t step) const {
    const Bytes most = MostWith(step);
    return Exceeds(bytes, most) ||
           (most > Bytes(0) && Exceeds(packed, std::max(kMostPackedBytes, options_.sizes.others)));
  }

  template <typename Close>
  static void Flush(Bucket& bucket, const Close& close) {
    bucket.full = true;
    close(bucket);
    bucket = {};
  }

  // Adds `step` to a bucket. One that is full is handed to `close`.
  template <typename Close>
  void Put(size_t step, Bucket& bucket, const Close& close) const {
    const Bytes bytes = BytesOf(step);
    const Bytes packed = PackedOf(step);
    const Bytes most = MostWith(step);
    if (!bucket.steps.empty() && IsTooMuch(bucket.bytes + bytes, bucket.packed + packed, step)) Flush(bucket, close);
    bucket.steps.push_back(step);
    bucket.bytes += bytes;
    bucket.packed += packed;
    if (most > Bytes(0) && bucket.bytes >= most) Flush(bucket, close);
  }

  // The outermost loop of the tensor that a collective takes, and its pass.
  std::optional<LoopPass> LayerOf(size_t step) const {
    const LoopPasses& passes = program_.value(CollectiveAt(step).transfers[0].input).repetition.passes;
    return passes.empty() ? std::nullopt : std::make_optional(passes.front());
  }

  // Collectives of one key for the tensors of the layers of one loop.
  struct Layers {
    std::map<int64_t, std::vector<size_t>> steps;  // By the layer's number.
    Bytes bytes;
    Bytes packed;
  };

  std::map<TextPlace, Layers> LayersAmong(const std::vector<size_t>& steps) const {
    std::map<TextPlace, Layers> by_loop;
    for (const size_t step : steps) {
      const auto layer = LayerOf(step);
      if (!layer.has_value()) continue;
      Layers& layers = by_loop[layer->loop];
      layers.steps[layer->number].push_back(step);
      layers.bytes += BytesOf(step);
      layers.packed += PackedOf(step);
    }
    std::erase_if(by_loop, [](const auto& entry) { return entry.second.steps.size() < 2; });
    return by_loop;
  }

  // How many layers a bucket holds where it does not hold all of them: one, or in buckets that are larger than usual as
  // many as fit, and all buckets about equally many.
  size_t LayersPerBucket(const Layers& layers, size_t step) const {
    if (MostWith(step) <= kBucketBytes) return 1;
    const auto count = static_cast<int64_t>(layers.steps.size());
    const auto share = [&](Bytes bytes, int64_t of) { return Bytes(bytes.value() / count * of); };
    int64_t fit = 1;
    while (fit < count && !IsTooMuch(share(layers.bytes, fit + 1), share(layers.packed, fit + 1), step)) ++fit;
    const int64_t buckets = (count + fit - 1) / fit;
    return static_cast<size_t>((count + buckets - 1) / buckets);
  }

  // Puts collectives of one key into buckets, in their order. Layers that one bucket cannot hold together have buckets
  // of their own, which are alike in layers that are.
  template <typename Close>
  void PutAll(const std::vector<size_t>& steps, const Close& close) const {
    struct OfLoop {
      const Layers* layers;
      size_t per_bucket;
      bool are_apart;
      Bucket open = {};
      size_t begun = 0;  // Layers in `open`.
    };
    const std::map<TextPlace, Layers> by_loop = LayersAmong(steps);
    std::map<TextPlace, OfLoop> loops;
    Bucket open;
    for (const size_t step : steps) {
      const auto layer = LayerOf(step);
      const auto found = layer.has_value() ? by_loop.find(layer->loop) : by_loop.end();
      if (found == by_loop.end()) {
        Put(step, open, close);
        continue;
      }
      const Layers& layers = found->second;
      const auto [loop, is_new] = loops.try_emplace(layer->loop);
      OfLoop& of = loop->second;
      if (is_new) {
        of = {.layers = &layers,
              .per_bucket = LayersPerBucket(layers, step),
              .are_apart = IsTooMuch(OfAllLayers(layers.bytes), OfAllLayers(layers.packed), step)};
      }
      if (!of.are_apart) {
        Put(step, open, close);
        continue;
      }
      const std::vector<size_t>& of_layer = layers.steps.at(layer->number);
      if (of_layer.front() != step) continue;  // It is in the buckets of its layer.
      for (const size_t member : of_layer) Put(member, of.open, close);
      if (++of.begun < of.per_bucket) continue;
      if (!of.open.steps.empty()) Flush(of.open, close);
      of.begun = 0;
    }
    for (auto& [place, of] : loops) {
      if (!of.open.steps.empty()) close(of.open);
    }
    close(open);
  }

  // The members run as one step at `place`.
  void Join(const Bucket& bucket, const Place& place) {
    if (bucket.steps.empty()) return;
    const size_t unit = bucket.steps.front();
    members_[unit] = bucket.steps;
    for (size_t step : bucket.steps) {
      unit_of_[step] = unit;
      places_[step] = place;
    }
  }

  // Whether what `step` takes is what a collective gives, perhaps in another shape: that one may yet come later.
  bool TakesFromCollective(size_t step) const {
    size_t maker = MakerOf(step);
    while (IsReshape(StepAt(maker))) maker = writers_[Reads(StepAt(maker))[0]];
    return CollectiveOf(StepAt(maker)) != nullptr;
  }

  // A small collective whose value exists, though it is read later, runs with the others before the first of them is
  // read: that costs little memory and saves a message.
  bool MayComeEarly(size_t step) const {
    constexpr Bytes kSmall(64 * 1024);  // Sending this much takes about as long as beginning to.
    const Step& maker = StepAt(MakerOf(step));
    if (TakesFromCollective(step)) return false;
    return BytesOf(step) <= kSmall && maker.phase == StepAt(step).phase && maker.repeat == StepAt(step).repeat;
  }

  void FormPrompt() {
    std::vector<std::vector<size_t>> joining(program_.steps.size());  // By the step behind which they may run.
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (timings_[i] == Timing::kPrompt) joining[MayComeEarly(i) ? MakerOf(i) : i].push_back(i);
    }
    std::map<Key, Bucket> open;
    std::vector<Bucket*> bucket_of(program_.steps.size(), nullptr);    // By collective; null: it is in no open one.
    std::vector<std::vector<size_t>> reshapes(program_.steps.size());  // By collective: of what it gives.
    IdVector<ValueId, std::optional<size_t>> given_by(program_.values.size());  // By value: the collective.
    size_t now = 0;
    const auto close = [&](const Bucket& bucket) {
      if (bucket.steps.empty()) return;
      const Place place = PromptPlace(bucket, now);
      Join(bucket, place);
      Place behind = place;
      ++behind.behind;
      for (const size_t member : bucket.steps) {
        bucket_of[member] = nullptr;
        for (const size_t reshape : reshapes[member]) places_[reshape] = std::max(places_[reshape], behind);
      }
    };
    for (; now < program_.steps.size(); ++now) {
      for (const ValueId value : Reads(StepAt(now))) {
        const std::optional<size_t> collective = given_by[value];
        if (!collective.has_value()) continue;
        // To take it in another shape is not to read it.
        if (IsReshape(StepAt(now))) {
          given_by[Writes(StepAt(now))[0]] = collective;
          reshapes[*collective].push_back(now);
        } else if (Bucket* const bucket = bucket_of[*collective]; bucket != nullptr) {
          close(std::exchange(*bucket, {}));
        }
      }
      for (const size_t step : joining[now]) {
        Bucket& bucket = open[KeyOf(step)];
        given_by[CollectiveAt(step).transfers[0].output] = step;
        bucket_of[step] = &bucket;
        Put(step, bucket, close);
      }
    }
    for (const auto& [key, bucket] : open) close(bucket);
  }

  // Where the last member stands of those in front of `end`, which reads one of them; behind what all members take.
  Place PromptPlace(const Bucket& bucket, size_t end) const {
    size_t last = *std::min_element(bucket.steps.begin(), bucket.steps.end());
    size_t made = 0;
    for (const size_t member : bucket.steps) {
      if (member < end) last = std::max(last, member);
      made = std::max(made, MakerOf(member));
    }
    const Place& place = places_[last];
    if (made <= last) return place;
    return {.repeat = place.repeat, .phase = place.phase, .step = static_cast<int64_t>(made), .behind = 1};
  }

  void FormAhead() {
    std::map<Key, std::vector<size_t>> ahead;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (timings_[i] == Timing::kAhead) ahead[KeyOf(i)].push_back(i);
    }
    for (const auto& [key, steps] : ahead) {
      PutAll(steps, [&](const Bucket& bucket) {
        if (!bucket.steps.empty()) Join(bucket, places_[bucket.steps.front()]);
      });
    }
  }

  // The step that makes the value that a collective reads, and its place.
  size_t MakerOf(size_t step) const { return writers_[CollectiveAt(step).transfers[0].input]; }
  const Place& MadeAt(size_t step) const { return places_[MakerOf(step)]; }

  void FormLate() {
    std::vector<size_t> late;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (IsLate(timings_[i])) late.push_back(i);
    }
    // A lower level comes first: where its buckets stand decides where the values of the next one are made.
    std::stable_sort(late.begin(), late.end(), [&](size_t a, size_t b) { return levels_[a] < levels_[b]; });
    for (auto begin = late.begin(); begin != late.end();) {
      const auto end = std::find_if(begin, late.end(), [&](size_t step) { return levels_[step] != levels_[*begin]; });
      std::stable_sort(begin, end, [&](size_t a, size_t b) { return MadeAt(a) < MadeAt(b); });
      std::map<Key, std::vector<size_t>> by_key;
      for (auto step = begin; step != end; ++step) by_key[KeyOf(*step)].push_back(*step);
      for (const auto& [key, steps] : by_key) {
        PutAll(steps, [&](const Bucket& bucket) {
          if (!bucket.steps.empty()) Join(bucket, LatePlace(bucket));
        });
      }
      begin = end;
    }
  }

  Place LatePlace(const Bucket& bucket) const {
    const size_t first = bucket.steps.front();
    Place made = MadeAt(first);
    for (size_t step : bucket.steps) made = std::max(made, MadeAt(step));
    ++made.behind;
    made.repeat = StepAt(first).repeat;
    const bool in_update = StepAt(first).phase == Phase::kUpdate;
    if (timings_[first] == Timing::kUpdate) {
      made.phase = Phase::kUpdate;
      return made;
    }
    // Reducing a full bucket of whole gradients does not make it smaller, so there is no reason to wait.
    const bool early = !in_update || (bucket.full && CollectiveAt(first).kind == CollectiveKind::kAllReduce);
    if (early) {
      made.phase = std::max(made.phase, Phase::kBackward);
      return made;
    }
    return {.repeat = made.repeat, .phase = Phase::kUpdate, .step = -1, .behind = made.behind};
  }

  void Order() {
    std::vector<size_t> units;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (unit_of_[i] == i) units.push_back(i);
    }
    std::stable_sort(units.begin(), units.end(), [&](size_t a, size_t b) { return places_[a] < places_[b]; });
    std::vector<Step> ordered;
    ordered.reserve(units.size());
    std::vector<char> begun(program_.steps.size(), 0);
    for (size_t unit : units) Emit(unit, begun, ordered);
    program_.steps = std::move(ordered);
  }

  // Appends the unit, after what it needs.
  void Emit(size_t unit, std::vector<char>& begun, std::vector<Step>& ordered) {
    if (begun[unit]) return;
    begun[unit] = 1;
    for (size_t member : members_[unit]) {
      for (ValueId value : Reads(StepAt(member))) Emit(unit_of_[writers_[value]], begun, ordered);
      if (std::holds_alternative<Receive>(StepAt(member).action)) Emit(unit_of_[member - 1], begun, ordered);
    }
    ordered.push_back(MergedStep(unit));
  }

  // Takes the steps of the unit, which are not looked at again.
  Step MergedStep(size_t unit) {
    const std::vector<size_t>& members = members_[unit];
    const std::string prefix = members.size() > 1 ? LayerPrefix(unit) : "";
    Step merged = std::move(program_.steps[unit]);
    merged.phase = places_[unit].phase;
    if (members.size() == 1) return merged;
    Collective& collective = std::get<Collective>(merged.action);
    std::vector<std::string> reasons = {collective.why};
    for (size_t i = 1; i < members.size(); ++i) {
      const Collective& part = CollectiveAt(members[i]);
      CLEAVE_CHECK(part.transfers.size() == 1) << StepAt(members[i]).name << " is merged already";
      collective.transfers.push_back(part.transfers[0]);
      reasons.push_back(part.why);
    }
    collective.why = MergedReason(reasons);
    merged.name = NameOf(unit, merged.name, collective, prefix);
    return merged;
  }

  // "x.3." where all members are of one layer, else nothing.
  std::string LayerPrefix(size_t unit) const {
    const auto layer = LayerOf(unit);
    const std::vector<size_t>& members = members_[unit];
    const bool is_one = layer.has_value() && std::all_of(members.begin(), members.end(),
                                                         [&](size_t member) { return LayerOf(member) == layer; });
    if (!is_one) return "";
    const std::string number = absl::StrCat(".", layer->number, ".");
    const std::string& name = program_.value(CollectiveAt(unit).transfers[0].input).name;
    const size_t place = name.find(number);
    return place == std::string::npos ? "" : name.substr(0, place + number.size());
  }

  // `own`: the name of the unit's first member. `prefix`: its LayerPrefix.
  std::string NameOf(size_t unit, const std::string& own, const Collective& collective, const std::string& prefix) {
    const bool gathers = collective.kind == CollectiveKind::kAllGather;
    const std::string kind(CollectiveKindName(collective.kind));
    std::string wish;
    switch (timings_[unit]) {
      case Timing::kAlone:
      case Timing::kPrompt:
        return own;
      case Timing::kGradient:
        wish = absl::StrCat(prefix, "gradients.", kind);
        break;
      case Timing::kUpdate:
        wish = absl::StrCat(prefix, gathers ? "parameters." : "update.", kind);
        break;
      case Timing::kAhead:
        wish = absl::StrCat(prefix, "parameters.", kind);
        break;
    }
    std::string name = wish;
    for (int number = 1; !names_.insert(name).second; ++number) name = absl::StrCat(wish, "_", number);
    return name;
  }

  Program& program_;
  const MergeOptions& options_;
  IdVector<ValueId, size_t> writers_;
  std::vector<Timing> timings_;
  std::vector<size_t> levels_;                // By step.
  std::vector<Place> places_;                 // By step; of a merged one the place of its unit.
  IdVector<ValueId, int> readings_;           // By collectives.
  std::vector<size_t> unit_of_;               // By step: the first member of its unit.
  std::vector<std::vector<size_t>> members_;  // By first member.
  absl::flat_hash_set<std::string> names_;
};

}  // namespace

void MergeCollectives(Program& program, const MergeOptions& options) { Merger(program, options).Run(); }

}  // namespace cleave::ir
