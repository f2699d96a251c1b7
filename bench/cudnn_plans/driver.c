// In the place of the CUDA driver, which cuDNN loads the kernels of a plan into: it has no device and takes every kernel.
// bench/cudnn_plans/cudnn_plans.sh adds the driver's other functions, which cuDNN names and does not call here; those return 0.
static char object;

int cuInit(void) { return 100; }  // CUDA_ERROR_NO_DEVICE
int cuDeviceGetCount(int* count) {
  *count = 0;
  return 100;
}
int cuLibraryLoadData(void** library) {
  *library = &object;
  return 0;
}
int cuLibraryGetKernel(void** kernel) {
  *kernel = &object;
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  (void)error;
  *text = "there is no device";
  return 0;
}
