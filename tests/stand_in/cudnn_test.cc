// Tests that the stand-in computes convolutions, and refuses what the library refuses.
#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

#include "cudnn_frontend.h"

namespace {

using cudnn_frontend::DataType_t;
using cudnn_frontend::error_t;
using cudnn_frontend::HeurMode_t;
using cudnn_frontend::NumericalNote_t;
using cudnn_frontend::graph::Graph;
using cudnn_frontend::graph::Tensor_attributes;

struct Memory {
  float* values = nullptr;
  size_t count;

  explicit Memory(const std::vector<float>& from) : count(from.size()) {
    EXPECT_EQ(cudaMalloc(&values, count * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(values, from.data(), count * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Memory() { cudaFree(values); }

  std::vector<float> Values() const {
    std::vector<float> host(count);
    EXPECT_EQ(cudaMemcpy(host.data(), values, count * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }
};

// Images of two channels of 2 x 3, and two filters of 2 x 2 in two groups, padded by a row.
class Convolution {
 public:
  explicit Convolution(int64_t rows_of_y = 3) : rows_of_y_(rows_of_y) {
    cudnnCreate(&handle_);
    graph_.set_io_data_type(DataType_t::FLOAT);
  }
  ~Convolution() { cudnnDestroy(handle_); }

  Tensor_attributes X() const { return Of(1, {1, 2, 2, 3}, {12, 6, 3, 1}); }
  Tensor_attributes Filter() const { return Of(2, {2, 1, 2, 2}, {4, 4, 2, 1}); }
  Tensor_attributes Y() const { return Of(3, {1, 2, rows_of_y_, 2}, {4 * rows_of_y_, 2 * rows_of_y_, 2, 1}); }

  template <typename Attributes>
  static Attributes Slid() {
    return Attributes().set_pre_padding({1, 0}).set_post_padding({1, 0}).set_stride({1, 1}).set_dilation({1, 1});
  }
  void Forward() {
    const auto x = graph_.tensor(X()), filter = graph_.tensor(Filter());
    Gives(graph_.conv_fprop(x, filter, Slid<cudnn_frontend::graph::Conv_fprop_attributes>()), Y());
  }
  void GradientOfX() {
    const auto dy = graph_.tensor(Y()), filter = graph_.tensor(Filter());
    Gives(graph_.conv_dgrad(dy, filter, Slid<cudnn_frontend::graph::Conv_dgrad_attributes>()), X());
  }
  void GradientOfFilter() {
    const auto dy = graph_.tensor(Y()), x = graph_.tensor(X());
    Gives(graph_.conv_wgrad(dy, x, Slid<cudnn_frontend::graph::Conv_wgrad_attributes>()), Filter());
  }

  error_t Run(const Memory& x, const Memory& filter, const Memory& y) {
    error_t error = graph_.validate();
    if (error.is_good()) error = graph_.build_operation_graph(handle_);
    if (error.is_good()) error = graph_.create_execution_plans({HeurMode_t::A});
    graph_.deselect_numeric_notes({NumericalNote_t::TENSOR_CORE});
    if (error.is_good()) error = graph_.check_support();
    if (error.is_good()) error = graph_.build_plans();
    if (error.is_bad()) return error;
    const Memory workspace(std::vector<float>(16));
    std::unordered_map<int64_t, void*> places = {{1, x.values}, {2, filter.values}, {3, y.values}};
    return graph_.execute(handle_, places, workspace.values);
  }

 private:
  static Tensor_attributes Of(int64_t uid, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    return Tensor_attributes().set_uid(uid).set_dim(sizes).set_stride(strides);
  }
  static void Gives(const Graph::Tensor& result, const Tensor_attributes& about) {
    *result = about;
    result->set_output(true);
  }

  int64_t rows_of_y_;
  cudnnHandle_t handle_ = nullptr;
  Graph graph_;
};

TEST(CudnnTest, EachGroupHasItsFilter) {
  Convolution c;
  c.Forward();
  const Memory x({1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1}), filter({1, 0, 0, 10, 1, 1, 1, 1});
  const Memory y(std::vector<float>(12, 7.0f));
  ASSERT_TRUE(c.Run(x, filter, y).is_good());
  EXPECT_EQ(y.Values(), (std::vector<float>{20, 30, 51, 62, 4, 5, 2, 2, 4, 4, 2, 2}));
}

TEST(CudnnTest, GradientsAreThoseOfTheSums) {
  const Memory dy({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), filter({1, 2, 3, 4, 5, 6, 7, 8});
  const Memory x({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Memory dx(std::vector<float>(12, 7.0f)), dfilter(std::vector<float>(8, 7.0f));
  Convolution of_x, of_filter;
  of_x.GradientOfX();
  ASSERT_TRUE(of_x.Run(dx, filter, dy).is_good());
  // The first place of the first filter sees padding and the first row; the last place of the second filter sees the
  // last row and padding.
  EXPECT_EQ(dx.Values(), (std::vector<float>{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6}));
  of_filter.GradientOfFilter();
  ASSERT_TRUE(of_filter.Run(x, dfilter, dy).is_good());
  EXPECT_EQ(dfilter.Values(), (std::vector<float>{0, 0, 1, 2, 11, 12, 0, 0}));
}

TEST(CudnnTest, RefusesWhatDoesNotFit) {
  const Memory x(std::vector<float>(12)), y(std::vector<float>(12)), filter(std::vector<float>(8));
  Convolution of_other_places(2);
  of_other_places.Forward();
  EXPECT_TRUE(of_other_places.Run(x, filter, y).is_bad()) << "places that sizes do not give";
  Convolution c;
  c.Forward();
  Memory at_4(std::vector<float>(13));
  ++at_4.values;
  EXPECT_TRUE(c.Run(at_4, filter, y).is_bad()) << "images that do not begin at a multiple of 16 bytes";
  --at_4.values;
}

}  // namespace
