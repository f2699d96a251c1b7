// Writes a rank's part of checkpoints while training goes on.
//
//   ShardWriter writer(folder, state, mesh, rank);
//   writer.Start(500);                    // The state may change when this returns.
//   …
//   if (writer.HasEnded()) { Result<Shard> shard = writer.Take(); … }
#ifndef CLEAVE_RUNTIME_CHECKPOINT_WRITER_H_
#define CLEAVE_RUNTIME_CHECKPOINT_WRITER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"

namespace cleave::runtime {

class ShardWriter {
 public:
  ShardWriter(std::string folder, std::vector<StateTensor> state, Mesh mesh, int64_t rank);
  ShardWriter(const ShardWriter&) = delete;
  ~ShardWriter();  // Waits for the end of what is being written.

  // What a copy of all that this rank writes takes, in the memory of the host.
  int64_t bytes() const { return bytes_; }

  // Copies what this rank writes of the state after `step` steps, and begins to write it in a thread of its own.
  // REQUIRES: what was started before was taken.
  void Start(int64_t step);

  bool IsUnderWay() const { return thread_.joinable(); }
  bool HasEnded() const { return has_ended_.load(); }
  int64_t written() const { return written_.load(); }  // Bytes, of all that was started.
  // Waits for the end. Returns what is on disk, or why it is not. REQUIRES: IsUnderWay.
  Result<Shard> Take();

 private:
  struct Part {
    size_t tensor;      // Index into the state.
    Region slice;       // Of the tensor as it is stored.
    int64_t first = 0;  // Of the rank's values.
    int64_t bytes = 0;
  };
  Result<Shard> Write(const std::string& path);

  const std::string folder_;
  const std::vector<StateTensor> state_;
  const Mesh mesh_;
  const int64_t rank_;
  std::vector<Part> parts_;
  int64_t bytes_ = 0;
  std::unique_ptr<char[]> copy_;
  std::thread thread_;
  std::atomic<bool> has_ended_{false};
  std::atomic<int64_t> written_{0};
  std::optional<Result<Shard>> result_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_WRITER_H_
