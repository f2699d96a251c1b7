// Lists of ranks and sizes that agree, and those that do not.
#include "frontend/manual/exchange.h"

#include <gtest/gtest.h>

namespace cleave::frontend {
namespace {

struct CheckedExchange {
  ExchangeSide sends, receives;
  const char* mismatch;
};

TEST(ExchangeTest, TablesGoByRank) {
  const ExchangeSide side{.sizes = {4, 6}, .ranks = {{1, -1}, {-1, 0}}};
  EXPECT_EQ(side.Table(), (std::vector<int64_t>{1, -1, -1, 0}));
}

TEST(ExchangeTest, FindsTheFirstMismatch) {
  for (const CheckedExchange& c : {
           CheckedExchange{{{4}, {{1, 0}}}, {{4}, {{1, 0}}}, ""},
           CheckedExchange{{{4}, {{1, -1}}}, {{4}, {{-1, 0}}}, ""},
           CheckedExchange{{{4}, {{-1, -1}}}, {{9}, {{-1, -1}}}, ""},
           CheckedExchange{{{4}, {{1, -1}}}, {{6}, {{-1, 0}}}, "rank 0 sends 4 elements to rank 1, which receives 6"},
           CheckedExchange{
               {{1}, {{1, -1}}}, {{6}, {{-1, -1}}}, "rank 0 sends 1 element to rank 1, which does not receive them"},
           CheckedExchange{
               {{4}, {{-1, -1}}}, {{6}, {{-1, 0}}}, "rank 1 waits for 6 elements of rank 0, which does not send them"},
           // Twice between the same ranks: in order.
           CheckedExchange{{{4, 6}, {{1, -1}, {1, -1}}}, {{4, 6}, {{-1, 0}, {-1, 0}}}, ""},
           CheckedExchange{{{4, 6}, {{1, -1}, {1, -1}}},
                           {{6, 4}, {{-1, 0}, {-1, 0}}},
                           "rank 0 sends 4 elements to rank 1, which receives 6"},
           CheckedExchange{{{4, 6}, {{1, -1}, {1, -1}}},
                           {{4}, {{-1, 0}}},
                           "rank 0 sends 6 elements to rank 1, which does not receive them"},
       }) {
    const auto mismatch = FindMismatch(c.sends, c.receives);
    EXPECT_EQ(mismatch ? MismatchText(*mismatch, c.sends, c.receives) : "", c.mismatch);
  }
}

}  // namespace
}  // namespace cleave::frontend
