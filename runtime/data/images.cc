// Labelled images as a source, and the four files of MNIST.
#include "runtime/data/images.h"

#include <array>
#include <cinttypes>
#include <utility>

#include "runtime/data/idx.h"

namespace cleave::runtime {
namespace {

constexpr int kImage = 0;

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

Result<LabelledImages> ReadImages(const std::string& folder, const std::string& prefix, int64_t limit) {
  const std::string images_path = folder + "/" + prefix + "-images-idx3-ubyte";
  const std::string labels_path = folder + "/" + prefix + "-labels-idx1-ubyte";
  Result<Idx> images = ReadIdx(images_path, 3);
  Result<Idx> labels = ReadIdx(labels_path, 1);
  std::string mistakes;
  if (!images.ok()) mistakes = images.error().message;
  if (!labels.ok()) mistakes += (mistakes.empty() ? "" : "\nerror: ") + labels.error().message;
  if (!mistakes.empty()) return Error{ExitCode::kInput, mistakes};
  if (images.value().sizes[0] != labels.value().sizes[0]) {
    return Error{ExitCode::kInput,
                 Format("`%s` has %" PRId64 " images, `%s` has %" PRId64 " labels", images_path.c_str(),
                        images.value().sizes[0], labels_path.c_str(), labels.value().sizes[0])};
  }
  const std::vector<uint8_t>& values = labels.value().values;
  for (size_t i = 0; limit > 0 && i < values.size(); ++i) {
    if (values[i] < limit) continue;
    return Error{ExitCode::kInput,
                 Format("label %d at index %zu of `%s` is out of range: the model has %" PRId64 " classes", values[i],
                        i, labels_path.c_str(), limit)};
  }
  return LabelledImages{images.value().sizes[1], images.value().sizes[2], std::move(images.value().values),
                        std::move(labels.value().values)};
}

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
      if (input.floats == nullptr) {
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

Result<OpenedSource> OpenMnist(const OpenRequest& request) {
  const Result<std::vector<int>> fields = MatchFields("mnist", {"image", "label"}, request.inputs);
  if (!fields.ok()) return fields.error();
  int64_t limit = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (fields.value()[i] != kImage) limit = request.inputs[i].limit;
  }
  Result<LabelledImages> train = ReadImages(request.spec.path, "train", limit);
  Result<LabelledImages> test = ReadImages(request.spec.path, "t10k", limit);
  if (!train.ok() && !test.ok())
    return Error{ExitCode::kInput, train.error().message + "\nerror: " + test.error().message};
  if (!train.ok()) return train.error();
  if (!test.ok()) return test.error();
  return MakeImageSource(Format("mnist `%s`", request.spec.path.c_str()), request, std::move(train.value()),
                         std::move(test.value()));
}

Result<OpenedSource> OpenDigits(const OpenRequest& request) {
  constexpr int64_t kClasses = 10;
  for (const ModelInput& input : request.inputs) {
    if (input.integers != nullptr && input.limit > 0 && input.limit < kClasses) {
      return Error{ExitCode::kInput, Format("input %s with %" PRId64 " classes; digits has %" PRId64,
                                            Describe(input).c_str(), input.limit, kClasses)};
    }
  }
  const int64_t train = request.spec.train_samples;
  return MakeImageSource("digits", request, DrawDigits(request.seed, 0, train),
                         DrawDigits(request.seed, train, request.spec.test_samples));
}

}  // namespace cleave::runtime
