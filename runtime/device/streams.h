// The work of collectives beside that of kernels. A rank asks for work in one order; on a GPU it is done on two
// streams: collectives on the communication stream, everything else on the compute stream. On a CPU all of it is done
// when asked for, and these do nothing.
//
//   BeginCommunication();
//   …                                           // What is asked for here runs when all before it has.
//   const int number = EndCommunication();
//   …                                           // Runs beside it.
//   AwaitCommunication(number);                 // What is asked for from here on runs when it has.
//
// Of the calling thread's rank. Implemented by runtime/device/cpu and runtime/device/cuda.
#ifndef CLEAVE_RUNTIME_DEVICE_STREAMS_H_
#define CLEAVE_RUNTIME_DEVICE_STREAMS_H_

namespace cleave::runtime {

// REQUIRES: it has not been called since the last EndCommunication.
void BeginCommunication();

// The number names what was asked for since BeginCommunication. It is awaited exactly once.
int EndCommunication();
void AwaitCommunication(int number);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_STREAMS_H_
