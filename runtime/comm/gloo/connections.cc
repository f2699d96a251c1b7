#include "runtime/comm/gloo/connections.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace cleave::runtime {
namespace {

// The store through which Gloo exchanges values. A key ends with a member's number. All ranks set keys of the same
// kinds in the same order, so setting one key exchanges the values of all ranks.
class ExchangedKeys : public gloo::rendezvous::Store {
 public:
  ExchangedKeys(Membership& membership, const std::vector<int>& members) : membership_(membership), members_(members) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    Result<std::vector<std::string>> all = membership_.Exchange({data.begin(), data.end()});
    if (all.ok()) values_[KindOf(key)] = std::move(all.value());
  }

  std::vector<char> get(const std::string& key) override {
    const std::string kind = KindOf(key);
    const int rank = members_.at(static_cast<size_t>(std::stoi(key.substr(kind.size()))));
    const std::string& text = values_.at(kind).at(static_cast<size_t>(rank));
    return {text.begin(), text.end()};
  }

  void wait(const std::vector<std::string>&) override {}

 private:
  static std::string KindOf(const std::string& key) { return key.substr(0, key.find_last_not_of("0123456789") + 1); }

  Membership& membership_;
  const std::vector<int>& members_;
  std::map<std::string, std::vector<std::string>> values_;  // By kind of key: the values of all ranks of the world.
};

}  // namespace

Connections::Connections(Membership& membership, double timeout)
    : membership_(membership), timeout_(static_cast<int64_t>(timeout * 1000)) {
  // The others reach this rank at the address from which it reaches the meeting point.
  gloo::transport::tcp::attr attributes(membership.own_address().c_str());
  device_ = gloo::transport::tcp::CreateDevice(attributes);
}

std::shared_ptr<gloo::Context> Connections::Connect(const std::vector<int>& members, int index) {
  auto context = std::make_shared<gloo::rendezvous::Context>(index, static_cast<int>(members.size()));
  context->setTimeout(timeout_);
  ExchangedKeys keys(membership_, members);
  context->connectFullMesh(keys, device_);
  context->setTimeout(kForever);
  return context;
}

}  // namespace cleave::runtime
