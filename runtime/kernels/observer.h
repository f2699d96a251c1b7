// Looking at values while a model trains: `print`, `assert_finite`, and what `--watch` asks for.
//
//   observer.Print(0, {"h1.relu", "mnist_mlp.model:7"}, region, h1_relu);  // In Forward: keeps what the rank holds.
//   …
//   observer.Show();                                                       // Between phases, by all ranks: prints.
//
// A program hands over its rank's piece at the place where the value is made, and goes on. Ranks send each other
// nothing before Show, which the training loop calls outside of the time and the traffic of a step. In a pipeline only
// the ranks of one stage hand a value over; in Show all others take part as ranks that hold nothing of it. The members
// that a program calls are defined in show.cc, which only programs have that look at values.
#ifndef CLEAVE_RUNTIME_KERNELS_OBSERVER_H_
#define CLEAVE_RUNTIME_KERNELS_OBSERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/kernels/statistics.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// What is looked at, and where the model asks for it: "h1", "mnist_mlp.model:7".
struct Shown {
  std::string name;
  std::string place;
  int64_t micro_batch = -1;  // To which the value belongs; -1: to the whole step.
};

// Of a value that ranks hold in parts: which one this rank holds, and what makes the value of all of them.
struct Part {
  int64_t number = 0;  // -1: this rank holds nothing of the value.
  int64_t count = 1;
  Reduction reduction = Reduction::kSum;
};

// What a step is run for.
enum class Occasion {
  kTraining,
  kTest,   // What is printed says so.
  kAgain,  // It has been run before, and nothing is shown again.
};

// A tensor that a program writes into a file.
struct OutputTensor {
  std::string name;
  std::vector<int64_t> shape;
  bool is_float = true;  // Else int32_t.
  std::vector<double> values;
};

using NamedStatistics = std::vector<std::pair<std::string, Statistics>>;

// What one rank has seen. `number`: the place among the looks of the model, in which order they are shown. Before it is
// shown, a value may be handed over in several pieces, one for each micro-batch, which are shown as one tensor. What is
// printed is in docs/formats/run.md. T is float, int32_t, BFloat16 or Float16.
class Observer {
 public:
  // JoinLooks of show.h, where ranks of different stages of a pipeline look at different values; else null.
  using Join = void (*)(Observer& observer);

  explicit Observer(Comm& comm, Join join = nullptr) : comm_(comm), join_(join) {}

  // The whole tensor, put together from the pieces that the ranks have in any layout.
  template <typename T>
  void Print(int number, const Shown& shown, const Region& region, const T* values, const Part& part = {});

  // Every rank's piece and where it lies.
  template <typename T>
  void PrintPieces(int number, const Shown& shown, const Region& region, const T* values, const Part& part = {});

  // For a model in which each rank has a tensor of its own: the tensor once where all ranks have the same one, and
  // otherwise the tensor of every rank.
  template <typename T>
  void PrintRanks(int number, const Shown& shown, const std::vector<int64_t>& shape, const T* values);

  // When it is shown, a value that is not finite ends the program with exit code 6 and a message that names tensor,
  // place, rank and element.
  template <typename T>
  void AssertFinite(int number, const Shown& shown, int64_t count, const T* values);
  void AssertFinite(int, const Shown&, int64_t, const int32_t*) {}

  // At logged steps of training: what the elements of the tensor amount to.
  template <typename T>
  void Watch(int number, const Shown& shown, const Region& region, const T* values, const Part& part = {});

  // The same for a model in which each rank has a tensor of its own: of the tensor where all ranks have the same one,
  // and otherwise of each rank's, as "h1@2".
  template <typename T>
  void WatchRanks(int number, const Shown& shown, const std::vector<int64_t>& shape, const T* values);

  // The whole tensor, for TakeOutputs.
  template <typename T>
  void Output(int number, const Shown& shown, const Region& region, const T* values, const Part& part = {});

  void Begin(Occasion occasion, bool is_logged = false) {
    occasion_ = occasion;
    is_logged_ = is_logged;
  }

  // Shows what has been seen since the last time. Called by all ranks; rank 0 prints.
  void Show();

  // What was watched and has been shown since this was last called, in the order in which it was shown; on rank 0.
  NamedStatistics TakeWatched() { return std::exchange(watched_, {}); }
  // The same for what goes into files.
  std::vector<OutputTensor> TakeOutputs() { return std::exchange(outputs_, {}); }

 private:
  // What is shown later.
  struct Look {
    virtual ~Look() = default;
    virtual void Show() = 0;
  };
  template <typename Function>
  struct LookOf;
  template <typename Mine, typename Function>
  struct LookAtPieces;
  // What a rank that holds nothing of a value needs to know to show it with the others.
  struct Description {
    char method = '-';  // Which member it was handed over to; '-': no other rank takes part.
    char type = 'f';    // Of its elements.
    Shown shown;
    std::vector<int64_t> shape;
    Part part;
  };
  struct Seen {
    int number = 0;
    Description description;
    int64_t pieces = 0;  // How many were handed over.
    std::unique_ptr<Look> look;
  };
  // A piece of a tensor that this rank holds, and what it keeps of it.
  template <typename Mine>
  struct Piece {
    Region region;
    Part part;
    Mine mine;
  };

  Seen& Insert(int number, Description description, std::unique_ptr<Look> look);
  template <typename Function>
  void Keep(int number, Description description, Function show);
  // Calls `show` with all pieces that were kept under this number since the last time.
  template <typename Mine, typename Function>
  void KeepPiece(int number, Description description, Piece<Mine> piece, Function show);
  // Adds what other ranks have seen and this one has not.
  friend void JoinLooks(Observer& observer);
  void TakePart();
  std::string TextOfSeen() const;
  template <typename T>
  void TakePartIn(int number, const Description& description);
  // The whole tensor on rank 0, of which this rank holds these pieces; nothing on other ranks.
  template <typename T>
  std::vector<double> Whole(const std::vector<Piece<std::vector<T>>>& pieces);
  std::string Place(const Shown& shown) const;  // "mnist_mlp.model:7, test"

  Comm& comm_;
  const Join join_;
  Occasion occasion_ = Occasion::kTraining;
  bool is_logged_ = false;
  NamedStatistics watched_;
  std::vector<OutputTensor> outputs_;
  std::vector<Seen> seen_;  // Ordered by number.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_OBSERVER_H_
