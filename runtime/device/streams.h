// The work of collectives, and of copies to the host's memory and back, beside that of kernels. A rank asks for work in
// one order; on a GPU it is done on three streams: collectives on the communication stream, these copies on one of
// their own, everything else on the compute stream. On a CPU all of it is done when asked for, and these do nothing,
// except that collectives may have a thread of their own, which does what the communication stream does.
//
//   BeginCommunication();
//   …                                           // What is asked for here runs when all before it has.
//   const int64_t number = EndCommunication();
//   …                                           // Runs beside it.
//   AwaitCommunication(number);                 // What is asked for from here on runs when it has.
//
// BeginHostCopies in the place of BeginCommunication does the same with copies.
//
// Of the calling thread's rank. Implemented by runtime/device/cpu and runtime/device/cuda.
#ifndef CLEAVE_RUNTIME_DEVICE_STREAMS_H_
#define CLEAVE_RUNTIME_DEVICE_STREAMS_H_

#include <cstdint>
#include <functional>

namespace cleave::runtime {

// REQUIRES: neither has been called since the last EndCommunication.
void BeginCommunication();
void BeginHostCopies();

// The number names what was asked for since one of these. It is awaited exactly once.
int64_t EndCommunication();
// In its place, where what was asked for is not awaited.
void LeaveCommunication();
void AwaitCommunication(int64_t number);
// Awaits all that has a number. To await it once more then does nothing.
void AwaitAllCommunication();

// From here on the rank has a thread that communicates for it. On a GPU, which has a stream for that, nothing changes.
void CommunicateOnThread();
bool CommunicatesOnThread();
// Asks that thread for work, which it does in the order in which it is asked. What it takes from the workspace counts
// for the rank. REQUIRES: CommunicatesOnThread(), and what is asked for has been begun.
void Communicate(std::function<void()> work);

// What runs beside other work and has not been awaited.
struct Pending {
  int64_t id = -1;
};

// Runs what `copies` asks for while computation goes on: until Comm::Finish, what it writes must not be touched and
// what it reads must not be written to.
//
//   Pending pending = CopyBeside([&] { CopyToHost(h1, count, h1_out); });
template <typename Copies>
Pending CopyBeside(const Copies& copies) {
  BeginHostCopies();
  copies();
  return {EndCommunication()};
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_STREAMS_H_
