#include "frontend/value/value.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

// The elements of a tuple, the fields of a record.
const std::vector<Value>& PartsOf(const Value& value) {
  static const auto& kNone = *new std::vector<Value>();
  return value.is_tuple() ? value.as_tuple() : value.is_record() ? value.as_record().fields : kNone;
}

}  // namespace

std::string DescribeType(const Value& value, const ir::Graph& graph) {
  return Match(
      value.kind, [](Poison) -> std::string { return "unknown"; }, [](int64_t) -> std::string { return "an int"; },
      [](double) -> std::string { return "a float"; }, [](bool) -> std::string { return "a bool"; },
      [](const std::string&) -> std::string { return "a string"; },
      [](ir::DType) -> std::string { return "an element type"; },
      [&](TensorValue tensor) { return graph.op(tensor.op).type.ToString(); },
      [](const TupleValue& tuple) { return absl::StrCat("a tuple of ", tuple.elements.size()); },
      [](const RecordValue& record) { return absl::StrCat("a record `", record.name(), "`"); },
      [](const GroupValue&) -> std::string { return "a group of ranks"; },
      [&](const PerRankValue& per_rank) {
        return absl::StrCat(DescribeType(per_rank.ranks.front(), graph), " that differs between ranks");
      },
      [](const StepValue& value) -> std::string {
        return value.is_condition ? "a bool that depends on the step" : "a float that depends on the step";
      },
      [](const InitializerValue&) -> std::string { return "an initialiser"; },
      [](const FunctionValue& function) {
        return function.is_layer ? absl::StrCat("a layer of `", function.name, "`")
                                 : absl::StrCat("the function `", function.name, "`");
      });
}

std::string ValueText(const Value& value, const ir::Graph& graph) {
  return Match(
      value.kind, [](Poison) -> std::string { return "?"; }, [](int64_t number) { return absl::StrCat(number); },
      [](double number) { return FormatDouble(number); },
      [](bool truth) -> std::string { return truth ? "true" : "false"; },
      [](const std::string& text) { return absl::StrCat("\"", text, "\""); },
      [](ir::DType dtype) { return std::string(ir::DTypeName(dtype)); },
      [&](TensorValue tensor) { return graph.op(tensor.op).type.ToString(); },
      [&](const TupleValue& tuple) {
        return absl::StrCat("(",
                            absl::StrJoin(tuple.elements, ", ",
                                          [&](std::string* out, const Value& element) {
                                            absl::StrAppend(out, ValueText(element, graph));
                                          }),
                            ")");
      },
      [&](const RecordValue& record) {
        std::vector<std::string> fields;
        for (size_t i = 0; i < record.fields.size(); ++i) {
          fields.push_back(absl::StrCat(record.type->fields[i].name.text, " = ", ValueText(record.fields[i], graph)));
        }
        return absl::StrCat(record.name(), "(", absl::StrJoin(fields, ", "), ")");
      },
      [&](const GroupValue& group) { return absl::StrCat("group(", ir::GroupText(graph.rank_axes, group.axes), ")"); },
      [&](const PerRankValue& per_rank) { return FirstDifference(Value{per_rank}, graph); },
      [](const StepValue& value) {
        return value.is_settled() ? FormatDouble(ir::Calculation(value.formula, {})({}))
                                  : ir::ScalarText(value.formula);
      },
      [](const InitializerValue& initializer) { return absl::StrCat(initializer.name, "(…)"); },
      [](const FunctionValue& function) {
        return function.is_layer ? absl::StrCat("layer ", function.name, "(…)") : function.name;
      });
}

bool StepValue::is_settled() const {
  const std::vector<ir::Scalar> nodes = ir::NodesOf(formula);
  return std::none_of(nodes.begin(), nodes.end(),
                      [](const ir::Scalar& node) { return node.Is(ir::Primitive::kVariable); });
}

bool StepValue::operator==(const StepValue& other) const {
  return is_condition == other.is_condition && ir::ScalarText(formula) == ir::ScalarText(other.formula);
}

std::optional<Value> PerRank(std::vector<Value> ranks) {
  const bool numbers = std::all_of(ranks.begin(), ranks.end(), [](const Value& value) { return value.is_number(); });
  const bool ints = std::all_of(ranks.begin(), ranks.end(), [](const Value& value) { return value.is_int(); });
  for (Value& value : ranks) {
    if (numbers && !ints) value = Value{value.as_number()};
    const bool fits = value.is_number() || std::holds_alternative<bool>(value.kind) ||
                      std::holds_alternative<std::string>(value.kind) || std::holds_alternative<GroupValue>(value.kind);
    if (!fits || value.kind.index() != ranks.front().kind.index()) return std::nullopt;
  }
  const bool same = std::all_of(ranks.begin(), ranks.end(), [&](const Value& value) { return value == ranks.front(); });
  return same ? ranks.front() : Value{PerRankValue{std::move(ranks)}};
}

const Value& OnRank(const Value& value, int64_t rank) {
  return value.is_per_rank() ? value.as_per_rank()[static_cast<size_t>(rank)] : value;
}

std::optional<std::vector<std::string>> StringsOf(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.kind)) return std::vector{*text};
  if (!value.is_tuple() || value.as_tuple().empty()) return std::nullopt;
  std::vector<std::string> all;
  for (const Value& element : value.as_tuple()) {
    const auto* text = std::get_if<std::string>(&element.kind);
    if (text == nullptr) return std::nullopt;
    all.push_back(*text);
  }
  return all;
}

bool DiffersBetweenRanks(const Value& value) {
  return value.is_per_rank() || std::any_of(PartsOf(value).begin(), PartsOf(value).end(), DiffersBetweenRanks);
}

bool HasTensor(const Value& value) {
  return value.is_tensor() || std::any_of(PartsOf(value).begin(), PartsOf(value).end(), HasTensor);
}

bool IsScalarName(const std::string& name) {
  return name == "int" || name == "float" || name == "bool" || name == "string" || name == kTupleType ||
         name == kInitializerType || name == kLayerType;
}

std::string FirstDifference(const Value& value, const ir::Graph& graph) {
  const std::vector<Value>& ranks = value.as_per_rank();
  size_t other = 1;
  while (other + 1 < ranks.size() && ranks[other] == ranks[0]) ++other;
  return absl::StrCat(ValueText(ranks[0], graph), " on rank 0, ", ValueText(ranks[other], graph), " on rank ", other);
}

std::optional<ir::DType> ElementTypeNamed(absl::string_view name) {
  const std::optional<ir::DType> dtype = ir::ParseDType(name);
  return dtype.has_value() && ir::IsNarrow(*dtype) ? std::nullopt : dtype;
}

Value ToFloat(const Value& value) {
  if (value.is_of_step()) {
    StepValue real = value.as_of_step();
    real.is_whole = false;
    return Value{std::move(real)};
  }
  if (!value.is_per_rank()) return Value{value.as_number()};
  PerRankValue result;
  for (const Value& each : value.as_per_rank()) result.ranks.emplace_back().kind = each.as_number();
  return Value{std::move(result)};
}

std::optional<std::vector<int64_t>> ToInts(const Value& value) {
  if (value.is_int()) return std::vector<int64_t>{value.as_int()};
  if (!value.is_tuple()) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Value& element : value.as_tuple()) {
    if (!element.is_int()) return std::nullopt;
    numbers.push_back(element.as_int());
  }
  return numbers;
}

bool SameKind(const Value& a, const Value& b) {
  if (a.is_record() && b.is_record()) return a.as_record().type == b.as_record().type;
  return OnRank(a, 0).kind.index() == OnRank(b, 0).kind.index();
}

int64_t ElementCount(const Value& value) {
  int64_t count = 0;
  for (const Value& part : PartsOf(value)) count += 1 + ElementCount(part);
  return count;
}

}  // namespace cleave::frontend
