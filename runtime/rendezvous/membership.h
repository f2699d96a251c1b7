// One rank's side of a meeting (meeting.h): joining, telling all others something, leaving, and being told of the end.
//
//   Result<std::unique_ptr<Membership>> member = Membership::Join(placement, {.ranks = 8, .join_timeout = 60});
//   member.value()->Watch([](const Error& end) { … }, [] { return "rank 2 is in …"; });
//   const Result<std::vector<std::string>> all = member.value()->Exchange(where_I_can_be_reached);
//   …
//   member.value()->Leave();
//
// An Error without a message is one that another process has told the user.
#ifndef CLEAVE_RUNTIME_RENDEZVOUS_MEMBERSHIP_H_
#define CLEAVE_RUNTIME_RENDEZVOUS_MEMBERSHIP_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"

namespace cleave::runtime {

struct JoinPlan {
  int ranks = 1;             // The ranks that the program has.
  double join_timeout = 60;  // Seconds.
  std::string secret;        // That ranks of this job know; empty: none.
};

class Membership {
 public:
  // Rank 0 opens the meeting itself unless the placement has a scheduler. Returns when all ranks have joined. Errors:
  // exit code 6 when ranks are missing after that time, 5 when there cannot be a meeting point, 3 when it belongs to
  // another job.
  static Result<std::unique_ptr<Membership>> Join(const Placement& placement, const JoinPlan& plan);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  int rank() const;
  const std::vector<std::string>& hosts() const;  // Host names by rank, as the hosts call themselves.
  int local_ranks() const;                        // Ranks on this host.
  std::string own_address()
      const;  // An address of this host, as a number: the one from which it reaches the meeting point.

  // From now on a thread calls `end`, at most once, when the job must end, and `where`, when a rank asks where all are.
  void Watch(std::function<void(const Error&)> end, std::function<std::string()> where);

  // Whether the meeting point is rank 0, and not a scheduler.
  bool meets_at_rank_0() const;

  // What `where` says on every rank, by rank: empty for ranks that do not answer within seconds, as a process that is
  // stopped. An empty list when the meeting point does not answer. Called after Watch, by any thread.
  std::vector<std::string> AskWhere();

  // The text of every rank, by rank; an Error when the job ends before. Called by all ranks, after Watch.
  Result<std::vector<std::string>> Exchange(const std::string& mine);

  // Waits until all ranks have called it; an Error when the job ends before. Called by all ranks, after Watch.
  std::optional<Error> Leave();

 private:
  struct State;
  explicit Membership(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RENDEZVOUS_MEMBERSHIP_H_
