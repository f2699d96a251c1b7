// A safetensors file: it is refused, or all of its tensors can be read, and its header can be written again.
#include "runtime/safetensors/safetensors.h"

#include <cstdlib>
#include <vector>

#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave::runtime;
  static auto& input = *new cleave::tests::fuzz::InputFile;
  input.Write(data, size);
  const auto file = SafetensorsFile::Open(input.path());
  if (!file.ok()) {
    if (file.error().message.empty()) std::abort();
    return 0;
  }
  int64_t tensor_bytes = 0;
  for (const SafetensorsEntry& entry : file.value().entries()) {
    std::vector<char> bytes(static_cast<size_t>(entry.bytes));
    if (file.value().Find(entry.name) != &entry) std::abort();
    if (file.value().Read(entry.offset, entry.bytes, bytes.data()).has_value()) std::abort();
    tensor_bytes += entry.bytes;
  }
  for (const auto& [name, text] : file.value().metadata()) {
    if (file.value().FindMetadata(name) != &text) std::abort();
  }
  std::vector<SafetensorsEntry> entries = file.value().entries();
  const std::string header = SafetensorsHeader(entries, file.value().metadata()).value();
  input.Write(header + std::string(static_cast<size_t>(tensor_bytes), 'x'));
  const auto again = SafetensorsFile::Open(input.path());
  if (!again.ok() || again.value().metadata() != file.value().metadata()) std::abort();
  for (const SafetensorsEntry& entry : entries) {
    const SafetensorsEntry* const read = again.value().Find(entry.name);
    if (read == nullptr || read->offset != entry.offset || read->shape != entry.shape) std::abort();
  }
  return 0;
}
