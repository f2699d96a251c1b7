#include "ir/program/fuse/attention.h"

#include <algorithm>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

namespace cleave::ir {
namespace {

// Scores below this have no weight in float, whatever the others are.
constexpr double kHidden = -1e8;

using StepNumbers = absl::InlinedVector<int, 4>;

class Finder {
 public:
  Finder(const Program& program, int64_t largest_head)
      : program_(program),
        largest_head_(largest_head),
        readers_(program.values.size()),
        writer_(program.values.size(), -1) {
    for (size_t i = 0; i < program.steps.size(); ++i) {
      for (const ValueId value : Reads(program.steps[i])) readers_[value].push_back(static_cast<int>(i));
      for (const ValueId value : Writes(program.steps[i])) writer_[value] = static_cast<int>(i);
    }
    for (const ProgramUpdate& update : program.updates) asked_for_.insert(update.value);
    for (const ProgramMetric& metric : program.metrics) asked_for_.insert(metric.value);
    if (program.loss.has_value()) asked_for_.insert(*program.loss);
  }

  std::vector<Attention> Run() const {
    std::vector<Attention> found;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (std::optional<Attention> attention = At(static_cast<int>(i))) found.push_back(*std::move(attention));
    }
    return found;
  }

 private:
  const Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }
  const Compute* ComputeAt(int i) const { return i < 0 ? nullptr : std::get_if<Compute>(&StepAt(i).action); }
  const TensorType& Type(ValueId value) const { return program_.value(value).type; }

  bool IsAskedFor(ValueId value) const { return asked_for_.count(value) > 0; }

  // The step if it is an op of this kind.
  const Compute* Kind(int i, OpKind kind) const {
    const Compute* compute = ComputeAt(i);
    return compute != nullptr && compute->kind == kind ? compute : nullptr;
  }

  bool IsProduct(int i, bool transpose_a, bool transpose_b) const {
    const Compute* compute = Kind(i, OpKind::kMatmul);
    return compute != nullptr && compute->attributes.Get(attribute::kTransposeA) == transpose_a &&
           compute->attributes.Get(attribute::kTransposeB) == transpose_b &&
           Type(compute->inputs[0]).rank() == Type(compute->inputs[1]).rank();
  }

  // Whether the values are equal: one, or the same tensor made again.
  bool IsSame(ValueId a, ValueId b) const {
    return a == b || (program_.value(a).origin == program_.value(b).origin &&
                      program_.value(a).layout == program_.value(b).layout);
  }

  // A value that is followed through ops which are its only readers.
  struct Path {
    ValueId value;
    std::vector<int> steps;
  };

  // Moves the path on through its only reader if that is a `kind`.
  const Compute* Follow(OpKind kind, Path& path) const {
    const StepNumbers& readers = readers_[path.value];
    if (readers.size() != 1 || IsAskedFor(path.value)) return nullptr;
    const Compute* compute = Kind(readers[0], kind);
    if (compute == nullptr || compute->inputs[0] != path.value) return nullptr;
    path.steps.push_back(readers[0]);
    path.value = compute->output;
    return compute;
  }

  std::optional<Attention> At(int first) const {
    if (!IsProduct(first, false, true)) return std::nullopt;
    const Compute& product = *ComputeAt(first);
    AttentionInputs inputs = {
        .q = product.inputs[0], .k = product.inputs[1], .v = product.inputs[1], .scores = product.output};
    Path path = {.value = product.output, .steps = {first}};
    Follow(OpKind::kCast, path);
    if (const Compute* scale = Follow(OpKind::kScale, path)) inputs.scale = scale->attributes.Get(attribute::kFactor);
    if (const Compute* mask = Follow(OpKind::kCausalMask, path)) {
      inputs.causal = true;
      if (mask->attributes.Get(attribute::kFill) > kHidden) return std::nullopt;
    }
    Follow(OpKind::kCast, path);
    const Compute* softmax = Follow(OpKind::kSoftmax, path);
    if (softmax == nullptr || IsAskedFor(softmax->output)) return std::nullopt;
    return WithWeights(std::move(path), inputs);
  }

  // `path` ends at the weights in float. They and their cast are read by the second product and by the gradient.
  std::optional<Attention> WithWeights(Path path, AttentionInputs inputs) const {
    const ValueId weights = path.value;
    ValueId read = weights;
    StepNumbers others = readers_[weights];
    const auto cast = absl::c_find_if(others, [&](int i) { return Kind(i, OpKind::kCast) != nullptr; });
    if (cast != others.end()) {
      path.steps.push_back(*cast);
      read = ComputeAt(*cast)->output;
      if (IsAskedFor(read)) return std::nullopt;
      others.erase(cast);
      others.insert(others.end(), readers_[read].begin(), readers_[read].end());
    }
    const auto second =
        absl::c_find_if(others, [&](int i) { return IsProduct(i, false, false) && ComputeAt(i)->inputs[0] == read; });
    Attention attention;
    if (second != others.end()) {
      inputs.v = ComputeAt(*second)->inputs[1];
      path.steps.push_back(*second);
      attention.forward =
          AttentionForward{.steps = std::move(path.steps), .inputs = inputs, .output = ComputeAt(*second)->output};
      others.erase(second);
      path.steps.clear();
      if (!IsLocal(inputs) || !FindPlace(*attention.forward, {attention.forward->output})) return std::nullopt;
      if (others.empty()) return attention;
    }
    attention.backward = Gradient(std::move(path.steps), inputs, weights, read, others);
    if (!attention.backward.has_value()) return std::nullopt;
    return attention;
  }

  // `readers` of the weights (float) and of their cast, all of which must belong to the gradient. `again`: the steps
  // that make the weights, where they do so for the gradient alone. Then the gradient says which values the weights
  // weigh.
  std::optional<AttentionBackward> Gradient(std::vector<int> again, const AttentionInputs& inputs, ValueId weights,
                                            ValueId cast, const StepNumbers& readers) const {
    if (readers.size() != 2) return std::nullopt;
    const bool softmax_first = Kind(readers[0], OpKind::kSoftmaxGradient) != nullptr;
    const int softmax = readers[softmax_first ? 0 : 1];
    const int by_value = readers[softmax_first ? 1 : 0];
    const Compute* gradient = Kind(softmax, OpKind::kSoftmaxGradient);
    if (gradient == nullptr || gradient->inputs[1] != weights) return std::nullopt;
    if (!IsProduct(by_value, true, false) || ComputeAt(by_value)->inputs[0] != cast) return std::nullopt;
    const bool knows_values = again.empty();
    AttentionBackward backward;
    backward.steps = std::move(again);
    backward.steps.push_back(by_value);
    backward.inputs = inputs;
    backward.output_gradient = ComputeAt(by_value)->inputs[1];
    backward.v_gradient = ComputeAt(by_value)->output;
    const std::optional<ValueId> values = ByWeights(backward, gradient->inputs[0]);
    if (!values.has_value() || (knows_values && !IsSame(*values, inputs.v))) return std::nullopt;
    backward.inputs.v = *values;
    if (!ByScores(backward, softmax) || !IsLocal(backward.inputs)) return std::nullopt;
    if (!FindPlace(backward, {backward.q_gradient, backward.k_gradient, backward.v_gradient})) return std::nullopt;
    if (Type(backward.output_gradient) != Type(inputs.q)) return std::nullopt;
    return backward;
  }

  // The steps that make the gradient by the weights, the product of the output's gradient and the values. Returns the
  // values.
  std::optional<ValueId> ByWeights(AttentionBackward& backward, ValueId value) const {
    for (int casts = 0; casts < 2; ++casts) {
      const int i = writer_[value];
      if (readers_[value].size() != 1 || IsAskedFor(value)) return std::nullopt;
      backward.steps.push_back(i);
      if (IsProduct(i, false, true)) {
        const std::vector<ValueId>& factors = ComputeAt(i)->inputs;
        return factors[0] == backward.output_gradient ? std::optional(factors[1]) : std::nullopt;
      }
      if (Kind(i, OpKind::kCast) == nullptr) return std::nullopt;
      value = ComputeAt(i)->inputs[0];
    }
    return std::nullopt;
  }

  // The steps from the gradient of the softmax to those of query and key.
  bool ByScores(AttentionBackward& backward, int softmax) const {
    Path path = {.value = ComputeAt(softmax)->output, .steps = {softmax}};
    Follow(OpKind::kCast, path);
    const Compute* mask = Follow(OpKind::kCausalMask, path);
    const Compute* scale = Follow(OpKind::kScale, path);
    Follow(OpKind::kCast, path);
    if ((mask != nullptr) != backward.inputs.causal) return false;
    if (mask != nullptr && mask->attributes.Get(attribute::kFill) != 0) return false;
    if ((scale == nullptr ? 1 : scale->attributes.Get(attribute::kFactor)) != backward.inputs.scale) return false;
    const StepNumbers& readers = readers_[path.value];
    if (readers.size() != 2 || IsAskedFor(path.value)) return false;
    const bool query_first = IsProduct(readers[0], false, false);
    const int by_query = readers[query_first ? 0 : 1];
    const int by_key = readers[query_first ? 1 : 0];
    if (!IsProduct(by_query, false, false) || !IsProduct(by_key, true, false)) {
      return false;
    }
    const std::vector<ValueId>& of_query = ComputeAt(by_query)->inputs;
    const std::vector<ValueId>& of_key = ComputeAt(by_key)->inputs;
    if (of_query[0] != path.value || !IsSame(of_query[1], backward.inputs.k)) return false;
    if (of_key[0] != path.value || !IsSame(of_key[1], backward.inputs.q)) return false;
    // The gradient computes the scores from what it reads, which may have been made again.
    backward.inputs.q = of_key[1];
    backward.inputs.k = of_query[1];
    backward.q_gradient = ComputeAt(by_query)->output;
    backward.k_gradient = ComputeAt(by_key)->output;
    backward.steps.insert(backward.steps.end(), path.steps.begin(), path.steps.end());
    backward.steps.insert(backward.steps.end(), {by_query, by_key});
    return true;
  }

  // Whole heads and whole rows of scores, of one type.
  bool IsLocal(const AttentionInputs& inputs) const {
    const auto uncut = [&](ValueId value, int d) {
      return program_.value(value).layout.dimensions[static_cast<size_t>(d)].empty();
    };
    const TensorType& q = Type(inputs.q);
    const int rank = q.rank();
    const int64_t head = q.shape.back();
    if (rank < 3 || head > largest_head_) return false;
    for (const ValueId value : {inputs.q, inputs.k, inputs.v}) {
      const TensorType& type = Type(value);
      if (type.rank() != rank || type.dtype != q.dtype || type.shape.back() != head || !uncut(value, rank - 1)) {
        return false;
      }
    }
    return uncut(inputs.k, rank - 2) && uncut(inputs.v, rank - 2);
  }

  // Sorts the piece's steps, and finds its place: the last of them that stands before all readers of its results. What
  // later steps of the piece read from elsewhere must be written before it.
  template <typename Piece>
  bool FindPlace(Piece& piece, const std::vector<ValueId>& results) const {
    absl::c_sort(piece.steps);
    int end = static_cast<int>(program_.steps.size());
    for (const ValueId value : results) {
      for (const int reader : readers_[value]) end = std::min(end, reader);
    }
    const auto behind = absl::c_lower_bound(piece.steps, end);
    if (behind == piece.steps.begin()) return false;
    piece.place = *(behind - 1);
    const Step& here = StepAt(piece.place);
    return absl::c_all_of(piece.steps, [&](int i) {
      const bool runs_with = StepAt(i).phase == here.phase && StepAt(i).repeat == here.repeat;
      return runs_with && absl::c_all_of(ComputeAt(i)->inputs, [&](ValueId input) {
               return writer_[input] < piece.place || absl::c_binary_search(piece.steps, writer_[input]);
             });
    });
  }

  const Program& program_;
  const int64_t largest_head_;
  IdVector<ValueId, StepNumbers> readers_;
  IdVector<ValueId, int> writer_;
  std::set<ValueId> asked_for_;  // Updates, the loss and metrics.
};

}  // namespace

std::vector<Attention> FindAttention(const Program& program, int64_t largest_head) {
  return Finder(program, largest_head).Run();
}

}  // namespace cleave::ir
