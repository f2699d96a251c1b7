#include "frontend/value/value.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/text/text.h"

namespace cleave::frontend {

std::string DescribeType(const Value& value, const Graph& graph) {
  return Match(
      value.kind, [](Poison) -> std::string { return "unknown"; }, [](int64_t) -> std::string { return "an int"; },
      [](double) -> std::string { return "a float"; }, [](bool) -> std::string { return "a bool"; },
      [](const std::string&) -> std::string { return "a string"; },
      [](DType) -> std::string { return "an element type"; },
      [&](TensorValue tensor) { return graph.op(tensor.op).type.ToString(); },
      [](const TupleValue&) -> std::string { return "a tuple"; });
}

std::string ValueText(const Value& value, const Graph& graph) {
  return Match(
      value.kind, [](Poison) -> std::string { return "?"; }, [](int64_t number) { return absl::StrCat(number); },
      [](double number) { return FormatDouble(number); },
      [](bool truth) -> std::string { return truth ? "true" : "false"; },
      [](const std::string& text) { return absl::StrCat("\"", text, "\""); },
      [](DType dtype) { return std::string(DTypeName(dtype)); },
      [&](TensorValue tensor) { return graph.op(tensor.op).type.ToString(); },
      [&](const TupleValue& tuple) {
        return absl::StrCat("(",
                            absl::StrJoin(tuple.elements, ", ",
                                          [&](std::string* out, const Value& element) {
                                            absl::StrAppend(out, ValueText(element, graph));
                                          }),
                            ")");
      });
}

}  // namespace cleave::frontend
