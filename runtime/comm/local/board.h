// For runtime/comm/local and its subfolder: where ranks that are threads of one process show each other what they have.
//
//   board.Show(group.index, {.data = data});    // This thread's.
//   board.Meet();                               // From here on all members have shown theirs.
//   … board.shown(member).data …                // Read, not written to.
//   board.Meet();                               // From here on nobody reads mine any more.
#ifndef CLEAVE_RUNTIME_COMM_LOCAL_BOARD_H_
#define CLEAVE_RUNTIME_COMM_LOCAL_BOARD_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/transport.h"

namespace cleave::runtime {

// Where a number of threads wait for each other, again and again.
class MeetingPlace {
 public:
  explicit MeetingPlace(int members);

  // Returns when all members have called it as often as this one. What they wrote before is then seen.
  void Meet();

 private:
  const int members_;
  const int looks_;  // So often a thread looks whether the others are there before it sleeps.
  std::atomic<int> arrived_{0};
  std::atomic<uint64_t> meetings_{0};  // The number of meetings that have taken place.
  std::mutex mutex_;
  std::condition_variable all_are_here_;
};

// What one member shows the others; a call sets what it needs.
struct BoardEntry {
  const void* data = nullptr;
  const std::vector<int64_t>* counts = nullptr;  // Elements for each member, one after another in `data`.
  const std::vector<Parcel>* sends = nullptr;
  const std::string* text = nullptr;
};

// Where one thread leaves messages for another, which takes the first one first.
class Mailbox {
 public:
  // Leaves a message. REQUIRES: the one before it from the same box was taken.
  void Put(const Parcel& parcel, int box);
  // Waits until the last message from a box was taken.
  void AwaitTaken(int box);
  // Waits for a message; `take` is called with it while it is there.
  void Take(const std::function<void(const Parcel&)>& take);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Parcel, int>> messages_;  // With their boxes.
};

class Board {
 public:
  explicit Board(int members)
      : members_(static_cast<size_t>(members)), place_(members), shown_(members_), mailboxes_(members_ * members_) {}

  // What member `from` leaves for member `to`.
  Mailbox& MailboxOf(int from, int to) {
    return mailboxes_[static_cast<size_t>(from) * members_ + static_cast<size_t>(to)];
  }

  void Show(int member, const BoardEntry& what) { shown_[static_cast<size_t>(member)] = what; }
  const BoardEntry& shown(int member) const { return shown_[static_cast<size_t>(member)]; }
  void Meet() { place_.Meet(); }

 private:
  const size_t members_;
  MeetingPlace place_;
  std::vector<BoardEntry> shown_;
  std::vector<Mailbox> mailboxes_;
};

// The ranks of a process. Each is a thread and finds the boards of its groups here.
class LocalRanks {
 public:
  explicit LocalRanks(int ranks) : ranks_(ranks) {}

  int ranks() const { return ranks_; }

  // The board is the same for all members of a group. Each asks for it once, and all ask with the same group ids in the
  // same order.
  std::shared_ptr<Board> BoardOf(const Group& group, const std::vector<int>& members);

 private:
  const int ranks_;
  std::mutex mutex_;
  // By the number of the group and the first of its members: groups on the same axes have the same number.
  std::map<std::pair<int, int>, std::shared_ptr<Board>> boards_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_LOCAL_BOARD_H_
