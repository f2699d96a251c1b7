#include "runtime/comm/mpi/transport.h"

// Only the C interface: the C++ bindings were removed from MPI in 2012 and double the time to compile this.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <map>
#include <utility>
#include <vector>

#include "runtime/comm/packing.h"
#include "runtime/comm/reduce.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"

namespace cleave::runtime {
namespace {

using ElementType = Transport::ElementType;

// MPI's own sums and products of numbers, and reductions of ours: of 16 bits, which MPI does not have and takes as
// bytes, and maxima and minima, in which MPI may drop a NaN, on some ranks and not on others.
class Reductions {
 public:
  Reductions() {
    MPI_Type_contiguous(2, MPI_BYTE, &two_bytes_);
    MPI_Type_commit(&two_bytes_);
    CreateAll<BFloat16>(ElementType::kBFloat16);
    CreateAll<Float16>(ElementType::kFloat16);
    CreateExtremes<float>(ElementType::kFloat);
    CreateExtremes<double>(ElementType::kDouble);
  }

  // A number of 16 bits.
  MPI_Datatype two_bytes() const { return two_bytes_; }

  MPI_Op Of(ElementType type, Reduction reduction) const {
    const auto ours = operations_.find({type, reduction});
    if (ours != operations_.end()) return ours->second;
    switch (reduction) {
      case Reduction::kSum:
        return MPI_SUM;
      case Reduction::kMax:
        return MPI_MAX;
      case Reduction::kMin:
        return MPI_MIN;
      case Reduction::kProd:
        return MPI_PROD;
    }
    return MPI_OP_NULL;
  }

  // REQUIRES: before MPI_Finalize.
  void Free() {
    for (auto& [key, operation] : operations_) MPI_Op_free(&operation);
    MPI_Type_free(&two_bytes_);
  }

 private:
  template <typename T, Reduction kReduction>
  static void Reduce(void* in, void* in_out, int* count, MPI_Datatype*) {
    T* const result = static_cast<T*>(in_out);
    ReduceElements(kReduction, static_cast<const T*>(in), result, result, *count);
  }

  template <typename T, Reduction kReduction>
  void Create(ElementType type) {
    constexpr int kCommutes = 1;
    MPI_Op_create(&Reduce<T, kReduction>, kCommutes, &operations_[{type, kReduction}]);
  }

  template <typename T>
  void CreateAll(ElementType type) {
    Create<T, Reduction::kSum>(type);
    Create<T, Reduction::kProd>(type);
    CreateExtremes<T>(type);
  }

  template <typename T>
  void CreateExtremes(ElementType type) {
    Create<T, Reduction::kMax>(type);
    Create<T, Reduction::kMin>(type);
  }

  MPI_Datatype two_bytes_ = MPI_DATATYPE_NULL;
  std::map<std::pair<ElementType, Reduction>, MPI_Op> operations_;
};

Problem ProblemOf(int status) {
  if (status == MPI_SUCCESS) return std::nullopt;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  return text;
}

// Counts of the type that MPI takes; all fit (Comm::Impl::CheckCounts).
std::vector<int> Ints(const std::vector<int64_t>& counts) { return {counts.begin(), counts.end()}; }

class MpiTransport : public Transport {
 public:
  MpiTransport(std::unique_ptr<Others> board, Watch& watch, const MpiThreads& threads)
      : board_(std::move(board)), watch_(watch), threads_(threads) {
    watch_.SetOthers(board_.get());
  }
  ~MpiTransport() override { watch_.SetOthers(nullptr); }

  Problem CreateGroup(const Group& group, const std::vector<int>& members) override {
    communicators_.resize(static_cast<size_t>(group.id) + 1, MPI_COMM_NULL);
    MPI_Comm& communicator = communicators_.back();
    // The colour that all members of one group share: the rank of member 0.
    if (const int status = MPI_Comm_split(MPI_COMM_WORLD, members[0], group.index, &communicator)) {
      return ProblemOf(status);
    }
    return ProblemOf(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN));
  }

  Problem AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) override {
    return ProblemOf(MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), TypeOf(type),
                                   reductions_.Of(type, reduction), Of(group)));
  }

  Problem AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                    const Group& group) override {
    const std::vector<int> places = Ints(Begins(counts));
    return ProblemOf(MPI_Allgatherv(piece, static_cast<int>(counts[static_cast<size_t>(group.index)]), TypeOf(type),
                                    whole, Ints(counts).data(), places.data(), TypeOf(type), Of(group)));
  }

  Problem ReduceScatter(ElementType type, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        Reduction reduction, const Group& group) override {
    return ProblemOf(MPI_Reduce_scatter(whole, piece, Ints(counts).data(), TypeOf(type),
                                        reductions_.Of(type, reduction), Of(group)));
  }

  Problem AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts, void* received,
                   const std::vector<int64_t>& received_counts, const Group& group) override {
    return ProblemOf(MPI_Alltoallv(sent, Ints(sent_counts).data(), Ints(Begins(sent_counts)).data(), TypeOf(type),
                                   received, Ints(received_counts).data(), Ints(Begins(received_counts)).data(),
                                   TypeOf(type), Of(group)));
  }

  Problem SendReceive(ElementType type, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                      const Group& group) override {
    std::vector<MPI_Request> requests(sends.size() + receives.size(), MPI_REQUEST_NULL);
    auto request = requests.begin();
    int status = MPI_SUCCESS;
    for (const Parcel& parcel : receives) {
      if (status != MPI_SUCCESS) break;
      status = MPI_Irecv(parcel.data, static_cast<int>(parcel.count), TypeOf(type), parcel.member, kBothWays, Of(group),
                         &*request++);
    }
    for (const Parcel& parcel : sends) {
      if (status != MPI_SUCCESS) break;
      status = MPI_Isend(parcel.data, static_cast<int>(parcel.count), TypeOf(type), parcel.member, kBothWays, Of(group),
                         &*request++);
    }
    if (status != MPI_SUCCESS) return ProblemOf(status);
    return ProblemOf(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }

  Problem BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) override {
    return ProblemOf(MPI_Isend(parcel.data, static_cast<int>(parcel.count), TypeOf(type), parcel.member, kOneWay,
                               Of(group), &sends_[outbox]));
  }

  Problem AwaitTaken(const Outbox& outbox, const Group&) override {
    const auto send = sends_.find(outbox);
    return send == sends_.end() ? std::nullopt : ProblemOf(MPI_Wait(&send->second, MPI_STATUS_IGNORE));
  }

  Problem Receive(ElementType type, const Parcel& parcel, const Group& group) override {
    return ProblemOf(MPI_Recv(parcel.data, static_cast<int>(parcel.count), TypeOf(type), parcel.member, kOneWay,
                              Of(group), MPI_STATUS_IGNORE));
  }

  Problem Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) override {
    return ProblemOf(MPI_Bcast(data, static_cast<int>(count), TypeOf(type), root, Of(group)));
  }

  Problem Barrier(const Group& group) override { return ProblemOf(MPI_Barrier(Of(group))); }

  Problem GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) override {
    const int length = static_cast<int>(text.size());
    std::vector<int> lengths(static_cast<size_t>(group.size));
    if (const int status = MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, Of(group))) {
      return ProblemOf(status);
    }
    const std::vector<int64_t> begins = Begins({lengths.begin(), lengths.end()});
    std::string all(static_cast<size_t>(begins.back()), '\0');
    const int status = MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), Ints(begins).data(),
                                      MPI_CHAR, Of(group));
    for (size_t i = 0; i < lengths.size(); ++i) {
      texts.push_back(all.substr(static_cast<size_t>(begins[i]), static_cast<size_t>(lengths[i])));
    }
    return ProblemOf(status);
  }

  bool MayChangeThreads() const override { return threads_.may_change; }
  bool GainsByThread() const override { return threads_.yield; }

  void Leave() override {
    for (MPI_Comm& communicator : communicators_) {
      if (communicator != MPI_COMM_NULL) MPI_Comm_free(&communicator);
    }
    reductions_.Free();
    MPI_Finalize();
  }

 private:
  // Tags. Messages of one tag between two ranks arrive in the order in which they are sent.
  static constexpr int kBothWays = 0;
  static constexpr int kOneWay = 1;

  MPI_Datatype TypeOf(ElementType type) const {
    switch (type) {
      case ElementType::kFloat:
        return MPI_FLOAT;
      case ElementType::kDouble:
        return MPI_DOUBLE;
      case ElementType::kInt32:
        return MPI_INT32_T;
      case ElementType::kInt8:
        return MPI_INT8_T;
      case ElementType::kBFloat16:
      case ElementType::kFloat16:
        return reductions_.two_bytes();
    }
    return MPI_DATATYPE_NULL;
  }

  MPI_Comm Of(const Group& group) const { return communicators_[static_cast<size_t>(group.id)]; }

  const std::unique_ptr<Others> board_;
  Watch& watch_;
  const MpiThreads threads_;
  Reductions reductions_;
  std::map<Outbox, MPI_Request> sends_;  // The last one from each.
  std::vector<MPI_Comm> communicators_;  // By Group::id; null for a group of one rank.
};

}  // namespace

std::unique_ptr<Transport> MakeMpiTransport(std::unique_ptr<Others> board, Watch& watch, const MpiThreads& threads) {
  return std::make_unique<MpiTransport>(std::move(board), watch, threads);
}

}  // namespace cleave::runtime
