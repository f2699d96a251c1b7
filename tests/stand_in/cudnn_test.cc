// Tests that the stand-in computes convolutions, and refuses what the library refuses.
#include "cudnn.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

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
  explicit Convolution(int rows_of_y = 3) {
    cudnnCreate(&handle);
    cudnnCreateTensorDescriptor(&x);
    cudnnCreateTensorDescriptor(&y);
    cudnnCreateFilterDescriptor(&filter);
    cudnnCreateConvolutionDescriptor(&operation);
    cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 2, 3);
    cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, rows_of_y, 2);
    cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 2, 1, 2, 2);
    cudnnSetConvolution2dDescriptor(operation, 1, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudnnSetConvolutionGroupCount(operation, 2);
    cudnnSetConvolutionMathType(operation, CUDNN_FMA_MATH);
  }
  ~Convolution() {
    cudnnDestroyConvolutionDescriptor(operation);
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroyTensorDescriptor(y);
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroy(handle);
  }

  cudnnHandle_t handle;
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t operation;
};

const float kOne = 1.0f;
const float kZero = 0.0f;

TEST(CudnnTest, EachGroupHasItsFilter) {
  const Convolution c;
  const Memory x({1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1}), filter({1, 0, 0, 10, 1, 1, 1, 1});
  const Memory y(std::vector<float>(12, 7.0f));
  const float two = 2.0f;
  ASSERT_EQ(cudnnConvolutionForward(c.handle, &two, c.x, x.values, c.filter, filter.values, c.operation,
                                    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &kOne, c.y, y.values),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(y.Values(), (std::vector<float>{47, 67, 109, 131, 15, 17, 11, 11, 15, 15, 11, 11}));
}

TEST(CudnnTest, GradientsAreThoseOfTheSums) {
  const Convolution c;
  const Memory dy({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), filter({1, 2, 3, 4, 5, 6, 7, 8});
  const Memory workspace(std::vector<float>(8));
  const Memory x({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Memory dx(std::vector<float>(12, 7.0f)), dfilter(std::vector<float>(8, 7.0f));
  ASSERT_EQ(
      cudnnConvolutionBackwardData(c.handle, &kOne, c.filter, filter.values, c.y, dy.values, c.operation,
                                   CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, workspace.values, 32, &kZero, c.x, dx.values),
      CUDNN_STATUS_SUCCESS);
  // The first place of the first filter sees padding and the first row; the last place of the second filter sees the
  // last row and padding.
  EXPECT_EQ(dx.Values(), (std::vector<float>{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6}));
  ASSERT_EQ(cudnnConvolutionBackwardFilter(c.handle, &kOne, c.x, x.values, c.y, dy.values, c.operation,
                                           CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, workspace.values, 32, &kZero, c.filter,
                                           dfilter.values),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(dfilter.Values(), (std::vector<float>{0, 0, 1, 2, 11, 12, 0, 0}));
}

TEST(CudnnTest, RefusesWhatDoesNotFit) {
  const Convolution c;
  size_t bytes = 0;
  ASSERT_EQ(cudnnGetConvolutionBackwardDataWorkspaceSize(c.handle, c.filter, c.y, c.operation, c.x,
                                                         CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 32u);
  const Memory x(std::vector<float>(12)), y(std::vector<float>(12)), filter(std::vector<float>(8));
  EXPECT_EQ(cudnnConvolutionBackwardData(c.handle, &kOne, c.filter, filter.values, c.y, y.values, c.operation,
                                         CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, filter.values, 31, &kZero, c.x, x.values),
            CUDNN_STATUS_BAD_PARAM)
      << "too small a workspace";
  const Convolution of_other_places(2);
  EXPECT_EQ(cudnnGetConvolutionForwardWorkspaceSize(c.handle, c.x, c.filter, c.operation, of_other_places.y,
                                                    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &bytes),
            CUDNN_STATUS_BAD_PARAM)
      << "places that sizes do not give";
  cudnnSetConvolutionGroupCount(c.operation, 1);
  EXPECT_EQ(cudnnGetConvolutionForwardWorkspaceSize(c.handle, c.x, c.filter, c.operation, c.y,
                                                    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &bytes),
            CUDNN_STATUS_BAD_PARAM)
      << "channels of the filters";
}

}  // namespace
