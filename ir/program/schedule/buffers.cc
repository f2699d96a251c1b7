#include "ir/program/schedule/buffers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "base/check/check.h"

namespace cleave::ir {

IdVector<ValueId, LiveRange> LiveRanges(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests) {
  const auto is_smaller = [](const BufferRequest& a, const BufferRequest& b) { return a.value < b.value; };
  const auto last = std::max_element(requests.begin(), requests.end(), is_smaller);
  const size_t count = last == requests.end() ? 0 : static_cast<size_t>(last->value.value()) + 1;
  IdVector<ValueId, LiveRange> first_to_last(count);  // Empty for values that no stage names.
  IdVector<ValueId, char> written_first(count, 0);
  for (size_t i = 0; i < stages.size(); ++i) {
    const int64_t stage = static_cast<int64_t>(i);
    const auto touch = [&](ValueId value, bool write) {
      if (!first_to_last.contains(value)) return;
      LiveRange& range = first_to_last[value];
      if (range.first > range.last) {
        range.first = stage;
        written_first[value] = write;
      }
      range.last = stage;
    };
    for (const ValueId value : stages[i].reads) touch(value, false);
    for (const ValueId value : stages[i].writes) touch(value, true);
  }
  const int64_t stage_count = static_cast<int64_t>(stages.size());
  IdVector<ValueId, LiveRange> ranges(count);
  for (const BufferRequest& request : requests) {
    LiveRange range = first_to_last[request.value];
    const bool is_named = range.first <= range.last;
    if (request.live_from_start || (is_named && !written_first[request.value])) range.first = 0;
    if (request.always_live) range = {0, std::max<int64_t>(stage_count - 1, 0)};
    ranges[request.value] = range;
  }
  return ranges;
}

namespace {

using Ranges = std::vector<LiveRange>;  // Ordered; no two meet.

bool Meet(const Ranges& ranges, const LiveRange& range) {
  const auto found = std::lower_bound(ranges.begin(), ranges.end(), range.first,
                                      [](const LiveRange& a, int64_t stage) { return a.last < stage; });
  return found != ranges.end() && found->Meets(range);
}

bool Meet(const Ranges& a, const Ranges& b) {
  const Ranges& shorter = a.size() < b.size() ? a : b;
  const Ranges& longer = a.size() < b.size() ? b : a;
  return std::any_of(shorter.begin(), shorter.end(), [&](const LiveRange& range) { return Meet(longer, range); });
}

// Sorts ranges, or returns false where two meet. Empty ones are left out.
bool SortRanges(Ranges& ranges) {
  std::erase_if(ranges, [](const LiveRange& range) { return range.first > range.last; });
  std::sort(ranges.begin(), ranges.end(), [](const LiveRange& a, const LiveRange& b) { return a.first < b.first; });
  return std::adjacent_find(ranges.begin(), ranges.end(),
                            [](const LiveRange& a, const LiveRange& b) { return a.Meets(b); }) == ranges.end();
}

// What is placed as one piece: a value, the values of a bucket one after another, or slots at equal distances, in which
// the values of equal layers lie.
struct Item {
  struct Part {
    ValueId value;
    int64_t slot = 0;
    int64_t offset = 0;  // Within the slot.
  };
  std::vector<Part> parts;
  int64_t slot_size = 0;      // Aligned.
  std::vector<Ranges> slots;  // When each is in use.
  int64_t stride = 0;         // From one slot to the next.
  int64_t offset = 0;         // Of the first slot, in the arena.

  int64_t size() const { return slot_size * static_cast<int64_t>(slots.size()); }
};

// When a slot is in use, with what nearly all questions need in one place: slots are compared with one another more
// often than anything else is done.
struct Use {
  explicit Use(const Ranges& ranges)
      : ranges(&ranges), is_one(ranges.size() == 1), span(ranges.empty() ? LiveRange() : ranges.front()) {
    if (!ranges.empty()) span.last = ranges.back().last;
  }

  bool Meets(const Use& other) const {
    if (is_one && other.is_one) return span.Meets(other.span);
    return Meet(*ranges, *other.ranges);
  }

  const Ranges* ranges;
  bool is_one;
  LiveRange span;  // From the first to the last.
};

// A slot of a placed item.
struct Placed {
  int64_t begin = 0;
  int64_t end = 0;
  Use use;
};

// How the beginning, or the end, of the lives of a family's values changes from layer to layer: -1, 0 or 1.
using Trend = std::pair<int, int>;

class Planner {
 public:
  Planner(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests)
      : ranges_(LiveRanges(stages, requests)),
        requests_(requests),
        sizes_(ranges_.size()),
        is_requested_(ranges_.size(), 0),
        bucket_of_(ranges_.size(), nullptr),
        is_taken_(ranges_.size(), 0) {
    for (const BufferRequest& request : requests) {
      sizes_[request.value] = request.size;
      is_requested_[request.value] = 1;
    }
  }

  BufferPlan Run(const std::vector<Bucket>& buckets, const std::vector<Family>& families) && {
    SetBuckets(buckets);
    AddFamilies(families);
    for (const Bucket& bucket : buckets) {
      if (!bucket.empty() && !IsTaken(bucket.front())) AddBucket(bucket);
    }
    for (const BufferRequest& request : requests_) {
      if (!IsTaken(request.value)) AddBucket({request.value});
    }
    std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return a.size() != b.size() ? a.size() > b.size() : a.parts.front().value < b.parts.front().value;
    });
    for (Item& item : items_) Place(item);
    return Plan();
  }

  std::vector<Family> Cut(const std::vector<Bucket>& buckets, const std::vector<Family>& families) && {
    SetBuckets(buckets);
    std::vector<Family> parts;
    for (const Family& family : families) {
      parts.push_back({family.front()});
      for (size_t layer = 1; layer < family.size(); ++layer) {
        const Family& last = parts.back();
        const Trend trend = TrendOf(family[layer - 1], family[layer]);
        const bool changes = last.size() > 1 && trend != TrendOf(last[0], last[1]);
        if (changes) parts.emplace_back();
        parts.back().push_back(family[layer]);
      }
    }
    return parts;
  }

 private:
  void SetBuckets(const std::vector<Bucket>& buckets) {
    for (const Bucket& bucket : buckets) {
      if (!bucket.empty() && bucket_of_.contains(bucket.front())) bucket_of_[bucket.front()] = &bucket;
    }
  }

  bool IsTaken(ValueId value) const { return is_taken_.contains(value) && is_taken_[value] != 0; }

  void Take(ValueId value) {
    const bool is_requested = is_requested_.contains(value) && is_requested_[value] != 0;
    CLEAVE_CHECK(is_requested) << "value " << value.value() << " of a bucket asks for no memory";
    CLEAVE_CHECK(std::exchange(is_taken_[value], 1) == 0) << "value " << value.value() << " is in two buckets";
  }

  void AddBucket(const Bucket& bucket) {
    Item item;
    for (const ValueId value : bucket) Take(value);
    AddParts(bucket, 0, 0, item);
    item.slot_size = SizeOf(bucket);
    const LiveRange live = RangeOf(bucket);
    item.slots = {live.first > live.last ? Ranges{} : Ranges{live}};
    items_.push_back(std::move(item));
  }

  // The bucket that a value of a family begins, or the value alone.
  absl::Span<const ValueId> BucketOf(const ValueId& value) const {
    const Bucket* const bucket = bucket_of_[value];
    return bucket == nullptr ? absl::MakeConstSpan(&value, 1) : absl::MakeConstSpan(*bucket);
  }

  int64_t SizeOf(absl::Span<const ValueId> bucket) const {
    int64_t size = 0;
    for (const ValueId value : bucket) size += BufferPlan::Aligned(sizes_[value].value());
    return size;
  }

  // From the first use of one of the values to the last.
  LiveRange RangeOf(absl::Span<const ValueId> bucket) const {
    LiveRange live;
    for (const ValueId value : bucket) live = Joined(live, ranges_[value]);
    return live;
  }

  static LiveRange Joined(const LiveRange& a, const LiveRange& b) {
    if (b.first > b.last) return a;
    return a.first > a.last ? b : LiveRange{std::min(a.first, b.first), std::max(a.last, b.last)};
  }

  void AddParts(absl::Span<const ValueId> bucket, size_t slot, int64_t offset, Item& item) const {
    for (const ValueId value : bucket) {
      item.parts.push_back({.value = value, .slot = static_cast<int64_t>(slot), .offset = offset});
      offset += BufferPlan::Aligned(sizes_[value].value());
    }
  }

  // Values of layers that live one after another share one slot, or take turns in two. The others get a slot for each
  // layer; families whose values begin and end to live in the same order of layers share these slots.
  void AddFamilies(const std::vector<Family>& families) {
    std::map<std::pair<size_t, Trend>, std::vector<const Family*>> by_trend;  // By the number of layers.
    for (const Family& family : families) {
      for (const ValueId& first : family) {
        for (const ValueId value : BucketOf(first)) Take(value);
      }
      bool in_turns = false;
      for (size_t slots = 1; slots <= 2 && !in_turns; ++slots) in_turns = AddInTurns(family, slots);
      if (!in_turns) by_trend[{family.size(), TrendOf(family.front(), family.back())}].push_back(&family);
    }
    for (const auto& [key, together] : by_trend) AddLayers(together);
  }

  bool AddInTurns(const Family& family, size_t slots) {
    Item item{.slots = std::vector<Ranges>(slots)};
    for (size_t layer = 0; layer < family.size(); ++layer) {
      const absl::Span<const ValueId> bucket = BucketOf(family[layer]);
      AddParts(bucket, layer % slots, 0, item);
      item.slots[layer % slots].push_back(RangeOf(bucket));
    }
    for (Ranges& ranges : item.slots) {
      if (!SortRanges(ranges)) return false;
    }
    item.slot_size = item.stride = SizeOf(BucketOf(family.front()));
    items_.push_back(std::move(item));
    return true;
  }

  // From one value of a family to another one.
  Trend TrendOf(const ValueId& from, const ValueId& to) const {
    const LiveRange first = RangeOf(BucketOf(from));
    const LiveRange last = RangeOf(BucketOf(to));
    const auto sign = [](int64_t a, int64_t b) { return a < b ? 1 : a > b ? -1 : 0; };
    return {sign(first.first, last.first), sign(first.last, last.last)};
  }

  void AddLayers(const std::vector<const Family*>& families) {
    const size_t layers = families.front()->size();
    Item item{.slots = std::vector<Ranges>(layers)};
    for (const Family* family : families) {
      for (size_t layer = 0; layer < layers; ++layer) {
        const absl::Span<const ValueId> bucket = BucketOf((*family)[layer]);
        const LiveRange range = RangeOf(bucket);
        AddParts(bucket, layer, item.slot_size, item);
        Ranges& slot = item.slots[layer];
        if (slot.empty()) {
          slot.push_back(range);
        } else {
          slot[0] = {std::min(slot[0].first, range.first), std::max(slot[0].last, range.last)};
        }
      }
      item.slot_size += SizeOf(BucketOf(family->front()));
    }
    item.stride = item.slot_size;
    items_.push_back(std::move(item));
  }

  // Puts the item at the lowest place where nothing in use at the same time lies. Slots may also have the distance of
  // slots that are placed: then those of one layer fit into those that others leave.
  void Place(Item& item) {
    if (item.slots.size() == 1) {
      item.offset = LowestFor(item.slots[0], item.slot_size);
    } else {
      int64_t best = std::numeric_limits<int64_t>::max();
      std::set<int64_t> strides = strides_;
      strides.insert(item.slot_size);
      for (const int64_t stride : strides) {
        if (stride < item.slot_size) continue;
        const int64_t offset = LowestFor(item, stride);
        const int64_t end = offset + stride * static_cast<int64_t>(item.slots.size() - 1) + item.slot_size;
        if (std::max(end, total_) >= best) continue;
        best = std::max(end, total_);
        item.offset = offset;
        item.stride = stride;
      }
      strides_.insert(item.stride);
    }
    for (size_t slot = 0; slot < item.slots.size(); ++slot) {
      const int64_t begin = item.offset + item.stride * static_cast<int64_t>(slot);
      const Placed placed = {begin, begin + item.slot_size, Use(item.slots[slot])};
      placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), begin, IsBefore), placed);
      total_ = std::max(total_, placed.end);
    }
    largest_slot_ = std::max(largest_slot_, item.slot_size);
  }

  static bool IsBefore(int64_t offset, const Placed& placed) { return offset < placed.begin; }

  // The lowest place from `least` on for a slot.
  int64_t LowestFor(const Ranges& ranges, int64_t size, int64_t least = 0) const {
    const Use use(ranges);
    int64_t offset = least;
    // Those before end before `least`.
    auto other = std::upper_bound(placed_.begin(), placed_.end(), least - largest_slot_, IsBefore);
    for (; other != placed_.end() && other->begin < offset + size; ++other) {
      if (other->end > offset && other->use.Meets(use)) offset = other->end;
    }
    return offset;
  }

  // The lowest place for all slots of an item.
  int64_t LowestFor(const Item& item, int64_t stride) const {
    int64_t offset = 0;
    for (size_t fitting = 0, slot = 0; fitting < item.slots.size(); slot = (slot + 1) % item.slots.size()) {
      const int64_t distance = stride * static_cast<int64_t>(slot);
      const int64_t place = LowestFor(item.slots[slot], item.slot_size, offset + distance) - distance;
      fitting = place == offset ? fitting + 1 : 1;
      offset = place;
    }
    return offset;
  }

  BufferPlan Plan() const {
    BufferPlan plan;
    plan.total = Bytes(total_);
    for (const Item& item : items_) {
      for (const Item::Part& part : item.parts) {
        plan.buffers.push_back({part.value, item.offset + item.stride * part.slot + part.offset, sizes_[part.value]});
      }
    }
    std::sort(plan.buffers.begin(), plan.buffers.end(),
              [](const BufferPlan::Buffer& a, const BufferPlan::Buffer& b) { return a.value < b.value; });
    return plan;
  }

  const IdVector<ValueId, LiveRange> ranges_;
  const std::vector<BufferRequest>& requests_;
  IdVector<ValueId, Bytes> sizes_;
  IdVector<ValueId, uint8_t> is_requested_;
  IdVector<ValueId, const Bucket*> bucket_of_;  // That it begins; null where it begins none.
  IdVector<ValueId, uint8_t> is_taken_;
  std::vector<Item> items_;
  std::vector<Placed> placed_;  // Ordered by place.
  std::set<int64_t> strides_;   // Of placed items.
  int64_t largest_slot_ = 0;    // Of placed items.
  int64_t total_ = 0;
};

}  // namespace

const BufferPlan::Buffer* BufferPlan::Find(ValueId value) const {
  const auto found = std::lower_bound(buffers.begin(), buffers.end(), value,
                                      [](const Buffer& buffer, ValueId id) { return buffer.value < id; });
  return found != buffers.end() && found->value == value ? &*found : nullptr;
}

BufferPlan PlanBuffers(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests,
                       const std::vector<Bucket>& buckets, const std::vector<Family>& families) {
  return Planner(stages, requests).Run(buckets, families);
}

std::vector<Family> CutFamilies(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests,
                                const std::vector<Bucket>& buckets, const std::vector<Family>& families) {
  return Planner(stages, requests).Cut(buckets, families);
}

StageDemand PeakDemand(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests) {
  const IdVector<ValueId, LiveRange> ranges = LiveRanges(stages, requests);
  // Change of the demand when a stage begins.
  std::vector<int64_t> change(std::max<size_t>(stages.size(), 1) + 1, 0);
  for (const BufferRequest& request : requests) {
    const LiveRange& live = ranges[request.value];
    if (live.first > live.last) continue;
    change[static_cast<size_t>(live.first)] += request.size.value();
    change[static_cast<size_t>(live.last) + 1] -= request.size.value();
  }
  Bytes demand;
  StageDemand peak;
  for (size_t stage = 0; stage < change.size(); ++stage) {
    demand += Bytes(change[stage]);
    if (demand > peak.bytes) peak = {.bytes = demand, .stage = static_cast<int64_t>(stage)};
  }
  return peak;
}

}  // namespace cleave::ir
