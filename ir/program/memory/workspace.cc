#include "ir/program/memory/workspace.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <variant>
#include <vector>

#include "base/match/match.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/image_blocks.h"

namespace cleave::ir {
namespace {

// Whether the pieces along `dimension` lie one after another: all dimensions before it have one element.
bool IsContiguous(const Program& program, ValueId whole, int dimension) {
  const Shape shape = LargestLocalShape(program, whole);
  return std::all_of(shape.begin(), shape.begin() + dimension, [](int64_t size) { return size == 1; });
}

Need NeedOf(const Program& program, const Fusion& fusion, const Compute& compute) {
  const OpDefinition& op = DefinitionOf(compute.kind);
  if (op.need == nullptr) return {};
  const auto local = [&](ValueId value) {
    const Shape shape = LargestLocalShape(program, value);
    return TensorType{program.value(value).type.dtype, fusion.in_blocks.contains(value) ? SizesInBlocks(shape) : shape};
  };
  std::vector<TensorType> inputs;
  for (const ValueId input : compute.inputs) inputs.push_back(local(input));
  return op.need(inputs, local(compute.output), compute.attributes);
}

Need NeedOf(const Program& program, const Collective& collective) {
  Need need;
  if (program.mesh.Size(collective.axes) == 1) return need;
  Bytes inputs, outputs;
  for (const Transfer& transfer : collective.transfers) {
    inputs += LargestLocalBytes(program, transfer.input);
    outputs += LargestLocalBytes(program, transfer.output);
  }
  const Transfer& first = collective.transfers.front();
  const bool merged = collective.transfers.size() > 1;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kPermute:
    case CollectiveKind::kSendReceive:  // Read from the tensors and written to them directly.
    case CollectiveKind::kNeighborExchangeV2:
      return need;
    case CollectiveKind::kAllGather:
      if (merged) need.send = inputs;
      if (merged || !IsContiguous(program, first.output, first.from_dimension)) need.receive = outputs;
      return need;
    case CollectiveKind::kReduceScatter:
      if (merged || !IsContiguous(program, first.input, first.to_dimension)) need.send = inputs;
      if (merged) need.receive = outputs;
      return need;
    case CollectiveKind::kAllToAll:
      return {.send = inputs, .receive = outputs};
    case CollectiveKind::kNeighborExchange:
      if (collective.messages.has_value()) return need;
      // A rank with neighbours on both sides sends as much as it gets.
      return {.send = CollectiveBytes(program, collective), .receive = CollectiveBytes(program, collective)};
  }
  return need;
}

// Attention on a CPU, as the rank's thread sees it: AttentionBlocks and PiecesOfQueries of
// runtime/kernels/cpu/attention_blocks.h.
class AttentionBlocks {
 public:
  AttentionBlocks(const Program& program, const AttentionInputs& inputs) {
    const Shape q = LargestLocalShape(program, inputs.q);
    const Shape k = LargestLocalShape(program, inputs.k);
    head_ = q.back();
    rows_ = q[q.size() - 2];
    columns_ = k[k.size() - 2];
    matrices_ = head_ * rows_ == 0 ? 0 : ElementCount(q) / (head_ * rows_);
    in_word_ = program.value(inputs.q).type.dtype == DType::kBf16 ? 2 : 1;
  }

  Need Forward() const { return {.blocks = Words(CommonParts())}; }

  Need Gradient() const {
    std::vector<int64_t> parts = CommonParts();
    const int64_t panels = Panels();
    parts.insert(parts.end(),
                 {PaddedRows(), panels * PanelWords() * Width(), panels * Width() * kTile, panels * Width() * kTile,
                  panels * kTile * kTile, kTile * HeadWords(), Width() * PanelWords(), Width() * PanelWords()});
    Need need = {.blocks = Words(parts)};
    if (Pieces() > 1) need.temporary = Words({matrices_ * Pieces() * 2 * columns_ * head_});
    return need;
  }

 private:
  static constexpr int64_t kTile = 64;

  static int64_t Tiles(int64_t size) { return (size + kTile - 1) / kTile; }

  // Each part begins at a multiple of 64 bytes.
  static Bytes Words(const std::vector<int64_t>& parts) {
    int64_t bytes = 0;
    for (const int64_t words : parts) bytes += (words * 4 + 63) / 64 * 64;
    return Bytes(bytes);
  }

  std::vector<int64_t> CommonParts() const {
    const int64_t panels = Panels();
    return {PaddedRows(),
            PaddedRows(),
            PaddedRows() * Width(),
            panels * HeadWords() * kTile,
            panels * std::max(HeadWords() * kTile, PanelWords() * Width()),
            panels * kTile * kTile,
            kTile * HeadWords(),
            kTile * Width()};
  }

  int64_t Pieces() const {
    const int64_t wanted = (16 + matrices_ - 1) / std::max<int64_t>(1, matrices_);
    return std::max<int64_t>(1, std::min(wanted, Tiles(rows_) / 4));
  }
  int64_t PaddedRows() const { return (Tiles(rows_) + Pieces() - 1) / Pieces() * kTile; }
  int64_t Panels() const { return std::min<int64_t>(16, Tiles(columns_)); }
  int64_t Width() const {
    const int64_t step = 16 * in_word_;
    return (head_ + step - 1) / step * step;
  }
  int64_t HeadWords() const { return Width() / in_word_; }
  int64_t PanelWords() const { return kTile / in_word_; }

  int64_t matrices_ = 0, rows_ = 0, columns_ = 0, head_ = 0, in_word_ = 1;
};

Need NeedOfForward(const Program& program, const AttentionInputs& inputs, AttentionWorkspace workspace) {
  switch (workspace) {
    case AttentionWorkspace::kRows:
      return {};
    case AttentionWorkspace::kBlocks:
      return AttentionBlocks(program, inputs).Forward();
  }
  return {};
}

Need NeedOfGradient(const Program& program, const AttentionInputs& inputs, AttentionWorkspace workspace) {
  switch (workspace) {
    case AttentionWorkspace::kRows: {
      const int64_t head = program.value(inputs.q).type.shape.back();
      return {.temporary = Bytes(head == 0 ? 0 : ElementCount(LargestLocalShape(program, inputs.q)) / head * 12)};
    }
    case AttentionWorkspace::kBlocks:
      return AttentionBlocks(program, inputs).Gradient();
  }
  return {};
}

// What a part keeps of the messages of a send, micro-batch i in place i modulo `places`, until they are taken: in each
// place the most that one of its ranks has sent from there.
Bytes BytesInPlaces(const Program& program, ValueId sent, int64_t places) {
  const Value& value = program.value(sent);
  const Bytes largest = LargestLocalBytes(program, sent);
  const std::vector<int64_t> pieces = CutCounts(value.layout, program.mesh);
  const int64_t all = std::accumulate(pieces.begin(), pieces.end(), int64_t{1}, std::multiplies<>());
  const bool are_equal = largest * all == ElementSize(value.type.dtype) * value.type.elements();
  if (are_equal) return largest * places;
  std::vector<Bytes> most(static_cast<size_t>(places));
  for (const int rank : RanksOf(program, value.stage)) {
    const int64_t micro_batch = program.mesh.Index(rank, {*program.time});
    Bytes& own = most[static_cast<size_t>(micro_batch % places)];
    own = std::max(own, ElementSize(value.type.dtype) * ElementCount(LocalShape(program, sent, rank)));
  }
  return std::accumulate(most.begin(), most.end(), Bytes(0));
}

// A rank keeps what each of its sends has sent until it is taken.
Bytes OutboxesOf(const Program& program) {
  Bytes bytes;
  for (const Step& step : program.steps) {
    const Send* const send = std::get_if<Send>(&step.action);
    if (send == nullptr) continue;
    const int64_t places = MessagesUnderWay(program, step);
    bytes += places == 1 ? LargestLocalBytes(program, send->input) : BytesInPlaces(program, send->input, places);
  }
  return bytes;
}

}  // namespace

Bytes WorkspaceOf(const Program& program, const Fusion& fusion, const FuseOptions& fuse) {
  Need most{.outboxes = OutboxesOf(program)};
  for (const Step& step : program.steps) {
    Match(
        step.action, [&](const Compute& compute) { most.Include(NeedOf(program, fusion, compute)); },
        [&](const Collective& collective) { most.Include(NeedOf(program, collective)); }, [](const Slice&) {},
        [](const View&) {}, [](const Glance&) {}, [](const HostCopy&) {}, [](const Send&) {}, [](const Receive&) {});
  }
  for (const FusedStage& stage : fusion.stages) {
    if (const auto* forward = std::get_if<AttentionForward>(&stage.action)) {
      most.Include(NeedOfForward(program, forward->inputs, fuse.attention_workspace));
    }
    if (const auto* backward = std::get_if<AttentionBackward>(&stage.action)) {
      most.Include(NeedOfGradient(program, backward->inputs, fuse.attention_workspace));
    }
  }
  return most.total();
}

}  // namespace cleave::ir
