#include "frontend/sightings/sightings.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/diagnostic/diagnostic.h"
#include "dsl/parse/parse.h"
#include "frontend/frontend.h"

namespace cleave::frontend {
namespace {

constexpr char kText[] =
    "record R { width: int; }\n"
    "fn twice(x: f32[..n]) -> f32[..n] { return x * 2.0; }\n"
    "model M(r: R = R(width = 4)) {\n"
    "    input x: f32[8, 4];\n"
    "    let mut h = dense(x, r.width);\n"
    "    for i in 0..2 { h = twice(h); }\n"
    "    let each = vmap(twice)(h);\n"
    "    loss reduce_mean(each);\n"
    "    loss unknown(each);\n"
    "}\n";

TEST(SightingsTest, TypesOpsAndMeanings) {
  SourceSet sources;
  Diagnostics diagnostics;
  const std::optional<dsl::syntax::File> file = dsl::Parse(sources.Add("a.model", kText), sources, diagnostics);
  Sightings sightings;
  int expanded = 0;
  sightings.WhenExpanded([&] { ++expanded; });
  // There is a mistake, and what is right is found all the same.
  EXPECT_FALSE(Analyze(*file, sources, {.sightings = &sightings}, diagnostics).has_value());
  EXPECT_EQ(expanded, 1);
  const std::string text = kText;
  const auto place = [&](const std::string& around, const std::string& name) {
    const auto begin = static_cast<int32_t>(text.find(name, text.find(around)));
    return Span{.file = FileId(0), .begin = begin, .end = begin + static_cast<int32_t>(name.size())};
  };
  const auto shown = [&](Span span) {
    const auto found = sightings.values().find(span);
    if (found == sightings.values().end()) return std::string("nothing");
    return absl::StrCat(absl::StrJoin(found->second.types, " | "), " of ", absl::StrJoin(found->second.ops, ", "));
  };
  EXPECT_EQ(shown(place("let mut h", "h")), "f32[8, 4] of h.bias_add");
  EXPECT_EQ(shown(place("h = twice", "h")), "f32[8, 4] of h.0.scale, h.1.scale");
  EXPECT_EQ(shown(place("for i", "i")), "int = 0 | int = 1 of ");
  EXPECT_EQ(shown(place("return x", "x * 2.0")),
            "f32[8, 4] | f32[4] for one element of `vmap` of h.0.scale, h.1.scale");
  EXPECT_EQ(sightings.meanings().at(place("r.width", "width")), place("record", "width"));
  EXPECT_EQ(sightings.meanings().at(place("R(width", "width")), place("record", "width"));
  EXPECT_EQ(sightings.meanings().at(place("twice(h)", "twice")), place("fn", "twice"));
}

}  // namespace
}  // namespace cleave::frontend
