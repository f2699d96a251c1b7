#include "runtime/train/redistributions.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(WithMeasured, StandsBehindEachOperationAndCountsMergedOnesOnce) {
  const std::string list =
      "h f32[8, 4]: [-, -] partial(x: sum) -> [x, -]; all_reduce(x) 128 B as h.all_reduce; local_slice 0 B as "
      "h.local_slice; forward, m.model:7\n"
      "a.grad f32[2]: [-] partial(x: sum) -> [-]; all_reduce(x) 8 B as gradients.all_reduce; update, m.model:3\n"
      "b.grad f32[3]: [-] partial(x: sum) -> [-]; all_reduce(x) 12 B as gradients.all_reduce; update, m.model:4\n"
      "accuracy f32[]: [] partial(x: sum) -> []; all_reduce(x) 4 B as accuracy.all_reduce; metric, m.model:9\n"
      "total: 4 redistributions, 3 collectives, 152 B, 152 B sent per rank\n";
  EXPECT_EQ(WithMeasured(list, {{"h.all_reduce", {2, 256}},
                                {"h.local_slice", {1, 0}},
                                {"gradients.all_reduce", {1, 20}},
                                {"h.matmul", {1, 0}}}),
            "h f32[8, 4]: [-, -] partial(x: sum) -> [x, -]; all_reduce(x) 128 B as h.all_reduce, measured 2 x 128 B; "
            "local_slice 0 B as h.local_slice, measured 1 x 0 B; forward, m.model:7\n"
            "a.grad f32[2]: [-] partial(x: sum) -> [-]; all_reduce(x) 8 B as gradients.all_reduce, measured 1 x 20 B; "
            "update, m.model:3\n"
            "b.grad f32[3]: [-] partial(x: sum) -> [-]; all_reduce(x) 12 B as gradients.all_reduce, measured 1 x 20 B; "
            "update, m.model:4\n"
            "accuracy f32[]: [] partial(x: sum) -> []; all_reduce(x) 4 B as accuracy.all_reduce, measured 0 x 0 B; "
            "metric, m.model:9\n"
            "total: 4 redistributions, 3 collectives, 152 B, 152 B sent per rank; measured 276 B in 4 runs\n");
}

TEST(WithMeasured, NothingToMeasure) {
  EXPECT_EQ(WithMeasured("total: 0 redistributions, 0 collectives, 0 B, 0 B sent per rank\n", {}),
            "total: 0 redistributions, 0 collectives, 0 B, 0 B sent per rank; measured 0 B in 0 runs\n");
}

}  // namespace
}  // namespace cleave::runtime
