// Reading guide. `Blocks` finds the pieces of each layer, which `Block` puts into order: by turns, and then by moving
// one piece at a time, for as long as a row of such layers, played through, takes less time.

#include "ir/program/order/overlap.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "ir/program/order/steps.h"

namespace cleave::ir {
namespace {

// A block of more pieces is cut, because the search takes time proportional to the square of their number.
constexpr int kMostPieces = 128;
// How many of the next pieces may take their turn.
constexpr size_t kLookedAt = 32;
// How far a piece moves at once.
constexpr size_t kFarthest = 24;
// An order is better if it takes less than this share of the time.
constexpr double kWorth = 0.999;
// How often every piece is moved to its best place, at most.
constexpr int kMostRounds = 3;

// A stage of the fusion in a block.
struct Piece {
  int stage = 0;
  bool is_collective = false;
  double seconds = 0;
  std::vector<size_t> inputs = {};  // The pieces of the block whose values it reads, which stand in front of it.
  bool awaits = false;              // Whether it reads what another block of the same phase makes.
  bool is_awaited = false;          // Whether a kernel of another block of the same phase reads what it makes.

  bool Reads(size_t other) const { return std::find(inputs.begin(), inputs.end(), other) != inputs.end(); }
};

// All that the best order of pieces depends on, whatever stages they are (OverlapOrders).
std::vector<int64_t> NumbersOf(const std::vector<Piece>& pieces) {
  std::vector<int64_t> numbers;
  for (const Piece& piece : pieces) {
    numbers.push_back(std::bit_cast<int64_t>(piece.seconds));
    numbers.push_back((piece.is_collective ? 1 : 0) | (piece.awaits ? 2 : 0) | (piece.is_awaited ? 4 : 0) |
                      static_cast<int64_t>(piece.inputs.size()) << 3);
    numbers.insert(numbers.end(), piece.inputs.begin(), piece.inputs.end());
  }
  return numbers;
}

// Pieces that may change places. An order is as good as it is for a row of equal blocks, each of which awaits the one
// before: what a block sends at its end may run beside the next one.
class Block {
 public:
  using Order = OverlapOrders::Order;

  explicit Block(const std::vector<Piece>& pieces) : pieces_(pieces), ends_(pieces.size()) {}

  // The best order that is found, in which the pieces are as they were where no other one is better.
  Order Best() && {
    best_.resize(pieces_.size());
    std::iota(best_.begin(), best_.end(), 0);
    const auto is_collective = [](const Piece& piece) { return piece.is_collective; };
    if (std::none_of(pieces_.begin(), pieces_.end(), is_collective)) return best_;
    period_ = PeriodOf(best_);
    Offer(InTurn());
    for (int round = 0; round < kMostRounds; ++round) {
      bool is_better = false;
      for (size_t piece = 0; piece < pieces_.size(); ++piece) {
        if (pieces_[piece].seconds > 0) is_better |= MoveToBest(piece);
      }
      if (!is_better) break;
    }
    return best_;
  }

 private:
  // When kernels and collectives are free, and when what is awaited of the block before is there.
  struct Clocks {
    double kernels = 0;
    double collectives = 0;
    double awaited = 0;

    double end() const { return std::max(kernels, collectives); }
    double& Of(const Piece& piece) { return piece.is_collective ? collectives : kernels; }
  };

  // Where a piece takes nothing it begins as soon as its inputs are there. These have run: ends_ is right for them.
  double StartOf(const Piece& piece, Clocks& clocks) const {
    double start = piece.seconds > 0 ? clocks.Of(piece) : 0;
    if (piece.awaits) start = std::max(start, clocks.awaited);
    for (const size_t input : piece.inputs) start = std::max(start, ends_[input]);
    return start;
  }
  void Run(size_t piece, Clocks& clocks) {
    const Piece& own = pieces_[piece];
    ends_[piece] = StartOf(own, clocks) + own.seconds;
    if (own.seconds > 0) clocks.Of(own) = ends_[piece];
  }

  // How long a block takes behind another one.
  double PeriodOf(const Order& order) {
    constexpr int kBehind = 2;
    Clocks clocks;
    double first = 0;
    for (int block = 0; block <= kBehind; ++block) {
      double awaited = 0;
      for (const size_t piece : order) {
        Run(piece, clocks);
        if (pieces_[piece].is_awaited) awaited = std::max(awaited, ends_[piece]);
      }
      clocks.awaited = awaited;
      if (block == 0) first = clocks.end();
    }
    return (clocks.end() - first) / kBehind;
  }

  // Always what can start first of the next pieces, of which so many are looked at, and of several what has the longest
  // way to the end of the block, where what others await goes before all else. Of equal ones the first.
  Order InTurn() {
    const std::vector<double> left = LongestWays();
    std::vector<uint8_t> has_run(pieces_.size(), 0);
    Clocks clocks;
    Order order;
    for (size_t first = 0; order.size() < pieces_.size();) {
      while (has_run[first] != 0) ++first;
      std::optional<std::pair<double, double>> least;
      size_t next = first;
      for (size_t i = first; i < std::min(pieces_.size(), first + kLookedAt); ++i) {
        const std::vector<size_t>& inputs = pieces_[i].inputs;
        if (has_run[i] != 0 || std::any_of(inputs.begin(), inputs.end(), [&](size_t j) { return has_run[j] == 0; })) {
          continue;
        }
        const std::pair own(StartOf(pieces_[i], clocks), -left[i]);
        if (least.has_value() && own >= *least) continue;
        least = own;
        next = i;
      }
      Run(next, clocks);
      has_run[next] = 1;
      order.push_back(next);
    }
    return order;
  }

  std::vector<double> LongestWays() const {
    double all = 0;
    for (const Piece& piece : pieces_) all += piece.seconds;
    std::vector<double> left(pieces_.size(), 0);
    for (size_t i = pieces_.size(); i-- > 0;) {
      left[i] += pieces_[i].seconds + (pieces_[i].is_awaited ? all : 0);
      for (const size_t input : pieces_[i].inputs) left[input] = std::max(left[input], left[i]);
    }
    return left;
  }

  // Of the places between what the piece reads and what reads it. Whether there is a better one than its own.
  bool MoveToBest(size_t piece) {
    const size_t from = static_cast<size_t>(std::find(best_.begin(), best_.end(), piece) - best_.begin());
    bool is_better = false;
    Order order = best_;
    for (size_t to = from; to > 0 && from - to < kFarthest && !pieces_[piece].Reads(order[to - 1]); --to) {
      std::swap(order[to - 1], order[to]);
      is_better |= Offer(order);
    }
    if (is_better) return true;
    order = best_;
    const size_t end = std::min(order.size(), from + kFarthest + 1);
    for (size_t to = from + 1; to < end && !pieces_[order[to]].Reads(piece); ++to) {
      std::swap(order[to - 1], order[to]);
      is_better |= Offer(order);
    }
    return is_better;
  }

  bool Offer(const Order& order) {
    const double period = PeriodOf(order);
    if (period >= period_ * kWorth) return false;
    period_ = period;
    best_ = order;
    return true;
  }

  const std::vector<Piece>& pieces_;
  std::vector<double> ends_;  // When each piece that has run ends.
  Order best_;
  double period_ = 0;
};

// The blocks of a program. What stays where it is is a block of its own.
class Blocks {
 public:
  Blocks(const Program& program, const Fusion& fusion, const std::vector<Seconds>& seconds, OverlapOrders& orders)
      : program_(program), fusion_(fusion), seconds_(seconds), orders_(orders), begins_(BeginsOf()) {
    AddReaders();
  }

  // The steps of all blocks, each in its order.
  std::vector<int> Steps() && {
    std::vector<int> order;
    for (size_t block = 0; block + 1 < begins_.size(); ++block) {
      const std::vector<Piece> pieces = PiecesOf(block);
      const Block::Order best = BestOf(pieces);
      for (const size_t piece : best) {
        const StageSteps steps = StepsOf(StageAt(pieces[piece].stage));
        order.insert(order.end(), steps.begin(), steps.end());
      }
    }
    return order;
  }

 private:
  const FusedStage& StageAt(int stage) const { return fusion_.stages[static_cast<size_t>(stage)]; }
  const Step& FirstStep(int stage) const {
    return program_.steps[static_cast<size_t>(StepsOf(StageAt(stage)).front())];
  }
  bool Stays(int stage) const {
    const Step& step = FirstStep(stage);
    return std::holds_alternative<HostCopy>(step.action) || std::holds_alternative<Send>(step.action) ||
           std::holds_alternative<Receive>(step.action) || std::holds_alternative<Glance>(step.action) ||
           (step.phase != Phase::kForward && step.phase != Phase::kBackward);
  }

  // Where blocks begin, and the number of stages.
  std::vector<int> BeginsOf() const {
    const int count = static_cast<int>(fusion_.stages.size());
    const auto key = [&](int stage) {
      const FusedStage& own = StageAt(stage);
      return std::tuple(own.phase, own.repeat, StageOf(program_, FirstStep(stage)),
                        RepetitionOf(program_, FirstStep(stage)).passes);
    };
    std::vector<int> begins;
    for (int stage = 0; stage < count; ++stage) {
      const bool is_cut = stage == 0 || Stays(stage) || Stays(stage - 1) || key(stage) != key(stage - 1);
      if (is_cut || stage - begins.back() == kMostPieces) begins.push_back(stage);
    }
    begins.push_back(count);
    return begins;
  }

  void AddReaders() {
    block_of_.resize(fusion_.stages.size());
    for (size_t block = 0; block + 1 < begins_.size(); ++block) {
      std::fill(block_of_.begin() + begins_[block], block_of_.begin() + begins_[block + 1], block);
    }
    inputs_.resize(fusion_.stages.size());
    awaits_.assign(fusion_.stages.size(), 0);
    is_awaited_.assign(fusion_.stages.size(), 0);
    for (int stage = 0; stage < static_cast<int>(fusion_.stages.size()); ++stage) {
      const auto own = static_cast<size_t>(stage);
      const bool is_kernel = CommunicationOf(program_, FirstStep(stage)) == nullptr;
      for (const int step : StepsOf(StageAt(stage))) {
        for (const ValueId value : Reads(program_.steps[static_cast<size_t>(step)])) {
          const int maker = fusion_.written_by[value];
          if (maker < 0 || maker == stage) continue;
          if (block_of_[static_cast<size_t>(maker)] == block_of_[own]) {
            inputs_[own].push_back(maker);
          } else if (StageAt(maker).phase == StageAt(stage).phase) {
            awaits_[own] = 1;
            if (is_kernel) is_awaited_[static_cast<size_t>(maker)] = 1;
          }
        }
      }
    }
  }

  // Equal blocks have one order.
  Block::Order BestOf(const std::vector<Piece>& pieces) {
    std::vector<int64_t> numbers = NumbersOf(pieces);
    if (std::optional<Block::Order> known = orders_.Find(numbers)) return *std::move(known);
    Block::Order best = Block(pieces).Best();
    orders_.Add(std::move(numbers), best);
    return best;
  }

  std::vector<Piece> PiecesOf(size_t block) const {
    const int begin = begins_[block];
    std::vector<Piece> pieces;
    for (int stage = begin; stage < begins_[block + 1]; ++stage) {
      const auto own = static_cast<size_t>(stage);
      Piece piece{.stage = stage,
                  .is_collective = CommunicationOf(program_, FirstStep(stage)) != nullptr,
                  .seconds = seconds_[own].value(),
                  .inputs = {},
                  .awaits = awaits_[own] != 0,
                  .is_awaited = is_awaited_[own] != 0};
      for (const int input : inputs_[own]) piece.inputs.push_back(static_cast<size_t>(input - begin));
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  const Program& program_;
  const Fusion& fusion_;
  const std::vector<Seconds>& seconds_;
  OverlapOrders& orders_;
  const std::vector<int> begins_;
  std::vector<size_t> block_of_;          // By stage.
  std::vector<std::vector<int>> inputs_;  // By stage: the stages of its block whose values it reads.
  std::vector<uint8_t> awaits_;           // By stage: as in Piece.
  std::vector<uint8_t> is_awaited_;       // By stage: as in Piece.
};

}  // namespace

std::optional<OverlapOrders::Order> OverlapOrders::Find(const std::vector<int64_t>& pieces) const {
  const std::lock_guard lock(mutex_);
  const auto found = orders_.find(pieces);
  return found == orders_.end() ? std::nullopt : std::optional(found->second);
}

void OverlapOrders::Add(std::vector<int64_t> pieces, Order order) {
  const std::lock_guard lock(mutex_);
  orders_.try_emplace(std::move(pieces), std::move(order));
}

Program OrderForOverlap(Program program, const Fusion& fusion, const std::vector<Seconds>& seconds,
                        OverlapOrders* orders) {
  OverlapOrders own;
  const std::vector<int> order = Blocks(program, fusion, seconds, orders != nullptr ? *orders : own).Steps();
  if (!std::is_sorted(order.begin(), order.end())) OrderSteps(order, program);
  return program;
}

}  // namespace cleave::ir
