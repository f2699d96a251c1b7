#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/state.cuh"
#include "runtime/device/streams.h"

namespace cleave::runtime {
namespace {

cudaStream_t NewStream(bool is_first) {
  int least = 0;
  int greatest = 0;
  CheckCuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  CheckCuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, is_first ? greatest : least),
            "cudaStreamCreate");
  return stream;
}

RankState* NewState() {
  auto* const state = new RankState;
  CheckCuda(cudaGetDevice(&state->device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&state->multiprocessors, cudaDevAttrMultiProcessorCount, state->device),
            "cudaDeviceGetAttribute");
  state->compute = NewStream(/*is_first=*/false);
  state->communication = NewCommunicationStream();
  state->host_copies = NewStream(/*is_first=*/false);
  state->current = state->compute;
  state->computed = NewEvent();
  return state;
}

// What is asked for from here on goes to `stream`, and runs when what was asked for before has.
void Begin(cudaStream_t stream) {
  RankState& state = State();
  CheckCuda(cudaEventRecord(state.computed, state.compute), "cudaEventRecord");
  CheckCuda(cudaStreamWaitEvent(stream, state.computed, 0), "cudaStreamWaitEvent");
  state.current = stream;
}

void Await(RankState::Communicated& communicated, cudaStream_t stream) {
  if (!communicated.pending) return;
  communicated.pending = false;
  CheckCuda(cudaStreamWaitEvent(stream, communicated.event, 0), "cudaStreamWaitEvent");
}

}  // namespace

RankState& State() {
  thread_local RankState* const state = NewState();
  return *state;
}

cudaEvent_t NewEvent() {
  cudaEvent_t event = nullptr;
  CheckCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}

cudaStream_t NewCommunicationStream() { return NewStream(/*is_first=*/true); }

cudaStream_t CurrentStream() { return State().current; }
cudaStream_t ComputeStream() { return State().compute; }
cudaStream_t CommunicationStream() { return State().communication; }
int Multiprocessors() { return State().multiprocessors; }

void BeginCommunication() { Begin(State().communication); }
void BeginHostCopies() { Begin(State().host_copies); }

int64_t EndCommunication() {
  RankState& state = State();
  if (state.free_numbers.empty()) {
    state.free_numbers.push_back(static_cast<int>(state.communicated.size()));
    state.communicated.push_back({NewEvent(), false});
  }
  const int number = state.free_numbers.back();
  state.free_numbers.pop_back();
  RankState::Communicated& communicated = state.communicated[static_cast<size_t>(number)];
  CheckCuda(cudaEventRecord(communicated.event, state.current), "cudaEventRecord");
  communicated.pending = true;
  state.current = state.compute;
  return number;
}

void LeaveCommunication() { State().current = State().compute; }

void AwaitCommunication(int64_t number) {
  RankState& state = State();
  Await(state.communicated[static_cast<size_t>(number)], state.compute);
  state.free_numbers.push_back(static_cast<int>(number));
}

void AwaitAllCommunication() {
  RankState& state = State();
  for (RankState::Communicated& communicated : state.communicated) Await(communicated, state.compute);
}

void CommunicateOnThread() {}
bool CommunicatesOnThread() { return false; }
void Communicate(std::function<void()> work) { work(); }

}  // namespace cleave::runtime
