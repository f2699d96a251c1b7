// Training that begins with the parameters of a file or a checkpoint.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/safetensors/safetensors.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

constexpr char kBegun[] = "tests/end_to_end/begun.model";
constexpr int64_t kWidth = 12;

LocalProgram OneRank() { return BuildLocal("begun", kBegun, {"--devices", "1"}); }

LocalProgram CutOnTwoRanks() {
  return BuildLocal("begun_cut", kBegun, {"--devices", "2", "--search", "data_parallel", "--set", "zero=3"});
}

// A parameter after training, and its values.
struct Trained {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// A folder with training of six steps and the checkpoint of step 3, made once.
const std::string& TrainedFolder() {
  static const auto* const folder = [] {
    const std::string out = FreshFolder("trained");
    const CommandResult ran = Train(OneRank(), out, "--steps 6 --checkpoint-every 3");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return new std::string(out);
  }();
  return *folder;
}

// The loss of the trained model.
double TrainedLoss() { return Losses(TrainedFolder()).at(3); }

std::string CheckpointOf(int64_t step) { return absl::StrCat(TrainedFolder(), "/checkpoints/step_", step); }

std::vector<Trained> TrainedParameters() {
  // One rank has written whole tensors.
  const auto file = runtime::SafetensorsFile::Open(CheckpointOf(3) + "/rank_0.safetensors");
  EXPECT_TRUE(file.ok());
  std::vector<Trained> parameters;
  for (const runtime::SafetensorsEntry& entry : file.value().entries()) {
    if (absl::StrContains(entry.name, ".momentum")) continue;
    Trained parameter = {entry.name, entry.shape, std::vector<float>(static_cast<size_t>(entry.bytes) / sizeof(float))};
    EXPECT_FALSE(file.value().Read(entry.offset, entry.bytes, parameter.values.data()).has_value());
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

// The upper 16 bits, of the nearest value.
uint16_t BFloat16Of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x8000u) >> 16);
}

// REQUIRES: the value is 0 or one that has a normal number in F16.
uint16_t Float16Of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude == 0) return 0;
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | ((magnitude + 0x1000u - (112u << 23)) >> 13));
}

template <typename T>
void Append(T value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string BytesOf(const Trained& parameter, const std::string& type) {
  std::string bytes;
  for (const float value : parameter.values) {
    if (type == "F16") Append(std::abs(value) < 0x1p-14f ? uint16_t{0} : Float16Of(value), bytes);
    if (type == "BF16") Append(BFloat16Of(value), bytes);
    if (type == "F32") Append(value, bytes);
    if (type == "F64") Append(static_cast<double>(value), bytes);
  }
  return bytes;
}

// A safetensors file with these parameters.
std::string WriteFile(const std::vector<Trained>& parameters, const std::string& type = "F32") {
  std::vector<runtime::SafetensorsEntry> entries;
  std::string values;
  for (const Trained& parameter : parameters) {
    const std::string bytes = BytesOf(parameter, type);
    entries.push_back({parameter.name, type, parameter.shape, 0, static_cast<int64_t>(bytes.size())});
    values += bytes;
  }
  const std::string path = FreshFolder("weights") + "/x.safetensors";
  std::ofstream(path, std::ios::binary) << runtime::SafetensorsHeader(entries, {}).value() << values;
  return path;
}

void WriteArray(const std::string& path, const Trained& parameter) {
  const std::string shape = absl::StrCat(absl::StrJoin(parameter.shape, ", "), parameter.shape.size() == 1 ? "," : "");
  std::string header = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (", shape, "), }");
  header.resize(117, ' ');
  std::ofstream(path, std::ios::binary) << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << "\n"
                                        << BytesOf(parameter, "F32");
}

// What a program says that begins with `params`, and its first loss.
struct Begun {
  CommandResult ran;
  double loss = -1;
};

Begun Begin(const LocalProgram& program, const std::string& flags) {
  const std::string out = FreshFolder("begun");
  Begun begun = {Train(program, out, absl::StrCat("--steps 1 ", flags))};
  if (begun.ran.exit_code == 0) begun.loss = Losses(out).at(0);
  return begun;
}

void ExpectMistake(const std::string& flags, int exit_code, const std::string& message) {
  for (const LocalProgram& program : {OneRank(), CutOnTwoRanks()}) {
    const Begun begun = Begin(program, flags);
    EXPECT_EQ(begun.ran.exit_code, exit_code) << begun.ran.out;
    EXPECT_TRUE(absl::StrContains(begun.ran.err, message)) << begun.ran.err;
    EXPECT_FALSE(absl::StrContains(begun.ran.out, "loss")) << begun.ran.out;
  }
}

TEST(Params, TheFirstLossIsThatOfTheTrainedModel) {
  const std::string file = WriteFile(TrainedParameters());
  ASSERT_FALSE(HasFailure());
  for (const std::string& params : {file, CheckpointOf(3)}) {
    const Begun one = Begin(OneRank(), "--params " + params);
    EXPECT_EQ(one.loss, TrainedLoss());
    EXPECT_EQ(one.ran.out.rfind(absl::StrCat("6 of 6 parameters begin with the values in `", params, "`\n"), 0), 0u)
        << one.ran.out;
    EXPECT_FALSE(absl::StrContains(one.ran.out, "there")) << one.ran.out;
    EXPECT_NEAR(Begin(CutOnTwoRanks(), "--params " + params).loss, TrainedLoss(), 1e-5);
  }
  EXPECT_NE(Begin(OneRank(), "").loss, TrainedLoss());
}

TEST(Params, OfAFolderTheLastCheckpoint) {
  const std::string folder = TrainedFolder() + "/checkpoints";
  const Begun last = Begin(OneRank(), "--params " + folder);
  EXPECT_TRUE(absl::StrContains(last.ran.out, folder + "/step_6`")) << last.ran.out;
  EXPECT_LT(last.loss, TrainedLoss());
}

TEST(Params, TheStateOfTheOptimizerIsNew) {
  const std::string out = FreshFolder("anew");
  ASSERT_EQ(Train(OneRank(), out, "--steps 3 --params " + CheckpointOf(3)).exit_code, 0);
  const std::vector<double> losses = Losses(out);
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses[0], TrainedLoss());
  EXPECT_NE(losses[1], Losses(TrainedFolder()).at(4)) << "momentum has been kept";
  EXPECT_TRUE(absl::StrContains(ReadText(out + "/metrics.jsonl"), "\"step\":1,"));
}

TEST(Params, OtherTypesOfFloats) {
  const std::vector<Trained> parameters = TrainedParameters();
  const LocalProgram two = CutOnTwoRanks();
  EXPECT_EQ(Begin(OneRank(), "--params " + WriteFile(parameters, "F64")).loss, TrainedLoss());
  EXPECT_NEAR(Begin(two, "--params " + WriteFile(parameters, "F16")).loss, TrainedLoss(), 1e-3);
  EXPECT_NEAR(Begin(two, "--params " + WriteFile(parameters, "BF16")).loss, TrainedLoss(), 1e-2);
}

TEST(Params, SaysWhatIsMissingAndWhatIsUnknown) {
  std::vector<Trained> parameters = TrainedParameters();
  ASSERT_EQ(parameters[0].name, "h.0.weight");
  parameters[0].name = "embedding";
  const std::string file = WriteFile(parameters);
  ExpectMistake("--params " + file, 3,
                "not all parameters are stored\n5 of 6 parameters begin with the values in `" + file +
                    "`\nnot there, so with initial values: `h.0.weight`\nthere, but not in the model: `embedding`\n"
                    "`--partial`, or `params = partial(\"PATH\")`, takes what is there\n");
  const Begun begun = Begin(CutOnTwoRanks(), "--partial --params " + file);
  EXPECT_TRUE(absl::StrContains(begun.ran.out, "5 of 6 parameters begin with the values in `")) << begun.ran.out;
  EXPECT_TRUE(absl::StrContains(begun.ran.out, "\nnot there, so with initial values: `h.0.weight`\n")) << begun.ran.out;
  EXPECT_TRUE(absl::StrContains(begun.ran.out, "\nthere, but not in the model: `embedding`\n")) << begun.ran.out;
}

TEST(Params, Mistakes) {
  ExpectMistake("--params /nowhere.safetensors", 3, "cannot read `/nowhere.safetensors`: No such file or directory");
  std::vector<Trained> parameters = TrainedParameters();
  const std::string cut = WriteFile(parameters);
  fs::resize_file(cut, fs::file_size(cut) - 1);
  ExpectMistake("--params " + cut, 3, "is truncated");
  std::vector<Trained> other = parameters;
  other[0].shape = {kWidth * kWidth};
  ExpectMistake("--params " + WriteFile(other), 3, "holds `h.0.weight` as F32[144], and the parameter is f32[12, 12]");
  for (Trained& parameter : parameters) parameter.name += "_of_another_model";
  ExpectMistake("--params " + WriteFile(parameters), 3, "has no parameter of the model");
  ExpectMistake(absl::StrCat("--params ", CheckpointOf(3), " --resume ", CheckpointOf(3)), 2,
                "`--params` begins anew with parameters alone, and `--resume` goes on from a checkpoint: give one");
}

TEST(Params, TheModelCanNameThem) {
  const std::string params = absl::StrCat("params=\"", CheckpointOf(3), "\"");
  const LocalProgram program = BuildLocal("begun_anew", kBegun, {"--devices", "1", "--set", params});
  EXPECT_EQ(Begin(program, "").loss, TrainedLoss());
  const Begun last = Begin(program, "--params " + CheckpointOf(6));
  EXPECT_TRUE(absl::StrContains(last.ran.out, CheckpointOf(6))) << last.ran.out;
  const std::string out = FreshFolder("resumed");
  const CommandResult resumed = Train(program, out, "--steps 8 --checkpoint-every 100 --resume " + CheckpointOf(6));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_FALSE(absl::StrContains(resumed.out, "parameters begin")) << resumed.out;
}

TEST(Params, FilesOfFunctionsHaveTheNamesOfTheirParameters) {
  const std::string folder = FreshFolder("from_arrays");
  fs::create_directories(folder + "/arrays");
  fs::copy_file(DataPath("tests/end_to_end/begun_from_arrays.model"), folder + "/begun.model");
  for (const Trained& parameter : TrainedParameters()) {
    WriteArray(absl::StrCat(folder, "/arrays/", parameter.name, ".npy"), parameter);
  }
  const TrainedModel trained = TrainModel("begun.model", {"--devices", "1"}, folder, 1);
  EXPECT_EQ(trained.diagnostics, "");
  ASSERT_EQ(trained.losses.size(), 1u);
  EXPECT_EQ(trained.losses[0], TrainedLoss());
}

}  // namespace
}  // namespace cleave::tests
