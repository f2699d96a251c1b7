#include "ir/graph/ops/builder.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/inference.h"

namespace cleave::ir {

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {
  by_name_.reserve(graph_.ops.size());
  for (const Op& op : graph_.ops) by_name_[op.name] = op.id;
}

std::variant<OpId, OpError> GraphBuilder::TryAdd(OpKind kind, std::vector<OpId> inputs, Attributes attributes,
                                                 const std::string& name) {
  const OpDefinition& definition = DefinitionOf(kind);
  if (auto error = CompleteAttributes(definition, inputs.size(), attributes)) return *std::move(error);
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (OpId input : inputs) {
    CLEAVE_CHECK(graph_.ops.contains(input)) << "input " << input.value() << " of " << name << " does not exist";
    types.push_back(graph_.op(input).type);
  }
  InferResult result = InferType(definition, types, attributes);
  if (OpError* error = std::get_if<OpError>(&result)) return std::move(*error);
  const OpId id = Append(kind, std::move(inputs), std::move(attributes), std::get<TensorType>(std::move(result)), name);
  // An op that draws and has no key gets its own one.
  Op& op = graph_.ops[id];
  const bool draws = op.attributes.Has(attribute::kKey) &&
                     (!op.attributes.Has(attribute::kRate) || op.attributes.Get(attribute::kRate) > 0);
  if (draws && op.attributes.Get(attribute::kKey).empty()) op.attributes.Set(attribute::kKey, op.name);
  return id;
}

OpId GraphBuilder::Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name) {
  std::variant<OpId, OpError> result = TryAdd(kind, std::move(inputs), std::move(attributes), name);
  const OpError* error = std::get_if<OpError>(&result);
  CLEAVE_CHECK(error == nullptr) << kind << " " << name << ": " << error->message;
  return std::get<OpId>(result);
}

OpId GraphBuilder::AddLike(const Op& op, std::vector<OpId> inputs, const std::string& name) {
  return Append(op.kind, std::move(inputs), op.attributes, op.type, name);
}

OpId GraphBuilder::AddSource(const TensorType& type, const std::string& name) {
  const DType dtype = type.dtype == DType::kI32 ? DType::kI32 : DType::kF32;
  const OpId source =
      Add(OpKind::kInput, {},
          {{attribute::kDType, dtype}, {attribute::kShape, type.shape}, {attribute::kData, std::string()}}, name);
  graph_.ops[source].type = type;
  return source;
}

void GraphBuilder::Reserve(size_t ops) {
  graph_.ops.reserve(ops);
  by_name_.reserve(ops);
}

std::vector<Op> GraphBuilder::RemoveFrom(OpId first) {
  std::vector<Op> removed(graph_.ops.begin() + first.value(), graph_.ops.end());
  graph_.ops.resize(static_cast<size_t>(first.value()));
  for (const Op& op : removed) by_name_.erase(op.name);
  last_suffix_.clear();  // Names that were skipped may be free now.
  return removed;
}

std::optional<OpId> GraphBuilder::Find(absl::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::make_optional(found->second);
}

Graph GraphBuilder::Build() && { return std::move(graph_); }

OpId GraphBuilder::Append(OpKind kind, std::vector<OpId> inputs, Attributes attributes, TensorType type,
                          const std::string& name) {
  const OpId id(static_cast<int64_t>(graph_.ops.size()));
  std::string unique = UniqueName(name);
  by_name_[unique] = id;
  Repetition repetition = RepetitionOf(kind, name);
  return graph_.ops.push_back({.id = id,
                               .name = std::move(unique),
                               .kind = kind,
                               .phase = phase_,
                               .inputs = std::move(inputs),
                               .attributes = std::move(attributes),
                               .type = std::move(type),
                               .line = line_,
                               .repetition = std::move(repetition)});
}

Repetition GraphBuilder::RepetitionOf(OpKind kind, const std::string& name) {
  if (!source_.of.is_repeated()) return {};
  const bool has_role = !source_.name.empty() && absl::StartsWith(name, source_.name);
  const absl::string_view role =
      has_role ? absl::string_view(name).substr(source_.name.size()) : absl::string_view(OpKindName(kind));
  Repetition made = Derived(source_.of, role);
  TextPlace counted = made.place;
  for (const LoopPass& pass : made.passes) {
    counted = Within(Within(counted, pass.loop), static_cast<uint64_t>(pass.number));
  }
  made.place = Within(made.place, made_[counted]++);
  return made;
}

std::string GraphBuilder::UniqueName(const std::string& wish) {
  std::string name = wish;
  while (by_name_.contains(name)) name = absl::StrCat(wish, "_", ++last_suffix_[wish]);
  return name;
}

}  // namespace cleave::ir
