#include "frontend/manual/primitives.h"

#include <set>

#include "frontend/functions/calls.h"

namespace cleave::frontend {
namespace {

struct Word {
  const char* name;
  Primitive primitive;
};

constexpr Word kWords[] = {
    {"all_reduce", Primitive::kAllReduce},
    {"all_gather", Primitive::kAllGather},
    {"reduce_scatter", Primitive::kReduceScatter},
    {"broadcast", Primitive::kBroadcast},
    {"all_to_all", Primitive::kAllToAll},
    {"neighbor_exchange", Primitive::kNeighborExchange},
    {"neighbor_exchange_v2", Primitive::kNeighborExchangeV2},
    {"send", Primitive::kSend},
    {"recv", Primitive::kReceive},
    {"group", Primitive::kGroup},
    {"size", Primitive::kSize},
    {"index", Primitive::kIndex},
};

class Finder {
 public:
  Finder(const FunctionTable& functions, const Function* inside) : functions_(functions), inside_(inside) {}

  template <typename T>
  std::optional<CommunicatingCall> Find(const T& part) {
    ForEachCall(part, [this](const std::string& name, Span span) { Visit(name, span); });
    return found_;
  }

 private:
  void Visit(const std::string& name, Span span) {
    if (found_) return;
    const Callee callee = functions_.Find(name, inside_);
    if (const auto* function = std::get_if<const Function*>(&callee)) {
      if (!seen_.insert(*function).second) return;
      const Function* before = inside_;
      inside_ = *function;
      Find((*function)->syntax->body);
      inside_ = before;
      return;
    }
    if (std::holds_alternative<const dsl::syntax::OpDefinition*>(callee)) return;
    const std::optional<Primitive> primitive = FindPrimitive(name);
    if (primitive && Communicates(*primitive)) found_ = CommunicatingCall{name, span};
  }

  const FunctionTable& functions_;
  const Function* inside_;
  std::set<const Function*> seen_;
  std::optional<CommunicatingCall> found_;
};

}  // namespace

std::optional<Primitive> FindPrimitive(absl::string_view name) {
  for (const Word& word : kWords) {
    if (name == word.name) return word.primitive;
  }
  return std::nullopt;
}

bool Communicates(Primitive primitive) {
  switch (primitive) {
    case Primitive::kAllReduce:
    case Primitive::kAllGather:
    case Primitive::kReduceScatter:
    case Primitive::kBroadcast:
    case Primitive::kAllToAll:
    case Primitive::kNeighborExchange:
    case Primitive::kNeighborExchangeV2:
    case Primitive::kSend:
    case Primitive::kReceive:
      return true;
    case Primitive::kGroup:
    case Primitive::kSize:
    case Primitive::kIndex:
      return false;
  }
  return false;
}

std::vector<std::string> PrimitiveNames() {
  std::vector<std::string> names;
  for (const Word& word : kWords) names.push_back(word.name);
  return names;
}

std::optional<CommunicatingCall> FirstCommunication(const dsl::syntax::Expression& expression,
                                                    const FunctionTable& functions, const Function* inside) {
  return Finder(functions, inside).Find(expression);
}

std::optional<CommunicatingCall> FirstCommunication(const std::vector<dsl::syntax::Statement>& body,
                                                    const FunctionTable& functions, const Function* inside) {
  return Finder(functions, inside).Find(body);
}

}  // namespace cleave::frontend
