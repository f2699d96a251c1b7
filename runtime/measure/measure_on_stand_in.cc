// The program that `cleave calibrate` generates for two GPUs, small and short, on the stand-in for CUDA: ranks are
// threads, connected by its NCCL.
#include "runtime/measure/measure.h"

int main() {
  char name[] = "./measure_on_stand_in", flag[] = "--seconds", seconds[] = "0.0001";
  char* arguments[] = {name, flag, seconds, nullptr};
  return cleave::runtime::Measure(3, arguments, {{}, {2}, int64_t{1} << 20});
}
