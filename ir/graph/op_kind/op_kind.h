// The kinds of ops: one enumerator for each line of table.def. What the compiler knows about a kind is in its
// OpDefinition (ir/graph/ops). Code that treats some kinds differently switches over this enum without `default`, or
// uses the definition.
#ifndef CLEAVE_IR_GRAPH_OP_KIND_OP_KIND_H_
#define CLEAVE_IR_GRAPH_OP_KIND_OP_KIND_H_

#include <cstdint>
#include <optional>
#include <ostream>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cleave::ir {

enum class OpKind : uint8_t {
#define CLEAVE_OP(Name, name) k##Name,
#include "ir/graph/op_kind/table.def"
#undef CLEAVE_OP
};

// As the language and the text forms write it: "matmul".
absl::string_view OpKindName(OpKind kind);

// Nullopt for a name that no op has.
std::optional<OpKind> ParseOpKind(absl::string_view name);

// In the order of the names.
absl::Span<const OpKind> AllOpKinds();

std::ostream& operator<<(std::ostream& out, OpKind kind);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OP_KIND_OP_KIND_H_
