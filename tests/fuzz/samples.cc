// Files of samples. The first byte says which: one of the four of MNIST, a text, the inputs or the classes of a pair of
// .npy files, a table, tokens as numbers, or tensors; the other files are good ones. The data is refused, or two
// batches of it can be loaded.
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/data/csv.h"
#include "runtime/data/data.h"
#include "runtime/data/mnist.h"
#include "runtime/data/npy.h"
#include "runtime/data/tensor_files.h"
#include "runtime/data/token_files.h"
#include "runtime/data/tokens.h"
#include "tests/fuzz/input.h"

namespace {

using namespace cleave::runtime;

constexpr size_t kMnistFiles = 4;
constexpr size_t kTokens = 4;
constexpr size_t kTable = 7;
constexpr size_t kNumbers = 8;
constexpr size_t kTensors = 9;
constexpr size_t kFiles = 10;

std::string Bytes(std::initializer_list<uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::string Npy(const std::string& type, const std::string& shape, size_t bytes) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  return Bytes({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0}) + header + "\n" + std::string(bytes, '\0');
}

std::string Tensors(const std::string& header, size_t bytes) {
  return Bytes({static_cast<uint8_t>(header.size()), 0, 0, 0, 0, 0, 0, 0}) + header + std::string(bytes, '\0');
}

std::array<std::string, kFiles> GoodFiles() {
  const std::string images = Bytes({0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 2}) + std::string(16, '\x7f');
  const std::string labels = Bytes({0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 2, 3});
  return {images,
          labels,
          images,
          labels,
          "so many words, so few samples",
          Npy("<f4", "(4, 3)", 48),
          Npy("<i8", "(4,)", 32),
          "a,b,c,y\n1,2,3,0\n4,\"5\",6,1\n7,8,x,2\n1,1,1,3\n",
          Bytes({0x88, 0xD7, 0x34, 0x01, 1, 0, 0, 0, 20, 0, 0, 0}) + std::string(1012 + 40, '\0'),
          Tensors("{\"x\":{\"dtype\":\"U8\",\"shape\":[4,3],\"data_offsets\":[0,12]},"
                  "\"y\":{\"dtype\":\"I16\",\"shape\":[4],\"data_offsets\":[12,20]}}",
                  20)};
}

// The files, and a folder in which those of MNIST have their names.
struct Files {
  Files() : good(GoodFiles()) {
    char name[] = "/tmp/cleave_samples_XXXXXX";
    folder = mkdtemp(name);
    const char* const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                 "t10k-labels-idx1-ubyte"};
    for (size_t i = 0; i < kFiles; ++i) files[i].Write(good[i]);
    for (size_t i = 0; i < kMnistFiles; ++i) {
      if (symlink(files[i].path().c_str(), (folder + "/" + names[i]).c_str()) != 0) abort();
    }
    atexit([] { std::filesystem::remove_all(Get().folder); });
  }

  static Files& Get() {
    static auto& files = *new Files;
    return files;
  }

  std::array<std::string, kFiles> good;
  std::array<cleave::tests::fuzz::InputFile, kFiles> files;
  std::string folder;
};

void Load(const DataSpec& spec, std::vector<ModelInput> inputs) {
  const auto batches = Batches::Open(spec, std::move(inputs), 1);
  if (!batches.ok()) {
    if (batches.error().message.empty()) abort();
    return;
  }
  batches.value()->LoadTraining(0);
  for (const DataPart part : {DataPart::kValidation, DataPart::kTest}) {
    const int64_t count = batches.value()->batches(part);
    if (count > 0) batches.value()->LoadPart(part, count - 1);
  }
}

Region Whole(std::vector<int64_t> shape) { return {shape, std::vector<int64_t>(shape.size(), 0), shape}; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Files& files = Files::Get();
  const size_t which = data[0] % kFiles;
  files.files[which].Write(data + 1, size - 1);

  float floats[8];
  int32_t integers[8], next[8];
  if (which < kMnistFiles) {
    Load(Mnist(files.folder), {{"image", Whole({2, 1, 2, 2}), floats}, {"label", Whole({2}), integers, 10}});
  } else if (which == kTokens) {
    Load(Tokens(files.files[which].path()),
         {{"tokens", Whole({2, 4}), integers, 20}, {"next", Whole({2, 4}), next, 20}});
  } else if (which == kNumbers) {
    Load(TokenFiles({{"train", files.files[which].path()}}, size % 3 == 0 ? 0 : 16),
         {{"tokens", Whole({2, 4}), integers, 20}, {"next", Whole({2, 4}), next, 20}});
  } else if (which == kTable) {
    Load(Csv({{"train", files.files[which].path()}}, {{"x", {"*"}}, {"y", {"y"}}}, 1),
         {{"x", Whole({2, 3}), floats}, {"y", Whole({2}), integers, 10}});
  } else if (which == kTensors) {
    Load(TensorFiles({{"train", files.files[which].path()}}, {{"x", {"x"}}, {"y", {"y"}}}),
         {{"x", Whole({2, 3}), floats}, {"y", Whole({2}), integers, 10}});
  } else {
    Load(cleave::runtime::Npy({{"x", files.files[5].path()}, {"y", files.files[6].path()}}),
         {{"x", Whole({2, 3}), floats}, {"y", Whole({2}), integers, 10}});
  }
  files.files[which].Write(files.good[which]);
  return 0;
}
