#include "runtime/checkpoint/stored_parameters.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>

#include "runtime/checkpoint/writer.h"

namespace cleave::runtime {
namespace {

std::vector<float> Counted(int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class StoredParametersTest : public testing::Test {
 protected:
  StoredParametersTest() {
    char name[] = "/tmp/stored_parameters_test.XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~StoredParametersTest() override { EXPECT_EQ(std::system(("rm -rf " + folder_).c_str()), 0); }

  struct Tensor {
    std::string name;
    std::string type;
    std::vector<int64_t> shape;
    std::string bytes;
  };

  std::string WriteFile(const std::vector<Tensor>& tensors) const {
    std::vector<SafetensorsEntry> entries;
    std::string bytes;
    for (const Tensor& tensor : tensors) {
      entries.push_back({tensor.name, tensor.type, tensor.shape, 0, static_cast<int64_t>(tensor.bytes.size())});
      bytes += tensor.bytes;
    }
    const std::string path = folder_ + "/x.safetensors";
    std::ofstream(path, std::ios::binary) << SafetensorsHeader(entries, {}).value() << bytes;
    return path;
  }

  // A checkpoint of `w` with its state, and `b`, by two ranks that each hold half of `w`.
  void WriteCheckpoint(int64_t step) const {
    const Mesh mesh = {{"m0", 2}};
    std::vector<Shard> shards;
    std::vector<StateTensor> state;
    for (int64_t rank = 0; rank < 2; ++rank) {
      std::vector<float> w = Counted(6, static_cast<float>(100 * step + 6 * rank)), m(6, -1), b = {7, 8};
      state = {{"w", {{4, 3}, {{0}}}, w.data()}, {"w.adam_m", {{4, 3}, {{0}}}, m.data()}, {"b", {{2}}, b.data()}};
      ShardWriter writer(folder_, state, mesh, rank);
      writer.Start(step);
      Result<Shard> shard = writer.Take();
      ASSERT_TRUE(shard.ok());
      shards.push_back(shard.value());
    }
    ASSERT_FALSE(Complete(folder_, {.model = "Net", .step = step}, mesh, state, shards, 3).has_value());
  }

  // The message with the folder as F.
  std::string Shortened(std::string text) const {
    for (size_t at = text.find(folder_); at != std::string::npos; at = text.find(folder_))
      text.replace(at, folder_.size(), "F");
    return text;
  }

  std::string Mistake(const Error& error) const {
    EXPECT_EQ(error.code, ExitCode::kInput);
    return Shortened(error.message);
  }

  // The lines about what was read, or the error.
  std::string Read(const std::string& path, const std::vector<StateTensor>& parameters, const Mesh& mesh = {},
                   int64_t rank = 0) const {
    const std::string chosen = StoredParametersPath(path);
    const Result<StoredParameters> stored = StoredParameters::Open(chosen);
    if (!stored.ok()) return Mistake(stored.error());
    const Result<MatchedParameters> matched = stored.value().Match(parameters, mesh);
    if (!matched.ok()) return Mistake(matched.error());
    if (auto error = stored.value().Load(matched.value().found, mesh, rank)) return Mistake(*error);
    return Shortened(Joined(matched.value().Lines(chosen)));
  }

  std::string folder_;
};

TEST_F(StoredParametersTest, WholeNumbersAreReadAsTheyAre) {
  const std::string path = WriteFile({{"seen", "I32", {4}, BytesOf(std::vector<int32_t>{1, 2, 16777217, -4})}});
  std::vector<int32_t> half(2);
  EXPECT_EQ(Read(path, {{"seen", {{4}, {{0}}}, half.data()}}, {{"m0", 2}}, 1),
            "1 of 1 parameters begin with the values in `F/x.safetensors`\n");
  EXPECT_EQ(half, (std::vector<int32_t>{16777217, -4}));
  std::vector<float> floats(4);
  EXPECT_EQ(Read(path, {{"seen", {{4}}, floats.data()}}),
            "`F/x.safetensors` holds `seen` as I32[4], and the parameter is f32[4]");
  const std::string of_floats = WriteFile({{"seen", "F32", {2}, BytesOf(std::vector<float>{1, 2})}});
  EXPECT_EQ(Read(of_floats, {{"seen", {{2}}, half.data()}}),
            "`F/x.safetensors` holds `seen` as F32[2], and the state is i32[2]");
}

TEST_F(StoredParametersTest, EachRankReadsItsPiecesOfAFile) {
  const std::string path = WriteFile({{"w", "F32", {4, 3}, BytesOf(Counted(12, 0))},
                                      {"h", "F16", {2}, BytesOf(std::vector<uint16_t>{0x3C00, 0xC000})},
                                      {"b", "BF16", {2}, BytesOf(std::vector<uint16_t>{0x3F80, 0x4040})},
                                      {"s", "F64", {}, BytesOf(std::vector<double>{0.1})}});
  const Mesh mesh = {{"m0", 2}};
  for (int64_t rank = 0; rank < 2; ++rank) {
    std::vector<float> w(6), rows(6), h(1), b(2), s(1);
    EXPECT_EQ(Read(path,
                   {{"w", {{4, 3}, {{0}}}, w.data()},
                    {"h", {{2}, {{0}}}, h.data()},
                    {"b", {{2}}, b.data()},
                    {"s", {{}}, s.data()}},
                   mesh, rank),
              "4 of 4 parameters begin with the values in `F/x.safetensors`\n");
    EXPECT_EQ(w, Counted(6, static_cast<float>(6 * rank)));
    EXPECT_EQ(h, std::vector<float>{rank == 0 ? 1.0f : -2.0f});
    EXPECT_EQ(b, (std::vector<float>{1, 3}));
    EXPECT_EQ(s, std::vector<float>{0.1f});
  }
}

TEST_F(StoredParametersTest, ATensorOfEachRankHasADimensionMore) {
  const std::string path = WriteFile({{"w", "F32", {2, 3}, BytesOf(Counted(6, 0))}});
  for (int64_t rank = 0; rank < 2; ++rank) {
    std::vector<float> w(3);
    EXPECT_EQ(Read(path, {{"w", {{3}, {}, /*is_local=*/true}, w.data()}}, {{"m0", 2}}, rank),
              "1 of 1 parameters begin with the values in `F/x.safetensors`\n");
    EXPECT_EQ(w, Counted(3, static_cast<float>(3 * rank)));
  }
}

TEST_F(StoredParametersTest, SaysWhatDoesNotMatch) {
  const std::string path = WriteFile({{"w", "F32", {2}, BytesOf(Counted(2, 5))},
                                      {"w.momentum", "F32", {2}, BytesOf(Counted(2, 0))},
                                      {"mask\n", "BOOL", {1}, "x"}});
  std::vector<float> w(2), b = {9};
  EXPECT_EQ(Read(path, {{"b", {{1}}, b.data()}, {"w", {{2}}, w.data()}, {"head", {{1}}, b.data()}}),
            "1 of 3 parameters begin with the values in `F/x.safetensors`\n"
            "not there, so with initial values: `b`, `head`\n"
            "there, but not in the model: `w.momentum`, `mask\\u000a`\n");
  EXPECT_EQ(w, (std::vector<float>{5, 6}));
  EXPECT_EQ(b, std::vector<float>{9});
}

TEST_F(StoredParametersTest, ACheckpointHasParametersAndStates) {
  WriteCheckpoint(1);
  WriteCheckpoint(2);
  const Mesh mesh = {{"m0", 3}};
  for (int64_t rank = 0; rank < 3; ++rank) {
    std::vector<float> w(4), b(2);
    // Columns, on ranks that are others than those that wrote rows.
    const std::vector<StateTensor> parameters = {{"w", {{4, 3}, {{}, {0}}}, w.data()}, {"b", {{2}}, b.data()}};
    EXPECT_EQ(Read(folder_, parameters, mesh, rank), "2 of 2 parameters begin with the values in `F/step_2`\n");
    const auto first = static_cast<float>(200 + rank);
    EXPECT_EQ(w, (std::vector<float>{first, first + 3, first + 6, first + 9}));
    EXPECT_EQ(b, (std::vector<float>{7, 8}));
    EXPECT_EQ(Read(folder_ + "/step_1", parameters, mesh, rank),
              "2 of 2 parameters begin with the values in `F/step_1`\n");
    EXPECT_EQ(w[0], static_cast<float>(100 + rank));
  }
}

// What stays as it is in a file is not written again, and read from there on any ranks.
TEST_F(StoredParametersTest, ACheckpointMayNeedAFile) {
  const std::vector<float> frozen = Counted(12, 5);
  const std::string path =
      WriteFile({{"w", "F32", {4, 3}, BytesOf(frozen)}, {"b", "F32", {2}, BytesOf(Counted(2, 0))}});
  std::vector<float> b = {7, 8}, half(6), other(2);
  const std::vector<StateTensor> unchanged = {{"w", {{4, 3}}}, {"random", {{3}}}};
  std::optional<CheckpointBase> base =
      StoredParameters::Open(path).value().BaseOf(unchanged, folder_ + "/run/checkpoints").value();
  ASSERT_TRUE(base.has_value());
  ASSERT_EQ(base->tensors.size(), 1u) << "the file has no `random`";
  EXPECT_EQ(base->beside, "../../x.safetensors");
  const auto save = [&](const std::string& folder) {
    const std::vector<StateTensor> state = {{"b", {{2}}, b.data()}};
    ShardWriter writer(folder, state, {}, 0);
    writer.Start(1);
    EXPECT_FALSE(Complete(folder, {.model = "Net", .step = 1, .base = base}, {}, state, {writer.Take().value()}, 3));
  };
  const std::string folder = folder_ + "/run/checkpoints";
  save(folder);
  const Mesh mesh = {{"m0", 2}};
  const std::vector<StateTensor> state = {{"w", {{4, 3}, {{0}}}, half.data()}, {"b", {{2}}, other.data()}};
  const auto load = [&]() -> std::optional<Error> {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(folder_ + "/run/checkpoints/step_1");
    if (!checkpoint.ok()) return checkpoint.error();
    if (auto error = checkpoint.value().CheckFits(state, mesh)) return error;
    return checkpoint.value().Load(state, mesh, /*rank=*/1);
  };
  ASSERT_FALSE(load().has_value()) << load()->message;
  EXPECT_EQ(half, Counted(6, 11));
  EXPECT_EQ(other, b);
  // What such a checkpoint reads from a file stays there when training begins with it.
  const Result<StoredParameters> again = StoredParameters::Open(folder + "/step_1");
  EXPECT_EQ(again.value().BaseOf(unchanged, "/other/checkpoints").value()->path, base->path);
  // Both were moved.
  EXPECT_EQ(std::rename(folder_.c_str(), (folder_ + "_moved").c_str()), 0);
  folder_ += "_moved";
  half.assign(6, 0);
  ASSERT_FALSE(load().has_value()) << load()->message;
  EXPECT_EQ(half, Counted(6, 11));
  // Another file, and none.
  WriteFile({{"w", "F32", {4, 3}, BytesOf(Counted(12, 6))}});
  EXPECT_NE(load()->message.find("is not the file with whose weights the training of"), std::string::npos);
  WriteFile({{"v", "F32", {4, 3}, BytesOf(frozen)}});
  EXPECT_NE(load()->message.find("does not have `w`"), std::string::npos);
  std::remove((folder_ + "/x.safetensors").c_str());
  EXPECT_NE(load()->message.find("which has the weights that were not trained: it is neither there nor at"),
            std::string::npos)
      << load()->message;
}

TEST_F(StoredParametersTest, Mistakes) {
  std::vector<float> values(12);
  const std::vector<StateTensor> parameters = {{"w", {{4, 3}}, values.data()}, {"b", {{2}}, values.data()}};
  EXPECT_EQ(Read(folder_ + "/x.safetensors", parameters), "cannot read `F/x.safetensors`: No such file or directory");
  EXPECT_EQ(Read(folder_, parameters),
            "no checkpoint is in `F`; parameters are read from a safetensors file or a checkpoint");
  const std::string path = WriteFile(
      {{"w", "F32", {3, 4}, BytesOf(Counted(12, 0))}, {"b", "I64", {2}, BytesOf(std::vector<int64_t>{1, 2})}});
  EXPECT_EQ(Read(path, parameters),
            "`F/x.safetensors` holds `w` as F32[3, 4], and the parameter is f32[4, 3]\n"
            "error: `F/x.safetensors` holds `b` as I64[2], and the parameter is f32[2]");
  WriteFile({{"a", "F32", {2}, BytesOf(Counted(2, 0))}});
  EXPECT_EQ(Read(path, parameters),
            "`F/x.safetensors` has no parameter of the model; it has `a`, and the parameters are `w`, `b`");
  WriteFile({});
  EXPECT_EQ(Read(path, parameters),
            "`F/x.safetensors` has no parameter of the model; it has none, and the parameters are `w`, `b`");
  WriteFile({{"w", "F32", {4, 3}, BytesOf(Counted(12, 0)).substr(0, 47)}});
  EXPECT_EQ(Read(path, parameters).rfind("tensor `w` of `F/x.safetensors` takes 48 bytes", 0), 0u);
  WriteCheckpoint(1);
  std::fstream shard(folder_ + "/step_1/rank_0.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  shard.seekp(-1, std::ios::end);
  shard.put('\x7f');
  shard.close();
  EXPECT_EQ(Read(folder_, parameters).rfind("`F/step_1/rank_0.safetensors` is damaged", 0), 0u);
}

// A matrix of which a program has numbers and scales: the same of whole rows, however ranks cut it.
TEST_F(StoredParametersTest, MatricesIn8Bits) {
  const std::string path = WriteFile(
      {{"w", "F32", {3, 4}, BytesOf(std::vector<float>{1.27f, -0.025f, 0.5f, 0, 0, 0, 0, 0, -2.54f, 2, 0.03f, 1})}});
  const std::vector<int> numbers = {127, -2, 50, 0, 0, 0, 0, 0, -127, 100, 2, 50};
  const std::vector<float> scales = {0.01f, 0, 0.02f};
  const Mesh mesh = {{"m0", 2}};
  std::vector<Shard> shards;
  std::vector<StateTensor> state;
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<int8_t> own(6);
    std::vector<float> all(3);
    const MatrixPart part = {.matrix = "w", .columns = 4};
    MatrixPart of_rows = part;
    of_rows.is_numbers = false;
    state = {{"w_scale", {{3, 1}}, all.data(), of_rows}, {"w_i8", {{3, 4}, {{}, {0}}}, own.data(), part}};
    EXPECT_EQ(Read(path, state, mesh, rank), "1 of 1 parameters begin with the values in `F/x.safetensors`\n");
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(own[i], numbers[i / 2 * 4 + 2 * static_cast<size_t>(rank) + i % 2]) << i;
    for (size_t row = 0; row < 3; ++row) EXPECT_NEAR(all[row], scales[row], 1e-9);
    ShardWriter writer(folder_, state, mesh, rank);
    writer.Start(2);
    Result<Shard> shard = writer.Take();
    ASSERT_TRUE(shard.ok());
    shards.push_back(shard.value());
  }
  ASSERT_FALSE(Complete(folder_, {.model = "Net", .step = 2}, mesh, state, shards, 3).has_value());
  // A checkpoint gives them back, and the matrix to what wants that.
  std::vector<int8_t> back(12);
  std::vector<float> half(6);
  EXPECT_EQ(Read(folder_, {{"w_i8", {{3, 4}}, back.data(), MatrixPart{.matrix = "w", .columns = 4}}}),
            "1 of 1 parameters begin with the values in `F/step_2`\n");
  EXPECT_EQ(std::vector<int>(back.begin(), back.end()), numbers);
  EXPECT_EQ(Read(folder_, {{"w", {{3, 4}, {{}, {0}}}, half.data()}}, mesh, 1),
            "1 of 1 parameters begin with the values in `F/step_2`\n");
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(half[i], numbers[i / 2 * 4 + 2 + i % 2] * scales[i / 2], 1e-6) << i;
  const Result<Checkpoint> checkpoint = Checkpoint::Open(folder_ + "/step_2");
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_EQ(checkpoint.value().tensors().size(), 1u);
  EXPECT_EQ(checkpoint.value().tensors()[0].name, "w");
}

}  // namespace
}  // namespace cleave::runtime
