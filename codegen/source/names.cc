#include "codegen/source/names.h"

#include <optional>

#include "base/match/match.h"
#include "ir/graph/ops/ops.h"

namespace cleave {
namespace {

// The value whose name `value`, written by `step`, takes over; nullopt where it has a name of its own.
std::optional<ValueId> Namesake(const Program& program, const Storage& storage, const Step& step, ValueId value) {
  for (const ProgramUpdate& update : program.updates) {
    if (update.value == value && update.state != value && storage.root[value] == update.state) return update.state;
  }
  return Match(
      step.action,
      [&](const Compute& compute) -> std::optional<ValueId> {
        const bool effect = DefinitionOf(compute.kind).op_class == OpClass::kEffect;
        return IsAlias(step) || effect ? std::make_optional(compute.inputs[0]) : std::nullopt;
      },
      [&](const Collective& collective) -> std::optional<ValueId> {
        for (const Transfer& transfer : collective.transfers) {
          if (transfer.output == value && storage.SameBuffer(transfer.input, value)) return transfer.input;
        }
        return std::nullopt;
      },
      [](const Slice&) -> std::optional<ValueId> { return std::nullopt; },
      [](const View& view) -> std::optional<ValueId> { return view.input; });
}

}  // namespace

Names NameValues(const Program& program, const Storage& storage, Identifiers& identifiers) {
  Names names;
  names.names = IdVector<ValueId, std::string>(program.values.size());
  for (const Step& step : program.steps) {
    for (const ValueId value : Writes(step)) {
      if (const std::optional<ValueId> namesake = Namesake(program, storage, step, value); namesake.has_value()) {
        names.names[value] = names[*namesake];
        continue;
      }
      names.names[value] = identifiers.Unique(program.value(value).name);
      if (storage.root[value].has_value()) names.declared.push_back(value);
    }
  }
  return names;
}

}  // namespace cleave
