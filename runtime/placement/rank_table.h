// The rank table: a JSON file that says on which device of which server each rank runs.
//
//   {"version": "1.0", "server_count": "1",
//    "server_list": [{"server_id": "10.0.0.1", "host_nic_ip": "reserve",
//                     "device": [{"device_id": "0", "device_ip": "192.168.1.6", "rank_id": "0"}, …]}],
//    "status": "completed"}
//
// Numbers are strings, as in the tables that cluster managers write. Fields that stand in the table above are checked,
// except device_ip and host_nic_ip, which name network cards of accelerators; other fields are allowed and have no
// effect.
#ifndef CLEAVE_RUNTIME_PLACEMENT_RANK_TABLE_H_
#define CLEAVE_RUNTIME_PLACEMENT_RANK_TABLE_H_

#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

struct RankTable {
  struct Device {
    std::string server;  // Its server_id: an address or name at which other servers reach it.
    std::string device;  // Its device_id.
  };
  std::vector<Device> ranks;  // By rank.
};

// `name` is what errors call the file. It refuses (exit code 3) text that is not JSON, fields that are missing or do
// not have the right form, empty lists, a server or a device of a server that is listed twice, and rank_ids that are
// not each of 0, 1, … exactly once.
Result<RankTable> ParseRankTable(const std::string& text, const std::string& name);
Result<RankTable> ReadRankTable(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PLACEMENT_RANK_TABLE_H_
