#include "ir/program/memory/workspace.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/match/match.h"
#include "ir/graph/ops/attention.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/image_blocks.h"
#include "ir/program/packing.h"

namespace cleave::ir {
namespace {

Need NeedOf(const Program& program, const Fusion& fusion, const Compute& compute) {
  const OpDefinition& op = DefinitionOf(compute.kind);
  if (op.need == nullptr) return {};
  const auto local = [&](ValueId value) {
    const Shape shape = LargestLocalShape(program, value);
    return TensorType{program.value(value).type.dtype,
                      fusion.in_blocks.contains(value) ? SizesInBlocks(fusion.images, shape) : shape};
  };
  std::vector<TensorType> inputs;
  for (const ValueId input : compute.inputs) inputs.push_back(local(input));
  return op.need(inputs, local(compute.output), compute.attributes);
}

// The steps that calls of other ops compute, whose need is that of the call.
std::set<int> CompanionsOf(const Fusion& fusion) {
  std::set<int> steps;
  for (const FusedStage& stage : fusion.stages) {
    for (const JointCall& joint : JointCallsOf(stage)) {
      for (const std::optional<int>& companion : joint.companions) {
        if (companion.has_value()) steps.insert(*companion);
      }
    }
  }
  return steps;
}

Need NeedOf(const Program& program, const Collective& collective, PieceCounts counts) {
  Need need;
  if (program.mesh.Size(collective.axes) == 1) return need;
  Bytes inputs, outputs;
  for (const Transfer& transfer : collective.transfers) {
    inputs += LargestLocalBytes(program, transfer.input);
    outputs += LargestLocalBytes(program, transfer.output);
  }
  const Packing packing = PackingOf(program, collective, counts);
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kPermute:
    case CollectiveKind::kSendReceive:  // Read from the tensors and written to them directly.
    case CollectiveKind::kNeighborExchangeV2:
      return need;
    case CollectiveKind::kAllGather:
      return {.send = packing.part, .receive = packing.message};
    case CollectiveKind::kReduceScatter:
      return {.send = packing.message, .receive = packing.part};
    case CollectiveKind::kAllToAll:
      return {.send = inputs, .receive = outputs};
    case CollectiveKind::kNeighborExchange:
      if (collective.messages.has_value()) return need;
      // A rank with neighbours on both sides sends as much as it gets.
      return {.send = CollectiveBytes(program, collective), .receive = CollectiveBytes(program, collective)};
  }
  return need;
}

// The sizes of attention on the rank with the largest pieces.
struct AttentionSizes {
  int64_t batch, heads, key_heads, rows, columns, head;
  int64_t value_head;  // Elements of a head of values.
  int64_t biases = 0;  // Numbers that are added by distance.
  DType type;
  bool is_plain;  // Of the kind that cuDNN computes.

  // `like_values`: a tensor with heads of values; nullopt: there is none.
  AttentionSizes(const Program& program, const AttentionInputs& inputs, std::optional<ValueId> like_values,
                 const Attributes& attributes) {
    const std::vector<int64_t>& inside = attributes.Get(attribute::kHeadsInside);
    const Shape q = LargestLocalShape(program, inputs.q);
    const Shape k = LargestLocalShape(program, inputs.k);
    const AttentionDimensions of_q(q.size(), inside[0] != 0), of_k(k.size(), inside[1] != 0);
    head = q.back();
    value_head = like_values.has_value() ? program.value(*like_values).type.shape.back() : head;
    rows = q[of_q.rows];
    columns = k[of_k.rows];
    heads = q[of_q.heads];
    key_heads = k[of_k.heads];
    batch = ElementCount(Shape(q.begin(), q.end() - 3));
    type = program.value(inputs.q).type.dtype;
    if (inputs.bias.has_value()) biases = ElementCount(LargestLocalShape(program, *inputs.bias));
    is_plain = biases == 0 && inputs.ranges.empty() && attributes.Get(attribute::kCap) == 0 &&
               attributes.Get(attribute::kRate) == 0;
  }
};

int64_t RoundedUp(int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; }

// Attention on a GPU: the most that it takes on any. There memory that a call gives back is taken again for as many
// bytes only, in units of kUnit (runtime/device/cuda/workspace.cu).
class AttentionOnGpu {
 public:
  explicit AttentionOnGpu(const AttentionSizes& sizes) : sizes_(sizes) {}

  Bytes Forward() const { return Rounded(MayUseLibrary() ? kForwardBytes : 0); }

  // `biases`: numbers of a gradient of the bias that is wanted.
  Bytes Gradient(bool wants_all, int64_t biases) const {
    const int64_t by_kernels = 4 * sizes_.batch * (sizes_.heads * sizes_.rows + biases);
    if (!wants_all || !MayUseLibrary()) return Rounded(by_kernels);
    return Rounded(std::max({by_kernels, InSlices(&AttentionOnGpu::OnHopper), InSlices(&AttentionOnGpu::OnBlackwell)}));
  }

 private:
  static constexpr int64_t kUnit = 512;
  static constexpr int64_t kForwardBytes = 256;
  static constexpr int64_t kLargest = int64_t{288} << 20;  // kLargestWorkspace of runtime/math/cudnn/sdpa.cc.

  static Bytes Rounded(int64_t bytes) { return Bytes(RoundedUp(bytes, kUnit)); }
  static int64_t HalfOf(int64_t size) { return (size + 1) / 2; }

  bool MayUseLibrary() const {
    return sizes_.is_plain && (sizes_.type == DType::kBf16 || sizes_.type == DType::kF16) && sizes_.head % 8 == 0 &&
           sizes_.value_head % 8 == 0 &&
           sizes_.batch * sizes_.heads * sizes_.rows * sizes_.columns * sizes_.head * sizes_.value_head > 0;
  }
  bool HasGroups() const { return sizes_.heads != sizes_.key_heads; }

  // What plans of cuDNN 9.27 ask for, for the gradients of so many heads in all (bench/cudnn_plans measures it): the
  // gradients by the scores in 16 bits, on an Ampere GPU for columns in units of 64 and without the last 128 bytes; a
  // number of each row; where key heads are fewer, gradients of keys and values for each head, which a Blackwell GPU
  // has twice in f32, and of heads of more than 128 elements three times.
  int64_t OnHopper(int64_t heads) const {
    return 2 * heads * RoundedUp(sizes_.rows, 64) * RoundedUp(sizes_.columns, 128) + 4 * heads * sizes_.rows + 256 +
           (HasGroups() ? 2 * heads * sizes_.columns * (sizes_.head + sizes_.value_head) : 0);
  }
  int64_t OnBlackwell(int64_t heads) const {
    const int64_t elements = sizes_.head + sizes_.value_head + (sizes_.value_head > 128 ? sizes_.head : 0);
    return 4 * heads * sizes_.rows + (HasGroups() ? 4 * heads * sizes_.columns * elements + 128 : 0);
  }

  // Of the first slice, which is the largest: PrepareCall in runtime/math/cudnn/sdpa.cc. 0 where one head takes too
  // much, so that kernels of the runtime compute it.
  int64_t InSlices(int64_t (AttentionOnGpu::*bytes_of)(int64_t) const) const {
    int64_t samples = sizes_.batch, key_heads = sizes_.key_heads;
    while (true) {
      const int64_t all = (this->*bytes_of)(samples * key_heads * (sizes_.heads / sizes_.key_heads));
      if (all <= kLargest) return all;
      for (int64_t bytes = all; bytes > kLargest; bytes = HalfOf(bytes)) {
        if (samples == 1 && key_heads == 1) return 0;
        int64_t& halved = samples > 1 ? samples : key_heads;
        halved = HalfOf(halved);
      }
    }
  }

  const AttentionSizes sizes_;
};

// Attention on a CPU, as the rank's thread sees it: AttentionBlocks and PiecesOfQueries of
// runtime/kernels/cpu/attention_blocks.h.
class AttentionBlocks {
 public:
  explicit AttentionBlocks(const AttentionSizes& sizes)
      : batch_(sizes.batch),
        heads_(sizes.heads),
        key_heads_(sizes.key_heads),
        rows_(sizes.rows),
        columns_(sizes.columns),
        head_(sizes.head),
        value_head_(sizes.value_head),
        biases_(sizes.biases),
        in_word_(sizes.type == DType::kBf16 ? 2 : 1) {}

  Need Forward() const {
    std::vector<int64_t> parts = CommonParts();
    parts.insert(parts.end(), {KeptTiles() * kTile * Width(value_head_), KeptTiles() * kTile, KeptTiles() * kTile,
                               Panels() * kTile * kTile});
    return {.blocks = Words(parts)};
  }

  Need Gradient(const AttentionBackward& piece) const {
    std::vector<int64_t> parts = CommonParts();
    parts.insert(parts.end(), {kTile * kTile, kTile * kTile, PanelWords(value_head_), kTile});
    if (piece.q_gradient.has_value())
      parts.insert(parts.end(), {KeptTiles() * kTile * Width(head_), Panels() * PanelWords(head_)});
    int64_t by_keys = 0;  // Elements of a row of the gradients of keys and values.
    const auto add = [&](const std::optional<ValueId>& gradient, int64_t head) {
      if (!gradient.has_value()) return;
      parts.insert(parts.end(), {Panels() * kTile * Width(head), PanelWords(head)});
      by_keys += head;
    };
    add(piece.k_gradient, head_);
    add(piece.v_gradient, value_head_);
    Need need = {.blocks = Words(parts)};
    std::vector<int64_t> sums;  // Of each piece.
    if (Pieces() > 1) sums.push_back(batch_ * key_heads_ * Pieces() * by_keys * columns_);
    if (piece.bias_gradient.has_value()) sums.push_back(batch_ * Pieces() * biases_);
    need.temporary = Words(sums);
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
    return {Panels() * PanelWords(head_), Panels() * PanelWords(value_head_), PanelWords(head_),
            kTile * std::max(Width(head_), Width(value_head_))};
  }

  int64_t TilesOfKeyHead() const { return Tiles(rows_) * (heads_ / std::max<int64_t>(1, key_heads_)); }
  int64_t Pieces() const {
    const int64_t key_heads = std::max<int64_t>(1, batch_ * key_heads_);
    return std::max<int64_t>(1, std::min((16 + key_heads - 1) / key_heads, TilesOfKeyHead() / 4));
  }
  int64_t Panels() const { return std::min<int64_t>(16, Tiles(columns_)); }
  // Tiles whose sums are kept: all of a piece, or one where one group of panels holds all keys.
  int64_t KeptTiles() const { return Panels() == Tiles(columns_) ? 1 : (TilesOfKeyHead() + Pieces() - 1) / Pieces(); }
  int64_t Width(int64_t head) const {
    const int64_t step = 16 * in_word_;
    return (head + step - 1) / step * step;
  }
  int64_t PanelWords(int64_t head) const { return kTile * (Width(head) / in_word_); }

  const int64_t batch_, heads_, key_heads_, rows_, columns_, head_, value_head_, biases_, in_word_;
};

template <typename Piece>
AttentionSizes SizesOf(const Program& program, const Piece& piece, std::optional<ValueId> like_values) {
  const Compute& first = *ComputeOf(program.steps[static_cast<size_t>(piece.steps[0])]);
  return {program, piece.inputs, like_values, first.attributes};
}

// What all attention takes.
Need AttentionNeed(const Program& program, const Fusion& fusion, AttentionWorkspace workspace) {
  Need need;
  std::set<Bytes> on_gpu;
  for (const FusedStage& stage : fusion.stages) {
    const auto* const forward = std::get_if<AttentionForward>(&stage.action);
    const auto* const backward = std::get_if<AttentionBackward>(&stage.action);
    if (forward == nullptr && backward == nullptr) continue;
    const AttentionSizes sizes = forward != nullptr ? SizesOf(program, *forward, forward->inputs.v)
                                                    : SizesOf(program, *backward, backward->output_gradient);
    switch (workspace) {
      case AttentionWorkspace::kOnGpu: {
        const AttentionOnGpu attention(sizes);
        const auto gradient = [&](const AttentionBackward& piece) {
          const bool all = piece.q_gradient.has_value() && piece.k_gradient.has_value() && piece.v_gradient.has_value();
          return attention.Gradient(all, piece.bias_gradient.has_value() ? sizes.biases : 0);
        };
        on_gpu.insert(forward != nullptr ? attention.Forward() : gradient(*backward));
        break;
      }
      case AttentionWorkspace::kBlocks:
        need.Include(forward != nullptr ? AttentionBlocks(sizes).Forward()
                                        : AttentionBlocks(sizes).Gradient(*backward));
        break;
    }
  }
  for (const Bytes bytes : on_gpu) need.sums += bytes;
  return need;
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
  const std::set<int> companions = CompanionsOf(fusion);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (companions.count(static_cast<int>(i)) > 0) continue;
    Match(
        program.steps[i].action, [&](const Compute& compute) { most.Include(NeedOf(program, fusion, compute)); },
        [&](const Collective& collective) { most.Include(NeedOf(program, collective, fuse.piece_counts)); },
        [](const Slice&) {}, [](const View&) {}, [](const Glance&) {}, [](const HostCopy&) {}, [](const Send&) {},
        [](const Receive&) {});
  }
  most.Include(AttentionNeed(program, fusion, fuse.attention_workspace));
  return most.total();
}

}  // namespace cleave::ir
