// The four files of MNIST.
#include "runtime/data/mnist.h"

#include <cinttypes>
#include <utility>

#include "runtime/data/idx.h"
#include "runtime/data/images.h"

namespace cleave::runtime {
namespace {

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
                        std::move(labels.value().values), nullptr};
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

}  // namespace

DataSpec Mnist(std::string folder) { return {"mnist", OpenMnist, std::move(folder), 0, 0}; }

}  // namespace cleave::runtime
