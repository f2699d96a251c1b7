// A mapping, and behind the first zero byte tensors, one a line, as `x.0.weight 4 2`: it is refused, or they get names
// and shapes of as many values in both directions.
#include "tools/weights/mapping.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/check/check.h"
#include "runtime/safetensors/safetensors.h"
#include "tests/fuzz/input.h"
#include "tools/weights/source.h"
#include "tools/weights/transfer.h"

namespace {

using namespace cleave;

// As files are read: those whose values cannot be counted are refused there.
std::vector<tools::WeightTensor> TensorsOf(const std::string& text) {
  std::vector<tools::WeightTensor> tensors;
  for (const std::string& line : tests::fuzz::Split(text, '\n')) {
    const std::vector<std::string> words = tests::fuzz::Split(line, ' ');
    tools::WeightTensor tensor = {.name = words[0], .type = "F32"};
    for (size_t i = 1; i < words.size(); ++i) {
      int64_t size = 0;
      if (absl::SimpleAtoi(words[i], &size)) tensor.shape.push_back(size);
    }
    const auto bytes = runtime::SafetensorsBytes("F32", tensor.shape);
    if (bytes.has_value()) tensors.push_back(tensor);
  }
  return tensors;
}

void CheckTransfer(const std::vector<tools::WeightTensor>& tensors, const tools::Mapping& mapping,
                   tools::Direction direction) {
  const auto transfer = tools::PlanTransfer("here", tensors, &mapping, {.direction = direction, .heads = 2});
  if (!transfer.ok()) {
    CLEAVE_CHECK(!transfer.error().message.empty());
    return;
  }
  for (const tools::Move& move : transfer.value().moves) {
    int64_t before = 0, after = 0;
    for (const tools::WeightTensor* const source : move.sources) before += tools::ValueCount(source->shape);
    for (const tools::OutputTensor& target : move.targets) after += tools::ValueCount(target.shape);
    CLEAVE_CHECK(before == after) << before << " become " << after;
  }
  tools::TransferText(transfer.value(), tools::WeightType::kBf16);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = tests::fuzz::Text(data, size);
  const size_t end = text.find('\0');
  const auto mapping = tools::ParseMapping("a mapping", text.substr(0, end));
  if (!mapping.ok()) return 0;
  const std::vector<tools::WeightTensor> tensors = TensorsOf(end == std::string::npos ? "" : text.substr(end + 1));
  for (const tools::MappingLine& line : mapping.value().lines) {
    for (const tools::WeightTensor& tensor : tensors) {
      const auto numbers = line.ours.has_value() ? line.ours->Match(tensor.name) : std::nullopt;
      if (numbers.has_value()) CLEAVE_CHECK(line.ours->Match(line.ours->Fill(*numbers)) == numbers) << tensor.name;
    }
  }
  CheckTransfer(tensors, mapping.value(), tools::Direction::kExport);
  CheckTransfer(tensors, mapping.value(), tools::Direction::kImport);
  return 0;
}
