#include "runtime/data/digits.h"

#include <cinttypes>

#include "runtime/data/images.h"
#include "runtime/digits/digits.h"

namespace cleave::runtime {
namespace {

// Samples first .. first + count - 1 of the stream that belongs to the seed.
LabelledImages DrawDigits(uint64_t seed, int64_t first, int64_t count) {
  LabelledImages images;
  images.pixels.resize(static_cast<size_t>(count) * kDigitSide * kDigitSide);
  for (int64_t i = 0; i < count; ++i) images.labels.push_back(DigitOf(seed, first + i));
  images.draw = [seed, first](int64_t image, uint8_t* pixels) { DrawDigit(seed, first + image, pixels); };
  return images;
}

Result<OpenedSource> OpenDigits(const OpenRequest& request) {
  for (const ModelInput& input : request.inputs) {
    if (!input.is_float && input.limit > 0 && input.limit < kDigitClasses) {
      return Error{ExitCode::kInput, Format("input %s with %" PRId64 " classes; digits has %d", Describe(input).c_str(),
                                            input.limit, kDigitClasses)};
    }
  }
  const int64_t train = request.spec.train_samples;
  return MakeImageSource("digits", request, DrawDigits(request.seed, 0, train),
                         DrawDigits(request.seed, train, request.spec.test_samples));
}

}  // namespace

DataSpec Digits(int64_t train_samples, int64_t test_samples) {
  return {"digits", OpenDigits, "", train_samples, test_samples};
}

}  // namespace cleave::runtime
