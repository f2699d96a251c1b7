#include "ir/graph/training/samples.h"

namespace cleave::ir {
namespace {

std::optional<MadeSamples> Untold(const DataSource& data) {
  if (data.kind == "digits") return MadeSamples{.train = 20000, .test = 4000};
  if (data.kind == "custom") return MadeSamples{};
  if (data.kind == "synthetic") return MadeSamples{.train = 8192, .test = 0};
  return std::nullopt;
}

}  // namespace

std::optional<MadeSamples> MadeSamplesOf(const DataSource& data) {
  std::optional<MadeSamples> made = Untold(data);
  if (!made.has_value()) return std::nullopt;
  const auto tell = [&](const char* name, int64_t& samples) {
    const auto found = data.numbers.find(name);
    if (found != data.numbers.end()) samples = static_cast<int64_t>(found->second);
  };
  tell("train", made->train);
  tell("test", made->test);
  return made;
}

const DataSource* CustomDataOf(const DataSource& data) {
  if (data.kind == "custom") return &data;
  for (const DataSource& part : data.parts) {
    if (const DataSource* custom = CustomDataOf(part)) return custom;
  }
  return nullptr;
}

}  // namespace cleave::ir
