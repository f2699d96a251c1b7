// Labelled images as a source.
#include "runtime/data/images.h"

#include <array>
#include <cinttypes>
#include <utility>

namespace cleave::runtime {
namespace {

// One part's images, of which those that `draw` makes are there when they have been drawn.
class Images {
 public:
  explicit Images(LabelledImages all) : all_(std::move(all)), is_ready_(all_.labels.size(), all_.draw == nullptr) {}

  int64_t Bytes() const { return static_cast<int64_t>(all_.pixels.size() + all_.labels.size()); }
  const std::vector<uint8_t>& labels() const { return all_.labels; }
  const uint8_t* Pixels(int64_t image) const { return all_.pixels.data() + image * all_.rows * all_.columns; }

  void Draw(const std::vector<int64_t>& images) {
    std::vector<int64_t> missing;
    for (int64_t image : images) {
      if (!std::exchange(is_ready_[static_cast<size_t>(image)], uint8_t{1})) missing.push_back(image);
    }
    const auto count = static_cast<int64_t>(missing.size());
#pragma omp parallel for schedule(static) if (count > 1)
    for (int64_t i = 0; i < count; ++i) {
      const int64_t image = missing[static_cast<size_t>(i)];
      all_.draw(image, all_.pixels.data() + image * all_.rows * all_.columns);
    }
  }

 private:
  LabelledImages all_;
  std::vector<uint8_t> is_ready_;
};

class ImageSource final : public Source {
 public:
  ImageSource(LabelledImages train, LabelledImages test) : train_(std::move(train)), test_(std::move(test)) {
    for (size_t pixel = 0; pixel < normalised_.size(); ++pixel)
      normalised_[pixel] = NormalisedPixel(static_cast<int>(pixel));
  }

  int64_t Samples(DataSplit split) const override { return static_cast<int64_t>(Of(split).labels().size()); }

  int64_t Bytes() const override { return train_.Bytes() + test_.Bytes(); }

  bool HasToPrepare() const override { return true; }
  void Prepare(int field, const std::vector<Sample>& samples) override {
    if (field != kImage) return;
    for (const DataSplit split : {DataSplit::kTrain, DataSplit::kTest}) {
      std::vector<int64_t> images;
      for (const Sample& sample : samples) {
        if (sample.split == split) images.push_back(sample.number);
      }
      (split == DataSplit::kTrain ? train_ : test_).Draw(images);
    }
  }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const Images& images = Of(sample.split);
    if (field == kImage) {
      const uint8_t* pixels = images.Pixels(sample.number);
      WriteRow(input, row, [&](int64_t element) { return normalised_[pixels[element]]; });
    } else {
      WriteRow(input, row, [&](int64_t) { return images.labels()[static_cast<size_t>(sample.number)]; });
    }
    return std::nullopt;
  }

 private:
  const Images& Of(DataSplit split) const { return split == DataSplit::kTrain ? train_ : test_; }

  Images train_;
  Images test_;
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
