// Who this process is in its job: its number, how many processes there are, and where they meet. This is read from the
// environment, which was set by the program that started the process. Nothing here connects to another process.
//
//   const Result<std::optional<Placement>> placement = FindPlacement();   // nullopt: this process was started alone.
//
// The first of these that is set decides:
//   CLEAVE_SCHEDULER=host:port                    a scheduler gives the ranks (CLEAVE_LOCAL_RANK: number on its host)
//   RANK_TABLE_FILE, RANK_ID                      a rank table
//   RANK WORLD_SIZE MASTER_ADDR MASTER_PORT       as torchrun sets them (LOCAL_RANK: number on its host)
//   SLURM_PROCID SLURM_NTASKS SLURM_STEP_NODELIST as srun sets them (SLURM_LOCALID: number on its host)
// CLEAVE_PORT is the port of the meeting point for rank tables and Slurm, kDefaultPort without it.
#ifndef CLEAVE_RUNTIME_PLACEMENT_PLACEMENT_H_
#define CLEAVE_RUNTIME_PLACEMENT_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

constexpr int kDefaultPort = 29617;

struct Address {
  std::string host;
  int port = 0;
};
std::string ToString(const Address& address);  // "10.0.0.1:29617", "[::1]:29617"

// "10.0.0.1:29617", "node1:29617" or "[::1]:29617".
std::optional<Address> ParseAddress(const std::string& text, int least_port = 1);

struct Placement {
  std::string source;              // Which of them was used, for messages: "the rank table `ranks.json`".
  std::optional<int> rank;         // nullopt: the scheduler gives it.
  std::optional<int> ranks;        // nullopt: the scheduler knows it.
  int local_rank = -1;             // Number among the ranks of this host; -1: not told.
  Address meeting;                 // Of rank 0, or of the scheduler.
  bool has_scheduler = false;      // The meeting point is a process of its own.
  std::vector<std::string> hosts;  // By rank; empty where they are not known.
};

// Returns an Error (exit code 3) for variables that are wrong or missing, and for a rank table that is.
Result<std::optional<Placement>> FindPlacement();

// CLEAVE_JOIN_TIMEOUT: seconds within which all ranks must have joined (60).
Result<double> JoinTimeout();

// CLEAVE_SECRET: what a process must know to join the job; empty: nothing.
Result<std::string> JobSecret();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PLACEMENT_PLACEMENT_H_
