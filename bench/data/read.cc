// Reads all samples of a source for one epoch and prints how many there were in a second of processor time.
//
//   read images FOLDER SHORTER_SIDE     read tokens FILE
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "runtime/data/data.h"
#include "runtime/data/image_folders.h"
#include "runtime/data/token_files.h"

namespace {

using namespace cleave::runtime;

constexpr int64_t kBatch = 64, kSide = 224, kLength = 1024;

void Measure(const DataSpec& spec, const std::vector<ModelInput>& inputs) {
  auto opened = Batches::Open(spec, inputs, 1);
  if (!opened.ok()) {
    std::fprintf(stderr, "error: %s\n", opened.error().message.c_str());
    std::exit(1);
  }
  Batches& batches = *opened.value();
  const std::clock_t start = std::clock();  // Of this process, whatever else the machine does.
  for (int64_t step = 0; step < batches.steps_per_epoch(); ++step) batches.LoadTraining(step);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%.2f\n", static_cast<double>(batches.steps_per_epoch() * kBatch) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "images") == 0) {
    std::vector<float> image(kBatch * 3 * kSide * kSide);
    std::vector<int32_t> label(kBatch);
    const ImageReading reading = {.shorter_side = std::atoi(argv[3]),
                                  .crop = ImageCrop::kRandom,
                                  .flip = true,
                                  .mean = {0.485f, 0.456f, 0.406f},
                                  .deviation = {0.229f, 0.224f, 0.225f}};
    Measure(ImageFolders({{"train", argv[2]}}, reading),
            {{"image", WholeRegion({kBatch, 3, kSide, kSide}), image.data()},
             {"label", WholeRegion({kBatch}), label.data()}});
  } else if (argc == 3 && std::strcmp(argv[1], "tokens") == 0) {
    std::vector<int32_t> tokens(kBatch * kLength), next(kBatch * kLength);
    Measure(TokenFiles({{"train", argv[2]}}, 16), {{"tokens", WholeRegion({kBatch, kLength}), tokens.data(), 65536},
                                                   {"next", WholeRegion({kBatch, kLength}), next.data(), 65536}});
  } else {
    std::fprintf(stderr, "usage: read images FOLDER SHORTER_SIDE | read tokens FILE\n");
    return 2;
  }
}
