// A rank that passes texts on; texts_test.sh starts several. Arguments: which rank ends without a word after how many
// rounds, if one does.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr int kRounds = 20;

// Texts are short, empty, long and of bytes of any kind.
std::string TextOf(int rank, int round) {
  std::string text(static_cast<size_t>((rank * 7919 + round * 104729) % 5000), '\0');
  if (round == 3 && rank == 0) text.resize(size_t{3} << 20);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 + static_cast<size_t>(rank + round));
  return text;
}

int RankMain(int ranks, int lost_rank, int lost_round) {
  Watch watch("texts.model");
  Result<std::unique_ptr<Comm>> started = Comm::Start(Mesh{{"m0", ranks}}, watch);
  if (!started.ok()) return static_cast<int>(started.error().code);
  Comm& comm = *started.value();
  for (int round = 0; round < kRounds; ++round) {
    if (comm.rank() == lost_rank && round == lost_round) std::_Exit(9);
    const std::vector<std::string> texts = comm.GatherText(TextOf(comm.rank(), round));
    for (int rank = 0; rank < ranks; ++rank) {
      if (texts[static_cast<size_t>(rank)] != TextOf(rank, round)) {
        std::fprintf(stderr, "rank %d: the text of rank %d in round %d is another one\n", comm.rank(), rank, round);
        return 1;
      }
    }
    comm.Barrier(comm.world());
  }
  return 0;
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  const int ranks = std::atoi(argv[1]);
  const int lost_rank = argc > 2 ? std::atoi(argv[2]) : -1;
  const int lost_round = argc > 3 ? std::atoi(argv[3]) : 0;
  return cleave::runtime::RunRanks(cleave::runtime::Mesh{{"m0", ranks}},
                                   [&] { return cleave::runtime::RankMain(ranks, lost_rank, lost_round); });
}
