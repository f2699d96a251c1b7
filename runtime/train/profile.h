// Private to runtime/train: where the time of a step goes, op by op (`--profile`).
//
//   Profile profile(options, settings.model_file, comm, watch);
//   profile.BeginStep();
//   …                                          // Ops of the program, as they tell the watch.
//   profile.EndStep();
//   const ProfileRecord record = profile.Take();
//
// An op's time is that from its Watch::Start to the next one. On a GPU it ends when the work that it asked for is done,
// so steps are not recorded; a collective that runs beside other work counts where it is awaited.
#ifndef CLEAVE_RUNTIME_TRAIN_PROFILE_H_
#define CLEAVE_RUNTIME_TRAIN_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/error/error.h"
#include "runtime/json/json_writer.h"
#include "runtime/trace/trace.h"
#include "runtime/train/profile_trace.h"

namespace cleave::runtime {

// What an op took in all steps that were profiled. The ops of equal layers are one: "x.#.norm1.layer_norm".
struct ProfiledOp {
  std::string name;   // Empty: what is outside of all ops, such as reports and the data of the next step.
  std::string place;  // "mnist_mlp.model:7"; empty where no line causes it.
  int64_t calls = 0;
  double seconds = 0;
  double communication_seconds = 0;  // Of these, in collectives; 0 on a GPU.
  double flops = 0;                  // 0: not known.
  double sent_bytes = 0;
};

struct ProfileRecord {
  int64_t steps = 0;
  double seconds = 0;
  std::vector<ProfiledOp> ops;  // The longest first.
};

// A table whose numbers are those of one step.
std::vector<std::string> ProfileLines(const ProfileRecord& profile);
// The same for run.json, with all ops.
JsonObject ProfileJson(const ProfileRecord& profile);

class Profile final : public OpListener {
 public:
  // With `wish`, which `--profile` gives, each step but the first is measured, in which much is prepared. Where it is
  // not empty, it is the file of a trace. Called by all ranks.
  Profile(const std::optional<std::string>& wish, const char* model_file, Comm& comm, Watch& watch);
  ~Profile() override;
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  bool is_on() const { return wish_.has_value(); }

  // A step of training, or a batch of a program that does not train. Nothing where no profile is wanted.
  void BeginStep();
  void EndStep();

  // What was measured on this rank; nullopt where no profile is wanted.
  std::optional<ProfileRecord> Take();

  // Rank 0 writes the steps of all ranks as a timeline (profile_trace.h), if that is wanted. `folder`: of the program.
  // `arena`: its bytes. Returns an Error that all ranks agree on. Called by all ranks.
  std::optional<Error> WriteTrace(const std::string& folder, int64_t arena);

 private:
  // What is counted, so far.
  struct Counts {
    double seconds;
    double communication_seconds;
    double flops;
    double sent_bytes;
  };

  void EndOf(OpName op, int line) override;
  Counts CountsNow() const;
  std::string PlaceOf(int line) const;

  const std::optional<std::string> wish_;
  const char* const model_file_;
  Comm& comm_;
  Watch& watch_;
  size_t most_events_ = 0;
  double zero_ = 0;  // A moment that is the same on all ranks.
  int64_t steps_begun_ = 0;
  Counts last_ = {};  // When the current op began.
  double step_began_ = 0;
  size_t first_op_ = 0;  // Of the step, in measured_.ops.
  ProfileRecord record_;
  std::unordered_map<const char*, size_t> number_of_;  // In record_.ops, by the text of the name.
  MeasuredOps measured_;                               // For the timeline.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_PROFILE_H_
