#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/comm/nccl/communicator.h"
#include "runtime/error/error.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

ncclConfig_t ThatDoesNotBlock() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

std::string TextOf(ncclResult_t result, ncclComm_t communicator) {
  const char* const last = ncclGetLastError(communicator);
  std::string text = Format("NCCL: %s", ncclGetErrorString(result));
  if (last != nullptr && last[0] != '\0') text += Format(" (%s)", last);
  return text;
}

}  // namespace

Communicator::Communicator(Communicator&& other) noexcept
    : communicator_(std::exchange(other.communicator_, nullptr)), registered_(std::move(other.registered_)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(communicator_, other.communicator_);
  std::swap(registered_, other.registered_);
  return *this;
}

Problem Communicator::Await(ncclResult_t state, double seconds) const {
  const double start = Now();
  bool looked = false;
  while (state == ncclInProgress || (state == ncclSuccess && !looked)) {
    if (seconds >= 0 && Now() - start > seconds) return Format("NCCL is not done after %g s", seconds);
    if (looked) std::this_thread::yield();
    looked = true;
    if (const ncclResult_t result = ncclCommGetAsyncError(communicator_, &state); result != ncclSuccess) state = result;
  }
  if (state == ncclSuccess) return std::nullopt;
  return TextOf(state, communicator_);
}

Problem Communicator::Connect(int ranks, std::vector<ncclUniqueId> ids, int rank, double seconds) {
  ncclConfig_t config = ThatDoesNotBlock();
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
  const ncclResult_t result =
      ncclCommInitRankScalable(&communicator_, ranks, rank, static_cast<int>(ids.size()), ids.data(), &config);
#else
  const ncclResult_t result = ncclCommInitRankConfig(&communicator_, ranks, ids.front(), rank, &config);
#endif
  if (communicator_ == nullptr) return TextOf(result, nullptr);
  return Await(result, seconds);
}

Problem Communicator::Split(int colour, int key, double seconds, Communicator& part) {
  ncclConfig_t config = ThatDoesNotBlock();
  const ncclResult_t result = ncclCommSplit(communicator_, colour, key, &part.communicator_, &config);
  // The new communicator is known once the old one has accepted the call.
  if (Problem problem = Await(result, seconds)) return problem;
  if (colour == NCCL_SPLIT_NOCOLOR) return std::nullopt;
  if (part.communicator_ == nullptr) return "NCCL made no communicator";
  return part.Await(ncclInProgress, seconds);
}

Problem Communicator::Register(void* memory, int64_t bytes) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
  void* known = nullptr;
  const ncclResult_t result = ncclCommRegister(communicator_, memory, static_cast<size_t>(bytes), &known);
  if (result != ncclSuccess) return TextOf(result, communicator_);
  registered_[memory] = known;
  return std::nullopt;
#else
  return "NCCL registers memory from version 2.19 on";
#endif
}

void Communicator::Deregister(void* memory) {
  const auto found = registered_.find(memory);
  if (found == registered_.end()) return;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
  ncclCommDeregister(communicator_, found->second);
#endif
  registered_.erase(found);
}

Problem Communicator::Settle(ncclResult_t result) const {
  constexpr double kWithoutEnd = -1;
  return Await(result, kWithoutEnd);
}

Problem Communicator::Failure() const {
  ncclResult_t state = ncclSuccess;
  if (const ncclResult_t result = ncclCommGetAsyncError(communicator_, &state); result != ncclSuccess) state = result;
  if (state == ncclSuccess || state == ncclInProgress) return std::nullopt;
  return TextOf(state, communicator_);
}

void Communicator::Abort() {
  if (communicator_ != nullptr) ncclCommAbort(communicator_);
  communicator_ = nullptr;
}

void Communicator::Close(double seconds) {
  if (communicator_ == nullptr) return;
  // A communicator that has failed cannot be finalized, and nothing waits for its work.
  if (Await(ncclCommFinalize(communicator_), seconds).has_value()) return Abort();
  ncclCommDestroy(communicator_);
  communicator_ = nullptr;
}

int NumberOfIds(int ranks) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
  constexpr int kRanksOfAnId = 128;
  return (ranks + kRanksOfAnId - 1) / kRanksOfAnId;
#else
  return 1;
#endif
}

// The first ranks % ids of them have a rank more than the others.
int MakerOfId(int i, int ids, int ranks) { return i * (ranks / ids) + std::min(i, ranks % ids); }

std::string NcclVersionText(int version) {
  return Format("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace cleave::runtime
