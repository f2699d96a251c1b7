// The step of mnist_mlp, written by hand and data parallel. Reading guide: main is the step loop; Layer is a product
// with its parameters and values.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr int64_t kBatch = 256;
constexpr int64_t kSizes[] = {784, 512, 512, 10};
constexpr int kLayers = 3;
constexpr int64_t kClasses = kSizes[kLayers];
constexpr float kLearningRate = 0.05f;
constexpr float kMomentum = 0.9f;
constexpr int kBatches = 8;  // Several batches, so that data is read from memory as in real training.

dnnl::engine& Engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}
dnnl::stream& Stream() {
  static dnnl::stream stream(Engine());
  return stream;
}

// What versions 2 and 3 of oneDNN declare differently: a relu behind an operation, and the kernel of a product of these
// tensors, which version 2 describes first.
#if DNNL_VERSION_MAJOR >= 3
void AppendRelu(dnnl::post_ops& after) { after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f); }

template <typename... Tensors>
dnnl::matmul::primitive_desc ChooseKernel(const dnnl::primitive_attr& attributes, const Tensors&... tensors) {
  return {Engine(), tensors..., attributes};
}
#else
void AppendRelu(dnnl::post_ops& after) { after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f); }

template <typename... Tensors>
dnnl::matmul::primitive_desc ChooseKernel(const dnnl::primitive_attr& attributes, const Tensors&... tensors) {
  return {dnnl::matmul::desc(tensors...), attributes, Engine()};
}
#endif

// A prepared product c[m, n] = a[m, k] b[k, n], each side stored as it is or transposed.
class Product {
 public:
  enum class Epilogue { kNone, kBias, kBiasRelu };

  Product(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, Epilogue epilogue = Epilogue::kNone) {
    using dnnl::memory;
    const auto f32 = memory::data_type::f32;
    const memory::desc a({m, k}, f32, transpose_a ? memory::dims{1, m} : memory::dims{k, 1});
    const memory::desc b({k, n}, f32, transpose_b ? memory::dims{1, k} : memory::dims{n, 1});
    const memory::desc c({m, n}, f32, memory::dims{n, 1});
    const memory::desc bias({1, n}, f32, memory::dims{n, 1});
    dnnl::primitive_attr attributes;
    if (epilogue == Epilogue::kBiasRelu) {
      dnnl::post_ops after;
      AppendRelu(after);
      attributes.set_post_ops(after);
    }
    product_ = dnnl::matmul(epilogue == Epilogue::kNone ? ChooseKernel(attributes, a, b, c)
                                                        : ChooseKernel(attributes, a, b, bias, c));
    a_ = memory(a, Engine(), nullptr);
    b_ = memory(b, Engine(), nullptr);
    c_ = memory(c, Engine(), nullptr);
    arguments_ = {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}};
    if (epilogue != Epilogue::kNone) {
      bias_ = memory(bias, Engine(), nullptr);
      arguments_[DNNL_ARG_BIAS] = bias_;
    }
  }

  void Run(const float* a, const float* b, float* c, const float* bias = nullptr) {
    a_.set_data_handle(const_cast<float*>(a));
    b_.set_data_handle(const_cast<float*>(b));
    c_.set_data_handle(c);
    if (bias != nullptr) bias_.set_data_handle(const_cast<float*>(bias));
    product_.execute(Stream(), arguments_);
    Stream().wait();
  }

 private:
  dnnl::matmul product_;
  dnnl::memory a_, b_, c_, bias_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// One dense layer: weights are stored outputs x inputs.
struct Layer {
  Layer(int64_t rows, int index)
      : inputs(kSizes[index]),
        outputs(kSizes[index + 1]),
        forward(rows, outputs, inputs, false, true,
                index + 1 < kLayers ? Product::Epilogue::kBiasRelu : Product::Epilogue::kBias),
        weight_gradient(outputs, inputs, rows, true, false),
        input_gradient(rows, inputs, outputs, false, false),
        values(static_cast<size_t>(rows * outputs)),
        gradient(values.size()) {}

  int64_t inputs;
  int64_t outputs;
  Product forward;
  Product weight_gradient;
  Product input_gradient;
  std::vector<float> values;    // After bias and relu.
  std::vector<float> gradient;  // Of the loss with respect to the values before relu.
  float* weight = nullptr;      // Points into the array of all parameters; the gradient's into that of all gradients.
  float* bias = nullptr;
  float* gradient_of_weight = nullptr;
  float* gradient_of_bias = nullptr;
};

// Rows of logits become their gradients; returns this rank's part of the loss.
double CrossEntropy(const std::vector<float>& logits, const int32_t* labels, int64_t rows,
                    std::vector<float>& gradient) {
  double loss = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* z = logits.data() + row * kClasses;
    float* g = gradient.data() + row * kClasses;
    const float most = *std::max_element(z, z + kClasses);
    float sum = 0;
    for (int64_t j = 0; j < kClasses; ++j) sum += g[j] = std::exp(z[j] - most);
    for (int64_t j = 0; j < kClasses; ++j) g[j] = (g[j] / sum - (j == labels[row] ? 1.0f : 0.0f)) / kBatch;
    loss += std::log(sum) + most - z[labels[row]];
  }
  return loss / kBatch;
}

// Sums of columns. If `values` is given, the gradient is first set to zero where relu made the value zero.
void BiasGradient(std::vector<float>& gradient, const float* values, int64_t rows, int64_t columns, float* sums) {
  constexpr int64_t kBlock = 64;
#pragma omp parallel for if (rows * columns > 16384)
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    const int64_t end = std::min(columns, begin + kBlock);
    std::fill(sums + begin, sums + end, 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      float* g = gradient.data() + row * columns;
      if (values != nullptr) {
        const float* v = values + row * columns;
        for (int64_t j = begin; j < end; ++j) g[j] = v[j] > 0 ? g[j] : 0.0f;
      }
      for (int64_t j = begin; j < end; ++j) sums[j] += g[j];
    }
  }
}

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 500;
  if (std::getenv("OMP_NUM_THREADS") == nullptr) omp_set_num_threads(std::max(1, omp_get_num_procs() / ranks));
  const int64_t first_row = rank * kBatch / ranks;
  const int64_t rows = (rank + 1) * kBatch / ranks - first_row;

  std::vector<Layer> layers;
  int64_t count = 0;
  for (int i = 0; i < kLayers; ++i) {
    layers.emplace_back(rows, i);
    count += layers.back().outputs * (layers.back().inputs + 1);
  }
  std::vector<float> parameters(static_cast<size_t>(count));
  std::vector<float> gradients(parameters.size());
  std::vector<float> momentum(parameters.size());
  std::mt19937 random(1);
  int64_t at = 0;
  for (Layer& layer : layers) {
    layer.weight = parameters.data() + at;
    layer.gradient_of_weight = gradients.data() + at;
    at += layer.outputs * layer.inputs;
    layer.bias = parameters.data() + at;
    layer.gradient_of_bias = gradients.data() + at;
    at += layer.outputs;
    const float bound = std::sqrt(6.0f / static_cast<float>(layer.inputs));
    std::uniform_real_distribution<float> uniform(-bound, bound);
    for (int64_t i = 0; i < layer.outputs * layer.inputs; ++i) layer.weight[i] = uniform(random);
  }

  // Every rank makes all samples and keeps its rows; the class is the largest of ten pixels.
  std::vector<float> images(static_cast<size_t>(kBatches * rows * kSizes[0]));
  std::vector<int32_t> labels(static_cast<size_t>(kBatches * rows));
  std::normal_distribution<float> normal;
  std::vector<float> image(kSizes[0]);
  for (int64_t batch = 0; batch < kBatches; ++batch) {
    for (int64_t row = 0; row < kBatch; ++row) {
      for (float& pixel : image) pixel = normal(random);
      const int64_t mine = row - first_row;
      if (mine < 0 || mine >= rows) continue;
      std::copy(image.begin(), image.end(), images.begin() + (batch * rows + mine) * kSizes[0]);
      labels[static_cast<size_t>(batch * rows + mine)] =
          static_cast<int32_t>(std::max_element(image.begin(), image.begin() + kClasses) - image.begin());
    }
  }

  std::vector<double> seconds;
  float loss = 0;
  for (int step = 0; step < steps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = Now();
    const int64_t batch = step % kBatches;
    const float* const input = images.data() + batch * rows * kSizes[0];

    const float* x = input;
    for (Layer& layer : layers) {
      layer.forward.Run(x, layer.weight, layer.values.data(), layer.bias);
      x = layer.values.data();
    }
    Layer& last = layers.back();
    loss = static_cast<float>(CrossEntropy(last.values, labels.data() + batch * rows, rows, last.gradient));

    for (int i = kLayers - 1; i >= 0; --i) {
      Layer& layer = layers[static_cast<size_t>(i)];
      const float* const layer_input = i == 0 ? input : layers[static_cast<size_t>(i) - 1].values.data();
      BiasGradient(layer.gradient, i + 1 < kLayers ? layer.values.data() : nullptr, rows, layer.outputs,
                   layer.gradient_of_bias);
      layer.weight_gradient.Run(layer.gradient.data(), layer_input, layer.gradient_of_weight);
      if (i > 0) {
        layer.input_gradient.Run(layer.gradient.data(), layer.weight,
                                 layers[static_cast<size_t>(i) - 1].gradient.data());
      }
    }
    if (ranks > 1) {
      MPI_Allreduce(MPI_IN_PLACE, gradients.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    float* const p = parameters.data();
    float* const v = momentum.data();
    const float* const g = gradients.data();
#pragma omp parallel for simd
    for (int64_t i = 0; i < count; ++i) {
      v[i] = kMomentum * v[i] + g[i];
      p[i] -= kLearningRate * v[i];
    }
    double elapsed = Now() - start;
    MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    seconds.push_back(elapsed);
  }
  std::sort(seconds.begin(), seconds.end());
  if (rank == 0) {
    std::printf(
        "{\"ranks\":%d,\"threads\":%d,\"steps\":%d,\"median_step_seconds\":%.6f,\"min_step_seconds\":%.6f,\"loss\":%."
        "6f}\n",
        ranks, omp_get_max_threads(), steps, seconds[seconds.size() / 2], seconds[0], static_cast<double>(loss));
  }
  MPI_Finalize();
  return 0;
}
