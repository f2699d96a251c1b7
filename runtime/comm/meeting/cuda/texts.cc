// The transport below NCCL's where neither MPI nor Gloo connects the ranks: the meeting point passes their texts on. It
// sends no tensors.
#include <csignal>
#include <utility>

#include "runtime/comm/job.h"
#include "runtime/comm/meeting/connect.h"  // IWYU pragma: associated

namespace cleave::runtime {
namespace {

class TextTransport : public Transport {
 public:
  explicit TextTransport(std::unique_ptr<Membership> membership) : membership_(std::move(membership)) {}

  Problem CreateGroup(const Group&, const std::vector<int>&) override { return std::nullopt; }
  Problem AllReduce(ElementType, void*, int64_t, Reduction, const Group&) override { return NoTensors(); }
  Problem AllGather(ElementType, const void*, void*, const std::vector<int64_t>&, const Group&) override {
    return NoTensors();
  }
  Problem ReduceScatter(ElementType, const void*, void*, const std::vector<int64_t>&, Reduction,
                        const Group&) override {
    return NoTensors();
  }
  Problem AllToAll(ElementType, const void*, const std::vector<int64_t>&, void*, const std::vector<int64_t>&,
                   const Group&) override {
    return NoTensors();
  }
  Problem SendReceive(ElementType, const std::vector<Parcel>&, const std::vector<Parcel>&, const Group&) override {
    return NoTensors();
  }
  Problem BeginSend(ElementType, const Parcel&, const Outbox&, const Group&) override { return NoTensors(); }
  Problem AwaitTaken(const Outbox&, const Group&) override { return NoTensors(); }
  Problem Receive(ElementType, const Parcel&, const Group&) override { return NoTensors(); }
  Problem Broadcast(ElementType, void*, int64_t, int, const Group&) override { return NoTensors(); }

  Problem Barrier(const Group& group) override {
    std::vector<std::string> texts;
    return GatherText("", texts, group);
  }

  // REQUIRES: the group has all ranks.
  Problem GatherText(const std::string& text, std::vector<std::string>& texts, const Group&) override {
    Result<std::vector<std::string>> all = membership_->Exchange(text);
    if (!all.ok()) return all.error().message;
    texts = std::move(all.value());
    return std::nullopt;
  }

  void Leave() override {
    membership_->Leave();
    membership_.reset();
  }

 private:
  static Problem NoTensors() { return "no library is there that sends tensors of the host"; }

  std::unique_ptr<Membership> membership_;
};

}  // namespace

Result<std::unique_ptr<Transport>> ConnectMembers(std::unique_ptr<Membership> membership, double, Watch& watch,
                                                  std::function<void(const Error&)> end) {
  // Sending to a rank that is gone must be an error, and not a signal that ends this rank too.
  std::signal(SIGPIPE, SIG_IGN);
  membership->Watch(std::move(end), [&watch] { return watch.Where(); });
  return std::unique_ptr<Transport>(std::make_unique<TextTransport>(std::move(membership)));
}

}  // namespace cleave::runtime
