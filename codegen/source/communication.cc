#include "codegen/source/communication.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "codegen/source/buckets.h"
#include "codegen/source/parts.h"
#include "ir/sharding/micro_batches/micro_batches.h"

namespace cleave::codegen {

cpp::Expr ReductionOf(ir::Reduction reduction) {
  switch (reduction) {
    case ir::Reduction::kSum:
      return cpp::Name("Reduction::kSum");
    case ir::Reduction::kMax:
      return cpp::Name("Reduction::kMax");
    case ir::Reduction::kMin:
      return cpp::Name("Reduction::kMin");
    case ir::Reduction::kProd:
      return cpp::Name("Reduction::kProd");
  }
  CLEAVE_UNREACHABLE();
}

namespace {

class CollectiveEmitter {
 public:
  CollectiveEmitter(Emission& emission, int step)
      : emission_(emission), step_(step), collective_(std::get<ir::Collective>(emission.step(step).action)) {}

  void Run(cpp::Code& code) {
    if (ir::IsSumOverTime(emission_.program, collective_)) return SumOverTime(code);
    Announce(emission_, {step_}, Explanation(), code);
    Watch(emission_, step_, collective_.transfers.front().output, code);
    Communicate(code);
  }

  // Nothing may read the result before it has arrived, so the watch is not told where it lies.
  cpp::Expr Start(cpp::Code& code) {
    Announce(emission_, {step_}, Explanation(), code);
    cpp::Code body(code.indent() + 2);
    WatchName(emission_, step_, body);
    Communicate(body);
    return cpp::Call("comm.Overlap", {cpp::Lambda("[&]", std::move(body))});
  }

  // The arguments that a call for the tensor alone would have.
  std::vector<cpp::Expr> Listed(const ir::Transfer& transfer) {
    const bool gathers = collective_.kind == ir::CollectiveKind::kAllGather;
    const ir::ValueId whole = gathers ? transfer.output : transfer.input;
    const cpp::Expr cut =
        gathers ? Cut(transfer.input, transfer.from_dimension) : Cut(transfer.output, transfer.to_dimension);
    return {Name(transfer.input), Name(transfer.output), emission_.sizes.ShapeList(whole), cut};
  }

 private:
  // "gradient of h1.weight; each of 4 ranks sends 2408448 bytes", counted as plan.json counts them. Of a bucket also
  // what lies between its tensors is sent.
  std::string Explanation() const {
    const std::string why = absl::StrCat(collective_.why, collective_.why.empty() ? "" : "; ");
    const int ranks = emission_.program.mesh.Size(collective_.axes);
    const int64_t bytes = ir::CollectiveBytes(emission_.program, collective_).value();
    if (collective_.kind == ir::CollectiveKind::kBroadcast) {
      return absl::StrCat(why, "rank ", collective_.root, " of ", ranks, " sends ", bytes, " bytes to the others");
    }
    double sent = ir::SentBytes(emission_.program, collective_);
    if (HasBucket()) sent *= static_cast<double>(BucketBytes(emission_, step_)) / static_cast<double>(bytes);
    return absl::StrCat(why, "each of ", ranks, " ranks sends ", SendsAlike() ? "" : "at most ",
                        static_cast<int64_t>(std::ceil(sent)), " bytes");
  }

  bool HasBucket() const { return emission_.storage.buckets.count(step_) > 0; }

  // Whether every rank sends as much as every other.
  bool SendsAlike() const {
    switch (collective_.kind) {
      case ir::CollectiveKind::kAllReduce:
      case ir::CollectiveKind::kAllGather:
      case ir::CollectiveKind::kReduceScatter:
      case ir::CollectiveKind::kAllToAll:
      case ir::CollectiveKind::kBroadcast:
        return std::all_of(collective_.transfers.begin(), collective_.transfers.end(),
                           [&](const ir::Transfer& transfer) {
                             return emission_.sizes.IsEven(transfer.input) && emission_.sizes.IsEven(transfer.output);
                           });
      case ir::CollectiveKind::kPermute:
      case ir::CollectiveKind::kNeighborExchange:
      case ir::CollectiveKind::kSendReceive:
      case ir::CollectiveKind::kNeighborExchangeV2:
        return false;
    }
    return false;
  }

  // What the micro-batches so far amount to, and this one's part.
  void SumOverTime(cpp::Code& code) {
    const ir::Transfer& transfer = collective_.transfers.front();
    Announce(emission_, {step_}, "", code);
    Watch(emission_, step_, transfer.output, code);
    code.Do(cpp::Call("Accumulate", {ReductionOf(collective_.reduction), IsFirstMicroBatch(emission_),
                                     Name(transfer.input), Count(transfer.input), Name(transfer.output)}));
  }

  void Communicate(cpp::Code& code) {
    if (collective_.kind == ir::CollectiveKind::kAllReduce) return AllReduce(code);
    if (collective_.transfers.size() > 1) return Merged(code);
    if (collective_.messages.has_value()) return SendReceive(*collective_.messages, code);
    for (const ir::Transfer& transfer : collective_.transfers) Emit(transfer, code);
  }

  cpp::Expr Name(ir::ValueId value) const { return PlaceOf(emission_, value); }
  cpp::Expr Group() const { return cpp::Name(emission_.groups.by_axes.at(collective_.axes)); }
  cpp::Expr Count(ir::ValueId value) const { return emission_.sizes.Count(value).Value(); }

  static void Call(absl::string_view method, std::vector<cpp::Expr> arguments, cpp::Code& code) {
    code.Do(cpp::Name("comm").Call(method, std::move(arguments)));
  }

  // Where a collective works in place, but its result is another tensor.
  void CopyToResult(const ir::Transfer& transfer, cpp::Code& code) {
    if (emission_.storage.SameBuffer(transfer.input, transfer.output)) return;
    code.Do(cpp::Call("Copy", {Name(transfer.input), Count(transfer.input), Name(transfer.output)}));
  }

  void AllReduce(cpp::Code& code) {
    for (const ir::Transfer& transfer : collective_.transfers) CopyToResult(transfer, code);
    const cpp::Expr reduction = ReductionOf(collective_.reduction);
    if (HasBucket()) {
      const ir::ValueId first = collective_.transfers.front().output;
      const int64_t count = BucketBytes(emission_, step_) / ir::ElementSize(emission_.value(first).type.dtype).value();
      // In the function of a layer a bucket is known by its first tensor.
      const cpp::Expr bucket = emission_.layer == nullptr ? cpp::Name(emission_.buckets.at(step_)) : Name(first);
      return Call("AllReduce", {bucket, count, reduction, Group()}, code);
    }
    for (const ir::Transfer& transfer : collective_.transfers) {
      Call("AllReduce", {Name(transfer.output), Count(transfer.output), reduction, Group()}, code);
    }
  }

  // One call for all tensors.
  void Merged(cpp::Code& code) {
    const std::string list = emission_.identifiers.Local(LocalWish(emission_.layer, emission_.step(step_).name));
    const auto in_loops = emission_.tensor_lists.find(step_);
    if (emission_.layer == nullptr && in_loops != emission_.tensor_lists.end()) {
      code.Member({ListType(emission_, step_), list});
      in_loops->second(list, code);
    } else {
      std::vector<cpp::Expr> rows;
      for (const ir::Transfer& transfer : collective_.transfers) rows.push_back(cpp::Braces(Listed(transfer)));
      code.DeclareRows({cpp::Const(ListType(emission_, step_)), list}, rows);
    }
    if (collective_.kind == ir::CollectiveKind::kAllGather) return Call("AllGather", {cpp::Name(list), Group()}, code);
    Call("ReduceScatter", {cpp::Name(list), ReductionOf(collective_.reduction), Group()}, code);
  }

  void Emit(const ir::Transfer& transfer, cpp::Code& code) {
    const cpp::Expr input = Name(transfer.input), output = Name(transfer.output);
    switch (collective_.kind) {
      case ir::CollectiveKind::kAllReduce:
        return;
      case ir::CollectiveKind::kAllGather:
        return Call("AllGather",
                    {input, output, emission_.sizes.ShapeList(transfer.output),
                     Cut(transfer.input, transfer.from_dimension), Group()},
                    code);
      case ir::CollectiveKind::kReduceScatter:
        return Call("ReduceScatter",
                    {input, output, emission_.sizes.ShapeList(transfer.input),
                     Cut(transfer.output, transfer.to_dimension), ReductionOf(collective_.reduction), Group()},
                    code);
      case ir::CollectiveKind::kAllToAll:
        return AllToAll(transfer, code);
      case ir::CollectiveKind::kBroadcast:
        CopyToResult(transfer, code);
        return Call("Broadcast", {output, Count(transfer.output), collective_.root, Group()}, code);
      case ir::CollectiveKind::kPermute:
        return Permute(transfer, code);
      case ir::CollectiveKind::kNeighborExchange:
        return NeighborExchange(transfer, code);
      case ir::CollectiveKind::kSendReceive:
      case ir::CollectiveKind::kNeighborExchangeV2:
        return;  // It is done by messages.
    }
  }

  // How the members of the group share dimension `d` of `value`, whose innermost axes are those of the collective.
  cpp::Expr Cut(ir::ValueId value, int d) {
    const ir::Value& info = emission_.value(value);
    const int64_t elements = info.type.shape[static_cast<size_t>(d)];
    const ir::AxisList& axes = info.layout.dimensions[static_cast<size_t>(d)];
    const ir::Mesh& mesh = emission_.program.mesh;
    const int64_t members = mesh.Size(collective_.axes);
    const int64_t pieces = mesh.Size(axes);
    if (members == pieces || elements % pieces == 0) {
      // The pieces of one group together are the piece that the outer axes cut; if it is cut evenly, all pieces have
      // one size.
      return cpp::Braces({d, cpp::Call("PieceSizes", {elements / (pieces / members), members})});
    }
    const ir::AxisList outer(axes.begin(), axes.end() - static_cast<std::ptrdiff_t>(collective_.axes.size()));
    const cpp::Expr first = emission_.sizes.Index(outer) * members;
    return cpp::Braces({d, cpp::Call("PieceSizes", {elements, pieces, first, members})});
  }

  // In the tensor that the group holds together, the dimension that becomes whole has the size of the output's piece;
  // the others have those of the input's piece.
  void AllToAll(const ir::Transfer& transfer, cpp::Code& code) {
    std::vector<cpp::Expr> shape;
    for (int d = 0; d < emission_.value(transfer.input).type.rank(); ++d) {
      const ir::ValueId holder = d == transfer.from_dimension ? transfer.output : transfer.input;
      shape.push_back(emission_.sizes.Size(holder, d).Value());
    }
    Call("AllToAll",
         {Name(transfer.input), Name(transfer.output), cpp::Braces(std::move(shape)),
          Cut(transfer.input, transfer.from_dimension), Cut(transfer.output, transfer.to_dimension), Group()},
         code);
  }

  // The axes of ranks, by which the part that belongs to the micro-batch is cut.
  cpp::Expr AxisLists(ir::Layout layout) const {
    if (emission_.program.time.has_value()) layout = ir::WithoutTime(std::move(layout), *emission_.program.time);
    std::vector<cpp::Expr> lists;
    for (const ir::AxisList& axes : layout.dimensions) lists.push_back(AxisListOf(axes));
    return cpp::Braces(std::move(lists));
  }

  // A variable for what `function` finds of the rank's place in the mesh.
  cpp::Expr Find(absl::string_view type, absl::string_view function, const ir::Transfer& transfer,
                 absl::string_view suffix, std::vector<cpp::Expr> more, cpp::Code& code) {
    const std::string name = emission_.identifiers.Local(absl::StrCat(Name(transfer.output).Text(), suffix));
    std::vector<cpp::Expr> arguments = {cpp::Call("comm.mesh", {}), cpp::Call("comm.rank", {}),
                                        AxisListOf(collective_.axes)};
    std::move(more.begin(), more.end(), std::back_inserter(arguments));
    code.Declare({cpp::Const(cpp::Name(type)), name}, cpp::Call(function, std::move(arguments)));
    return cpp::Name(name);
  }

  // Each member gets the piece of the member `turn` places behind it.
  void Turn(const ir::Transfer& transfer, cpp::Code& code) {
    const int64_t members = emission_.program.mesh.Size(collective_.axes);
    const cpp::Expr own = Group().Member("index");
    Call("Permute",
         {Name(transfer.input), Count(transfer.input), (own + (members - collective_.turn)) % members,
          Name(transfer.output), Count(transfer.output), (own + collective_.turn) % members, Group()},
         code);
  }

  void Permute(const ir::Transfer& transfer, cpp::Code& code) {
    if (collective_.turn != 0) return Turn(transfer, code);
    const cpp::Expr partners = Find(
        "Partners", "FindPartners", transfer, "_partners",
        {AxisLists(emission_.value(transfer.input).layout), AxisLists(emission_.value(transfer.output).layout)}, code);
    Call("Permute",
         {Name(transfer.input), Count(transfer.input), partners.Member("destination"), Name(transfer.output),
          Count(transfer.output), partners.Member("origin"), Group()},
         code);
  }

  void NeighborExchange(const ir::Transfer& transfer, cpp::Code& code) {
    const ir::Value& needed = emission_.value(transfer.output);
    std::vector<cpp::Expr> windows;
    for (const auto& [dimension, window] : needed.layout.windows) {
      windows.push_back(cpp::Braces({dimension, WindowOf(window)}));
    }
    const cpp::Expr neighbors =
        Find("Exchange", "FindNeighbors", transfer, "_neighbors",
             {ExchangedShape(transfer.input), ExchangedAxes(needed.layout), cpp::Braces(std::move(windows))}, code);
    Call("NeighborExchange", {Name(transfer.input), Name(transfer.output), neighbors, Group()}, code);
  }

  // The tensor that the members of the group exchange pieces of, and the axes that cut it. All of them hold the same
  // samples of a micro-batch.
  cpp::Expr ExchangedShape(ir::ValueId value) {
    std::vector<cpp::Expr> sizes;
    const ir::Value& info = emission_.value(value);
    const std::optional<size_t> samples = SamplesOf(info.layout);
    for (int d = 0; d < info.type.rank(); ++d) {
      const auto dimension = static_cast<size_t>(d);
      sizes.push_back(samples == dimension ? emission_.sizes.Size(value, d).Value() : info.type.shape[dimension]);
    }
    return cpp::Braces(std::move(sizes));
  }
  cpp::Expr ExchangedAxes(ir::Layout layout) const {
    if (const std::optional<size_t> samples = SamplesOf(layout)) layout.dimensions[*samples].clear();
    return AxisLists(layout);
  }

  // The dimension that micro-batches cut.
  std::optional<size_t> SamplesOf(const ir::Layout& layout) const {
    const std::optional<ir::AxisId> time = emission_.program.time;
    return time.has_value() ? ir::SampleDimension(layout, *time) : std::nullopt;
  }

  static absl::string_view KindText(ir::CollectiveKind kind) {
    switch (kind) {
      case ir::CollectiveKind::kNeighborExchange:
        return "CollectiveKind::kNeighborExchange";
      case ir::CollectiveKind::kSendReceive:
        return "CollectiveKind::kSendReceive";
      case ir::CollectiveKind::kNeighborExchangeV2:
        return "CollectiveKind::kNeighborExchangeV2";
      case ir::CollectiveKind::kAllReduce:
      case ir::CollectiveKind::kAllGather:
      case ir::CollectiveKind::kReduceScatter:
      case ir::CollectiveKind::kAllToAll:
      case ir::CollectiveKind::kBroadcast:
      case ir::CollectiveKind::kPermute:
        break;
    }
    return "";
  }

  void SendReceive(const ir::Messages& messages, cpp::Code& code) {
    const ir::Transfer& transfer = collective_.transfers.front();
    Call("SendReceive",
         {cpp::Name(KindText(collective_.kind)), Name(transfer.input),
          MessageList(messages.send_sizes, messages.send_ranks, "_receiver"), Name(transfer.output),
          MessageList(messages.receive_sizes, messages.receive_ranks, "_sender"), cpp::Call("comm.world", {})},
         code);
  }

  // "{{(rank + 1) % 4, 64}, {-1, 8}}": each part's partner and elements.
  cpp::Expr MessageList(const std::vector<int64_t>& sizes, const std::vector<int64_t>& partners,
                        absl::string_view role) {
    const std::string wish = absl::StrCat(Name(collective_.transfers.front().output).Text(), role);
    std::vector<cpp::Expr> parts;
    for (size_t part = 0; part < sizes.size(); ++part) {
      std::vector<int64_t> by_rank;
      for (size_t entry = part; entry < partners.size(); entry += sizes.size()) by_rank.push_back(partners[entry]);
      parts.push_back(cpp::Braces({emission_.rank_numbers.Of(by_rank, wish), sizes[part]}));
    }
    return cpp::Braces(std::move(parts));
  }

  Emission& emission_;
  int step_;
  const ir::Collective& collective_;
};

}  // namespace

void EmitCollective(Emission& emission, int step, cpp::Code& code) { CollectiveEmitter(emission, step).Run(code); }

cpp::Expr StartOfCollective(Emission& emission, int step, cpp::Code& code) {
  return CollectiveEmitter(emission, step).Start(code);
}

bool TakesList(const Emission& emission, int step) {
  const auto* collective = std::get_if<ir::Collective>(&emission.step(step).action);
  return collective != nullptr && collective->transfers.size() > 1 &&
         collective->kind != ir::CollectiveKind::kAllReduce;
}

cpp::Expr ListType(const Emission& emission, int step) {
  const auto& collective = std::get<ir::Collective>(emission.step(step).action);
  const bool gathers = collective.kind == ir::CollectiveKind::kAllGather;
  const cpp::Expr element = emission.ElementTypeOf(collective.transfers.front().input);
  return cpp::Template("std::vector", {cpp::Template(gathers ? "Gathered" : "Scattered", {element})});
}

void EmitListed(Emission& emission, int step, size_t transfer, const std::string& list, cpp::Code& code) {
  const auto& collective = std::get<ir::Collective>(emission.step(step).action);
  const std::vector<cpp::Expr> listed = CollectiveEmitter(emission, step).Listed(collective.transfers[transfer]);
  code.Do(cpp::Name(list).Call("push_back", {cpp::Braces(listed)}));
}

void EmitSlice(Emission& emission, int step, cpp::Code& code) {
  const ir::Slice& slice = std::get<ir::Slice>(emission.step(step).action);
  const ir::Layout& from = emission.value(slice.input).layout;
  const ir::Layout& to = emission.value(slice.output).layout;
  Sizes& sizes = emission.sizes;
  std::vector<cpp::Expr> begins;
  for (int d = 0; d < emission.value(slice.input).type.rank(); ++d) {
    const size_t dimension = static_cast<size_t>(d);
    if (from.dimensions[dimension] == to.dimensions[dimension] && to.WindowOf(dimension) == nullptr) {
      begins.push_back(0);
      continue;
    }
    // Relative to the rank's piece.
    begins.push_back(Difference(sizes.Begin(slice.output, d), 0, sizes.Begin(slice.input, d)));
  }
  Announce(emission, {step}, "", code);
  Watch(emission, step, slice.output, code);
  code.Do(
      cpp::Call("CopyBox", {emission.names[slice.input], sizes.ShapeList(slice.input), cpp::Braces(std::move(begins)),
                            sizes.ShapeList(slice.output), emission.names[slice.output]}));
}

}  // namespace cleave::codegen
