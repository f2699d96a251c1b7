#include "frontend/evaluate/ranks/primitive_call.h"

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/ranks/collectives.h"
#include "frontend/evaluate/ranks/halo.h"
#include "frontend/evaluate/ranks/neighbors.h"

namespace cleave::frontend {
namespace {

// Messages are matched in the order in which they are written. Many elements at once have no such order.
Value RefuseInVmap(const std::string& what, Span span, Reporter& reporter) {
  reporter.Report(Error(Code::kE0216, absl::StrCat("`", what, "` inside of a function that `vmap` maps"))
                      .At(span, "a message for each element?")
                      .Help("send all elements at once, outside"));
  return Value{Poison()};
}

}  // namespace

Value CallPrimitive(Primitive primitive, const CallSite& site, const ManualModel& model, bool is_mapped,
                    Messages& messages, const Context& context) {
  const auto& [call, span, frame] = site;
  if (!context.graph().is_manual()) {
    ReportNotManual(absl::StrCat("`", SignatureOf(primitive).callee, "`"), call.callee->span,
                    "the ranks of a model for one device do not communicate themselves", model, context.reporter);
    return Value{Poison()};
  }
  switch (primitive) {
    case Primitive::kAllReduce:
    case Primitive::kAllGather:
    case Primitive::kReduceScatter:
    case Primitive::kBroadcast:
    case Primitive::kAllToAll:
      return CallCollective(primitive, site, context);
    case Primitive::kNeighborExchange:
      return ExchangeWithNeighbors(site, context);
    case Primitive::kNeighborExchangeV2:
      return ExchangeHalo(site, context);
    case Primitive::kSend:
      context.reporter.Report(Error(Code::kE0211, "`send` is a statement")
                                  .At(span, "sends, and has no value")
                                  .Help("write it alone: `send(x, to = …);`"));
      return Value{Poison()};
    case Primitive::kReceive:
      if (is_mapped) return RefuseInVmap("recv", span, context.reporter);
      return messages.Receive(site, context);
    case Primitive::kGroup:
      return CallGroup(site, context);
    case Primitive::kSize:
    case Primitive::kIndex:
      return CallSizeOrIndex(primitive, site, context);
  }
  return Value{Poison()};
}

void RunSend(const CallSite& site, bool is_mapped, Messages& messages, const Context& context) {
  if (is_mapped) {
    RefuseInVmap("send", site.span, context.reporter);
  } else {
    messages.Send(site, context);
  }
}

}  // namespace cleave::frontend
