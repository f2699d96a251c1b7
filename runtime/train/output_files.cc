#include "runtime/train/output_files.h"

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

template <typename T>
std::optional<Error> AppendAs(const OutputTensor& output, int64_t samples, NpyWriter& file) {
  const int64_t rows = output.shape[0];
  const auto count = static_cast<std::ptrdiff_t>(rows == 0 ? 0 : ElementCount(output.shape) / rows * samples);
  std::vector<T> values;
  values.reserve(static_cast<size_t>(count));
  for (auto at = output.values.begin(); at != output.values.begin() + count; ++at)
    values.push_back(static_cast<T>(*at));
  return file.Append(values.data(), samples);
}

}  // namespace

std::optional<Error> OutputFiles::Append(const std::vector<OutputTensor>& outputs, int64_t samples) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputTensor& output = outputs[i];
    if (i == files_.size()) {
      Result<NpyWriter> created =
          NpyWriter::Create(folder_ == "." ? output.name + ".npy" : folder_ + "/" + output.name + ".npy",
                            output.is_float, {output.shape.begin() + 1, output.shape.end()});
      if (!created.ok()) return created.error();
      files_.push_back(std::move(created.value()));
      types_.push_back(output.is_float ? "f32" : "i32");
    }
    const std::optional<Error> error =
        output.is_float ? AppendAs<float>(output, samples, files_[i]) : AppendAs<int32_t>(output, samples, files_[i]);
    if (error.has_value()) return error;
  }
  return std::nullopt;
}

std::optional<Error> OutputFiles::Finish() {
  for (NpyWriter& file : files_) {
    if (auto error = file.Finish()) return error;
  }
  return std::nullopt;
}

std::vector<std::string> OutputFiles::Lines() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < files_.size(); ++i) {
    lines.push_back(files_[i].path() + ": " + types_[i] + ShapeText(files_[i].shape()));
  }
  return lines;
}

}  // namespace cleave::runtime
