#include "runtime/device/device.h"

namespace cleave::runtime {

std::optional<Error> OpenDevice(const DeviceRequest&) { return std::nullopt; }
std::string DeviceIdentity() { return ""; }

}  // namespace cleave::runtime
