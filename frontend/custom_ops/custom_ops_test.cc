// Tests ops that a model defines, from their definition to the graph.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"

namespace cleave::frontend {
namespace {

class CustomOpsTest : public testing::Test {
 protected:
  // Writes a header beside the model; returns the setting that names it.
  std::string Header(const std::string& name, const std::string& text) {
    std::ofstream(Folder() + name) << text;
    return absl::StrCat("cpu = \"", name, "\";");
  }

  static std::string Folder() { return absl::StrCat(std::getenv("TEST_TMPDIR"), "/"); }

  // `body` in a model that has x: f32[8, 6], w: f32[6] (a parameter) and label: i32[8].
  Analyzed Model(const std::string& body, const std::string& ops) {
    return AnalyzeText(absl::StrCat("model M() { input x: f32[8, 6]; input label: i32[8]; param w: f32[6] = ones();\n",
                                    body, "\n}\n", ops),
                       {}, Folder() + "test.model");
  }

  void ExpectError(const std::string& body, const std::string& ops, const std::vector<std::string>& texts) {
    const Analyzed analyzed = Model(body, ops);
    EXPECT_FALSE(analyzed.module.has_value()) << ops;
    for (const std::string& text : texts) {
      EXPECT_NE(analyzed.messages.find(text), std::string::npos) << text << "\n" << analyzed.messages;
    }
    EXPECT_EQ(analyzed.messages.find("E0201"), std::string::npos) << analyzed.messages;
  }

  // The attributes of the op `name`, as the text of the graph shows them.
  std::string Attributes(const Analyzed& analyzed, const std::string& name) {
    EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
    const std::string text = analyzed.module ? ir::GraphText(analyzed.module->graph) : "";
    const size_t end = text.find("  // " + name + ",");
    const size_t begin = text.rfind(" {", end);
    EXPECT_NE(end, std::string::npos) << text;
    return end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
  }

  const std::string kUse = "loss reduce_mean(f(x));";
  const std::string kBoth =
      "#include \"runtime/custom/view.h\"\ninline void f(View<const float> x) {}\ninline void f_backward(View<float> "
      "x) {}\n";
};

TEST_F(CustomOpsTest, ACallBecomesAnOpOfItsName) {
  const std::string cpu =
      Header("scaled.h", "void scaled(int) {} void scaled_backward_x() {} void scaled_backward_s() {}");
  const Analyzed analyzed =
      Model("let y = scaled(x * w, w, power = 3); loss reduce_mean(y) + reduce_mean(scaled(x, w, 2, 1));",
            "op scaled(x: f32[..n, k], s: f32[k], power: int, bias: float = 0.5, deep: bool = true) -> f32[..n, k] {\n"
            "rule = \"..n k, k -> ..n k\"; linear = (x, s); whole = (k);" +
                cpu + "}");
  EXPECT_EQ(Attributes(analyzed, "y.scaled"),
            "{arguments = \"x, s, power = 3, bias = 0.5, deep = true\", body = \"custom/scaled.h\", dtype = \"f32\", "
            "linear = \"x, s\", op = \"scaled\", rule = \"n0 k, k -> n0 k\", shape = (8, 6), whole = \"k\"}");
  EXPECT_EQ(Attributes(analyzed, "loss.scaled").substr(0, 66),
            "{arguments = \"x, s, power = 2, bias = 1.0, deep = true\", body = \"c");
  ASSERT_TRUE(analyzed.module.has_value());
  EXPECT_EQ(ir::VerifyGraph(analyzed.module->graph), std::vector<std::string>());
  ASSERT_EQ(analyzed.module->custom_files.size(), 1u);
  const auto& [path, file] = *analyzed.module->custom_files.begin();
  EXPECT_EQ(path, "custom/scaled.h");
  EXPECT_EQ(file.source, std::filesystem::path(Folder() + "scaled.h").lexically_normal().string());
}

TEST_F(CustomOpsTest, TheGraphIsReadBack) {
  const std::string cpu = Header("pair.h", "void pair() {} void pair_backward_a() {} void pair_backward_b() {}");
  const Analyzed analyzed = Model(
      "loss reduce_mean(pair(x * w, x + w, label));",
      "op pair(a: f32[n, k], b: f32[n, k], at: i32[n]) -> f32[n] { rule = \"n k, n k, n -> n\"; linear = ((a, b));" +
          cpu + "}");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const absl::StatusOr<ir::Graph> again = ir::ParseGraph(ir::GraphText(analyzed.module->graph));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, analyzed.module->graph);
}

TEST_F(CustomOpsTest, DefinitionsAreChecked) {
  const std::string cpu = Header("f.h", kBoth);
  const std::string head = "op f(x: f32[n, k]) -> f32[n, k] ";
  ExpectError(kUse, head + "{ rule = \"n k\"; " + cpu + "}", {"E0520", "has no `->`"});
  ExpectError(kUse, head + "{ rule = \"n k, k -> n k\"; " + cpu + "}", {"E0520", "2 terms before `->` for 1 tensor"});
  ExpectError(kUse, head + "{ rule = \"n -> n k\"; " + cpu + "}",
              {"E0520", "names 1 dimension of `x`, the signature 2", "its term may be `n k`"});
  ExpectError(kUse, head + "{ rule = \"..n k -> n k\"; " + cpu + "}", {"E0520", "dimension 0 of `x` is `one`"});
  ExpectError(kUse, head + "{ rule = \"n n -> n k\"; " + cpu + "}", {"E0520", "`n` is given twice"});
  ExpectError(kUse, head + "{ rule = \"n k -> n k\"; whole = (j); " + cpu + "}", {"E0520", "`whole` names `j`"});
  ExpectError(kUse, head + "{ rule = \"n k -> n k\"; whole = 3; " + cpu + "}", {"E0508", "`whole = (k);`"});
  ExpectError(kUse, head + "{ linear = (y); " + cpu + "}", {"E0520", "`linear` names `y`"});
  ExpectError(kUse, head + "{ linear = (x, x); " + cpu + "}", {"E0520", "`linear` names `x` twice"});
  ExpectError(kUse, head + "{ rules = \"n k -> n k\"; " + cpu + "}", {"E0507", "did you mean `rule`?"});
  ExpectError(kUse, head + "{ " + cpu + cpu + "}", {"E0202", "`cpu` is set twice"});
  ExpectError(kUse, "op f(x: f32[n], x: f32[n]) -> f32[n] {" + cpu + "}", {"E0202"});
  ExpectError(kUse, "op f(x: string) -> f32[n] {" + cpu + "}", {"E0204", "`x` is string"});
  ExpectError(kUse, "op f(x: int) -> f32[4] {" + cpu + "}", {"E0204", "takes no tensor"});
  ExpectError(kUse, "op f(x: f32[n, k]) {" + cpu + "}", {"E0204", "has no result"});
  ExpectError(kUse, head + "{" + cpu + "} fn f(x: f32[n, k]) -> f32[n, k] { return x; }", {"E0202", "defined twice"});
}

TEST_F(CustomOpsTest, BodiesAreLookedFor) {
  const std::string head = "op f(x: f32[n, k], cap: float = 2.0) -> f32[n, k] ";
  ExpectError(kUse, head + "{}", {"E0521", "no body for the target cpu"});
  ExpectError(kUse, head + "{ cuda = \"f.cuh\"; }", {"E0521", "for another target"});
  ExpectError(kUse, head + "{ cpu = \"missing.h\"; }", {"E0114", "missing.h"});
  ExpectError(kUse, head + "{ cpu = \"..\"; }", {"E0508"});
  const std::string commented =
      Header("commented.h", "// void f(\nint call() { return f(3); } void ff(int); /* void f( */");
  ExpectError(kUse, head + "{" + commented + "}",
              {"E0521", "inline void f(View<const float> x, float cap, View<float> result)"});
}

TEST_F(CustomOpsTest, ATargetTakesItsOwnBody) {
  const std::string cpu = Header("f.h", kBoth);
  std::ofstream(Folder() + "f.cuh") << kBoth;
  const std::string start = "model M() { input x: f32[8, 6]; " + kUse + " }\nop f(x: f32[n, k]) -> f32[n, k] { ";
  const Analyzed both = AnalyzeText(start + cpu + " cuda = \"f.cuh\"; }", {}, Folder() + "test.model", "cuda");
  ASSERT_TRUE(both.module.has_value()) << both.messages;
  ASSERT_EQ(both.module->custom_files.size(), 1u);
  EXPECT_EQ(both.module->custom_files.begin()->first, "custom/f.cuh");
  const Analyzed one = AnalyzeText(start + cpu + " }", {}, Folder() + "test.model", "cuda");
  EXPECT_FALSE(one.module.has_value());
  EXPECT_NE(one.messages.find("op `f` has no body for the target cuda"), std::string::npos) << one.messages;
  EXPECT_NE(one.messages.find("add `cuda = \"f.cuh\";`"), std::string::npos) << one.messages;
}

TEST_F(CustomOpsTest, GradientsNeedABackwardFunction) {
  const std::string cpu = Header("g.h", "inline void f(View<const float> x) {}");
  const std::string op = "op f(x: f32[n, k], cap: float = 2.0) -> f32[n, k] {" + cpu + "}";
  // The loss depends on w through x.
  ExpectError(
      "loss reduce_mean(f(x * w));", op,
      {"E0521", "`f` has no gradient by `x`", "no function `f_backward` in this file",
       "inline void f_backward(View<const float> gradient, View<const float> x, float cap, View<float> gradient_x)"});
  // Data needs no gradient, and neither does a metric.
  EXPECT_TRUE(Model("loss reduce_mean(f(x) * w); metric reduce_mean(f(x * w));", op).module.has_value());
}

TEST_F(CustomOpsTest, CallsAreMatchedWithTheSignature) {
  const std::string op =
      "op f(x: f32[n, 6], s: f32[n]) -> f32[n, 6] { rule = \"n k, n -> n k\"; " + Header("f.h", kBoth) + "}";
  ExpectError("loss reduce_mean(f(x));", op, {"E0203", "`s` is missing"});
  ExpectError("loss reduce_mean(f(x, w));", op, {"E0206", "the value of `n` from dimension 0 of `x`"});
  ExpectError("loss reduce_mean(f(x, label));", op, {"E0204"});
  ExpectError("loss reduce_mean(f(x, 3));", op, {"E0204"});
  const std::string wide =
      "op f(x: f32[n, k], s: f32[m]) -> f32[n, k] { rule = \"n k, n -> n k\"; " + Header("f.h", kBoth) + "}";
  ExpectError("loss reduce_mean(f(x, w));", wide,
              {"E0520", "dimension 0 of input 1 has 6 elements, but `n` is 8 elsewhere"});
}

TEST_F(CustomOpsTest, EinsumTakesItsTensorsOneByOne) {
  const Analyzed analyzed = Model("loss reduce_mean(einsum(\"nk,k,jk->nj\", x, w, x * w));", "");
  EXPECT_EQ(Attributes(analyzed, "loss.einsum"), "{equation = \"nk,k,jk->nj\"}");
}

}  // namespace
}  // namespace cleave::frontend
