// Private to runtime/comm/nccl: a communicator of NCCL whose calls do not block. After a call we ask NCCL again and
// again until it has accepted the work; a failure becomes a Problem.
#ifndef CLEAVE_RUNTIME_COMM_NCCL_COMMUNICATOR_H_
#define CLEAVE_RUNTIME_COMM_NCCL_COMMUNICATOR_H_

#include <nccl.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/comm/transport.h"

namespace cleave::runtime {

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator() { Abort(); }

  // Connects `ranks` ranks, all of which call it with the same ids, within so many seconds.
  Problem Connect(int ranks, std::vector<ncclUniqueId> ids, int rank, double seconds);

  // Makes `part` the communicator of the ranks that give the same colour, ordered by `key`; of those that give
  // NCCL_SPLIT_NOCOLOR it stays empty. All ranks of this one call it.
  Problem Split(int colour, int key, double seconds, Communicator& part);

  // From now on NCCL may read and write the memory of tensors in it itself, and let other GPUs do so, where it else
  // copies to buffers of its own. All ranks of it register memory of theirs, or none does ("User Buffer Registration"
  // in NCCL's documentation). Not a collective.
  Problem Register(void* memory, int64_t bytes);
  // No longer. Does nothing for what is not registered.
  void Deregister(void* memory);

  // Waits until NCCL has accepted the call whose result is `result`. The work itself is done on the stream.
  Problem Settle(ncclResult_t result) const;

  // The failure that NCCL has found since the last call, if any.
  Problem Failure() const;

  // Ends all work that has not ended yet.
  void Abort();

  // Ends the connection to the others, who do the same.
  void Close(double seconds);

  ncclComm_t get() const { return communicator_; }

 private:
  // Waits for a state other than "in progress" for so many seconds. A negative number: for ever, and the watchdog ends
  // a job that stands still.
  Problem Await(ncclResult_t state, double seconds) const;

  ncclComm_t communicator_ = nullptr;
  std::map<void*, void*> registered_;  // By memory: what NCCL knows it as.
};

// How many ids `ranks` ranks find each other by. The rank that has made one is asked by all that belong to it, one
// after another, so it is one for 128 ranks.
int NumberOfIds(int ranks);

// The first rank of those that belong to id `i` of `ids`, as NCCL divides them: it makes that id.
int MakerOfId(int i, int ids, int ranks);

// "2.28.9"
std::string NcclVersionText(int version);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_NCCL_COMMUNICATOR_H_
