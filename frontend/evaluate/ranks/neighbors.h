// Messages of all ranks at once: what each sends to whom, and what it gets from whom. The op takes and gives one
// vector; messages are cut out of it and joined to it by ops that have their gradients.
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

// What all ranks send, or receive, in one place of an exchange: the expression for it, its shape, and for each rank the
// rank to which it goes, or from which it comes; -1 for nobody.
struct Message {
  const dsl::syntax::Expression* expression = nullptr;
  ir::Shape shape;
  std::vector<int64_t> ranks;
};

// A tuple of `count` ranks, 0 for any number; one rank may stand alone. Their messages, still without shapes; nothing
// after a mistake.
std::optional<std::vector<Message>> MessagesArgument(const PrimitiveArgument& given, const std::string& name,
                                                     size_t count, const Context& context);

// What `sends`, with the tensors `sent`, and `receives` say; the received tensors. Nothing after a mistake.
std::optional<std::vector<ir::OpId>> Exchange(Primitive primitive, const std::vector<Operand>& sent,
                                              const std::vector<Message>& sends, const std::vector<Message>& receives,
                                              const Origin& origin, const Context& context);

// `neighbor_exchange((a, b), send = (r1, r2), receive = (r1, r2), shapes = ((4, 2), (4, 2)))`: a tuple of what comes.
Value ExchangeWithNeighbors(const CallSite& site, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_NEIGHBORS_H_
