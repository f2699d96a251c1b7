// Reading guide. `Blocks` are the pieces of a layer, which `Block` puts into order by playing through what they take.

#include "ir/program/order/overlap.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "ir/program/order/steps.h"

namespace cleave::ir {
namespace {

// How many pieces are looked at for the next one.
constexpr size_t kLookedAt = 64;
// An order is worth something if it takes less than this share of the time.
constexpr double kWorth = 0.999;

// The name up to its last number: "x.3" of "x.3.attn.out.matmul".
absl::string_view LayerOf(absl::string_view name) {
  for (size_t end = name.size(); end != 0;) {
    const size_t dot = name.substr(0, end).rfind('.');
    const absl::string_view part = name.substr(0, end).substr(dot == absl::string_view::npos ? 0 : dot + 1);
    if (!part.empty() && std::all_of(part.begin(), part.end(), absl::ascii_isdigit)) return name.substr(0, end);
    end = dot == absl::string_view::npos ? 0 : dot;
  }
  return "";
}

// A stage of the fusion in a block.
struct Piece {
  int stage = 0;
  bool is_collective = false;
  double seconds = 0;
  std::vector<size_t> inputs = {};  // The pieces of the block whose values it reads, which stand in front of it.
  bool is_awaited = false;          // Whether a kernel of the same phase in another block reads what it writes.
};

// Pieces that may change places.
class Block {
 public:
  explicit Block(std::vector<Piece> pieces) : pieces_(std::move(pieces)), left_(pieces_.size(), 0) {
    double all = 0;
    for (const Piece& piece : pieces_) all += piece.seconds;
    for (size_t i = pieces_.size(); i-- > 0;) {
      left_[i] += pieces_[i].seconds + (pieces_[i].is_awaited ? all : 0);
      for (const size_t input : pieces_[i].inputs) left_[input] = std::max(left_[input], left_[i]);
    }
  }

  // The stages in the order in which the block takes least time, of two.
  std::vector<int> Stages() const {
    std::vector<size_t> order(pieces_.size());
    std::iota(order.begin(), order.end(), 0);
    const bool has_collectives =
        std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.is_collective; });
    if (has_collectives) {
      Clocks as_it_is(*this), next(*this);
      for (const size_t piece : order) as_it_is.Run(piece);
      std::vector<size_t> other = InTurn(next);
      if (next.End() < as_it_is.End() * kWorth) order = std::move(other);
    }
    std::vector<int> stages;
    for (const size_t piece : order) stages.push_back(pieces_[piece].stage);
    return stages;
  }

 private:
  // When kernels and collectives are free, and pieces have ended.
  class Clocks {
   public:
    explicit Clocks(const Block& block) : block_(block), ends_(block.pieces_.size()) {}

    bool HasRun(size_t piece) const { return ends_[piece].has_value(); }
    // nullopt before its inputs are there.
    std::optional<double> StartOf(size_t piece) const {
      const Piece& own = block_.pieces_[piece];
      double start = own.seconds == 0 ? 0 : free_[own.is_collective ? 1 : 0];
      for (const size_t input : own.inputs) {
        if (!HasRun(input)) return std::nullopt;
        start = std::max(start, *ends_[input]);
      }
      return start;
    }
    void Run(size_t piece) {
      const Piece& own = block_.pieces_[piece];
      ends_[piece] = *StartOf(piece) + own.seconds;
      if (own.seconds > 0) free_[own.is_collective ? 1 : 0] = *ends_[piece];
    }
    double End() const { return std::max(free_[0], free_[1]); }

   private:
    const Block& block_;
    std::array<double, 2> free_ = {};
    std::vector<std::optional<double>> ends_;
  };

  // Always what can start first, and of several what has most left behind it. Of equal ones the first.
  std::vector<size_t> InTurn(Clocks& clocks) const {
    std::vector<size_t> order;
    for (size_t first = 0; order.size() < pieces_.size();) {
      while (clocks.HasRun(first)) ++first;
      std::optional<std::pair<double, double>> least;
      size_t next = first;
      for (size_t i = first; i < std::min(pieces_.size(), first + kLookedAt); ++i) {
        if (clocks.HasRun(i)) continue;
        const std::optional<double> start = clocks.StartOf(i);
        if (!start.has_value()) continue;
        const std::pair own(*start, -left_[i]);
        if (least.has_value() && own >= *least) continue;
        least = own;
        next = i;
      }
      clocks.Run(next);
      order.push_back(next);
    }
    return order;
  }

  std::vector<Piece> pieces_;
  std::vector<double> left_;  // By piece: how long the longest way takes from its beginning to where the block ends.
};

class Blocks {
 public:
  Blocks(const Program& program, const Fusion& fusion, const std::vector<Seconds>& seconds)
      : program_(program), fusion_(fusion), seconds_(seconds), begins_(BeginsOf()) {
    AddReaders();
  }

  // The steps of all blocks, each in its order.
  std::vector<int> Steps() const {
    std::vector<int> order;
    for (size_t block = 0; block + 1 < begins_.size(); ++block) {
      for (const int stage : BlockOf(block).Stages()) {
        const StageSteps steps = StepsOf(StageAt(stage));
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
      return std::tuple(own.phase, own.repeat, StageOf(program_, FirstStep(stage)), LayerOf(FirstStep(stage).name));
    };
    std::vector<int> begins;
    for (int stage = 0; stage < count; ++stage) {
      if (stage == 0 || Stays(stage) || Stays(stage - 1) || key(stage) != key(stage - 1)) begins.push_back(stage);
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
          } else if (is_kernel && StageAt(maker).phase == StageAt(stage).phase) {
            is_awaited_[static_cast<size_t>(maker)] = 1;
          }
        }
      }
    }
  }

  Block BlockOf(size_t block) const {
    const int begin = begins_[block];
    std::vector<Piece> pieces;
    for (int stage = begin; stage < begins_[block + 1]; ++stage) {
      const auto own = static_cast<size_t>(stage);
      Piece piece{.stage = stage,
                  .is_collective = CommunicationOf(program_, FirstStep(stage)) != nullptr,
                  .seconds = seconds_[own].value(),
                  .inputs = {},
                  .is_awaited = is_awaited_[own] != 0};
      for (const int input : inputs_[own]) piece.inputs.push_back(static_cast<size_t>(input - begin));
      pieces.push_back(std::move(piece));
    }
    return Block(std::move(pieces));
  }

  const Program& program_;
  const Fusion& fusion_;
  const std::vector<Seconds>& seconds_;
  const std::vector<int> begins_;
  std::vector<size_t> block_of_;          // By stage.
  std::vector<std::vector<int>> inputs_;  // By stage: the stages of its block whose values it reads.
  std::vector<uint8_t> is_awaited_;       // By stage: Piece::is_awaited.
};

}  // namespace

Program OrderForOverlap(Program program, const Fusion& fusion, const std::vector<Seconds>& seconds) {
  const std::vector<int> order = Blocks(program, fusion, seconds).Steps();
  if (!std::is_sorted(order.begin(), order.end())) OrderSteps(order, program);
  return program;
}

}  // namespace cleave::ir
