// Tests what a file sees of the files that it imports.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/testing.h"

namespace cleave::frontend {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

// The meaning of main.model, which lies beside `files`.
Analyzed AnalyzeFiles(const std::string& model, const Files& files) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(testing::TempDir()) / test->name();
  fs::remove_all(folder);
  for (const auto& [name, text] : files) {
    const fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  return AnalyzeText(model, {}, (folder / "main.model").string());
}

// A model whose loss is the mean of `value`, behind `imports`.
std::string ModelOf(const std::string& imports, const std::string& value) {
  return absl::StrCat(imports, "\nmodel M() { input x: f32[8, 6]; loss reduce_mean(", value, "); }");
}

std::string KindOfLoss(const Analyzed& analyzed) {
  if (!analyzed.module) return analyzed.messages;
  const ir::Graph& graph = analyzed.module->graph;
  return std::string(ir::OpKindName(graph.op(graph.op(*graph.loss).inputs[0]).kind));
}

TEST(ImportsTest, FunctionsOfAnotherFile) {
  const Files files = {{"lib/a.model", "fn f(x: f32[..n]) -> f32[..n] { return relu(x); }"}};
  EXPECT_EQ(KindOfLoss(AnalyzeFiles(ModelOf("import \"lib/a.model\";", "f(x)"), files)), "relu");
}

// Paths start from the file in which they stand; a file that is reached on two ways is one.
TEST(ImportsTest, ImportsOfImports) {
  const Files files = {
      {"lib/a.model", "import \"deep/c.model\"; fn f(x: f32[..n]) -> f32[..n] { return g(x); }"},
      {"b.model", "import \"lib/../lib/deep/c.model\"; fn h(x: f32[..n]) -> f32[..n] { return g(x); }"},
      {"lib/deep/c.model", "fn g(x: f32[..n]) -> f32[..n] { return tanh(x); }"}};
  const std::string imports = "import \"lib/a.model\"; import \"b.model\"; import \"lib/deep/../deep/c.model\";";
  EXPECT_EQ(KindOfLoss(AnalyzeFiles(ModelOf(imports, "g(f(h(x)))"), files)), "tanh");
}

// What an imported file imports is not seen.
TEST(ImportsTest, ImportsAreNotHandedOn) {
  const Files files = {{"a.model", "import \"b.model\"; fn f(x: f32[..n]) -> f32[..n] { return g(x); }"},
                       {"b.model", "fn g(x: f32[..n]) -> f32[..n] { return tanh(x); }"}};
  const Analyzed analyzed = AnalyzeFiles(ModelOf("import \"a.model\";", "g(f(x))"), files);
  EXPECT_TRUE(absl::StrContains(analyzed.messages, "unknown function or op `g`")) << analyzed.messages;
}

// Neither a function of the importing file nor one of the prelude changes what an imported file means.
TEST(ImportsTest, AFileMeansTheSameWhoeverImportsIt) {
  const Files files = {{"a.model",
                        "fn f(x: f32[..n]) -> f32[..n] { return gelu_exact(g(x)); }\n"
                        "fn g(x: f32[..n]) -> f32[..n] { return tanh(x); }"},
                       {"b.model", "import \"a.model\"; fn gelu_exact(x: f32[..n]) -> f32[..n] { return f(x); }"}};
  EXPECT_EQ(KindOfLoss(AnalyzeFiles(ModelOf("import \"b.model\";", "gelu_exact(x)"), files)), "mul");
}

TEST(ImportsTest, OptimizersAndMetrics) {
  const Files files = {{"a.model",
                        "fn slow(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] {\n"
                        "    return parameter - gradient * (0.5 * lr);\n}\n"
                        "fn largest(x: f32[..n]) -> f32[] { return total(reduce_sum(x)); }"}};
  const std::string model =
      "import \"a.model\";\n"
      "model M() { input x: f32[8, 6]; param w: f32[6] = ones(); loss reduce_mean(x * w); metric largest(x); }\n"
      "train M { optimizer = slow(lr = 0.1); }";
  const Analyzed analyzed = AnalyzeFiles(model, files);
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->graph.metrics[0].name, "largest");
}

TEST(ImportsTest, TheHashIsThatOfAllFiles) {
  const std::string model = ModelOf("import \"a.model\";", "f(x)");
  const auto hash = [&](const std::string& text) {
    const Analyzed analyzed = AnalyzeFiles(model, {{"a.model", text}});
    EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
    return analyzed.module->graph.hash;
  };
  const std::string f = "fn f(x: f32[..n]) -> f32[..n] { return relu(x); }";
  EXPECT_EQ(hash(f), hash(f));
  EXPECT_NE(hash(f), hash(f + " "));
}

TEST(ImportsTest, AFileThatImportsItself) {
  const Analyzed analyzed = AnalyzeFiles(ModelOf("import \"main.model\";", "x"), {{"main.model", ""}});
  EXPECT_TRUE(absl::StrContains(analyzed.messages, "error[E0527]: files that import each other")) << analyzed.messages;
}

// The mistake is shown where it stands, and the call that leads there.
TEST(ImportsTest, PlacesInTheRightFile) {
  const Files files = {{"a.model", "fn f(x: f32[..n]) -> f32[..n] {\n    return relux(x);\n}"}};
  const std::string messages = AnalyzeFiles(ModelOf("import \"a.model\";", "f(x)"), files).messages;
  EXPECT_TRUE(absl::StrContains(messages, "a.model:2:12")) << messages;
  EXPECT_TRUE(absl::StrContains(messages, "main.model:2:")) << messages;
}

TEST(ImportsTest, TwoOpsOfOneName) {
  const std::string op = "op f(x: f32[n]) -> f32[n] { cpu = \"f.h\"; }";
  const Analyzed analyzed =
      AnalyzeFiles(ModelOf("import \"a.model\"; import \"b.model\";", "x"),
                   {{"a.model", op}, {"b.model", op}, {"f.h", "inline void f(View<const float> x, View<float> y) {}"}});
  EXPECT_TRUE(absl::StrContains(analyzed.messages, "op `f` is defined twice")) << analyzed.messages;
}

}  // namespace
}  // namespace cleave::frontend
