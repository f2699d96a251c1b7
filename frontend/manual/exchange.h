// Whether the ranks of an exchange agree on who sends how much to whom.
#ifndef CLEAVE_FRONTEND_MANUAL_EXCHANGE_H_
#define CLEAVE_FRONTEND_MANUAL_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::frontend {

// The parts that ranks send, or those that they receive: the number of elements of each, and for each part and rank the
// rank to which it goes, or from which it comes; -1 for nobody.
struct ExchangeSide {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> ranks;  // [part][rank]

  // As ops have it: [rank * parts + part].
  std::vector<int64_t> Table() const;
};

// Between two ranks the i-th part that one sends is the i-th that the other receives. A mismatch is a pair of parts
// that differ in size, or a part without its partner.
struct Mismatch {
  int64_t from = 0;
  int64_t to = 0;
  std::optional<size_t> sent;      // The part's number.
  std::optional<size_t> received;  // Of the other side.

  bool operator==(const Mismatch&) const = default;
};

// The first in the order of ranks. REQUIRES: ranks are -1 or exist, and both sides have a table.
std::optional<Mismatch> FindMismatch(const ExchangeSide& sends, const ExchangeSide& receives);

// "rank 0 sends 4 elements to rank 1, which receives 6"
std::string MismatchText(const Mismatch& mismatch, const ExchangeSide& sends, const ExchangeSide& receives);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_MANUAL_EXCHANGE_H_
