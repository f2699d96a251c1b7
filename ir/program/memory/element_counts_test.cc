#include "ir/program/memory/element_counts.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {
namespace {

constexpr int64_t kLimit = 2147483647;

Mesh FourRanks() { return *Mesh::Create({{.name = "m0", .size = 4}}); }

// One collective of `tensors` tensors of these elements each, from one layout to another.
Program Message(CollectiveKind kind, int tensors, int64_t elements, absl::string_view from, absl::string_view to) {
  Program program;
  program.mesh = FourRanks();
  Collective collective;
  collective.kind = kind;
  collective.axes = {AxisId(0)};
  for (int i = 0; i < tensors; ++i) {
    const auto add = [&](const std::string& name, absl::string_view layout) {
      const ValueId value = program.values.push_back({.name = absl::StrCat(name, i),
                                                      .type = {DType::kF32, {elements}},
                                                      .layout = *ParseLayout(layout, program.mesh),
                                                      .origin = OpId(i)});
      if (name == "in") {
        Compute source;
        source.output = value;
        program.steps.push_back({.action = source, .name = "source"});
      }
      return value;
    };
    const ValueId input = add("in", from);
    collective.transfers.push_back({.input = input, .output = add("out", to)});
  }
  program.steps.push_back({.action = std::move(collective), .name = "message"});
  return program;
}

// "in0 2147483648, 3 from out0 …"
std::string Text(const Program& program) {
  std::string text;
  for (const LargeCount& count : LargeCounts(program)) {
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    count.tensors > 1 ? absl::StrCat(count.tensors, " with ") : std::string(),
                    program.value(count.value).name, " ", count.elements);
  }
  return text;
}

TEST(ElementCountsTest, TheLargestPieceOfAValueCounts) {
  // Four pieces: whole tensors may be four times as large, and one element more makes the largest piece too large.
  EXPECT_EQ(Text(Message(CollectiveKind::kPermute, 1, 4 * kLimit, "[m0]", "[m0]")), "");
  EXPECT_EQ(Text(Message(CollectiveKind::kPermute, 1, 4 * kLimit + 1, "[m0]", "[m0]")),
            "in0 2147483648, out0 2147483648");
  EXPECT_EQ(Text(Message(CollectiveKind::kAllGather, 1, kLimit, "[m0]", "[-]")), "");
  EXPECT_EQ(Text(Message(CollectiveKind::kAllGather, 1, kLimit + 1, "[m0]", "[-]")), "out0 2147483648");
}

TEST(ElementCountsTest, TensorsOfOneMessageAreCountedTogether) {
  constexpr int64_t kHalf = kLimit / 2;
  EXPECT_EQ(Text(Message(CollectiveKind::kAllGather, 2, kHalf / 4 * 4, "[m0]", "[-]")), "");
  // Each part has a place for the largest piece.
  EXPECT_EQ(Text(Message(CollectiveKind::kAllGather, 2, kHalf / 4 * 4 + 1, "[m0]", "[-]")), "2 with out0 2147483648");
  EXPECT_EQ(Text(Message(CollectiveKind::kReduceScatter, 3, kHalf, "[-] partial(m0: sum)", "[m0]")),
            "3 with out0 3221225472");
}

TEST(ElementCountsTest, GapsBetweenTensorsOfAMergedAllReduceCount) {
  // Two tensors of 2^30 - 1 floats take 2^30 each, since 16 floats are one step of the alignment.
  constexpr int64_t kElements = (int64_t{1} << 30) - 1;
  EXPECT_EQ(Text(Message(CollectiveKind::kAllReduce, 2, kElements - 16, "[-] partial(m0: sum)", "[-]")), "");
  EXPECT_EQ(Text(Message(CollectiveKind::kAllReduce, 2, kElements, "[-] partial(m0: sum)", "[-]")),
            "2 with out0 2147483648");
}

}  // namespace
}  // namespace cleave::ir
