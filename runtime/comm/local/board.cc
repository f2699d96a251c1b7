#include "runtime/comm/local/board.h"

#include <algorithm>
#include <thread>

namespace cleave::runtime {

namespace {

// Tells the core that the thread only waits, without giving it to another: on a machine with other work to do that
// would take the time of a scheduler's turn, milliseconds, where a meeting takes a few microseconds.
void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// The others usually arrive soon. But a rank without a core of its own must not keep theirs busy.
MeetingPlace::MeetingPlace(int members)
    : members_(members), looks_(static_cast<unsigned>(members) <= std::thread::hardware_concurrency() ? 2000 : 0) {}

void MeetingPlace::Meet() {
  // The number of meetings cannot change before this thread has arrived.
  const uint64_t meeting = meetings_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      meetings_.store(meeting + 1, std::memory_order_release);
    }
    all_are_here_.notify_all();
    return;
  }
  const auto is_over = [&] { return meetings_.load(std::memory_order_acquire) != meeting; };
  for (int look = 0; look < looks_; ++look) {
    if (is_over()) return;
    Pause();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  all_are_here_.wait(lock, is_over);
}

void Mailbox::Put(const Parcel& parcel, int box) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    messages_.emplace_back(parcel, box);
  }
  changed_.notify_all();
}

void Mailbox::AwaitTaken(int box) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] {
    return std::none_of(messages_.begin(), messages_.end(), [&](const auto& message) { return message.second == box; });
  });
}

void Mailbox::Take(const std::function<void(const Parcel&)>& take) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty(); });
    take(messages_.front().first);
    messages_.pop_front();
  }
  changed_.notify_all();
}

std::shared_ptr<Board> LocalRanks::BoardOf(const Group& group, const std::vector<int>& members) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Board>& board = boards_[{group.id, members[0]}];
  if (board == nullptr) board = std::make_shared<Board>(group.size);
  return board;
}

}  // namespace cleave::runtime
