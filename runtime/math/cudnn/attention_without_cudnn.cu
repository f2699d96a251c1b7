// For tests: attention as it is when cuDNN is not installed.
#define CLEAVE_WITHOUT_CUDNN

#include "runtime/math/cudnn/attention.cu"
#include "runtime/math/cudnn/sdpa.cc"
