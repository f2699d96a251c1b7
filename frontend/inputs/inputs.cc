#include "frontend/inputs/inputs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

// What a source offers for each sample.
struct Field {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;              // Of one sample; of `tokens` any one dimension fits.
};

std::vector<Field> FieldsOf(const DataSource& data) {
  if (data.kind == "mnist" || data.kind == "digits") return {{"image", DType::kF32, {1, 28, 28}}, {"label", DType::kI32, {}}};
  if (data.kind == "tokens") return {{"tokens", DType::kI32, {0}}, {"next", DType::kI32, {0}}};
  return {};  // Synthetic data has any shape.
}

std::string FieldText(const Field& field) {
  std::string text = absl::StrCat(DTypeName(field.dtype), "[batch");
  for (int64_t size : field.shape) {
    if (size == 0) {
      absl::StrAppend(&text, ", length");
    } else {
      absl::StrAppend(&text, ", ", size);
    }
  }
  return absl::StrCat(text, "]");
}

// The dimensions after the batch may be grouped in any way that keeps the count, as `reshape` would.
bool Fits(const Field& field, const TensorType& type) {
  if (type.dtype != field.dtype || type.shape.empty()) return false;
  const Shape sample(type.shape.begin() + 1, type.shape.end());
  if (field.shape == Shape{0}) return sample.size() == 1;
  return sample == field.shape;
}

void CheckBatch(const Graph& graph, const std::map<OpId, Span>& inputs, Reporter& reporter) {
  const auto& [first, first_span] = *inputs.begin();
  for (const auto& [id, span] : inputs) {
    const Op& op = graph.op(id);
    if (op.type.shape.empty()) {
      reporter.Report(Error(Code::kE0511, absl::StrCat("input `", op.name, "` has no batch dimension"))
                          .At(span, absl::StrCat("this is ", op.type.ToString()))
                          .Note("the first dimension of every input is the batch"));
    } else if (!graph.op(first).type.shape.empty() && op.type.shape[0] != graph.op(first).type.shape[0]) {
      reporter.Report(Error(Code::kE0511, "inputs with different batches")
                          .At(span, absl::StrCat("`", op.name, "` has ", op.type.shape[0], " samples"))
                          .At(first_span, absl::StrCat("`", graph.op(first).name, "` has ", graph.op(first).type.shape[0]))
                          .Note("the first dimension of every input is the batch"));
    }
  }
}

}  // namespace

void CheckInputs(const Graph& graph, const std::map<OpId, Span>& inputs, const DataSource& data, Reporter& reporter) {
  if (inputs.empty()) return;
  CheckBatch(graph, inputs, reporter);
  const std::vector<Field> fields = FieldsOf(data);
  if (fields.empty()) return;

  std::vector<std::string> names;
  std::vector<std::string> descriptions;
  for (const Field& field : fields) {
    names.push_back(field.name);
    descriptions.push_back(absl::StrCat(field.name, ": ", FieldText(field)));
  }
  const std::string offer = absl::StrCat("`", data.kind, "` offers ", QuotedList(descriptions, "and"));
  const bool by_name = std::all_of(inputs.begin(), inputs.end(), [&](const auto& input) {
    return std::find(names.begin(), names.end(), graph.op(input.first).name) != names.end();
  });
  size_t position = 0;
  for (const auto& [id, span] : inputs) {
    const Op& op = graph.op(id);
    const size_t index = by_name ? static_cast<size_t>(std::find(names.begin(), names.end(), op.name) - names.begin()) : position;
    ++position;
    if (index >= fields.size()) {
      reporter.Report(Error(Code::kE0512, absl::StrCat("`", data.kind, "` has no field for input `", op.name, "`"))
                          .At(span, absl::StrCat("input ", position, " of ", inputs.size()))
                          .Note(offer));
    } else if (!Fits(fields[index], op.type)) {
      reporter.Report(Error(Code::kE0512, absl::StrCat("input `", op.name, "` does not fit the data"))
                          .At(span, absl::StrCat("`", op.name, "` is ", op.type.ToString(), ", the data's `", fields[index].name,
                                                 "` is ", FieldText(fields[index])))
                          .Note(offer));
    }
  }
}

}  // namespace cleave::frontend
