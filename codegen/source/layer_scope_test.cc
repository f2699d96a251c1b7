#include "codegen/source/layer_scope.h"

#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

LayerScope Scope() {
  LayerScope scope{.number = cpp::Name("layer").Member("i"), .first = 0, .last = 11};
  scope.names["x.3.norm"] = {.text = "x.#.norm", .line = 8};
  scope.names["x.2.grad"] = {
      .text = "x.#.grad", .shift = -1, .exceptions = {{0, "embed.grad"}}, .line = 8, .other_lines = {{0, 6}}};
  scope.names["loss"] = {.text = "loss", .line = 9, .other_lines = {{11, 12}}};
  return scope;
}

TEST(LayerScopeTest, NamesOfALayer) {
  const LayerScope scope = Scope();
  EXPECT_EQ(OpNameOf(&scope, "x.3.norm").Text(), "{\"x.#.norm\", layer.i}");
  EXPECT_EQ(OpNameOf(&scope, "x.2.grad").Text(),
            "layer.i == 0 ? OpName(\"embed.grad\") : OpName(\"x.#.grad\", layer.i - 1)");
  EXPECT_EQ(OpNameOf(&scope, "logits").Text(), "\"logits\"");
  EXPECT_EQ(OpNameOf(nullptr, "x.3.norm").Text(), "\"x.3.norm\"");
  EXPECT_EQ(NameCharacters(&scope, "x.3.norm").Text(), "OpName{\"x.#.norm\", layer.i}.ToString().c_str()");
  EXPECT_EQ(NameCharacters(nullptr, "x.3.norm").Text(), "\"x.3.norm\"");
  EXPECT_EQ(LineOf(&scope, "x.2.grad", 8).Text(), "layer.i == 0 ? 6 : 8");
  EXPECT_EQ(LineOf(&scope, "logits", 9).Text(), "9");
  EXPECT_EQ(LineOf(&scope, "loss", 9).Text(), "layer.i == 11 ? 12 : 9") << "a name that all layers share";
  EXPECT_EQ(ShownName(&scope, "x.3.norm"), "x.0..11.norm");
  EXPECT_EQ(ShownName(&scope, "x.2.grad"), "x.0..10.grad") << "without the exception";
  EXPECT_EQ(LocalWish(&scope, "x.3.norm"), "norm");
}

TEST(LayerScopeTest, LayersMayBeSeveralApart) {
  EXPECT_EQ(LayerNumbers(0, 11, 1), "0 to 11");
  EXPECT_EQ(LayerNumbers(1, 9, 2), "1, 3 to 9");
  LayerScope scope = {.number = cpp::Name("layer").Member("i"), .first = 0, .last = 10, .step = 2, .names = {}};
  scope.names["x.3.norm"] = {.text = "x.#.norm", .shift = 1, .exceptions = {}};
  EXPECT_EQ(ShownName(&scope, "x.3.norm"), "x.1,3..11.norm");
}

}  // namespace
}  // namespace cleave::codegen
