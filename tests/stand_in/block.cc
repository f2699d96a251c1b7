// Block::Run starts threads, one after another on one fiber, until one has to wait; then another fiber goes on, and
// when all threads have begun, those whose barrier was passed run again. A warp's shuffles and votes are barriers at
// which values change hands. At each of these places SayWhere tells access.cc where the thread is.
#include "block.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "access.h"
#include "cuda_runtime.h"
#include "fiber.h"
#include "schedule.h"

namespace stand_in {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kFull = 0xFFFFFFFFu;

// What threads wait in.
enum class Meeting { kBarrier, kWarpBarrier, kShuffle, kVote };

// Threads that wait for all other threads of their warp, or of their block.
struct Barrier {
  unsigned alive = 0;  // Threads that have not ended.
  unsigned waiting = 0;
  uint64_t passed = 0;                  // How often all threads have come.
  uint32_t ordered = 0;                 // The same without shuffles and votes, which order nothing in memory.
  Meeting meeting = Meeting::kBarrier;  // In which those that wait do.
};

// Dynamic shared memory with its alignment, filled with NaNs.
struct alignas(128) SharedLine {
  SharedLine() { std::memset(bytes, 0xFF, sizeof bytes); }
  unsigned char bytes[128];
};

struct Warp {
  Barrier barrier;
  // The values that lanes give each other. Two sets are used in turn: a lane that writes the next set but one knows
  // that all have read this one.
  uint64_t given[2][kLanes];
  bool ended[kLanes];
  unsigned uses[kLanes];  // Exchanges that a lane has begun.
};

class Block;

// A fiber, and the thread of the kernel that it is in.
struct Strand {
  Strand(Block* block, void (*run)(void*)) : block(block), fiber(run, this) {}

  Block* const block;
  unsigned thread = 0;
  const Barrier* waits_for = nullptr;
  uint64_t round = 0;  // The round of `waits_for` that must be passed.
  Fiber fiber;
};

class Block {
 public:
  void Run(const dim3& shape, size_t shared_bytes, const std::function<void()>& body);
  void Wait(Barrier& barrier, Meeting meeting);
  uint64_t Exchange(uint64_t bits, int source);
  unsigned Ballot(bool vote);

  bool running() const { return body_ != nullptr; }
  unsigned thread() const { return current_->thread; }
  unsigned lane() const { return thread() % kLanes; }
  Barrier& all() { return all_; }
  unsigned char* shared() { return shared_[0].bytes; }
  size_t shared_bytes() const { return shared_.size() * sizeof(SharedLine); }
  void BeginThread() { SayWhere(*current_); }
  Warp& warp() { return warps_[thread() / kLanes]; }

 private:
  // Gives `bits` to the warp, as all of its threads do, and returns the set in which they are.
  unsigned Give(uint64_t bits, Meeting meeting);
  bool HasGiven(unsigned lane);

  static void RunStrand(void* strand);
  void RunThreads(Strand& strand);
  void EndThread();
  void Enter(Strand& strand);
  void SetThreadIndex(unsigned thread) const;
  static void Release(Barrier& barrier);
  // To those who look at what the current thread touches.
  void SayWhere(const Strand& strand);

  dim3 shape_;
  unsigned threads_ = 0;
  unsigned begun_ = 0;
  const std::function<void()>* body_ = nullptr;
  Barrier all_;
  std::vector<SharedLine> shared_;
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<Strand>> strands_;  // They are kept from block to block.
  std::vector<Strand*> idle_;
  std::vector<Strand*> paused_;  // In the order in which they came to their barriers.
  Strand* current_ = nullptr;
};

thread_local Block block_of_thread;

void Block::Run(const dim3& shape, size_t shared_bytes, const std::function<void()>& body) {
  ++in_block.block;
  shape_ = shape;
  shared_.assign(shared_bytes / sizeof(SharedLine) + 1, SharedLine());
  threads_ = shape.x * shape.y * shape.z;
  begun_ = 0;
  body_ = &body;
  all_ = Barrier();
  all_.alive = threads_;
  warps_.assign((threads_ + kLanes - 1) / kLanes, Warp());
  for (unsigned i = 0; i < threads_; ++i) ++warps_[i / kLanes].barrier.alive;
  while (all_.alive > 0) {
    if (begun_ < threads_) {
      if (idle_.empty()) {
        strands_.push_back(std::make_unique<Strand>(this, &Block::RunStrand));
        idle_.push_back(strands_.back().get());
      }
      Strand* const strand = idle_.back();
      idle_.pop_back();
      Enter(*strand);
      continue;
    }
    std::vector<Strand*> waiting;
    waiting.swap(paused_);
    bool went_on = false;
    for (Strand* strand : waiting) {
      const bool ready = strand->waits_for->passed >= strand->round;
      went_on = went_on || ready;
      if (ready) {
        Enter(*strand);
      } else {
        paused_.push_back(strand);
      }
    }
    if (!went_on) Refuse("threads of a block wait at different barriers, and none can go on");
  }
  body_ = nullptr;
}

void Block::RunStrand(void* strand) { static_cast<Strand*>(strand)->block->RunThreads(*static_cast<Strand*>(strand)); }

void Block::RunThreads(Strand& strand) {
  while (true) {
    while (begun_ < threads_) {
      strand.thread = Reversed() ? threads_ - 1 - begun_ : begun_;
      ++begun_;
      SetThreadIndex(strand.thread);
      (*body_)();
      in_block.is_running = false;
      EndThread();
    }
    idle_.push_back(&strand);
    strand.fiber.Pause();
  }
}

void Block::EndThread() {
  Warp& warp = this->warp();
  warp.ended[lane()] = true;
  --warp.barrier.alive;
  Release(warp.barrier);
  --all_.alive;
  Release(all_);
}

void Block::Enter(Strand& strand) {
  current_ = &strand;
  SetThreadIndex(strand.thread);
  strand.fiber.Resume();
  in_block.is_running = false;
}

void Block::SetThreadIndex(unsigned thread) const {
  threadIdx = {thread % shape_.x, thread / shape_.x % shape_.y, thread / (shape_.x * shape_.y)};
}

void Block::SayWhere(const Strand& strand) {
  in_block.is_running = true;
  in_block.barriers = all_.ordered;
  in_block.warp_barriers = warp().barrier.ordered;
  in_block.thread = strand.thread;
  in_block.stack = strand.fiber.stack();
  in_block.stack_end = strand.fiber.stack_end();
}

void Block::Release(Barrier& barrier) {
  if (barrier.waiting == 0 || barrier.waiting < barrier.alive) return;
  barrier.waiting = 0;
  ++barrier.passed;
  if (barrier.meeting == Meeting::kBarrier || barrier.meeting == Meeting::kWarpBarrier) ++barrier.ordered;
}

void Block::Wait(Barrier& barrier, Meeting meeting) {
  Strand& strand = *current_;
  if (barrier.waiting > 0 && barrier.meeting != meeting) Refuse("threads of a warp meet in calls that differ");
  barrier.meeting = meeting;
  strand.waits_for = &barrier;
  strand.round = barrier.passed + 1;
  ++barrier.waiting;
  Release(barrier);
  if (barrier.passed < strand.round || Reversed()) {
    paused_.push_back(&strand);
    strand.fiber.Pause();
  }
  SayWhere(strand);
}

unsigned Block::Give(uint64_t bits, Meeting meeting) {
  Warp& warp = this->warp();
  const unsigned turn = warp.uses[lane()]++ % 2;
  warp.given[turn][lane()] = bits;
  Wait(warp.barrier, meeting);
  return turn;
}

bool Block::HasGiven(unsigned lane) {
  if (thread() / kLanes * kLanes + lane >= threads_) return false;
  return !warp().ended[lane] || warp().uses[lane] >= warp().uses[this->lane()];
}

uint64_t Block::Exchange(uint64_t bits, int source) {
  const unsigned turn = Give(bits, Meeting::kShuffle);
  const unsigned from = static_cast<unsigned>(source) % kLanes;
  if (!HasGiven(from)) Refuse("a shuffle reads from a lane that is not there, or has ended");
  return warp().given[turn][from];
}

unsigned Block::Ballot(bool vote) {
  const unsigned turn = Give(vote, Meeting::kVote);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (HasGiven(lane) && warp().given[turn][lane] != 0) votes |= 1u << lane;
  }
  return votes;
}

void CheckFull(unsigned mask) {
  if (!InKernel()) Refuse("a barrier or shuffle is called outside a kernel");
  if (mask != kFull) Refuse("a warp's barrier or shuffle has a mask that is not full");
}

}  // namespace

void RunBlock(const dim3& shape, size_t shared_bytes, const std::function<void()>& thread) {
  block_of_thread.Run(shape, shared_bytes, thread);
}
bool Reversed() { return Mixed(in_block.launch) % 2 == 1; }

uint64_t BeginLaunch() { return Mixed(++in_block.launch); }
size_t DynamicSharedBytes() { return block_of_thread.shared_bytes(); }

bool InKernel() { return block_of_thread.running(); }

void Refuse(const char* what) {
  std::fprintf(stderr, "CUDA stand-in, seed %llu: ", static_cast<unsigned long long>(Seed()));
  if (InKernel()) {
    std::fprintf(stderr, "block (%u, %u, %u), thread (%u, %u, %u): ", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
                 threadIdx.y, threadIdx.z);
  }
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace stand_in

using stand_in::block_of_thread;

void StandInBeginThread(const void* arguments, size_t bytes) {
  stand_in::in_block.arguments = static_cast<const char*>(arguments);
  stand_in::in_block.arguments_end = stand_in::in_block.arguments + bytes;
  block_of_thread.BeginThread();
}

void __syncthreads() {
  if (!stand_in::InKernel()) stand_in::Refuse("__syncthreads is called outside a kernel");
  block_of_thread.Wait(block_of_thread.all(), stand_in::Meeting::kBarrier);
}

unsigned char* StandInDynamicShared() {
  if (!stand_in::InKernel()) stand_in::Refuse("shared memory is asked for outside a kernel");
  return block_of_thread.shared();
}

void __syncwarp(unsigned mask) {
  stand_in::CheckFull(mask);
  block_of_thread.Wait(block_of_thread.warp().barrier, stand_in::Meeting::kWarpBarrier);
}

int StandInLane() {
  if (!stand_in::InKernel()) stand_in::Refuse("a shuffle is called outside a kernel");
  return static_cast<int>(block_of_thread.lane());
}

uint64_t StandInExchange(unsigned mask, uint64_t bits, int source) {
  stand_in::CheckFull(mask);
  return block_of_thread.Exchange(bits, source);
}

unsigned __ballot_sync(unsigned mask, int predicate) {
  stand_in::CheckFull(mask);
  return block_of_thread.Ballot(predicate != 0);
}
