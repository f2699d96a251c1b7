// Private to runtime/tokenizer/bpe: the merges of byte-pair encoding.
//
// The tokens of a piece are a linked row. A heap holds each merge that two neighbours allow: the earliest comes first,
// and of the same the leftmost. After a merge, those with its two new neighbours join the heap; what no longer fits
// when it leaves the heap is passed over. A row of n tokens has at most 3n entries, so all takes O(n log n).
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_MERGING_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_MERGING_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cleave::runtime {

struct Merge {
  int64_t rank;   // Its place in the file.
  int32_t token;  // What the two become.
};

// A token, and how much of a piece it stands for, in units of its model.
struct SizedToken {
  int32_t token;
  uint32_t size;
};

class MergeTable {
 public:
  void Reserve(size_t count) { merges_.reserve(count); }

  // The next merge; of those of the same pair the last counts.
  void Add(int32_t left, int32_t right, int32_t token) { merges_[Key(left, right)] = {count_++, token}; }

  int64_t count() const { return count_; }

  // Null where these two are not merged.
  const Merge* Find(int32_t left, int32_t right) const {
    const auto found = merges_.find(Key(left, right));
    return found == merges_.end() ? nullptr : &found->second;
  }

 private:
  static uint64_t Key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

  std::unordered_map<uint64_t, Merge> merges_;
  int64_t count_ = 0;
};

// The row after all merges that are possible, the earliest first.
std::vector<SizedToken> MergeAll(const MergeTable& merges, const std::vector<SizedToken>& row);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_MERGING_H_
