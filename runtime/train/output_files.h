// Private to runtime/train: the files of a program that predicts, NAME.npy for each output.
#ifndef CLEAVE_RUNTIME_TRAIN_OUTPUT_FILES_H_
#define CLEAVE_RUNTIME_TRAIN_OUTPUT_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/kernels/observer.h"
#include "runtime/npy/npy_writer.h"

namespace cleave::runtime {

class OutputFiles {
 public:
  explicit OutputFiles(std::string folder) : folder_(std::move(folder)) {}

  // The outputs of a batch, of which the first `samples` rows are of real samples. The same ones each time, in the same
  // order.
  std::optional<Error> Append(const std::vector<OutputTensor>& outputs, int64_t samples);
  std::optional<Error> Finish();

  // "logits.npy: f32[4000, 10]"
  std::vector<std::string> Lines() const;

 private:
  const std::string folder_;
  std::vector<NpyWriter> files_;
  std::vector<std::string> types_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_OUTPUT_FILES_H_
