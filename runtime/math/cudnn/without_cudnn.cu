// For tests: the crate as it is where cuDNN is not there.
#define CLEAVE_WITHOUT_CUDNN

#include "runtime/math/cudnn/convolution.cu"
#include "runtime/math/cudnn/cudnn.cu"
#include "runtime/math/cudnn/direct.cu"
