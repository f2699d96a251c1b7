#include "base/layer_names/layer_names.h"

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(LayerNamesTest, NumbersBetweenDotsAreTakenOut) {
  EXPECT_EQ(LayerNameOf("x.3.attn.out"), (LayerName{.place = "x.#.attn.out", .numbers = {3}}));
  EXPECT_EQ(LayerNameOf("x.3.expert.11"), (LayerName{.place = "x.#.expert.#", .numbers = {3, 11}}));
  EXPECT_EQ(LayerNameOf("h1.matmul"), (LayerName{.place = "h1.matmul", .numbers = {}}));
  EXPECT_EQ(LayerNameOf("x.07.y"), (LayerName{.place = "x.07.y", .numbers = {}}));
  EXPECT_EQ(LayerNameOf(""), (LayerName{.place = "", .numbers = {}}));
  for (const absl::string_view name :
       {"x.3.attn.out", "x.3.expert.11", "h1.matmul", "x.07.y", "", "3", "a.99999999999999999999"}) {
    EXPECT_EQ(LayerNumbersOf(name), LayerNameOf(name).numbers) << name;
  }
}

TEST(LayerNamesTest, ALayerIsWhatIsNamedUpToTheLastNumber) {
  EXPECT_EQ(LayerOf("x.3.attn.out"), "x.3");
  EXPECT_EQ(LayerOf("x.3.expert.11"), "x.3.expert.11");
  EXPECT_EQ(LayerOf("7.ln"), "7");
  EXPECT_EQ(LayerOf("h1.matmul"), "");
  EXPECT_EQ(LayerOf(""), "");
}

TEST(LayerNamesTest, FoldedNamesSayWhichLayers) {
  EXPECT_EQ(FoldedName({"h1.matmul"}), "h1.matmul");
  EXPECT_EQ(FoldedName({"x.4.ln"}), "x.4.ln");
  EXPECT_EQ(FoldedName({"x.0.ln", "x.1.ln", "x.2.ln"}), "x.0..2.ln");
  EXPECT_EQ(FoldedName({"x.2.ln.grad", "x.1.ln.grad", "x.0.ln.grad"}), "x.0..2.ln.grad");
  EXPECT_EQ(FoldedName({"x.0.ln", "x.2.ln"}), "x.*.ln");
  EXPECT_EQ(FoldedName({"x.0.e.5.ln", "x.1.e.5.ln"}), "x.0..1.e.5.ln");
}

TEST(LayerNamesTest, SentencesAboutEqualLayersBecomeEqual) {
  EXPECT_EQ(FoldedText("follows x.3.ln: reads 0.5 of it"), FoldedText("follows x.4.ln: reads 0.5 of it"));
  EXPECT_NE(FoldedText("causes 0.5 bytes"), FoldedText("causes 0.6 bytes"));
}

}  // namespace
}  // namespace cleave
