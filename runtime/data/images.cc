// Labelled images as a source.
#include "runtime/data/images.h"

#include <array>
#include <cinttypes>
#include <utility>

namespace cleave::runtime {
namespace {

class ImageSource final : public Source {
 public:
  ImageSource(LabelledImages train, LabelledImages test) : train_(std::move(train)), test_(std::move(test)) {
    for (size_t pixel = 0; pixel < normalised_.size(); ++pixel)
      normalised_[pixel] = NormalisedPixel(static_cast<int>(pixel));
  }

  int64_t Samples(Part part) const override { return static_cast<int64_t>(Images(part).labels.size()); }

  int64_t Bytes() const override {
    return static_cast<int64_t>(train_.pixels.size() + train_.labels.size() + test_.pixels.size() +
                                test_.labels.size());
  }

  void Read(Part part, int64_t sample, int field, const ModelInput& input, int64_t row) const override {
    const LabelledImages& images = Images(part);
    if (field != kImage)
      return WriteRow(input, row, [&](int64_t) { return images.labels[static_cast<size_t>(sample)]; });
    const uint8_t* pixels = images.pixels.data() + sample * images.rows * images.columns;
    WriteRow(input, row, [&](int64_t element) { return normalised_[pixels[element]]; });
  }

 private:
  const LabelledImages& Images(Part part) const { return part == Part::kTrain ? train_ : test_; }

  const LabelledImages train_;
  const LabelledImages test_;
  std::array<float, 256> normalised_;
};

}  // namespace

Result<OpenedSource> MakeImageSource(const std::string& name, const OpenRequest& request, LabelledImages train,
                                     LabelledImages test) {
  Result<std::vector<int>> fields = MatchFields(name, {"image", "label"}, request.inputs);
  if (!fields.ok()) return fields.error();
  if (train.rows != test.rows || train.columns != test.columns) {
    return Error{ExitCode::kInput,
                 Format("%s has training images of %" PRId64 "x%" PRId64 " and test images of %" PRId64 "x%" PRId64,
                        name.c_str(), train.rows, train.columns, test.rows, test.columns)};
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const ModelInput& input = request.inputs[i];
    const int64_t elements = ElementsPerSample(input.region);
    if (fields.value()[i] == kImage) {
      if (!input.is_float) {
        return Error{ExitCode::kInput,
                     Format("input %s; the images of %s are f32", Describe(input).c_str(), name.c_str())};
      }
      if (elements != train.rows * train.columns) {
        return Error{ExitCode::kInput, Format("input %s, %" PRId64 " values per sample; the images of %s are %" PRId64
                                              "x%" PRId64 " = %" PRId64,
                                              Describe(input).c_str(), elements, name.c_str(), train.rows,
                                              train.columns, train.rows * train.columns)};
      }
    } else if (elements != 1) {
      return Error{ExitCode::kInput, Format("input %s, %" PRId64 " values per sample; %s has one label per sample",
                                            Describe(input).c_str(), elements, name.c_str())};
    }
  }
  return OpenedSource{std::make_unique<ImageSource>(std::move(train), std::move(test)), fields.value()};
}

}  // namespace cleave::runtime
