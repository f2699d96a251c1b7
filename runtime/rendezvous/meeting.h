// Where the ranks of a job meet: one process, rank 0 or a scheduler, listens; all connect to it and stay connected.
//
//   Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({"10.0.0.1", 29617}, {.ranks = 8, .secret = "…"});
//   const MeetingEnd end = meeting.value()->Run();    // Until all have left, or the job cannot go on.
//
// It gives the ranks numbers where they have none, sends to all ranks what each of them says (where it can be reached),
// and ends the job on all ranks when one does not come in time, when two ranks give the same number, or when the
// connection to a rank closes before the rank has left. Exactly one process says why.
//
// Who connects and is not a rank of this job is told so and turned away, and the job goes on. With a secret, the ranks
// of this job are those that know it. Without one, any program that asks correctly is taken for a rank, and one of
// another size for a rank of another job.
//
// Ranks without numbers are ordered by host name, then by their number on the host, then by when they came.
#ifndef CLEAVE_RUNTIME_RENDEZVOUS_MEETING_H_
#define CLEAVE_RUNTIME_RENDEZVOUS_MEETING_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"

namespace cleave::runtime {

struct MeetingPlan {
  int ranks = 1;
  double join_timeout = 60;        // Seconds.
  bool gives_ranks = false;        // A scheduler does: ranks that join have no number.
  std::vector<std::string> hosts;  // By rank, where they are known before any rank has joined.
  std::string secret;              // Empty: none.
};

struct MeetingEnd {
  ExitCode code = ExitCode::kDone;
  std::string message;  // What this process has to print; empty where a rank prints it, or all is well.
};

class Meeting {
 public:
  // An Error (exit code 5): the port is in use, the host unknown or another one.
  static Result<std::unique_ptr<Meeting>> Listen(const Address& address, const MeetingPlan& plan);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  Address address() const;  // Has the real port where port 0 was asked for.

  // Called once. Returns at the end of the job.
  MeetingEnd Run();

 private:
  struct State;
  explicit Meeting(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RENDEZVOUS_MEETING_H_
