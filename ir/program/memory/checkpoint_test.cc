// Tests how much a rank writes of a checkpoint, by numbers that are computed by hand.
#include "ir/program/memory/checkpoint.h"

#include <string>

#include "gtest/gtest.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {
namespace {

// Six ranks, or two or three.
Mesh TestMesh() { return *Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 3}}); }

void AddSource(Program& program, OpKind kind, const Shape& shape, const std::string& layout) {
  const ValueId value = program.values.push_back(
      {.name = "v", .type = {DType::kF32, shape}, .layout = *ParseLayout(layout, program.mesh), .origin = OpId(0)});
  Compute compute;
  compute.kind = kind;
  compute.output = value;
  program.steps.push_back({.action = compute, .name = "v"});
}

int64_t Written(const Shape& shape, const std::string& layout, const Mesh& mesh = TestMesh(),
                OpKind kind = OpKind::kParameter) {
  Program program;
  program.mesh = mesh;
  AddSource(program, kind, shape, layout);
  return BytesWritten(program).value();
}

TEST(CheckpointTest, OneRankWritesAll) {
  EXPECT_EQ(Written({1000, 100}, "[-, -]", Mesh()), 400000);
  EXPECT_EQ(Written({}, "[]", Mesh()), 4);
}

TEST(CheckpointTest, ReplicasWriteALargeTensorTogether) {
  // 400,000 bytes are for six ranks: 167 rows of 400 bytes, and the last rank has 165.
  EXPECT_EQ(Written({1000, 100}, "[-, -]"), 167 * 400);
  // Of 12 ranks still six.
  EXPECT_EQ(Written({1000, 100}, "[-, -]", Mesh::OfDevices(12)), 167 * 400);
  EXPECT_EQ(Written({1000, 100}, "[-, -]", Mesh::OfDevices(4)), 250 * 400);
  EXPECT_EQ(Written({1000, 100}, "[-, -]", TestMesh(), OpKind::kState), 167 * 400);
}

TEST(CheckpointTest, OneOfThemWritesASmallTensor) {
  EXPECT_EQ(Written({}, "[]"), 4);
  EXPECT_EQ(Written({64, 64}, "[-, -]"), 64 * 64 * 4);
  // One rank for each 64 KiB.
  EXPECT_EQ(Written({32767}, "[-]"), 32767 * 4);
  EXPECT_EQ(Written({32768}, "[-]"), 16384 * 4);
}

TEST(CheckpointTest, RowsAreNotDivided) {
  EXPECT_EQ(Written({2, 100000}, "[-, -]"), 400000);
  EXPECT_EQ(Written({1, 100000}, "[-, -]"), 400000);
  EXPECT_EQ(Written({7, 65536}, "[-, -]", Mesh::OfDevices(2)), 4 * 65536 * 4);
}

TEST(CheckpointTest, OnlyRanksWithTheSamePieceShareIt) {
  // Pieces of 500 rows, each on three ranks.
  EXPECT_EQ(Written({1000, 100}, "[m0, -]"), 167 * 400);
  // Columns: 34 at most, on two ranks.
  EXPECT_EQ(Written({1000, 100}, "[-, m1]"), 500 * 34 * 4);
  EXPECT_EQ(Written({1000, 100}, "[m1, m0]"), 334 * 50 * 4);
  EXPECT_EQ(Written({1000, 100}, "[m0 m1, -]"), 167 * 400);
  // Small pieces of a large tensor are written whole.
  EXPECT_EQ(Written({300, 100}, "[m1, -]"), 100 * 400);
}

TEST(CheckpointTest, TheLargestPieceCounts) {
  // Three and four rows of 256 KiB.
  EXPECT_EQ(Written({7, 65536}, "[m0, -]", *Mesh::Create({{.name = "m0", .size = 2}})), 4 * 65536 * 4);
  // Two of three ranks have none.
  EXPECT_EQ(Written({1, 65536}, "[m1, -]"), 65536 * 4);
}

TEST(CheckpointTest, MicroBatchesAreNoReplicas) {
  Program program;
  program.mesh = *Mesh::Create({{.name = "m0", .size = 2}, {.name = "time", .size = 8}});
  program.time = AxisId(1);
  AddSource(program, OpKind::kParameter, {1000, 100}, "[-, -]");
  EXPECT_EQ(BytesWritten(program), Bytes(500 * 400));
}

TEST(CheckpointTest, RanksOfAManualModelWriteTheirOwn) {
  Program program;
  program.mesh = TestMesh();
  program.is_manual = true;
  AddSource(program, OpKind::kParameter, {1000, 100}, "[-, -]");
  EXPECT_EQ(BytesWritten(program), Bytes(1000 * 400));
}

TEST(CheckpointTest, ParametersAndStatesAreWrittenAndNothingElse) {
  Program program;
  program.mesh = TestMesh();
  AddSource(program, OpKind::kParameter, {1000, 100}, "[-, -]");
  AddSource(program, OpKind::kState, {1000, 100}, "[m0 m1, -]");
  AddSource(program, OpKind::kState, {}, "[]");
  AddSource(program, OpKind::kInput, {1000, 100}, "[m0, -]");
  AddSource(program, OpKind::kConstant, {1000, 100}, "[-, -]");
  EXPECT_EQ(BytesWritten(program), Bytes(2 * 167 * 400 + 4));
}

}  // namespace
}  // namespace cleave::ir
