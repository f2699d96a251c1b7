#include "runtime/tokenizer/bpe/merging.h"

#include <queue>
#include <tuple>

namespace cleave::runtime {
namespace {

constexpr int64_t kNoPlace = -1;
constexpr int32_t kMergedAway = -1;

struct Symbol {
  int32_t token;
  uint32_t size;
  int64_t before;
  int64_t after;
};

struct PossibleMerge {
  int64_t rank;
  int64_t place;  // Of the left one.
  int32_t token;
};

struct ComesLater {
  bool operator()(const PossibleMerge& a, const PossibleMerge& b) const {
    return std::tie(a.rank, a.place) > std::tie(b.rank, b.place);
  }
};

class Row {
 public:
  Row(const MergeTable& merges, const std::vector<SizedToken>& tokens) : merges_(merges) {
    const auto count = static_cast<int64_t>(tokens.size());
    symbols_.reserve(tokens.size());
    for (int64_t i = 0; i < count; ++i) {
      const SizedToken& token = tokens[static_cast<size_t>(i)];
      symbols_.push_back({token.token, token.size, i - 1, i + 1 < count ? i + 1 : kNoPlace});
    }
    for (int64_t i = 0; i + 1 < count; ++i) AddPossible(i);
  }

  std::vector<SizedToken> MergeAll() {
    while (!possible_.empty()) {
      const PossibleMerge merge = possible_.top();
      possible_.pop();
      if (IsStillPossible(merge)) Do(merge);
    }
    std::vector<SizedToken> tokens;
    for (const Symbol& symbol : symbols_) {
      if (symbol.token != kMergedAway) tokens.push_back({symbol.token, symbol.size});
    }
    return tokens;
  }

 private:
  Symbol& At(int64_t place) { return symbols_[static_cast<size_t>(place)]; }

  const Merge* MergeAt(int64_t place) {
    const Symbol& left = At(place);
    return left.token == kMergedAway || left.after == kNoPlace ? nullptr
                                                               : merges_.Find(left.token, At(left.after).token);
  }

  void AddPossible(int64_t place) {
    if (const Merge* const merge = MergeAt(place)) possible_.push({merge->rank, place, merge->token});
  }

  bool IsStillPossible(const PossibleMerge& merge) {
    const Merge* const now = MergeAt(merge.place);
    return now != nullptr && now->rank == merge.rank;
  }

  void Do(const PossibleMerge& merge) {
    Symbol& left = At(merge.place);
    Symbol& right = At(left.after);
    left.token = merge.token;
    left.size += right.size;
    left.after = right.after;
    right.token = kMergedAway;
    if (left.after != kNoPlace) At(left.after).before = merge.place;
    if (left.before != kNoPlace) AddPossible(left.before);
    AddPossible(merge.place);
  }

  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::priority_queue<PossibleMerge, std::vector<PossibleMerge>, ComesLater> possible_;
};

}  // namespace

std::vector<SizedToken> MergeAll(const MergeTable& merges, const std::vector<SizedToken>& row) {
  return Row(merges, row).MergeAll();
}

}  // namespace cleave::runtime
