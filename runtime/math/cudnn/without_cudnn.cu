// For tests: the crate as it is when cuDNN is not installed.
#define CLEAVE_WITHOUT_CUDNN

#include "runtime/math/cudnn/convolution.cu"
#include "runtime/math/cudnn/convolution_plan.cc"
#include "runtime/math/cudnn/direct.cu"
