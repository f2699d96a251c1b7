#include "runtime/placement/rank_table.h"

#include <map>
#include <set>

#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/placement/number.h"

namespace cleave::runtime {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int64_t kMostBytes = int64_t{256} << 20;

// Reads one table; the first mistake is kept in `mistake`.
class TableReader {
 public:
  TableReader(const std::string& name, const std::string& text) : name_(name), text_(text) {}

  Result<RankTable> Read() {
    const Result<Json> table = ParseJson(text_);
    if (!table.ok()) return Mistake(table.error().message);
    if (table.value().kind != Json::Kind::kObject) return Mistake("is not an object");
    if (!ReadHead(table.value()) || !ReadServers(table.value()) || !CheckRanks()) return Mistake(mistake_);
    RankTable result;
    for (const auto& [rank, place] : ranks_) result.ranks.push_back(place);
    return result;
  }

 private:
  Error Mistake(const std::string& what) const {
    return {ExitCode::kInput, Format("the rank table `%s` %s", name_.c_str(), what.c_str())};
  }

  bool Fail(const std::string& what) {
    mistake_ = what;
    return false;
  }

  // `at`: where the mistake is, or the object around it.
  bool Fail(const Json& at, const std::string& what) { return Fail(what + ", at " + PlaceIn(text_, at.offset)); }

  // A field that is a string and not empty.
  bool Text(const Json& object, const std::string& where, const char* field, std::string& text) {
    const Json* const value = object.Find(field);
    if (value == nullptr) return Fail(object, Format("has no `%s`%s", field, where.c_str()));
    if (value->kind != Json::Kind::kString || value->text.empty()) {
      return Fail(*value, Format("has a `%s`%s that is not a string, or an empty one", field, where.c_str()));
    }
    text = value->text;
    return true;
  }

  // A field that is a whole number, written as a string.
  bool Whole(const Json& object, const std::string& where, const char* field, int& number) {
    std::string text;
    if (!Text(object, where, field, text)) return false;
    const std::optional<int> value = WholeNumber(text);
    if (!value.has_value() || *value >= kMostRanks) {
      return Fail(*object.Find(field), Format("has `%s` \"%s\"%s, which is not a whole number from 0 to %d", field,
                                              text.c_str(), where.c_str(), kMostRanks - 1));
    }
    number = *value;
    return true;
  }

  // A field that is a list and not empty.
  const Json* List(const Json& object, const std::string& where, const char* field) {
    const Json* const value = object.Find(field);
    if (value == nullptr) {
      Fail(object, Format("has no `%s`%s", field, where.c_str()));
    } else if (value->kind != Json::Kind::kArray || value->items.empty()) {
      Fail(*value, Format("has a `%s`%s that is not a list, or an empty one", field, where.c_str()));
      return nullptr;
    }
    return value;
  }

  bool ReadHead(const Json& table) {
    std::string version;
    std::string status;
    if (!Text(table, "", "version", version) || !Text(table, "", "status", status)) return false;
    if (version != "1.0")
      return Fail(*table.Find("version"), Format("has version \"%s\"; this program reads \"1.0\"", version.c_str()));
    if (status != "completed") {
      return Fail(*table.Find("status"),
                  Format("has status \"%s\"; only a \"completed\" table names all ranks", status.c_str()));
    }
    return true;
  }

  bool ReadServers(const Json& table) {
    int count = 0;
    const Json* const servers = List(table, "", "server_list");
    if (servers == nullptr || !Whole(table, "", "server_count", count)) return false;
    if (static_cast<size_t>(count) != servers->items.size()) {
      return Fail(*table.Find("server_count"),
                  Format("has server_count \"%d\" and %zu in its server_list", count, servers->items.size()));
    }
    for (size_t i = 0; i < servers->items.size(); ++i) {
      if (!ReadServer(servers->items[i], Format(" in server_list[%zu]", i))) return false;
    }
    return true;
  }

  bool ReadServer(const Json& server, const std::string& where) {
    std::string id;
    if (!Text(server, where, "server_id", id)) return false;
    if (!servers_.insert(id).second) return Fail(server, Format("has server %s twice", id.c_str()));
    const Json* const devices = List(server, Format(" of server %s", id.c_str()), "device");
    if (devices == nullptr) return false;
    std::set<std::string> seen;
    for (size_t i = 0; i < devices->items.size(); ++i) {
      const std::string of = Format(" in device[%zu] of server %s", i, id.c_str());
      std::string device;
      int rank = 0;
      if (!Text(devices->items[i], of, "device_id", device) || !Whole(devices->items[i], of, "rank_id", rank)) {
        return false;
      }
      if (!seen.insert(device).second)
        return Fail(devices->items[i], Format("has device %s of server %s twice", device.c_str(), id.c_str()));
      const auto [other, is_new] = ranks_.insert({rank, {id, device}});
      if (!is_new) {
        return Fail(devices->items[i],
                    Format("gives rank_id %d to device %s of server %s and to device %s of server %s", rank,
                           other->second.device.c_str(), other->second.server.c_str(), device.c_str(), id.c_str()));
      }
    }
    return true;
  }

  bool CheckRanks() {
    int expected = 0;
    for (const auto& [rank, place] : ranks_) {
      if (rank != expected) {
        return Fail(Format("names %zu ranks and gives rank_id %d to device %s of server %s, but none rank_id %d",
                           ranks_.size(), rank, place.device.c_str(), place.server.c_str(), expected));
      }
      ++expected;
    }
    return true;
  }

  const std::string& name_;
  const std::string& text_;
  std::string mistake_;
  std::set<std::string> servers_;
  std::map<int, RankTable::Device> ranks_;
};

}  // namespace

Result<RankTable> ParseRankTable(const std::string& text, const std::string& name) {
  return TableReader(name, text).Read();
}

Result<RankTable> ReadRankTable(const std::string& path) {
  const Result<std::vector<uint8_t>> content = ReadFile(path, kMostBytes);
  if (!content.ok()) return Error{ExitCode::kInput, "the rank table: " + content.error().message};
  return ParseRankTable({content.value().begin(), content.value().end()}, path);
}

}  // namespace cleave::runtime
