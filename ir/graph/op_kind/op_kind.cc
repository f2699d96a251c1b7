#include "ir/graph/op_kind/op_kind.h"

#include <algorithm>
#include <array>
#include <string>

namespace cleave::ir {
namespace {

constexpr std::array kKinds = {
#define CLEAVE_OP(Name, name) OpKind::k##Name,
#include "ir/graph/op_kind/table.def"
#undef CLEAVE_OP
};

constexpr std::array<std::string_view, kKinds.size()> kNames = {
#define CLEAVE_OP(Name, name) name,
#include "ir/graph/op_kind/table.def"
#undef CLEAVE_OP
};
static_assert(std::is_sorted(kNames.begin(), kNames.end()), "table.def is ordered by name");
static_assert(std::adjacent_find(kNames.begin(), kNames.end()) == kNames.end(), "no name occurs twice in table.def");

}  // namespace

absl::string_view OpKindName(OpKind kind) {
  const std::string_view name = kNames[static_cast<size_t>(kind)];
  return {name.data(), name.size()};
}

std::optional<OpKind> ParseOpKind(absl::string_view name) {
  const std::string_view wanted(name.data(), name.size());
  const auto found = std::lower_bound(kNames.begin(), kNames.end(), wanted);
  if (found == kNames.end() || *found != wanted) return std::nullopt;
  return kKinds[static_cast<size_t>(found - kNames.begin())];
}

absl::Span<const OpKind> AllOpKinds() { return kKinds; }

std::ostream& operator<<(std::ostream& out, OpKind kind) { return out << OpKindName(kind); }

}  // namespace cleave::ir
