#include "ir/program/schedule/buffers.h"

#include <algorithm>
#include <map>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

int64_t Aligned(int64_t size) {
  return (size + BufferPlan::kAlignment - 1) / BufferPlan::kAlignment * BufferPlan::kAlignment;
}

}  // namespace

std::map<ValueId, LiveRange> LiveRanges(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests) {
  std::map<ValueId, LiveRange> first_to_last;
  std::map<ValueId, bool> written_first;
  for (size_t i = 0; i < stages.size(); ++i) {
    const int64_t stage = static_cast<int64_t>(i);
    const auto touch = [&](ValueId value, bool write) {
      const auto [range, is_new] = first_to_last.try_emplace(value, LiveRange{stage, stage});
      range->second.last = stage;
      if (is_new) written_first[value] = write;
    };
    for (const ValueId value : stages[i].reads) touch(value, false);
    for (const ValueId value : stages[i].writes) touch(value, true);
  }
  const int64_t stage_count = static_cast<int64_t>(stages.size());
  std::map<ValueId, LiveRange> ranges;
  for (const BufferRequest& request : requests) {
    const auto found = first_to_last.find(request.value);
    LiveRange range = found == first_to_last.end() ? LiveRange{} : found->second;
    if (request.live_from_start || (found != first_to_last.end() && !written_first[request.value])) range.first = 0;
    if (request.always_live) range = {0, std::max<int64_t>(stage_count - 1, 0)};
    ranges[request.value] = range;
  }
  return ranges;
}

namespace {

// What is placed as one piece: a value, or the values of a bucket one after another.
struct Item {
  std::vector<ValueId> values;
  std::vector<int64_t> offsets;  // Within the item.
  int64_t size = 0;              // Aligned.
  LiveRange live;
  int64_t offset = 0;  // In the arena.
};

std::vector<Item> MakeItems(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests,
                            const std::vector<Bucket>& buckets) {
  const std::map<ValueId, LiveRange> ranges = LiveRanges(stages, requests);
  std::map<ValueId, Bytes> sizes;
  for (const BufferRequest& request : requests) sizes[request.value] = request.size;
  std::vector<Item> items;
  std::map<ValueId, bool> in_bucket;
  const auto append = [&](Item& item, ValueId value) {
    CLEAVE_CHECK(sizes.count(value) > 0) << "value " << value.value() << " of a bucket asks for no memory";
    CLEAVE_CHECK(!in_bucket[value]) << "value " << value.value() << " is in two buckets";
    in_bucket[value] = true;
    const LiveRange& live = ranges.at(value);
    if (item.values.empty()) {
      item.live = live;
    } else if (live.first <= live.last) {
      item.live = item.live.first > item.live.last
                      ? live
                      : LiveRange{std::min(item.live.first, live.first), std::max(item.live.last, live.last)};
    }
    item.values.push_back(value);
    item.offsets.push_back(item.size);
    item.size += Aligned(sizes.at(value).value());
  };
  for (const Bucket& bucket : buckets) {
    Item item;
    for (const ValueId value : bucket) append(item, value);
    if (!item.values.empty()) items.push_back(std::move(item));
  }
  for (const BufferRequest& request : requests) {
    if (in_bucket[request.value]) continue;
    Item item;
    append(item, request.value);
    items.push_back(std::move(item));
  }
  return items;
}

// The lowest offset at which `item` does not overlap any of the placed items that live at the same time.
int64_t LowestFreeOffset(const Item& item, const std::vector<const Item*>& placed_by_offset) {
  int64_t offset = 0;
  for (const Item* other : placed_by_offset) {
    if (!other->live.Meets(item.live)) continue;
    if (offset + item.size <= other->offset) break;
    offset = std::max(offset, other->offset + other->size);
  }
  return offset;
}

}  // namespace

const BufferPlan::Buffer* BufferPlan::Find(ValueId value) const {
  const auto found = std::lower_bound(buffers.begin(), buffers.end(), value,
                                      [](const Buffer& buffer, ValueId id) { return buffer.value < id; });
  return found != buffers.end() && found->value == value ? &*found : nullptr;
}

BufferPlan PlanBuffers(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests,
                       const std::vector<Bucket>& buckets) {
  std::vector<Item> items = MakeItems(stages, requests, buckets);
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.size != b.size ? a.size > b.size : a.values.front() < b.values.front();
  });
  std::vector<const Item*> placed;
  BufferPlan plan;
  for (Item& item : items) {
    item.offset = LowestFreeOffset(item, placed);
    const auto after = std::upper_bound(placed.begin(), placed.end(), item.offset,
                                        [](int64_t offset, const Item* other) { return offset < other->offset; });
    placed.insert(after, &item);
    plan.total = std::max(plan.total, Bytes(item.offset + item.size));
  }
  std::map<ValueId, Bytes> sizes;
  for (const BufferRequest& request : requests) sizes[request.value] = request.size;
  for (const Item& item : items) {
    for (size_t i = 0; i < item.values.size(); ++i) {
      plan.buffers.push_back({item.values[i], item.offset + item.offsets[i], sizes.at(item.values[i])});
    }
  }
  std::sort(plan.buffers.begin(), plan.buffers.end(),
            [](const BufferPlan::Buffer& a, const BufferPlan::Buffer& b) { return a.value < b.value; });
  return plan;
}

StageDemand PeakDemand(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests) {
  const std::map<ValueId, LiveRange> ranges = LiveRanges(stages, requests);
  // Change of the demand when a stage begins.
  std::vector<int64_t> change(std::max<size_t>(stages.size(), 1) + 1, 0);
  for (const BufferRequest& request : requests) {
    const LiveRange& live = ranges.at(request.value);
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
