#include "frontend/inputs/inputs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

// A field that a source offers for each sample: a number of values, in any shape.
struct Field {
  std::string name;
  std::string text;                // As messages show it.
  std::optional<ir::DType> dtype;  // Any, where absent.
  int64_t elements = 0;            // 0: as many as the data has, which is known only when the program runs.
  int rank = 0;                    // Dimensions with the batch; 0: any.
  bool is_picture = false;         // Its second dimension is 1 or 3 channels.
};

std::vector<Field> FieldsOf(const ir::DataSource& data) {
  const Field label{.name = "label", .text = "one label, i32 or f32", .dtype = std::nullopt, .elements = 1};
  if (data.kind == "mnist") return {{.name = "image", .text = "an image, f32", .dtype = ir::DType::kF32}, label};
  if (data.kind == "digits") {
    return {{.name = "image", .text = "28x28 = 784 values, f32", .dtype = ir::DType::kF32, .elements = 784}, label};
  }
  if (data.kind == "images") {
    return {{.name = "image",
             .text = "[batch, channels, rows, columns] with 1 channel or 3, f32 or i32",
             .dtype = std::nullopt,
             .rank = 4,
             .is_picture = true},
            label};
  }
  if (data.kind == "tokens") {
    const Field tokens{.name = "tokens",
                       .text = data.files.empty() ? "a row of bytes, i32" : "a row of tokens, i32",
                       .dtype = ir::DType::kI32,
                       .rank = 2};
    Field next = tokens;
    next.name = "next";
    return {tokens, next};
  }
  return {};  // Synthetic data has any shape.
}

bool Fits(const Field& field, const ir::TensorType& type) {
  if (type.shape.empty()) return true;  // It has no batch, which is reported elsewhere.
  const int64_t elements = ir::ElementCount(ir::Shape(type.shape.begin() + 1, type.shape.end()));
  return (!field.dtype || type.dtype == *field.dtype) && (field.elements == 0 || elements == field.elements) &&
         (field.rank == 0 || type.rank() == field.rank) &&
         (!field.is_picture || type.shape[1] == 1 || type.shape[1] == 3);
}

void CheckBatch(const ir::Graph& graph, const std::map<ir::OpId, Span>& inputs, Reporter& reporter) {
  const auto& [first, first_span] = *inputs.begin();
  for (const auto& [id, span] : inputs) {
    const ir::Op& op = graph.op(id);
    if (op.type.shape.empty()) {
      reporter.Report(Error(Code::kE0511, absl::StrCat("input `", op.name, "` has no batch dimension"))
                          .At(span, absl::StrCat("this is ", op.type.ToString()))
                          .Note("the first dimension of every input is the batch"));
    } else if (!graph.op(first).type.shape.empty() && op.type.shape[0] != graph.op(first).type.shape[0]) {
      reporter.Report(
          Error(Code::kE0511, "inputs with different batches")
              .At(span, absl::StrCat("`", op.name, "` has ", op.type.shape[0], " samples"))
              .At(first_span, absl::StrCat("`", graph.op(first).name, "` has ", graph.op(first).type.shape[0]))
              .Note("the first dimension of every input is the batch"));
    }
  }
}

// The inputs for which the source names a file, columns of a table, or a tensor.
std::vector<std::string> NamedInputs(const ir::DataSource& data) {
  std::vector<std::string> names;
  if (data.kind == "npy") {
    for (const auto& [input, path] : data.files) names.push_back(input);
  }
  for (const auto& [input, columns] : data.columns) names.push_back(input);
  return names;
}

// The source and the model must name the same inputs; one that is not read needs nothing of the source.
void CheckNamedInputs(const ir::Graph& graph, const std::map<ir::OpId, Span>& inputs, const std::set<ir::OpId>& unread,
                      const ir::DataSource& data, const std::map<std::string, Span>& places, Reporter& reporter) {
  const std::string source = absl::StrCat("`", data.kind, "`");
  const char* const what = data.kind == "npy" ? "file" : data.kind == "csv" ? "column" : "tensor";
  std::map<std::string, Span> unused;
  for (const std::string& input : NamedInputs(data)) {
    const auto place = places.find(input);
    unused[input] = place == places.end() ? Span{} : place->second;
  }
  std::vector<std::string> names;
  for (const auto& [id, span] : inputs) {
    const std::string& name = graph.op(id).name;
    names.push_back(name);
    if (unused.erase(name) > 0 || unread.count(id) > 0) continue;
    reporter.Report(
        Error(Code::kE0512, absl::StrCat(source, " has no ", what, " for input `", name, "`"))
            .At(span, "declared here")
            .Help(absl::StrCat("`data = ", data.kind, "(", data.kind == "npy" ? "" : "\"FILE\", ", name, " = \"",
                               data.kind == "npy" ? "FILE.npy" : absl::AsciiStrToUpper(what), "\")`")));
  }
  for (const auto& [name, place] : unused) {
    Diagnostic error =
        Error(Code::kE0512, absl::StrCat(source, " has a ", what, " for `", name, "`, which is no input"))
            .At(place, "given here")
            .Note(absl::StrCat("the inputs are ", QuotedList(names, "and")));
    if (auto nearest = NearestName(name, names)) error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    reporter.Report(std::move(error));
  }
}

// Windows of a text have one length.
void CheckLengths(const ir::Graph& graph, const std::map<ir::OpId, Span>& inputs, Reporter& reporter) {
  const auto& [first, first_span] = *inputs.begin();
  const ir::TensorType& wanted = graph.op(first).type;
  for (const auto& [id, span] : inputs) {
    const ir::TensorType& type = graph.op(id).type;
    if (wanted.rank() != 2 || type.rank() != 2 || type.shape[1] == wanted.shape[1]) continue;
    reporter.Report(Error(Code::kE0512, "inputs with windows of different lengths")
                        .At(span, absl::StrCat("`", graph.op(id).name, "` has ", type.shape[1], " tokens per sample"))
                        .At(first_span, absl::StrCat("`", graph.op(first).name, "` has ", wanted.shape[1]))
                        .Note("`next` is `tokens`, one later"));
  }
}

void CheckFields(const ir::Graph& graph, const std::map<ir::OpId, Span>& inputs, const std::set<ir::OpId>& unread,
                 const ir::DataSource& data, const std::map<std::string, Span>& npy_places, Reporter& reporter) {
  std::set<std::string> kinds;
  for (const ir::DataSource& part : data.parts) {
    // What is wrong with a source that names no inputs is wrong with all such sources.
    if (NamedInputs(part).empty() && !kinds.insert(part.kind).second) continue;
    CheckFields(graph, inputs, unread, part, npy_places, reporter);
  }
  if (!NamedInputs(data).empty()) return CheckNamedInputs(graph, inputs, unread, data, npy_places, reporter);
  const std::vector<Field> fields = FieldsOf(data);
  if (fields.empty()) return;

  std::vector<std::string> names;
  std::vector<std::string> descriptions;
  for (const Field& field : fields) {
    names.push_back(field.name);
    descriptions.push_back(absl::StrCat("`", field.name, "` (", field.text, ")"));
  }
  const std::string offer =
      absl::StrCat("for each sample `", data.kind, "` has ", absl::StrJoin(descriptions, " and "));
  const bool by_name = std::all_of(inputs.begin(), inputs.end(), [&](const auto& input) {
    return std::find(names.begin(), names.end(), graph.op(input.first).name) != names.end();
  });
  if (data.kind == "tokens") CheckLengths(graph, inputs, reporter);
  size_t position = 0;
  for (const auto& [id, span] : inputs) {
    const ir::Op& op = graph.op(id);
    const size_t index =
        by_name ? static_cast<size_t>(std::find(names.begin(), names.end(), op.name) - names.begin()) : position;
    ++position;
    if (index >= fields.size()) {
      reporter.Report(Error(Code::kE0512, absl::StrCat("`", data.kind, "` has no field for input `", op.name, "`"))
                          .At(span, absl::StrCat("input ", position, " of ", inputs.size()))
                          .Note(offer));
    } else if (!Fits(fields[index], op.type)) {
      reporter.Report(Error(Code::kE0512, absl::StrCat("input `", op.name, "` does not fit the data"))
                          .At(span, absl::StrCat("`", op.name, "` is ", op.type.ToString(), "; `", fields[index].name,
                                                 "` is ", fields[index].text))
                          .Note(offer));
    }
  }
}

}  // namespace

void CheckInputs(const ir::Graph& graph, Span model, const std::map<ir::OpId, Span>& inputs,
                 const std::set<ir::OpId>& unread, const ir::DataSource& data,
                 const std::map<std::string, Span>& npy_places, Reporter& reporter) {
  if (inputs.empty()) {
    // After a mistake there may be inputs that could not be declared.
    if (reporter.has_errors()) return;
    reporter.Report(Error(Code::kE0511, "the model has no inputs with a batch")
                        .At(model, "trains on no data")
                        .Help("declare what it learns from: `input x: f32[batch, 784];`"));
    return;
  }
  CheckBatch(graph, inputs, reporter);
  CheckFields(graph, inputs, unread, data, npy_places, reporter);
}

}  // namespace cleave::frontend
