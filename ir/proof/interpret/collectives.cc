#include "ir/proof/interpret/collectives.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

double Combine(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::kSum:
      return a + b;
    case Reduction::kMax:
      return a < b || b != b ? b : a;
    case Reduction::kMin:
      return b < a || b != b ? b : a;
    case Reduction::kProd:
      return a * b;
  }
  return a;
}

namespace {

// The element-wise reduction of the members' tensors, which must have one shape.
absl::StatusOr<Tensor> Reduced(const std::vector<const Tensor*>& members, Reduction reduction) {
  Tensor result = *members.front();
  for (size_t member = 1; member < members.size(); ++member) {
    if (members[member]->shape != result.shape) {
      return absl::InternalError(
          absl::StrCat("a reduction of ", ShapeText(result.shape), " and ", ShapeText(members[member]->shape)));
    }
    for (size_t i = 0; i < result.values.size(); ++i) {
      result.values[i] = Combine(reduction, result.values[i], members[member]->values[i]);
    }
  }
  return result;
}

// The tensors one after another along `dimension`.
absl::StatusOr<Tensor> Concatenated(const std::vector<Tensor>& pieces, int dimension) {
  const size_t along = static_cast<size_t>(dimension);
  Shape shape = pieces.front().shape;
  shape[along] = 0;
  for (const Tensor& piece : pieces) shape[along] += piece.shape[along];
  Tensor result = Zeros(shape);
  Shape begin(shape.size(), 0);
  for (const Tensor& piece : pieces) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != along && piece.shape[d] != shape[d]) {
        return absl::InternalError(
            absl::StrCat("pieces of ", ShapeText(piece.shape), " and ", ShapeText(pieces.front().shape), " joined"));
      }
    }
    PasteBox(piece, begin, result);
    begin[along] += piece.shape[along];
  }
  return result;
}

// `tensor` holds the slice of `from` on a rank. Returns the slice of `to`, cut out of it along `dimension` (along all
// dimensions when that is -1).
absl::StatusOr<Tensor> Cut(const Tensor& tensor, const std::vector<Piece>& from, const std::vector<Piece>& to,
                           int dimension) {
  Shape begin(tensor.shape.size(), 0);
  Shape size = tensor.shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (dimension >= 0 && static_cast<int>(d) != dimension) continue;
    begin[d] = to[d].begin - from[d].begin;
    size[d] = to[d].size;
    if (size[d] == 0) begin[d] = 0;
    if (begin[d] < 0 || begin[d] + size[d] > tensor.shape[d]) {
      return absl::InternalError(absl::StrCat("a slice reaches outside of dimension ", d));
    }
  }
  return Box(tensor, begin, size);
}

// One rank's part of one transfer.
class TransferOnRank {
 public:
  TransferOnRank(const Program& program, const Collective& collective, const Transfer& transfer,
                 const RankValues& values, int rank)
      : program_(program),
        collective_(collective),
        transfer_(transfer),
        locals_(values[transfer.input]),
        rank_(rank),
        group_(program.mesh.Group(rank, collective.axes)) {}

  absl::StatusOr<Tensor> Run() const {
    if (collective_.messages.has_value()) return Received(*collective_.messages);
    switch (collective_.kind) {
      case CollectiveKind::kAllReduce:
        return Reduced(Members(), collective_.reduction);
      case CollectiveKind::kBroadcast:
        return Local(group_[static_cast<size_t>(collective_.root)]);
      case CollectiveKind::kAllGather: {
        std::vector<Tensor> pieces;
        for (int member : group_) pieces.push_back(Local(member));
        return Concatenated(pieces, transfer_.from_dimension);
      }
      case CollectiveKind::kReduceScatter: {
        CLEAVE_ASSIGN_OR_RETURN(Tensor whole, Reduced(Members(), collective_.reduction));
        return Cut(whole, InputSlice(rank_), OutputSlice(), transfer_.to_dimension);
      }
      case CollectiveKind::kAllToAll: {
        std::vector<Tensor> pieces;
        for (int member : group_) {
          CLEAVE_ASSIGN_OR_RETURN(Tensor piece,
                                  Cut(Local(member), InputSlice(member), OutputSlice(), transfer_.to_dimension));
          pieces.push_back(std::move(piece));
        }
        return Concatenated(pieces, transfer_.from_dimension);
      }
      // Only who needs which elements counts: on a mesh that the proof has shortened, the pieces of a permute need not
      // have one size.
      case CollectiveKind::kPermute:
        if (collective_.turn != 0) return Local(PartnersOf(program_, collective_, rank_).origin);
        return Collected();
      case CollectiveKind::kNeighborExchange:
        return Collected();
      case CollectiveKind::kSendReceive:
      case CollectiveKind::kNeighborExchangeV2:
        return absl::InternalError(absl::StrCat("a ", CollectiveKindName(collective_.kind), " without messages"));
    }
    return absl::InternalError("unknown collective");
  }

 private:
  // The parts that others send to this rank, one after another; zeros where nobody sends one.
  absl::StatusOr<Tensor> Received(const Messages& messages) const {
    Tensor result = Zeros(LocalShape(program_, transfer_.output, rank_));
    std::map<int64_t, size_t> taken;  // For each sender: how many of the parts that it sends here have arrived.
    auto to = result.values.begin();
    for (size_t part = 0; part < messages.receive_sizes.size(); ++part) {
      const int64_t size = messages.receive_sizes[part];
      const int64_t sender = messages.receive_ranks[static_cast<size_t>(rank_) * messages.receive_sizes.size() + part];
      if (size > result.values.end() - to) return absl::InternalError("more is received than there is room for");
      if (sender >= 0) {
        const std::optional<Range> sent = SentPart(messages, sender, taken[sender]++);
        if (!sent.has_value() || sent->size != size) {
          return absl::InternalError(absl::StrCat("rank ", rank_, " waits for what rank ", sender, " does not send"));
        }
        const auto from = Local(static_cast<int>(sender)).values.begin() + sent->begin;
        std::copy(from, from + size, to);
      }
      to += size;
    }
    return result;
  }

  struct Range {
    int64_t begin = 0;
    int64_t size = 0;
  };

  // Where the part with number `number` among those that `sender` sends here lies in what it sends.
  std::optional<Range> SentPart(const Messages& messages, int64_t sender, size_t number) const {
    int64_t begin = 0;
    for (size_t part = 0; part < messages.send_sizes.size(); ++part) {
      const int64_t receiver = messages.send_ranks[static_cast<size_t>(sender) * messages.send_sizes.size() + part];
      if (receiver == rank_ && number-- == 0) return Range{begin, messages.send_sizes[part]};
      begin += messages.send_sizes[part];
    }
    return std::nullopt;
  }

  // The output's part, each element from a member that holds it.
  absl::StatusOr<Tensor> Collected() const {
    const std::vector<Piece> needed = OutputSlice();
    Tensor result = Zeros(LocalShape(program_, transfer_.output, rank_));
    Tensor found = Zeros(result.shape);
    for (int member : group_) {
      const std::vector<Piece> held = InputSlice(member);
      Shape from, to, size;
      for (size_t d = 0; d < needed.size(); ++d) {
        const Piece common = Intersection(needed[d], held[d]);
        size.push_back(common.size);
        from.push_back(common.size == 0 ? 0 : common.begin - held[d].begin);
        to.push_back(common.size == 0 ? 0 : common.begin - needed[d].begin);
      }
      if (ElementCount(size) == 0) continue;
      PasteBox(Box(Local(member), from, size), to, result);
      PasteBox(Tensor{.shape = size, .values = std::vector<double>(static_cast<size_t>(ElementCount(size)), 1)}, to,
               found);
    }
    if (std::find(found.values.begin(), found.values.end(), 0) == found.values.end()) return result;
    return absl::InternalError(
        absl::StrCat("no rank of the group holds all of what a ", CollectiveKindName(collective_.kind), " asks for"));
  }

  const Tensor& Local(int rank) const { return locals_[static_cast<size_t>(rank)]; }
  std::vector<const Tensor*> Members() const {
    std::vector<const Tensor*> members;
    for (int member : group_) members.push_back(&Local(member));
    return members;
  }
  std::vector<Piece> InputSlice(int rank) const {
    const Value& value = program_.value(transfer_.input);
    return SliceOf(value.layout, program_.mesh, value.type.shape, rank);
  }
  std::vector<Piece> OutputSlice() const {
    const Value& value = program_.value(transfer_.output);
    return SliceOf(value.layout, program_.mesh, value.type.shape, rank_);
  }

  const Program& program_;
  const Collective& collective_;
  const Transfer& transfer_;
  const std::vector<Tensor>& locals_;
  int rank_;
  std::vector<int> group_;
};

absl::Status CheckShape(const Program& program, ValueId value, int rank, const Tensor& local) {
  const Shape expected = LocalShape(program, value, rank);
  if (local.shape == expected) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("`", program.value(value).name, "` is ", ShapeText(local.shape), " on rank ",
                                          rank, ", its layout says ", ShapeText(expected)));
}

}  // namespace

absl::Status RunCollective(const Program& program, const Collective& collective, RankValues& values) {
  for (const Transfer& transfer : collective.transfers) {
    std::vector<Tensor> outputs(static_cast<size_t>(program.mesh.rank_count()));
    for (const int rank : RanksOf(program, program.value(transfer.output).stage)) {
      CLEAVE_ASSIGN_OR_RETURN(Tensor local, TransferOnRank(program, collective, transfer, values, rank).Run());
      CLEAVE_RETURN_IF_ERROR(CheckShape(program, transfer.output, rank, local));
      outputs[static_cast<size_t>(rank)] = std::move(local);
    }
    values[transfer.output] = std::move(outputs);
  }
  return absl::OkStatus();
}

absl::Status RunView(const Program& program, const View& view, RankValues& values) {
  std::vector<Tensor> outputs = values[view.input];
  for (int rank = 0; rank < program.mesh.rank_count(); ++rank) {
    Tensor& local = outputs[static_cast<size_t>(rank)];
    local.shape = LocalShape(program, view.output, rank);
    if (static_cast<int64_t>(local.values.size()) == ElementCount(local.shape)) continue;
    return absl::InternalError(absl::StrCat("`", program.value(view.output).name, "` has ", local.values.size(),
                                            " elements on rank ", rank, ", its layout says ", ShapeText(local.shape)));
  }
  values[view.output] = std::move(outputs);
  return absl::OkStatus();
}

absl::Status RunSlice(const Program& program, const Slice& slice, RankValues& values) {
  const Value& input = program.value(slice.input);
  const Value& output = program.value(slice.output);
  std::vector<Tensor> outputs(static_cast<size_t>(program.mesh.rank_count()));
  for (const int rank : RanksOf(program, output.stage)) {
    CLEAVE_ASSIGN_OR_RETURN(Tensor local, Cut(values[slice.input][static_cast<size_t>(rank)],
                                              SliceOf(input.layout, program.mesh, input.type.shape, rank),
                                              SliceOf(output.layout, program.mesh, output.type.shape, rank), -1));
    outputs[static_cast<size_t>(rank)] = std::move(local);
  }
  values[slice.output] = std::move(outputs);
  return absl::OkStatus();
}

}  // namespace cleave::ir
