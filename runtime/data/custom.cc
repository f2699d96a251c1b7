// Samples from functions of the model's own. Nothing is kept: a row is made when a batch needs it.
#include "runtime/data/custom.h"

#include <cinttypes>
#include <string>
#include <utility>

#include "runtime/data/source.h"

namespace cleave::runtime {
namespace {

class CustomSource final : public Source {
 public:
  CustomSource(std::vector<SampleFunction> functions, int64_t train, int64_t test)
      : functions_(std::move(functions)), train_(train), test_(test) {}

  int64_t Samples(DataSplit split) const override { return split == DataSplit::kTrain ? train_ : test_; }
  int64_t Bytes() const override { return 0; }

  bool ReadsSlowly() const override { return true; }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const SampleFunction& function = functions_[static_cast<size_t>(field)];
    const bool is_test = sample.split == DataSplit::kTest;
    const Region piece = SampleRegion(input.region);
    const int64_t first = row * ElementCount(piece.size);
    if (input.is_float) {
      function.floats(sample.number, is_test, View<float>(input.floats + first, piece));
      return std::nullopt;
    }
    const View<int32_t> view(input.integers + first, piece);
    function.integers(sample.number, is_test, view);
    for (int64_t i = 0; input.limit > 0 && i < view.size(); ++i) {
      if (input.Takes(view[i])) continue;
      return Error{ExitCode::kInput,
                   Format("value %d that `%s` gives for %s sample %" PRId64 " is out of range: the model has %" PRId64
                          " classes",
                          view[i], function.input.c_str(), is_test ? "test" : "training", sample.number, input.limit)};
    }
    return std::nullopt;
  }

 private:
  const std::vector<SampleFunction> functions_;
  const int64_t train_;
  const int64_t test_;
};

Result<OpenedSource> OpenCustom(const OpenRequest& request) {
  std::vector<std::string> names;
  for (const SampleFunction& function : request.spec.functions) names.push_back(function.input);
  const Result<std::vector<int>> fields = MatchFields("custom", names, request.inputs);
  if (!fields.ok()) return fields.error();
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const SampleFunction& function = request.spec.functions[static_cast<size_t>(fields.value()[i])];
    const ModelInput& input = request.inputs[i];
    if (input.is_float ? function.floats != nullptr : function.integers != nullptr) continue;
    return Error{ExitCode::kInput, Format("input %s, and `%s` makes %s", Describe(input).c_str(),
                                          function.input.c_str(), input.is_float ? "i32" : "f32")};
  }
  return OpenedSource{
      std::make_unique<CustomSource>(request.spec.functions, request.spec.train_samples, request.spec.test_samples),
      fields.value()};
}

}  // namespace

DataSpec CustomSamples(std::vector<SampleFunction> functions, int64_t train, int64_t test) {
  DataSpec spec{"custom", OpenCustom, "", train, test};
  spec.functions = std::move(functions);
  return spec;
}

}  // namespace cleave::runtime
