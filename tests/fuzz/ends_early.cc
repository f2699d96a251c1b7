// For fuzz_test: a target that ends the process in the way that the input asks for.
#include <cstdint>
#include <cstdlib>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  switch (size == 0 ? '-' : data[0]) {
    case 'a':
      std::abort();
    case 'e':
      std::_Exit(70);
    case 'x':
      std::exit(0);
    case 't':
      return std::vector<int>().at(size);  // Throws.
    case 'm':
      return static_cast<int>(std::vector<char>(size << 40).size() % 2);
    default:
      return 0;
  }
}
