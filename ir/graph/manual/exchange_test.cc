// Tests lists of ranks and sizes that agree, and lists that do not.
#include "ir/graph/manual/exchange.h"

#include <gtest/gtest.h>

namespace cleave::ir {
namespace {

struct Exchange {
  ExchangeSide sends, receives;
  const char* mismatch;
};

TEST(ExchangeTest, FindsTheFirstMismatch) {
  for (const Exchange& exchange : {
           Exchange{{{4}, {1, 0}}, {{4}, {1, 0}}, ""},
           Exchange{{{4}, {1, -1}}, {{4}, {-1, 0}}, ""},
           Exchange{{{4}, {-1, -1}}, {{9}, {-1, -1}}, ""},
           Exchange{{{4}, {1, -1}}, {{6}, {-1, 0}}, "rank 0 sends 4 elements to rank 1, which receives 6"},
           Exchange{{{1}, {1, -1}}, {{6}, {-1, -1}}, "rank 0 sends 1 element to rank 1, which does not receive them"},
           Exchange{{{4}, {-1, -1}}, {{6}, {-1, 0}}, "rank 1 waits for 6 elements of rank 0, which does not send them"},
           // Two parts between the same ranks are matched in order.
           Exchange{{{4, 6}, {1, 1, -1, -1}}, {{4, 6}, {-1, -1, 0, 0}}, ""},
           Exchange{{{4, 6}, {1, 1, -1, -1}},
                    {{6, 4}, {-1, -1, 0, 0}},
                    "rank 0 sends 4 elements to rank 1, which receives 6"},
           Exchange{{{4, 6}, {1, 1, -1, -1}},
                    {{4}, {-1, 0}},
                    "rank 0 sends 6 elements to rank 1, which does not receive them"},
       }) {
    const auto mismatch = FindMismatch(exchange.sends, exchange.receives);
    EXPECT_EQ(mismatch ? MismatchText(*mismatch, exchange.sends, exchange.receives) : "", exchange.mismatch);
  }
}

}  // namespace
}  // namespace cleave::ir
