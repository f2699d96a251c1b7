#include "codegen/source/names.h"

#include <optional>

#include "base/match/match.h"
#include "ir/graph/ops/ops.h"

namespace cleave::codegen {
namespace {

// `value` is written by `step`. The value whose name it takes over, or nullopt if it has its own name.
std::optional<ir::ValueId> Namesake(const ir::Program& program, const ir::Storage& storage, const ir::Step& step,
                                    ir::ValueId value) {
  for (const ir::ProgramUpdate& update : program.updates) {
    if (update.value == value && update.state != value && storage.root[value] == update.state) return update.state;
  }
  return Match(
      step.action,
      [&](const ir::Compute& compute) -> std::optional<ir::ValueId> {
        return ir::IsAlias(step) ? std::make_optional(compute.inputs[0]) : std::nullopt;
      },
      [&](const ir::Collective& collective) -> std::optional<ir::ValueId> {
        for (const ir::Transfer& transfer : collective.transfers) {
          if (transfer.output == value && storage.SameBuffer(transfer.input, value)) return transfer.input;
        }
        return std::nullopt;
      },
      [](const ir::Slice&) -> std::optional<ir::ValueId> { return std::nullopt; },
      [](const ir::View& view) -> std::optional<ir::ValueId> { return view.input; },
      [](const ir::Glance&) -> std::optional<ir::ValueId> { return std::nullopt; },
      [](const ir::HostCopy&) -> std::optional<ir::ValueId> { return std::nullopt; },
      [](const ir::Send&) -> std::optional<ir::ValueId> { return std::nullopt; },
      [](const ir::Receive&) -> std::optional<ir::ValueId> { return std::nullopt; });
}

}  // namespace

Names NameValues(const ir::Program& program, const ir::Fusion& fusion, const ir::Storage& storage,
                 Identifiers& identifiers) {
  Names names;
  names.names = IdVector<ir::ValueId, cpp::Expr>(program.values.size());
  names.named = IdVector<ir::ValueId, ir::ValueId>(program.values.size());
  for (const ir::Step& step : program.steps) {
    for (const ir::ValueId value : ir::Writes(step)) {
      if (fusion.parts.contains(value)) continue;
      if (const std::optional<ir::ValueId> namesake = Namesake(program, storage, step, value); namesake.has_value()) {
        names.names[value] = names[*namesake];
        names.named[value] = names.named[*namesake];
        continue;
      }
      names.names[value] = cpp::Name(identifiers.Unique(program.value(value).name));
      names.named[value] = value;
      if (storage.root[value].has_value()) names.declared.push_back(value);
    }
  }
  for (const auto& [value, part] : fusion.parts) {
    names.names[value] = names[part.whole];
    names.named[value] = names.named[part.whole];
  }
  return names;
}

}  // namespace cleave::codegen
