// Messages of all ranks at once: to which rank each sends, and from which it receives. The op takes one vector and
// gives one; messages are joined to a vector and cut out of it by ops that have gradients.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_NEIGHBORS_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_NEIGHBORS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/ranks/primitive_arguments.h"
#include "frontend/manual/primitives.h"

namespace cleave::frontend {

// What all ranks send, or receive, at one position of an exchange: its expression, its shape, and for each rank the
// rank to which it goes, or from which it comes; -1 for no rank.
struct Message {
  const dsl::syntax::Expression* expression = nullptr;
  ir::Shape shape;
  std::vector<int64_t> ranks;
};

// Reads a tuple of `count` ranks, 0 for any number; a single rank needs no tuple. Returns their messages, still without
// shapes; nullopt after a mistake.
std::optional<std::vector<Message>> MessagesArgument(const PrimitiveArgument& given, const std::string& name,
                                                     size_t count, const Context& context);

// Adds the exchange of `sends`, with the tensors `sent`, and `receives`. Returns the received tensors; nullopt after a
// mistake.
std::optional<std::vector<ir::OpId>> Exchange(Primitive primitive, const std::vector<Operand>& sent,
                                              const std::vector<Message>& sends, const std::vector<Message>& receives,
                                              const Origin& origin, const Context& context);

// `neighbor_exchange((a, b), send = (r1, r2), receive = (r1, r2), shapes = ((4, 2), (4, 2)))`: a tuple of the received
// tensors.
Value ExchangeWithNeighbors(const CallSite& site, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_NEIGHBORS_H_
