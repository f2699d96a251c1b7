#include "runtime/comm/mpi/host_board.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace cleave::runtime {
namespace {

// A rank that lives shows itself once a second.
constexpr int kAnswerMilliseconds = 2500;
constexpr int kShowMilliseconds = 500;

}  // namespace

std::unique_ptr<HostBoard> HostBoard::Create(MPI_Comm host) {
  int rank = 0;
  int own = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_rank(host, &own);
  MPI_Comm_size(host, &size);
  std::vector<int> ranks(static_cast<size_t>(size));
  MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, host);

  // The file has a name only until all have it.
  char name[] = "/dev/shm/cleave_XXXXXX";
  const size_t bytes = ranks.size() * sizeof(Entry);
  int file = -1;
  if (own == 0) {
    file = mkostemp(name, O_CLOEXEC);
    if (file < 0 || posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) {
      if (file >= 0) unlink(name);
      name[0] = '\0';
    }
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, host);
  if (own != 0 && name[0] != '\0') file = open(name, O_RDWR | O_CLOEXEC);
  void* const memory =
      file < 0 || name[0] == '\0' ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int has_memory = memory != MAP_FAILED && size > 1 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &has_memory, 1, MPI_INT, MPI_MIN, host);
  if (own == 0 && file >= 0 && name[0] != '\0') unlink(name);
  if (file >= 0) close(file);
  if (memory != MAP_FAILED && has_memory == 0) munmap(memory, bytes);
  if (has_memory == 0) return nullptr;
  // Zeros, which the file has, are entries that nobody has written yet.
  return std::unique_ptr<HostBoard>(
      new HostBoard(static_cast<Entry*>(memory), std::move(ranks), static_cast<size_t>(own)));
}

HostBoard::~HostBoard() { munmap(entries_, ranks_.size() * sizeof(Entry)); }

void HostBoard::Show(const std::string& where) {
  Entry& entry = entries_[own_];
  const size_t length = std::min(where.size(), sizeof entry.where - 1);
  std::memcpy(entry.where, where.data(), length);
  entry.where[length] = '\0';
  entry.shown.fetch_add(1);
}

MissingRanks HostBoard::Missing() {
  std::vector<int64_t> before;
  for (size_t i = 0; i < ranks_.size(); ++i) before.push_back(entries_[i].shown.load());
  for (int passed = 0; passed < kAnswerMilliseconds; passed += kShowMilliseconds) {
    entries_[own_].shown.fetch_add(1);  // Others may be asking too.
    poll(nullptr, 0, kShowMilliseconds);
  }
  std::vector<SeenRank> seen;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool answers = i == own_ || entry.shown.load() != before[i];
    seen.push_back({ranks_[i], answers, std::string(entry.where, strnlen(entry.where, sizeof entry.where - 1))});
  }
  return FindMissing(seen, ranks_[own_]);
}

}  // namespace cleave::runtime
