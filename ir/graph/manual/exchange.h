// Whether the ranks of an exchange of messages agree on which rank sends how much to which.
//
//   const ExchangeSide sends = {.sizes = {4}, .partners = {1, -1}};     // Rank 0 sends 4 elements to rank 1.
//   const ExchangeSide receives = {.sizes = {6}, .partners = {-1, 0}};  // Rank 1 receives 6 from rank 0.
//   std::optional<Mismatch> mismatch = FindMismatch(sends, receives);
//
// The static proof of a program (ir/proof/check) compares its messages with separate code.
#ifndef CLEAVE_IR_GRAPH_MANUAL_EXCHANGE_H_
#define CLEAVE_IR_GRAPH_MANUAL_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::ir {

// The parts that ranks send, or those that they receive.
struct ExchangeSide {
  std::vector<int64_t> sizes;     // Elements of each part.
  std::vector<int64_t> partners;  // [rank * parts + part]: the rank at the other end, -1 for nobody.

  // REQUIRES: there are parts.
  int64_t ranks() const { return static_cast<int64_t>(partners.size() / sizes.size()); }

  bool operator==(const ExchangeSide&) const = default;
};

// Between two ranks the i-th part that one sends is the i-th that the other receives. In a mismatch the two differ in
// size, or one of them is missing.
struct Mismatch {
  int64_t from = 0;
  int64_t to = 0;
  std::optional<size_t> sent;      // The part's number.
  std::optional<size_t> received;  // The number of the part on the other side.

  bool operator==(const Mismatch&) const = default;
};

// The first in the order of ranks. REQUIRES: partners are -1 or exist, and both sides have a row of them for each rank.
std::optional<Mismatch> FindMismatch(const ExchangeSide& sends, const ExchangeSide& receives);

// "rank 0 sends 4 elements to rank 1, which receives 6"
std::string MismatchText(const Mismatch& mismatch, const ExchangeSide& sends, const ExchangeSide& receives);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_MANUAL_EXCHANGE_H_
