#include "tools/driver/zigzag.h"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/report.h"

namespace cleave::tools {
namespace {

using ::testing::HasSubstr;

struct Ordered {
  int64_t pairs = 0;
  double seconds = 0;
  std::string reason;  // Of the attention.
  std::string errors;
};

// Of one head of attention of so many rows, on four ranks.
Ordered PlanOf(int64_t rows, const std::string& zigzag, const std::string& target = "cpu",
               const std::string& precision = "f32") {
  CompileOptions options;
  options.model = absl::StrCat(std::getenv("TEST_TMPDIR"), "/zigzag.model");
  options.target = target;
  options.plan_only = true;
  std::ofstream(options.model) << "model M(seq: int = " << rows << ") {\n"
                               << "    input x: f32[1, seq, 64];\n    input y: f32[1, seq, 64];\n"
                               << "    let a = attention(x, 1, causal = true);\n    loss mse(a, y);\n}\n"
                               << "train M { data = synthetic(); steps = 1; precision = " << precision << "; }\n"
                               << "parallel { devices = 4; zigzag = " << zigzag << "; }\n";
  Report report;
  Ordered ordered;
  const auto file = ReadModel(options, report);
  if (file.has_value()) {
    std::optional<UnderstoodModel> model = Understand(options, *file, report);
    if (model.has_value()) {
      const std::optional<CompiledModel> compiled = CompileModel(options, *std::move(model), report);
      if (compiled.has_value()) {
        ordered.pairs = compiled->planned.plan.zigzag;
        ordered.seconds = compiled->predicted.step.value();
        for (const ir::Op& op : compiled->model.training_graph.ops) {
          if (op.kind == ir::OpKind::kAttention) ordered.reason = compiled->planned.plan.ops[op.id].reason;
        }
      }
    }
  }
  ordered.errors = ReportText(report, ErrorFormat::kText);
  return ordered;
}

TEST(ZigzagTest, TheFasterOrderIsTaken) {
  const Ordered own = PlanOf(2048, "none"), found = PlanOf(2048, "auto");
  EXPECT_EQ(own.pairs, 0) << own.errors;
  EXPECT_EQ(found.pairs, 4) << found.errors;
  EXPECT_LT(found.seconds, own.seconds);
  EXPECT_THAT(found.reason, HasSubstr("rows in 4 zigzag pairs, which are equal work behind the causal mask: a step"));
  EXPECT_EQ(PlanOf(2048, "8").pairs, 8);
}

TEST(ZigzagTest, WhyRowsStayInTheirOwnOrder) {
  EXPECT_THAT(PlanOf(2044, "auto").reason, HasSubstr("rows in their own order: the 2044 rows"));
  EXPECT_THAT(PlanOf(2044, "4").errors, HasSubstr("E0508]: `zigzag = 4` is not possible: the 2044 rows"));
  EXPECT_THAT(PlanOf(65536, "auto", "cuda", "bf16").reason, HasSubstr("rows in their own order: cuDNN"));
}

}  // namespace
}  // namespace cleave::tools
