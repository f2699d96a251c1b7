// Reading guide. `Sequence` is what an order decides: the stages of the fusion, what must run before what, and the
// buffers that each touches. `Improve` moves one stage at a time to where the most that is needed at once near it, and
// then the sum of what is needed, is least.

#include "ir/program/order/order.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check/check.h"
#include "ir/program/order/steps.h"
#include "ir/program/schedule/buffers.h"

namespace cleave::ir {
namespace {

// What runs without interruption: a stage of the fusion, or a moment at which values are read (Storage::stages).
struct Unit {
  StageSteps steps;
  std::vector<int> before = {};  // Units that must run before it,
  std::vector<int> after = {};   // and after it.
  std::vector<int> buffers = {};
  int segment = 0;           // Units of one segment may change places.
  bool may_overlap = false;  // Other units run beside one of its steps where the target can do that.
};

// What some order needs: first the most at once counts, then the sum over all places.
struct Need {
  int64_t most = 0;
  int64_t sum = 0;

  bool operator<(const Need& other) const { return std::tie(most, sum) < std::tie(other.most, other.sum); }
};

struct Buffer {
  int64_t size = 0;
  std::vector<int> units = {};  // That touch it.
};

// How far a unit moves at once.
constexpr int kReach = 16;

class Sequence {
 public:
  Sequence(const Program& program, const MemoryPlan& memory) : program_(program), memory_(memory) {
    AddUnits();
    AddBuffers();
    AddOrder();
    for (size_t u = 0; u < units_.size(); ++u) {
      order_.push_back(static_cast<int>(u));
      place_.push_back(static_cast<int>(u));
    }
    changed_.assign(units_.size(), 0);
    visited_.assign(units_.size(), -1);
    numbers_.assign(buffers_.size(), -1);
  }

  // Until nothing changes any more, or `most` times: every unit moves to the best place.
  void Improve(int most) {
    for (int round = 0; round < most; ++round) {
      bool changed = false;
      for (int u = 0; u < static_cast<int>(units_.size()); ++u) changed |= MoveToBest(u);
      for (int u = static_cast<int>(units_.size()); u-- > 0;) changed |= MoveToBest(u);
      if (!changed) return;
    }
  }

  // How much lower the peak of the program's order is in any other one, at most: the buffers that its unit neither
  // touches nor must have in use, because one that does runs before it and one after it.
  Bytes MostSaved(int peak) const {
    const std::vector<uint8_t> before = Closure(peak, &Unit::before);
    const std::vector<uint8_t> after = Closure(peak, &Unit::after);
    const int segment = At(peak).segment;
    int64_t bytes = 0;
    for (const Buffer& buffer : buffers_) {
      const auto any = [&](auto is) { return std::any_of(buffer.units.begin(), buffer.units.end(), is); };
      const bool is_live = any([&](int u) { return u <= peak; }) && any([&](int u) { return u >= peak; });
      const bool is_needed =
          any([&](int u) { return u == peak || At(u).segment < segment || before[static_cast<size_t>(u)] != 0; }) &&
          any([&](int u) { return u == peak || At(u).segment > segment || after[static_cast<size_t>(u)] != 0; });
      if (is_live && !is_needed) bytes += buffer.size;
    }
    return Bytes(bytes);
  }

  // The most bytes that are in use at once in this order.
  Bytes Peak() const {
    std::vector<Stage> stages;
    for (const int unit : order_) stages.push_back(memory_.storage.stages[static_cast<size_t>(unit)]);
    return PeakDemand(stages, memory_.storage.requests).bytes;
  }

  // The program's steps in this order.
  Program Ordered() const {
    CLEAVE_CHECK(!program_.pipeline.has_value()) << "stages have programs of their own";
    std::vector<int> order;
    for (const int unit : order_) order.insert(order.end(), At(unit).steps.begin(), At(unit).steps.end());
    Program ordered = program_;
    OrderSteps(order, ordered);
    return ordered;
  }

 private:
  const Unit& At(int unit) const { return units_[static_cast<size_t>(unit)]; }
  int PlaceOf(int unit) const { return place_[static_cast<size_t>(unit)]; }

  // Whether they may change places. In the update, where no parameter waits for another one, those of a layer stay
  // together, so that equal layers remain alike. The first and the last stage of a micro-batch stay: there the storage
  // notes what it finds and what it leaves.
  bool RunTogether(const FusedStage& stage, const FusedStage& before) const {
    if (stage.phase != before.phase || stage.repeat != before.repeat) return false;
    if (stage.repeat == Repeat::kEachBefore) return false;
    const auto layer_of = [&](const FusedStage& of) {
      return RepetitionOf(program_, program_.steps[static_cast<size_t>(StepsOf(of).front())]).passes;
    };
    if (stage.phase == Phase::kUpdate && layer_of(stage) != layer_of(before)) return false;
    if (!program_.time.has_value() || stage.repeat != Repeat::kEach) return true;
    return &before != first_each_ && &stage != last_each_;
  }

  void AddUnits() {
    const std::vector<FusedStage>& stages = memory_.fusion.stages;
    for (const FusedStage& stage : stages) {
      if (stage.repeat != Repeat::kEach) continue;
      if (first_each_ == nullptr) first_each_ = &stage;
      last_each_ = &stage;
    }
    const auto update = std::find_if(stages.begin(), stages.end(),
                                     [](const FusedStage& stage) { return stage.phase == Phase::kUpdate; });
    int segment = 0;
    for (auto stage = stages.begin(); stage != stages.end(); ++stage) {
      if (stage == update) units_.push_back({.steps = {}, .segment = ++segment});
      const bool is_first = stage == stages.begin() || !RunTogether(*stage, *std::prev(stage));
      if (is_first || stage == update) ++segment;
      units_.push_back({.steps = StepsOf(*stage), .segment = segment});
    }
    if (update == stages.end()) units_.push_back({.steps = {}, .segment = ++segment});
    units_.push_back({.steps = {}, .segment = ++segment});
  }

  // Buffers that exist for the whole time, and those that a micro-batch leaves for the next, do not depend on the
  // order.
  void AddBuffers() {
    const Storage& storage = memory_.storage;
    IdVector<ValueId, int> numbers(program_.values.size(), -1);
    for (const BufferRequest& request : storage.requests) {
      if (request.always_live || request.live_from_start) continue;
      numbers[request.value] = static_cast<int>(buffers_.size());
      buffers_.push_back({.size = request.size.value()});
    }
    for (size_t u = 0; u < units_.size(); ++u) {
      std::vector<int>& touched = units_[u].buffers;
      for (const auto* values : {&storage.stages[u].reads, &storage.stages[u].writes}) {
        for (const ValueId value : *values) {
          if (numbers[value] >= 0) touched.push_back(numbers[value]);
        }
      }
      std::sort(touched.begin(), touched.end());
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      for (const int buffer : touched) {
        buffers_[static_cast<size_t>(buffer)].units.push_back(static_cast<int>(u));
      }
    }
  }

  // Whether other steps run beside it where the target can do that.
  bool MayOverlap(const Step& step) const {
    return CommunicationOf(program_, step) != nullptr || std::holds_alternative<HostCopy>(step.action);
  }

  void Require(int first, int second) {
    if (first == second) return;
    units_[static_cast<size_t>(first)].after.push_back(second);
    units_[static_cast<size_t>(second)].before.push_back(first);
  }

  // The units that are reached from one by way of others, by unit; the one itself where it is reached again.
  std::vector<uint8_t> Closure(int unit, std::vector<int> Unit::*next) const {
    std::vector<uint8_t> is_reached(units_.size(), 0);
    for (std::vector<int> open = {unit}; !open.empty();) {
      const int own = open.back();
      open.pop_back();
      for (const int other : At(own).*next) {
        if (std::exchange(is_reached[static_cast<size_t>(other)], 1) == 0) open.push_back(other);
      }
    }
    return is_reached;
  }

  void AddOrder() {
    IdVector<ValueId, int> written_by(program_.values.size(), -1);
    IdVector<ValueId, std::vector<int>> touched(program_.values.size());  // By root.
    int last_fixed = -1;
    for (size_t u = 0; u < units_.size(); ++u) {
      const int unit = static_cast<int>(u);
      bool is_fixed = false;
      int first_awaited = unit;  // Of those of the same segment that may overlap.
      std::set<ValueId> overwritten;
      for (const int i : units_[u].steps) {
        const Step& step = program_.steps[static_cast<size_t>(i)];
        for (const ValueId value : Reads(step)) {
          const int maker = written_by[value];
          if (maker >= 0) Require(maker, unit);
          if (maker >= 0 && At(maker).segment == At(unit).segment && At(maker).may_overlap) {
            first_awaited = std::min(first_awaited, maker);
          }
          if (const auto root = memory_.storage.root[value]) touched[*root].push_back(unit);
        }
        for (const ValueId value : Writes(step)) {
          written_by[value] = unit;
          if (const auto root = memory_.storage.root[value]) overwritten.insert(*root);
        }
        units_[u].may_overlap |= MayOverlap(step);
        is_fixed |= MayOverlap(step) || std::holds_alternative<Glance>(step.action);
      }
      // What reads a buffer reads it before others write into it.
      for (const ValueId root : overwritten) {
        for (const int other : touched[root]) Require(other, unit);
        touched[root].push_back(unit);
      }
      if (last_fixed >= 0) Require(last_fixed, unit);
      if (is_fixed) last_fixed = unit;
      // What runs beside a collective or a copy stays in front of the first step that waits for it.
      for (int between = first_awaited + 1; between < unit; ++between) Require(between, unit);
    }
  }

  // What units that follow one another need without one of them, and where the buffers of that one are in use. Gap i is
  // in front of the i-th of the others.
  struct Others {
    struct Lives {
      int64_t size = 0;
      int first = 0;  // Of the others: -1 where the buffer is in use in front of all,
      int last = 0;   // and their number where it is in use behind all. None touches it: last < first.
    };
    std::vector<int64_t> at = {};  // Bytes of the buffers that the one does not touch, while each of the others runs,
    std::vector<int64_t> between = {};  // and in each gap.
    std::vector<Lives> own = {};        // Of the buffers that it touches.
  };

  // Of the units from place `first` to place `last` without `unit`.
  Others OthersAround(int unit, int first, int last) {
    const int count = last - first;
    std::vector<int> touched;
    std::vector<Others::Lives> lives;
    const auto touch = [&](int buffer) -> Others::Lives& {
      int& number = numbers_[static_cast<size_t>(buffer)];
      if (number < 0) {
        number = static_cast<int>(touched.size());
        touched.push_back(buffer);
        lives.push_back({.size = buffers_[static_cast<size_t>(buffer)].size, .first = count, .last = -1});
      }
      return lives[static_cast<size_t>(number)];
    };
    for (const int buffer : At(unit).buffers) touch(buffer);
    int other = 0;
    for (int place = first; place <= last; ++place) {
      if (place == PlaceOf(unit)) continue;
      for (const int buffer : At(order_[static_cast<size_t>(place)]).buffers) {
        Others::Lives& own = touch(buffer);
        own.first = std::min(own.first, other);
        own.last = other;
      }
      ++other;
    }
    Others others{.at = std::vector<int64_t>(static_cast<size_t>(count) + 1),
                  .between = std::vector<int64_t>(static_cast<size_t>(count) + 2)};
    for (size_t b = 0; b < touched.size(); ++b) {
      for (const int user : buffers_[static_cast<size_t>(touched[b])].units) {
        if (PlaceOf(user) < first) lives[b].first = -1;
        if (PlaceOf(user) > last) lives[b].last = count;
      }
      numbers_[static_cast<size_t>(touched[b])] = -1;
      if (b < At(unit).buffers.size()) continue;
      Add(lives[b].size, std::max(lives[b].first, 0), std::min(lives[b].last, count - 1), others.at);
      Add(lives[b].size, lives[b].first + 1, lives[b].last, others.between);
    }
    std::partial_sum(others.at.begin(), others.at.end(), others.at.begin());
    std::partial_sum(others.between.begin(), others.between.end(), others.between.begin());
    lives.resize(At(unit).buffers.size());
    others.own = std::move(lives);
    return others;
  }

  // Bytes from place `first` to place `last`, as changes from place to place.
  static void Add(int64_t bytes, int first, int last, std::vector<int64_t>& change) {
    if (first > last) return;
    change[static_cast<size_t>(first)] += bytes;
    change[static_cast<size_t>(last) + 1] -= bytes;
  }

  // What the units need if the one runs in a gap. What all other buffers need is the same at each of these places.
  Need NeedIn(int gap, const Others& others) {
    const int count = static_cast<int>(others.at.size()) - 1;
    change_.assign(static_cast<size_t>(count) + 2, 0);
    for (const Others::Lives& own : others.own) {
      const int last = own.last == count ? count : own.last >= gap ? own.last + 1 : gap;
      Add(own.size, std::max(0, std::min(own.first, gap)), last, change_);
    }
    Need need;
    int64_t of_own = 0;
    for (int place = 0; place <= count; ++place) {
      of_own += change_[static_cast<size_t>(place)];
      const int64_t of_others = place == gap ? others.between[static_cast<size_t>(gap)]
                                             : others.at[static_cast<size_t>(place < gap ? place : place - 1)];
      need.most = std::max(need.most, of_own + of_others);
      need.sum += of_own + of_others;
    }
    return need;
  }

  // The places that a unit at `place` can reach at once.
  std::pair<int, int> ReachOf(int place) const {
    return {std::max(0, place - kReach), std::min(static_cast<int>(order_.size()) - 1, place + kReach)};
  }

  // The places at which `unit` may stand while the others stay as they are.
  std::pair<int, int> PlacesOf(int unit) const {
    const Unit& own = At(unit);
    auto [first, last] = ReachOf(PlaceOf(unit));
    while (At(order_[static_cast<size_t>(first)]).segment != own.segment) ++first;
    while (At(order_[static_cast<size_t>(last)]).segment != own.segment) --last;
    for (const int other : own.before) first = std::max(first, PlaceOf(other) + 1);
    for (const int other : own.after) last = std::min(last, PlaceOf(other) - 1);
    return {first, last};
  }

  // Whether a unit has moved within reach since `unit` was found to stand at its best place. Then it still does: the
  // units at these places are the same, and so are those in front of them and behind them.
  bool MayMove(int unit) const {
    const auto [first, last] = ReachOf(PlaceOf(unit));
    const auto latest = std::max_element(changed_.begin() + first, changed_.begin() + last + 1);
    return *latest > visited_[static_cast<size_t>(unit)];
  }

  // Of places that are equally good, the unit takes its own, or else the first.
  bool MoveToBest(int unit) {
    if (!MayMove(unit)) return false;
    visited_[static_cast<size_t>(unit)] = moves_;
    const auto [first, last] = PlacesOf(unit);
    if (first >= last) return false;
    const Others others = OthersAround(unit, first, last);
    const int own = PlaceOf(unit) - first;
    Need least = NeedIn(own, others);
    int best = own;
    for (int gap = 0; gap <= last - first; ++gap) {
      if (gap == own) continue;
      const Need need = NeedIn(gap, others);
      if (!(need < least)) continue;
      least = need;
      best = gap;
    }
    if (best == own) return false;
    Move(first + own, first + best);
    return true;
  }

  void Move(int from, int to) {
    ++moves_;
    const auto begin = order_.begin();
    if (from < to) {
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    } else {
      std::rotate(begin + to, begin + from, begin + from + 1);
    }
    for (int place = std::min(from, to); place <= std::max(from, to); ++place) {
      place_[static_cast<size_t>(order_[static_cast<size_t>(place)])] = place;
      changed_[static_cast<size_t>(place)] = moves_;
    }
  }

  const Program& program_;
  const MemoryPlan& memory_;
  const FusedStage* first_each_ = nullptr;
  const FusedStage* last_each_ = nullptr;
  std::vector<Unit> units_;  // In the program's order.
  std::vector<Buffer> buffers_;
  std::vector<int> order_;  // Units by place.
  std::vector<int> place_;  // Places by unit.
  int moves_ = 0;
  std::vector<int> changed_;     // By place: the last move after which another unit stands there.
  std::vector<int> visited_;     // By unit: the last move before its best place was looked for; -1: it never was.
  std::vector<int> numbers_;     // By buffer: in the range that is looked at.
  std::vector<int64_t> change_;  // By place, in NeedIn: there is one for all calls, because there are many.
};

}  // namespace

void OrderForMemory(const Graph& graph, Program& program, MemoryPlan& memory) {
  constexpr int kMostRounds = 4;
  const StageDemand peak = PeakDemand(memory.storage.stages, memory.storage.requests);
  // What saves less than a thousandth is not worth a plan.
  const Bytes worth(peak.bytes.value() / 1000);
  Sequence sequence(program, memory);
  if (sequence.MostSaved(static_cast<int>(peak.stage)) < worth) return;
  sequence.Improve(kMostRounds);
  if (sequence.Peak() + worth > peak.bytes) return;
  Program ordered = sequence.Ordered();
  MemoryPlan plan = PlanMemory(graph, ordered, memory.fuse, memory.checkpoint);
  // Gaps in the arena may take more than the order saves.
  if (plan.use.prediction.peak >= memory.use.prediction.peak) return;
  program = std::move(ordered);
  memory = std::move(plan);
}

}  // namespace cleave::ir
