// Random graphs of nodes of several classes: most edges join two nodes of one class, and a node's features hint at its
// own. Each edge is there in both directions.
#include <cmath>
#include <cstdint>

#include "runtime/custom/view.h"

// A number from 0 to `limit` - 1 that is the same for the same arguments: Steele and others, SplitMix, 2014.
inline int64_t Drawn(int64_t sample, bool is_test, int64_t which, int64_t limit) {
  uint64_t z = static_cast<uint64_t>((2 * sample + (is_test ? 1 : 0)) * 1048583 + which) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(limit));
}

constexpr int64_t kClasses = 4;
constexpr int64_t kNodes = 48;

inline int64_t ClassOf(int64_t sample, bool is_test, int64_t node) { return Drawn(sample, is_test, node, kClasses); }

// An end of pair `pair`. The other end is sought among some nodes, of which the first of the same class is taken.
inline int64_t EndOf(int64_t sample, bool is_test, int64_t pair, bool is_first) {
  const int64_t first = Drawn(sample, is_test, 1000 + 16 * pair, kNodes);
  if (is_first) return first;
  int64_t other = 0;
  for (int64_t i = 1; i <= 4; ++i) {
    other = Drawn(sample, is_test, 1000 + 16 * pair + i, kNodes);
    if (ClassOf(sample, is_test, other) == ClassOf(sample, is_test, first)) break;
  }
  return other;
}

inline void feature(int64_t sample, bool is_test, View<float> values) {
  const int64_t features = values.shape[1];
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t node = values.begin[0] + i / features, f = values.begin[1] + i % features;
    const float noise = static_cast<float>(Drawn(sample, is_test, 100000 + node * 64 + f, 2001) - 1000) / 500.0f;
    values[i] = noise + (f % kClasses == ClassOf(sample, is_test, node) ? 1.0f : 0.0f);
  }
}

// The nodes where edges begin, then those where they end.
inline void edge(int64_t sample, bool is_test, View<int32_t> values) {
  const int64_t edges = values.shape[1];
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t row = values.begin[0] + i / edges, e = values.begin[1] + i % edges;
    values[i] = static_cast<int32_t>(EndOf(sample, is_test, e / 2, (e + row) % 2 == 0));
  }
}

inline void label(int64_t sample, bool is_test, View<int32_t> values) {
  for (int64_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int32_t>(ClassOf(sample, is_test, values.begin[0] + i));
  }
}
