// Text of a model: the whole compiler, for two ranks. Whatever it says, it is never that it is wrong itself.
#include <iostream>

#include "base/check/check.h"
#include "tests/fuzz/input.h"
#include "tools/driver/driver.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  static auto& file = *new tests::fuzz::InputFile;
  file.Write(data, size);
  std::cout.setstate(std::ios::failbit);
  std::cerr.setstate(std::ios::failbit);
  tools::CompileOptions options;
  options.model = file.path();
  options.devices = 2;
  options.emit = tools::EmitStage::kSource;
  CLEAVE_CHECK(tools::RunCompiler(options) != tools::ExitCode::kInternal);
  return 0;
}
