// A .npy file: it is refused, or all of its values can be read.
#include "runtime/npy/npy.h"

#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/fuzz/input.h"

namespace {

template <typename Value>
void ReadAll(const cleave::runtime::NpyFile& file) {
  using namespace cleave::runtime;
  const std::vector<int64_t>& shape = file.header().shape;
  const Region all{shape, std::vector<int64_t>(shape.size(), 0), shape};
  const int64_t count = ElementCount(shape);
  std::vector<Value> values(static_cast<size_t>(count));
  std::vector<Value> run(static_cast<size_t>(count));
  const bool read = !file.Read(all, values.data()).has_value();
  const bool read_run = !file.ReadRun(0, count, run.data()).has_value();
  const bool fits = !file.CheckValues(0).has_value();
  if (read != read_run || (fits && !read)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave::runtime;
  static auto& input = *new cleave::tests::fuzz::InputFile;
  input.Write(data, size);
  const auto file = NpyFile::Open(input.path());
  if (!file.ok()) {
    if (file.error().message.empty()) std::abort();
    return 0;
  }
  const NpyFile& npy = file.value();
  if (npy.CheckFits("parameter `w`", npy.is_float(), npy.header().shape).has_value()) std::abort();
  npy.CheckFits("parameter `w`", true, {4, 4});
  npy.CheckFitsBatches("input `x`", false, {4, 4});
  npy.CheckValues(4);
  npy.is_float() ? ReadAll<float>(npy) : ReadAll<int32_t>(npy);
  return 0;
}
