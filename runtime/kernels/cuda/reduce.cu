#include <algorithm>

#include "runtime/comm/reduce.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/cuda/loop_batch.cuh"
#include "runtime/device/float16.h"
#include "runtime/kernels/cuda/columns.cuh"
#include "runtime/kernels/cuda/row.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/reduce.h"

namespace cleave::runtime {
namespace {

// y[row, part]: the results of each part of each of `rows` rows of `columns` elements, divided by `divisor`.
template <typename Form, typename Op>
__global__ void ReduceRows(ConstReals x, int64_t rows, int64_t columns, ReducedParts parts, float divisor, float* y) {
  const Op combine;
  for (int64_t i = Form::FirstRow(); i < rows * parts.count; i += Form::RowStride()) {
    const int64_t begin = i % parts.count * parts.size;
    const int64_t size = min(parts.size, columns - begin);
    const Row<Form> row(x + i / parts.count * columns + begin, size);
    float result = Op::kIdentity;
    ForEachElement<Form>(
        size, [&](int64_t, float value) { result = combine(result, value); }, row);
    result = GroupReduce<Form::kThreads>(result, combine);
    if (Form::Lane() == 0) y[i] = result / divisor;
  }
}

// A reduction of [outer, reduced, inner]. It is done by rows where the reduced dimension is the last one and long.
class Pass {
 public:
  explicit Pass(const ColumnShape& shape) : shape_(shape), columns_(shape) {
    constexpr int64_t kEnoughRows = 1024;
    constexpr int64_t kLeastPart = 8192;
    if (!IsOfRows() || shape.outer == 0 || shape.outer >= kEnoughRows / 2) return;
    const int64_t parts = std::min(kEnoughRows / shape.outer, shape.reduced / kLeastPart);
    if (parts <= 1) return;
    constexpr int64_t kVector = 4;  // Parts begin where vectors can be read.
    row_parts_.size = ((shape.reduced + parts - 1) / parts + kVector - 1) / kVector * kVector;
    row_parts_.count = (shape.reduced + row_parts_.size - 1) / row_parts_.size;
  }

  int64_t results() const { return shape_.outer * shape_.inner; }

  // The number of elements of its intermediate result.
  int64_t part_count() const {
    if (!IsOfRows()) return columns_.part_count();
    return row_parts_.count == 1 ? 0 : shape_.outer * row_parts_.count;
  }

  template <typename Op>
  void Run(ConstReals x, float divisor, float* parts, float* y) const {
    if (!IsOfRows()) return columns_.Run<Op>(ElementOf{x}, divisor, parts, y);
    if (row_parts_.count == 1) return Rows<Op>(x, shape_.reduced, {1, shape_.reduced}, divisor, y);
    Rows<Op>(x, shape_.reduced, row_parts_, 1.0f, parts);
    Rows<Op>(parts, row_parts_.count, {1, row_parts_.count}, divisor, y);
  }

 private:
  bool IsOfRows() const { return shape_.inner == 1 && shape_.reduced > 16; }

  template <typename Op>
  void Rows(ConstReals x, int64_t columns, const ReducedParts& parts, float divisor, float* y) const {
    const bool vectors = AreAligned(x) && columns % 4 == 0;
    const bool is_short = parts.size <= 1024;
    if (vectors && is_short) return Start<RowForm<kWarp, 4, 0>, Op>(x, columns, parts, divisor, y);
    if (vectors) return Start<RowForm<256, 4, 0>, Op>(x, columns, parts, divisor, y);
    if (is_short) return Start<RowForm<kWarp, 1, 0>, Op>(x, columns, parts, divisor, y);
    Start<RowForm<256, 1, 0>, Op>(x, columns, parts, divisor, y);
  }

  template <typename Form, typename Op>
  void Start(ConstReals x, int64_t columns, const ReducedParts& parts, float divisor, float* y) const {
    Launch(ReduceRows<Form, Op>, Form::Shape(shape_.outer * parts.count), x, shape_.outer, columns, parts, divisor, y);
  }

  ColumnShape shape_;
  ColumnReduction columns_;
  ReducedParts row_parts_;
};

// One pass for each group of neighbouring dimensions that are reduced, the last ones first.
std::vector<Pass> Passes(std::vector<int64_t> shape, const std::vector<int>& axes) {
  std::vector<bool> reduced(shape.size(), axes.empty());
  for (const int axis : axes) reduced[static_cast<size_t>(axis)] = true;
  // A dimension of one element parts nothing: that of the blocks of images whose channels lie last.
  for (size_t d = 1; d < shape.size(); ++d) {
    if (shape[d] == 1) reduced[d] = reduced[d - 1];
  }
  std::vector<Pass> passes;
  ColumnShape split;
  for (size_t d = shape.size(); d-- > 0;) {
    if (!reduced[d]) {
      split.inner *= shape[d];
      continue;
    }
    split.reduced *= shape[d];
    const bool goes_on = d > 0 && reduced[d - 1];
    if (goes_on) continue;
    split.outer = 1;
    for (size_t before = 0; before < d; ++before) split.outer *= shape[before];
    passes.emplace_back(split);
    split.reduced = 1;
  }
  if (passes.empty()) passes.emplace_back(split);
  return passes;
}

template <typename Op>
void Reduce(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float divisor, float* y) {
  const std::vector<Pass> passes = Passes(shape, axes);
  // Results of passes go in turn to one of two places.
  int64_t most_results = 0;
  int64_t most_parts = 0;
  for (const Pass& pass : passes) {
    if (&pass != &passes.back()) most_results = std::max(most_results, pass.results());
    most_parts = std::max(most_parts, pass.part_count());
  }
  ScratchLayout layout;
  const int64_t places[] = {layout.Add<float>(most_results), layout.Add<float>(passes.size() > 2 ? most_results : 0)};
  const int64_t parts = layout.Add<float>(most_parts);
  const ScratchMemory scratch(layout);
  for (size_t i = 0; i < passes.size(); ++i) {
    const bool last = i + 1 == passes.size();
    float* const to = last ? y : scratch.At<float>(places[i % 2]);
    passes[i].Run<Op>(x, last ? divisor : 1.0f, scratch.At<float>(parts), to);
    x = to;
  }
}

// Tensors that are each reduced to a number in parts, one for each block. It is a parameter of kernels, which have 4
// KiB on all devices.
template <typename Tensor>
struct TensorParts {
  static constexpr int kMost = 3840 / static_cast<int>(sizeof(Tensor) + sizeof(int));

  Tensor tensors[kMost];
  int first_blocks[kMost];
  int count = 0;
};

// How a tensor becomes a number: what of each element is combined, and what is made of the result.
struct SumOfSquaresForm {
  using Tensor = SquaredTensor;
  using Combine = Sum;
  static __device__ float Of(float x) { return x * x; }
  static __device__ void Finish(const Tensor& tensor, float sum) { *tensor.y = sum; }
};
struct UnitForm {
  using Tensor = MeasuredTensor;
  using Combine = MaxAbs;
  static __device__ float Of(float x) { return x; }
  static __device__ void Finish(const Tensor& tensor, float largest) {
    *tensor.unit = PowerOfTwoFrom(largest / tensor.largest_number);
  }
};

// Which elements each block takes depends on the number of elements alone.
CLEAVE_PORTABLE inline ReducedParts PartsOfTensor(int64_t count) {
  constexpr int64_t kMostParts = 1024, kLeastPart = 8192, kVector = 4;
  int64_t parts = count / kLeastPart;
  parts = parts < 1 ? 1 : parts > kMostParts ? kMostParts : parts;
  const int64_t size = ((count + parts - 1) / parts + kVector - 1) / kVector * kVector;
  return {size == 0 ? 1 : (count + size - 1) / size, size};
}

template <typename TensorForm>
__global__ void ReduceParts(TensorParts<typename TensorForm::Tensor> batch, float* parts) {
  const int block = static_cast<int>(blockIdx.x), piece = PieceOfBlock(batch.first_blocks, batch.count);
  using Form = RowForm<kThreadsPerBlock, 4, 0>;
  using Combine = typename TensorForm::Combine;
  const auto tensor = batch.tensors[piece];
  const ConstReals x = tensor.x;
  const int64_t size = PartsOfTensor(tensor.count).size;
  const int64_t begin = (block - batch.first_blocks[piece]) * size;
  const int64_t own = min(size, tensor.count - begin);
  const bool aligned = reinterpret_cast<uintptr_t>(x.place()) % (Form::kPack * SizeOf(x.type())) == 0;
  const int64_t in_vectors = aligned ? own / Form::kPack * Form::kPack : 0;
  const Combine combine;
  float result = Combine::kIdentity;
  const auto add = [&](int64_t, float value) { result = combine(result, TensorForm::Of(value)); };
  ForEachElement<Form>(in_vectors, add, Row<Form>(x + begin, in_vectors));
  for (int64_t i = in_vectors + threadIdx.x; i < own; i += kThreadsPerBlock) add(i, x[begin + i]);
  result = GroupReduce<kThreadsPerBlock>(result, combine);
  if (threadIdx.x == 0) parts[block] = result;
}

// A block for each tensor.
template <typename TensorForm>
__global__ void CombineParts(TensorParts<typename TensorForm::Tensor> batch, const float* parts) {
  using Combine = typename TensorForm::Combine;
  const auto tensor = batch.tensors[blockIdx.x];
  const int64_t count = PartsOfTensor(tensor.count).count;
  const Combine combine;
  float result = Combine::kIdentity;
  for (int64_t i = threadIdx.x; i < count; i += kThreadsPerBlock) {
    result = combine(result, parts[batch.first_blocks[blockIdx.x] + i]);
  }
  result = GroupReduce<kThreadsPerBlock>(result, combine);
  if (threadIdx.x == 0) TensorForm::Finish(tensor, result);
}

template <typename TensorForm>
void ReduceTensors(const std::vector<typename TensorForm::Tensor>& tensors) {
  using Batch = TensorParts<typename TensorForm::Tensor>;
  for (size_t first = 0; first < tensors.size(); first += Batch::kMost) {
    Batch batch;
    batch.count = static_cast<int>(std::min<size_t>(Batch::kMost, tensors.size() - first));
    std::copy_n(tensors.begin() + static_cast<std::ptrdiff_t>(first), batch.count, batch.tensors);
    int blocks = 0;
    for (int i = 0; i < batch.count; ++i) {
      batch.first_blocks[i] = blocks;
      blocks += static_cast<int>(PartsOfTensor(batch.tensors[i].count).count);
    }
    ScratchLayout layout;
    const int64_t parts_at = layout.Add<float>(blocks);
    const ScratchMemory scratch(layout);
    float* const parts = scratch.At<float>(parts_at);
    Launch(ReduceParts<TensorForm>, {blocks, kThreadsPerBlock}, batch, parts);
    Launch(CombineParts<TensorForm>, {batch.count, kThreadsPerBlock}, batch, parts);
  }
}

template <Reduction kReduction, typename T>
__global__ void AccumulateElements(bool first, const T* part, int64_t count, T* total) {
  using Type = typename ReducedIn<T>::Type;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    total[i] = first
                   ? part[i]
                   : static_cast<T>(Reduced<Type>(kReduction, static_cast<Type>(total[i]), static_cast<Type>(part[i])));
  }
}

template <Reduction kReduction, typename T>
void AccumulateBy(bool first, const T* part, int64_t count, T* total) {
  if (count > 0) Launch(AccumulateElements<kReduction, T>, ForElements(count), first, part, count, total);
}

}  // namespace

void SumOfSquares(const float* x, int64_t count, float* y) { SumsOfSquares({{x, count, y}}); }

void SumsOfSquares(const std::vector<SquaredTensor>& tensors) { ReduceTensors<SumOfSquaresForm>(tensors); }

void UnitOf(ConstReals x, int64_t count, float largest_number, float* unit) {
  UnitsOf({{x, count, largest_number, unit}});
}

void UnitsOf(const std::vector<MeasuredTensor>& tensors) { ReduceTensors<UnitForm>(tensors); }

void ReduceSum(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Sum>(x, shape, axes, 1.0f, y);
}

void ReduceMax(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Max>(x, shape, axes, 1.0f, y);
}

void ReduceMaxAbs(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<MaxAbs>(x, shape, axes, 1.0f, y);
}

void ReduceMin(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Min>(x, shape, axes, 1.0f, y);
}

void ReduceMean(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, int64_t count,
                float* y) {
  Reduce<Sum>(x, shape, axes, static_cast<float>(count), y);
}

template <typename T>
void Accumulate(Reduction reduction, bool first, const T* part, int64_t count, T* total) {
  switch (reduction) {
    case Reduction::kSum:
      return AccumulateBy<Reduction::kSum>(first, part, count, total);
    case Reduction::kMax:
      return AccumulateBy<Reduction::kMax>(first, part, count, total);
    case Reduction::kMin:
      return AccumulateBy<Reduction::kMin>(first, part, count, total);
    case Reduction::kProd:
      return AccumulateBy<Reduction::kProd>(first, part, count, total);
  }
}

template void Accumulate(Reduction, bool, const float*, int64_t, float*);
template void Accumulate(Reduction, bool, const int32_t*, int64_t, int32_t*);
template void Accumulate(Reduction, bool, const BFloat16*, int64_t, BFloat16*);
template void Accumulate(Reduction, bool, const Float16*, int64_t, Float16*);

}  // namespace cleave::runtime
