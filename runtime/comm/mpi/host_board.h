// Private to runtime/comm/mpi: where the ranks of one host show each other what they do, without MPI, whose calls a
// watchdog must not make beside those of its rank.
#ifndef CLEAVE_RUNTIME_COMM_MPI_HOST_BOARD_H_
#define CLEAVE_RUNTIME_COMM_MPI_HOST_BOARD_H_

// As in transport.cc.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/trace.h"

namespace cleave::runtime {

class HostBoard : public Others {
 public:
  // Called by all ranks of `host`, those of one host. Null where they have no memory to share, and for a single rank.
  static std::unique_ptr<HostBoard> Create(MPI_Comm host);
  ~HostBoard() override;

  void Show(const std::string& where) override;
  MissingRanks Missing() override;

 private:
  // What a rank writes and the others read, at any time: a text that is just being written may be cut.
  struct Entry {
    std::atomic<int64_t> shown{0};  // How often.
    char where[248] = "";
  };
  static_assert(std::atomic<int64_t>::is_always_lock_free);

  HostBoard(Entry* entries, std::vector<int> ranks, size_t own)
      : entries_(entries), ranks_(std::move(ranks)), own_(own) {}

  Entry* const entries_;          // By place on this host, as the ranks.
  const std::vector<int> ranks_;  // Of the world.
  const size_t own_;              // This rank's place.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_MPI_HOST_BOARD_H_
