// The words of manual models that are called: communication primitives, and groups of ranks.
#ifndef CLEAVE_FRONTEND_MANUAL_PRIMITIVES_H_
#define CLEAVE_FRONTEND_MANUAL_PRIMITIVES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/arguments/arguments.h"
#include "frontend/functions/functions.h"

namespace cleave::frontend {

enum class Primitive {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kNeighborExchange,
  kNeighborExchangeV2,
  kSend,
  kReceive,  // `recv`
  kGroup,
  kSize,   // Of a group.
  kIndex,  // In a group.
};

std::optional<Primitive> FindPrimitive(absl::string_view name);

// Whether ranks have to call it together: all except `group`, `size` and `index`, which only name ranks.
bool Communicates(Primitive primitive);

Signature SignatureOf(Primitive primitive);

// Names of all of them, for "did you mean".
std::vector<std::string> PrimitiveNames();

// The first call of a primitive that communicates, here or in a function that is called here: its place and its name.
struct CommunicatingCall {
  std::string name;
  Span span;
};

std::optional<CommunicatingCall> FirstCommunication(const dsl::syntax::Expression& expression,
                                                    const FunctionTable& functions, const Function* inside);
std::optional<CommunicatingCall> FirstCommunication(const std::vector<dsl::syntax::Statement>& body,
                                                    const FunctionTable& functions, const Function* inside);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_MANUAL_PRIMITIVES_H_
