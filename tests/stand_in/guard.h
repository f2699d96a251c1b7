// Private to tests/stand_in: memory of the device that the host cannot touch.
//
// With `CUDA_STAND_IN_GUARD=1` the pages of the device's memory can be read and written only while work of the device
// runs, as on a GPU: a program whose host reads a tensor without a copy crashes. If ranks are threads, memory is
// guarded only while none of them works.
#ifndef STAND_IN_GUARD_H_
#define STAND_IN_GUARD_H_

#include <cstddef>

namespace stand_in {

// Memory at a multiple of 256; null if there is none.
void* TakeMemory(size_t bytes);
void GiveMemory(void* memory, size_t bytes);

// While an object of this class lives, work of the device runs.
class DeviceWork {
 public:
  DeviceWork();
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
};

}  // namespace stand_in

#endif  // STAND_IN_GUARD_H_
