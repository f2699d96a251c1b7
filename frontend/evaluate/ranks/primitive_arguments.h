// The arguments of a primitive of manual models, by name, and the checks of their values.
//
// A `…Argument` function returns nullopt after a mistake, which it has reported.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_PRIMITIVE_ARGUMENTS_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_PRIMITIVE_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/evaluate/frame/context.h"
#include "frontend/manual/primitives.h"
#include "ir/graph/manual/manual.h"

namespace cleave::frontend {

// An argument that is not given is Poison with no expression.
struct PrimitiveArgument {
  const dsl::syntax::Expression* expression = nullptr;
  Value value{Poison()};
};

using PrimitiveArguments = std::map<std::string, PrimitiveArgument>;

// The name of the argument that says which reduction an all_reduce does: it is read as a word, not as a value.
inline constexpr char kReduction[] = "reduction";

// Nullopt after a mistake.
std::optional<PrimitiveArguments> ReadArguments(Primitive primitive, const CallSite& site, const Context& context);

std::optional<ir::OpId> TensorArgument(const PrimitiveArgument& given, const std::string& name, Primitive primitive,
                                       const Context& context);

// `otherwise` if it is not given. `differs`: the error for a number that is not the same on all ranks.
std::optional<int64_t> IntArgument(const PrimitiveArgument& given, const std::string& name, int64_t otherwise,
                                   Code differs, const CallSite& site, const Context& context);

// All ranks where none is given.
std::optional<ir::RankAxisSet> GroupArgument(const PrimitiveArgument& given, const CallSite& site,
                                             const Context& context);

// "sum" where none is given.
std::optional<std::string> ReductionArgument(const PrimitiveArgument& given, const Context& context);

// For each rank a rank, or -1.
std::optional<std::vector<int64_t>> RanksArgument(const dsl::syntax::Expression& expression, const Value& value,
                                                  const std::string& name, const Context& context);

// The shape of a message: a tuple of positive ints, one int, or that of a tensor.
std::optional<ir::Shape> ShapeArgument(const dsl::syntax::Expression& expression, const Value& value, Frame& frame,
                                       const Context& context);

// The elements of a tuple as they are written, or the whole expression for each.
const dsl::syntax::Expression& ElementOf(const dsl::syntax::Expression& expression, size_t i);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_PRIMITIVE_ARGUMENTS_H_
