// How values that the host makes get to where tensors lie while the device works.
//
//   Staging staging({{image, image_bytes}, {label, label_bytes}}, Staging::Writing::kDuringSteps);
//   Fill(staging.Next());       // The device computes with the values before.
//   staging.Send();
//   …
//   staging.Deliver();          // What is asked for from here on finds them at image and label.
//
// On a CPU the host writes to the tensors themselves, so that Next must not be called while they are in use; where it
// is to write while they are, to a copy. On a GPU there are two sets of pinned memory, which are written in turn, and a
// copy on the device, which is sent to while kernels run.
#ifndef CLEAVE_RUNTIME_DEVICE_STAGING_H_
#define CLEAVE_RUNTIME_DEVICE_STAGING_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace cleave::runtime {

class Staging {
 public:
  // A tensor.
  struct Target {
    void* values;
    int64_t bytes;
  };

  // Whether values are written while those before are in use. On a GPU they always may be.
  enum class Writing { kBetweenSteps, kDuringSteps };

  Staging(std::vector<Target> targets, Writing writing);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Where the host is to write the values of each target.
  std::vector<void*> Next();

  // Called when the values have been written: after a Next, at most once.
  void Send();

  // Called when the values are needed: after a Send.
  void Deliver();

 private:
  struct Copies;
  std::vector<Target> targets_;
  std::unique_ptr<Copies> copies_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_STAGING_H_
