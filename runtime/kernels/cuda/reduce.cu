#include <algorithm>

#include "runtime/comm/reduce.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/kernels/cuda/columns.cuh"
#include "runtime/kernels/cuda/row.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/reduce.h"

namespace cleave::runtime {
namespace {

// What becomes of an element before it is combined with others.
struct Itself {
  __device__ float operator()(float x) const { return x; }
};
struct Square {
  __device__ float operator()(float x) const { return x * x; }
};

// y[row, part]: the results of each part of each of `rows` rows of `columns` elements, divided by `divisor`.
template <typename Form, typename Op, typename Of>
__global__ void ReduceRows(ConstReals x, int64_t rows, int64_t columns, ReducedParts parts, float divisor, float* y) {
  const Op combine;
  const Of of;
  for (int64_t i = Form::FirstRow(); i < rows * parts.count; i += Form::RowStride()) {
    const int64_t begin = i % parts.count * parts.size;
    const int64_t size = min(parts.size, columns - begin);
    const Row<Form> row(x + i / parts.count * columns + begin, size);
    float result = Op::kIdentity;
    ForEachElement<Form>(
        size, [&](int64_t, float value) { result = combine(result, of(value)); }, row);
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
    RunRows<Op, Itself>(x, divisor, parts, y);
  }

  // REQUIRES: the reduced dimension is the last one.
  template <typename Op, typename Of>
  void RunRows(ConstReals x, float divisor, float* parts, float* y) const {
    if (row_parts_.count == 1) return Rows<Op, Of>(x, shape_.reduced, {1, shape_.reduced}, divisor, y);
    Rows<Op, Of>(x, shape_.reduced, row_parts_, 1.0f, parts);
    Rows<Op, Itself>(parts, row_parts_.count, {1, row_parts_.count}, divisor, y);
  }

 private:
  bool IsOfRows() const { return shape_.inner == 1 && shape_.reduced > 16; }

  template <typename Op, typename Of>
  void Rows(ConstReals x, int64_t columns, const ReducedParts& parts, float divisor, float* y) const {
    const bool vectors = AreAligned(x) && columns % 4 == 0;
    const bool is_short = parts.size <= 1024;
    if (vectors && is_short) return Start<RowForm<kWarp, 4, 0>, Op, Of>(x, columns, parts, divisor, y);
    if (vectors) return Start<RowForm<256, 4, 0>, Op, Of>(x, columns, parts, divisor, y);
    if (is_short) return Start<RowForm<kWarp, 1, 0>, Op, Of>(x, columns, parts, divisor, y);
    Start<RowForm<256, 1, 0>, Op, Of>(x, columns, parts, divisor, y);
  }

  template <typename Form, typename Op, typename Of>
  void Start(ConstReals x, int64_t columns, const ReducedParts& parts, float divisor, float* y) const {
    Launch(ReduceRows<Form, Op, Of>, Form::Shape(shape_.outer * parts.count), x, shape_.outer, columns, parts, divisor,
           y);
  }

  ColumnShape shape_;
  ColumnReduction columns_;
  ReducedParts row_parts_;
};

// One pass for each group of neighbouring dimensions that are reduced, the last ones first.
std::vector<Pass> Passes(std::vector<int64_t> shape, const std::vector<int>& axes) {
  std::vector<bool> reduced(shape.size(), axes.empty());
  for (const int axis : axes) reduced[static_cast<size_t>(axis)] = true;
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

void SumOfSquares(const float* x, int64_t count, float* y) {
  const Pass pass({1, count, 1});
  ScratchLayout layout;
  const int64_t parts = layout.Add<float>(pass.part_count());
  const ScratchMemory scratch(layout);
  pass.RunRows<Sum, Square>(x, 1.0f, scratch.At<float>(parts), y);
}

void ReduceSum(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Sum>(x, shape, axes, 1.0f, y);
}

void ReduceMax(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Max>(x, shape, axes, 1.0f, y);
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
