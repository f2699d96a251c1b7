// Tests `vmap` from the model's text: compares it with the same function called for each element separately.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/frontend.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::frontend {
namespace {

// The loss of a model on random sources; those of equal names and shapes are equal in all models.
double LossOf(const std::string& body, const std::string& rest) {
  const Analyzed analyzed = AnalyzeBody(body, rest);
  EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  if (!analyzed.module) return std::nan("");
  const ir::Graph& graph = analyzed.module->graph;
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kInput && op.kind != ir::OpKind::kParameter) continue;
    ir::Tensor value = ir::Zeros(op.type.shape);
    for (size_t i = 0; i < value.values.size(); ++i) {
      value.values[i] = std::sin(1.0 + static_cast<double>(i * (1 + op.name.back() % 7)));
    }
    sources[op.id] = std::move(value);
  }
  return ir::InterpretGraph(graph, sources, 1)[*graph.loss].values[0];
}

void ExpectSame(const std::string& mapped, const std::string& by_hand, const std::string& rest) {
  const double value = LossOf(mapped, rest);
  EXPECT_NE(value, 0);
  EXPECT_NEAR(value, LossOf(by_hand, rest), 1e-12) << mapped;
}

constexpr char kExpert[] =
    "fn expert(x: f32[n, k], w: f32[k, j], factor: float = 1.0) -> f32[n, j] { return relu(matmul(x, w)) * factor; }\n"
    "fn twice(x: f32[k]) -> f32[k] { return x + x; }\n"
    "fn rows(x: f32[n, k]) -> f32[n, k] { return vmap(twice)(x); }\n"
    "fn scaled(x: f32[k]) -> f32[k] { param s: f32[k] = ones(); return x * s; }\n";

TEST(VmapTest, WeightsForEachElement) {
  ExpectSame(
      "param w: f32[3, 6, 4] = zeros(); let x3 = stack((x, tanh(x), sin(x)), axis = 0);\n"
      "loss reduce_mean(vmap(expert)(x3, w));",
      "param w: f32[3, 6, 4] = zeros();\n"
      "loss reduce_mean(stack((expert(x, w[0]), expert(tanh(x), w[1]), expert(sin(x), w[2])), axis = 0));",
      kExpert);
}

TEST(VmapTest, AxesThatAreNotTheFirst) {
  ExpectSame(
      "param w: f32[6, 4, 3] = zeros();\nloss reduce_mean(square(vmap(expert, axes = (_, 2))(x, w)));",
      "param w: f32[6, 4, 3] = zeros();\n"
      "loss reduce_mean(square(stack((expert(x, w[.., .., 0]), expert(x, w[.., .., 1]), expert(x, w[.., .., 2])), "
      "axis = 0)));",
      kExpert);
}

TEST(VmapTest, NumbersAreTheSameForAll) {
  ExpectSame("param w: f32[2, 6, 4] = zeros();\nloss reduce_mean(vmap(expert, axes = (_, 0, _))(x, w, 2.5));",
             "param w: f32[2, 6, 4] = zeros();\n"
             "loss reduce_mean(stack((expert(x, w[0], 2.5), expert(x, w[1], factor = 2.5)), axis = 0));",
             kExpert);
  ExpectSame("param w: f32[8, 1, 6] = zeros();\nloss reduce_mean(vmap(reduce_sum)(x, axes = 0));",
             "param w: f32[8, 1, 6] = zeros();\nloss reduce_mean(reduce_sum(x, axes = 1));", kExpert);
}

TEST(VmapTest, OpsAndMapsInsideMaps) {
  ExpectSame("loss reduce_mean(square(vmap(softmax)(x)));", "loss reduce_mean(square(softmax(x)));", kExpert);
  ExpectSame("loss reduce_sum(vmap(rows)(reshape(x, (2, 4, 6))));", "loss reduce_sum(x + x);", kExpert);
  ExpectSame("loss reduce_sum(vmap(vmap(twice))(reshape(x, (2, 4, 6))));", "loss reduce_sum(x + x);", kExpert);
  ExpectSame("let parts = vmap(split)(x, 2, axis = 0); loss reduce_sum(parts[0] * parts[1]);",
             "let parts = split(x, 2, axis = 1); loss reduce_sum(parts[0] * parts[1]);", kExpert);
}

TEST(VmapTest, SeveralResults) {
  const std::string pair =
      "fn pair(x: f32[k], y: f32[k]) -> (f32[k], f32[]) { let (u, v) = (x * y, x + y); return (tanh(u), "
      "reduce_sum(v)); "
      "}\n"
      "fn kept(x: f32[k], y: f32[k]) -> (f32[k], f32[k]) { return (y, x); }\n";
  ExpectSame("let (a, b) = vmap(pair)(x, sin(x)); loss reduce_sum(a) + reduce_sum(square(b));",
             "let s = sin(x); loss reduce_sum(tanh(x * s)) + reduce_sum(square(reduce_sum(x + s, axes = 1)));", pair);
  ExpectSame("let (a, b) = vmap(kept, axes = (0, _))(x, x[0]); loss reduce_sum(a * b);",
             "loss reduce_sum(x * reshape(x[0], (1, 6)));", pair);
  const Analyzed analyzed = AnalyzeBody("let (a, b) = vmap(pair)(x, x); loss reduce_sum(a) + reduce_sum(b);", pair);
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  for (const char* name : {"a.tanh", "b.reduce_sum", "a_b.u.mul", "a_b.v.add"}) {
    EXPECT_TRUE(analyzed.module->graph.Find(name).has_value()) << name;
  }
}

TEST(VmapTest, ParametersAreShared) {
  const Analyzed analyzed = AnalyzeBody("let y = vmap(scaled)(x); loss reduce_mean(y);", kExpert);
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.op(*graph.Find("y.s")).type.shape, (ir::Shape{6}));
  EXPECT_EQ(graph.op(*graph.Find("y.mul")).type.shape, (ir::Shape{8, 6}));
}

TEST(VmapTest, AResultWithoutElementsIsRepeated) {
  ExpectSame("loss reduce_sum(vmap(second, axes = (0, _))(x, x[0]));", "loss reduce_sum(x[0]) * 8;",
             "fn second(_x: f32[k], y: f32[k]) -> f32[k] { return y; }\n");
}

TEST(VmapTest, PinsSpeakOfOneElement) {
  const Analyzed analyzed =
      AnalyzeBody("let y = vmap(f)(x, x); loss reduce_mean(y);",
                  "#[layout(x = (\"tp\"))]\nfn f(x: f32[k], y: f32[k]) -> f32[k] { #[shard((2), (2))] let z = x * y;\n"
                  "#[layout(\"tp\")] let u = relu(z); #[replicate] let v = tanh(u); return v; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const std::vector<ir::Pin>& pins = analyzed.module->pins.pins;
  const ir::Graph& graph = analyzed.module->graph;
  ASSERT_EQ(pins.size(), 4u);
  EXPECT_EQ(graph.op(pins[0].op).name, "x");
  EXPECT_TRUE(std::get<ir::LayoutPin>(pins[0].demand).dimensions[0].empty());
  EXPECT_EQ(graph.op(pins[1].op).name, "y.z.mul");
  const auto& shard = std::get<ir::ShardPin>(pins[1].demand);
  EXPECT_EQ((*shard.in[0])[0].value, 1);
  EXPECT_EQ((*shard.in[1])[1].value, 2);
  EXPECT_EQ(std::get<ir::LayoutPin>(pins[2].demand).dimensions.size(), 2u);
  EXPECT_EQ(graph.op(pins[3].op).name, "y.v.tanh");
}

TEST(VmapTest, Mistakes) {
  struct Mistake {
    const char* body;
    const char* code;
    const char* text;
  };
  for (const Mistake& c : {
           Mistake{"let y = vmap(expert)(x, x);", "E0206", "has 1 dimensions, not 2"},
           Mistake{"let y = vmap(twice)(reduce_sum(x));", "E0216", "without dimensions"},
           Mistake{"let y = vmap(twice)(3);", "E0216", "nothing to map over"},
           Mistake{"let y = vmap(twice, axes = (0,))(3);", "E0216", "maps over tensors only"},
           Mistake{"let y = vmap(mul)(x, x[..4]);", "E0216", "over 8 and 4 elements"},
           Mistake{"let y = vmap(mul, axes = (0,))(x, x);", "E0216", "1 entry for 2 arguments"},
           Mistake{"let y = vmap(twice, axes = 2)(x);", "E0404", "axis 2"},
           Mistake{"let y = vmap(twise)(x);", "E0201", "did you mean `twice`?"},
           Mistake{"let y = vmap(x)(x);", "E0204", "is a value, not a function"},
           Mistake{"let y = vmap(3)(x);", "E0204", "only a function can be called"},
           Mistake{"let y = vmap(twice);", "E0216", "must be called at once"},
           Mistake{"let y = vmap()(x);", "E0203", "vmap"},
           Mistake{"let y = vmap(twice, axis = 0)(x);", "E0203", "axes"},
           Mistake{"let y = vmap(shape)(x);", "E0216", "result is no tensor"},
       }) {
    const Analyzed analyzed = AnalyzeBody(absl::StrCat(c.body, " loss reduce_mean(x);"), kExpert);
    EXPECT_FALSE(analyzed.module.has_value()) << c.body;
    EXPECT_NE(analyzed.messages.find(c.code), std::string::npos) << c.body << "\n" << analyzed.messages;
    EXPECT_NE(analyzed.messages.find(c.text), std::string::npos) << c.body << "\n" << analyzed.messages;
  }
}

TEST(VmapTest, InsideOfARegion) {
  const Analyzed analyzed = AnalyzeBody(
      "param w: f32[2, 6, 4] = zeros();\n"
      "let y = #[region(in = (auto, (2, 1, 1)), out = auto)] vmap(expert, axes = (_, 0))(x, w); loss reduce_mean(y);",
      kExpert);
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  ASSERT_EQ(analyzed.module->pins.regions.size(), 1u);
  const ir::Graph& graph = analyzed.module->graph;
  const std::vector<ir::OpId>& ops = analyzed.module->pins.regions[0].ops;
  for (const char* name : {"y.in_0", "y.in_1", "y.matmul", "y.relu", "y.out"}) {
    const std::optional<ir::OpId> op = graph.Find(name);
    ASSERT_TRUE(op.has_value()) << name;
    EXPECT_NE(std::find(ops.begin(), ops.end(), *op), ops.end()) << name;
  }
  EXPECT_EQ(graph.op(*graph.Find("y.out")).type.shape, (ir::Shape{2, 8, 4}));
}

TEST(VmapTest, NoRegionInside) {
  const Analyzed analyzed =
      AnalyzeBody("loss reduce_mean(vmap(f)(x));",
                  "fn f(x: f32[k]) -> f32[k] { return #[region(in = ((2),), out = auto)] relu(x); }");
  EXPECT_NE(analyzed.messages.find("E0322"), std::string::npos) << analyzed.messages;
}

TEST(VmapTest, AFunctionThatIsOnlyMappedIsUsed) {
  const Analyzed analyzed =
      AnalyzeBody("loss reduce_mean(vmap(once)(x));", "fn once(x: f32[k]) -> f32[k] { return x; }");
  EXPECT_EQ(analyzed.messages, "");
}

TEST(VmapTest, AFunctionThatMapsItselfIsRecursive) {
  const Analyzed analyzed =
      AnalyzeBody("loss reduce_mean(again(x));", "fn again(x: f32[..n, k]) -> f32[..n, k] { return vmap(again)(x); }");
  EXPECT_NE(analyzed.messages.find("E0205"), std::string::npos) << analyzed.messages;
}

TEST(VmapTest, RowsOfEachTable) {
  const std::string rows =
      "fn rows(t: f32[k], i: i32[m]) -> f32[m] { return gather(t, i); }\n"
      "fn sums(u: f32[m], i: i32[m]) -> f32[4] { return scatter_add(u, i, size = 4); }\n"
      "fn picked(t: f32[k], i: i32[m]) -> f32[4] { return sums(rows(t, i), i); }\n";
  ExpectSame("let i = cast(abs(x) * 3.9, i32); loss reduce_sum(square(vmap(picked)(x, i)));",
             "let i = cast(abs(x) * 3.9, i32);\n"
             "loss reduce_sum(square(stack((picked(x[0], i[0]), picked(x[1], i[1]), picked(x[2], i[2]), "
             "picked(x[3], i[3]), picked(x[4], i[4]), picked(x[5], i[5]), picked(x[6], i[6]), picked(x[7], i[7])), "
             "axis = 0)));",
             rows);
}

TEST(VmapTest, ALossWithAMask) {
  ExpectSame("loss reduce_sum(vmap(f)(x, sin(x), x[.., 0..6]));", "loss reduce_sum(square(x - sin(x)) * x) / 6.0;",
             "fn f(x: f32[k], y: f32[k], m: f32[k]) -> f32[] { return mse(x, y, sample_weight = m); }\n");
}

// The model maps over `count` elements what would otherwise be made for each of them.
TEST(VmapTest, MoreElementsNeedNoMoreOps) {
  const auto ops = [](int count) {
    const Analyzed analyzed = AnalyzeBody(
        absl::StrCat("param t: f32[", count, ", 9, 3] = normal();\nlet i = cast(zeros_like(t[.., 0..2, 0]), i32);\n",
                     "loss reduce_mean(vmap(gather)(t, i));"),
        "fn zeros_like(x: f32[..n]) -> f32[..n] { return x * 0.0; }\n");
    EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
    return analyzed.module ? analyzed.module->graph.ops.size() : 0;
  };
  EXPECT_EQ(ops(2), ops(1000));
}

}  // namespace
}  // namespace cleave::frontend
