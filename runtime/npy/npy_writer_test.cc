#include "runtime/npy/npy_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>

#include "runtime/npy/npy.h"

namespace cleave::runtime {
namespace {

TEST(NpyWriter, WhatIsWrittenIsRead) {
  const std::string path = testing::TempDir() + "/written.npy";
  std::vector<float> values(7 * 6);
  std::iota(values.begin(), values.end(), 0.5f);
  {
    Result<NpyWriter> writer = NpyWriter::Create(path, true, {2, 3});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE(writer.value().Append(values.data(), 4).has_value());
    EXPECT_FALSE(writer.value().Append(values.data() + 4 * 6, 3).has_value());
    EXPECT_NE(access(path.c_str(), F_OK), 0);
    EXPECT_FALSE(writer.value().Finish().has_value());
    EXPECT_EQ(writer.value().shape(), (std::vector<int64_t>{7, 2, 3}));
  }
  const Result<NpyFile> file = NpyFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file.value().TypeText(), "float32[7, 2, 3]");
  std::vector<float> read(values.size());
  EXPECT_FALSE(file.value().ReadRun(0, static_cast<int64_t>(read.size()), read.data()).has_value());
  EXPECT_EQ(read, values);
}

TEST(NpyWriter, RowsMayBeScalarsAndNone) {
  const std::string path = testing::TempDir() + "/scalars.npy";
  for (const int64_t rows : {0, 3}) {
    Result<NpyWriter> writer = NpyWriter::Create(path, false, {});
    const std::vector<int32_t> values = {4, -5, 6};
    EXPECT_FALSE(writer.value().Append(values.data(), rows).has_value());
    EXPECT_FALSE(writer.value().Finish().has_value());
    const Result<NpyFile> file = NpyFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file.value().header().shape, (std::vector<int64_t>{rows}));
  }
}

TEST(NpyWriter, WhatIsNotFinishedIsNotThere) {
  const std::string path = testing::TempDir() + "/half.npy";
  { ASSERT_TRUE(NpyWriter::Create(path, true, {2}).ok()); }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_NE(access((path + ".unfinished").c_str(), F_OK), 0);
  const Result<NpyWriter> nowhere = NpyWriter::Create("/proc/none/x.npy", true, {2});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, ExitCode::kEnvironment);
}

}  // namespace
}  // namespace cleave::runtime
