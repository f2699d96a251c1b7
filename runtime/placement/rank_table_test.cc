#include "runtime/placement/rank_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace cleave::runtime {
namespace {

// A table of two servers; `replace` of its text becomes `with`.
std::string Table(const std::string& replace = "", const std::string& with = "") {
  std::string text = R"({"version": "1.0", "server_count": "2", "server_list": [
    {"server_id": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "192.1.0.1", "rank_id": "0"},
                                         {"device_id": "1", "device_ip": "192.1.0.2", "rank_id": "2"}],
     "host_nic_ip": "reserve"},
    {"server_id": "10.0.0.2", "device": [{"device_id": "0", "device_ip": "192.1.0.3", "rank_id": "1"}],
     "host_nic_ip": "reserve"}], "status": "completed"})";
  if (!replace.empty()) text.replace(text.find(replace), replace.size(), with);
  return text;
}

// The error that the table with this change gives, without its place.
std::string Mistake(const std::string& replace, const std::string& with) {
  const Result<RankTable> table = ParseRankTable(Table(replace, with), "t.json");
  if (table.ok()) return "nothing";
  EXPECT_EQ(table.error().code, ExitCode::kInput);
  const std::string begin = "the rank table `t.json` ";
  EXPECT_EQ(table.error().message.substr(0, begin.size()), begin);
  const std::string mistake = table.error().message.substr(begin.size());
  return mistake.substr(0, mistake.find(", at line"));
}

TEST(RankTable, GivesServerAndDeviceOfEachRank) {
  const Result<RankTable> table = ParseRankTable(Table(), "t.json");
  ASSERT_TRUE(table.ok()) << table.error().message;
  ASSERT_EQ(table.value().ranks.size(), 3u);
  EXPECT_EQ(table.value().ranks[1].server, "10.0.0.2");
  EXPECT_EQ(table.value().ranks[2].server, "10.0.0.1");
  EXPECT_EQ(table.value().ranks[2].device, "1");
}

TEST(RankTable, FieldsThatMeanNothingHereAreAllowed) {
  EXPECT_EQ(Mistake("{", "{\"board\": {\"id\": 1}, "), "nothing");
}

TEST(RankTable, RankIdsAreAWholeRow) {
  EXPECT_EQ(Mistake("\"rank_id\": \"2\"", "\"rank_id\": \"3\""),
            "names 3 ranks and gives rank_id 3 to device 1 of server 10.0.0.1, but none rank_id 2");
  EXPECT_EQ(Mistake("\"rank_id\": \"0\"", "\"rank_id\": \"3\""),
            "names 3 ranks and gives rank_id 1 to device 0 of server 10.0.0.2, but none rank_id 0");
  EXPECT_EQ(Mistake("\"rank_id\": \"1\"", "\"rank_id\": \"2\""),
            "gives rank_id 2 to device 1 of server 10.0.0.1 and to device 0 of server 10.0.0.2");
  EXPECT_EQ(Mistake("\"rank_id\": \"1\"", "\"rank_id\": \"-1\""),
            "has `rank_id` \"-1\" in device[0] of server 10.0.0.2, which is not a whole number from 0 to 1048575");
}

TEST(RankTable, MissingFields) {
  EXPECT_EQ(Mistake(", \"rank_id\": \"2\"", ""), "has no `rank_id` in device[1] of server 10.0.0.1");
  EXPECT_EQ(Mistake("\"device_id\": \"0\", ", ""), "has no `device_id` in device[0] of server 10.0.0.1");
  EXPECT_EQ(Mistake("\"server_id\": \"10.0.0.2\", ", ""), "has no `server_id` in server_list[1]");
  EXPECT_EQ(Mistake("\"server_count\": \"2\", ", ""), "has no `server_count`");
  EXPECT_EQ(Mistake(", \"status\": \"completed\"", ""), "has no `status`");
  EXPECT_EQ(Mistake("\"version\": \"1.0\", ", ""), "has no `version`");
  EXPECT_EQ(Mistake("\"device\": [{\"device_id\": \"0\", \"device_ip\": \"192.1.0.3\", \"rank_id\": \"1\"}],", ""),
            "has no `device` of server 10.0.0.2");
}

TEST(RankTable, FieldsOfAnotherForm) {
  EXPECT_EQ(Mistake("\"rank_id\": \"1\"", "\"rank_id\": 1"),
            "has a `rank_id` in device[0] of server 10.0.0.2 that is not a string, or an empty one");
  EXPECT_EQ(Mistake("[{\"device_id\": \"0\", \"device_ip\": \"192.1.0.3\", \"rank_id\": \"1\"}]", "[]"),
            "has a `device` of server 10.0.0.2 that is not a list, or an empty one");
  EXPECT_EQ(Mistake("\"10.0.0.1\"", "\"\""),
            "has a `server_id` in server_list[0] that is not a string, or an empty one");
  EXPECT_EQ(Mistake("\"1.0\"", "\"1.2\""), "has version \"1.2\"; this program reads \"1.0\"");
  EXPECT_EQ(Mistake("completed", "initializing"),
            "has status \"initializing\"; only a \"completed\" table names all ranks");
}

TEST(RankTable, MistakesHaveAPlace) {
  EXPECT_EQ(ParseRankTable(Table("\"rank_id\": \"1\"", "\"rank_id\": 1"), "t").error().message,
            "the rank table `t` has a `rank_id` in device[0] of server 10.0.0.2 that is not a string, or an empty one, "
            "at line 5, column 98");
  EXPECT_EQ(ParseRankTable(Table(", \"rank_id\": \"2\"", ""), "t").error().message,
            "the rank table `t` has no `rank_id` in device[1] of server 10.0.0.1, at line 3, column 42");
}

TEST(RankTable, WhatStandsTwice) {
  EXPECT_EQ(Mistake("\"device_id\": \"1\"", "\"device_id\": \"0\""), "has device 0 of server 10.0.0.1 twice");
  EXPECT_EQ(Mistake("10.0.0.2", "10.0.0.1"), "has server 10.0.0.1 twice");
  EXPECT_EQ(Mistake("\"server_count\": \"2\"", "\"server_count\": \"3\""),
            "has server_count \"3\" and 2 in its server_list");
}

TEST(RankTable, WhatIsNoTable) {
  EXPECT_EQ(Mistake("}]", "]"), "is not valid JSON at line 3, column 101");
  EXPECT_EQ(ParseRankTable("[]", "t").error().message, "the rank table `t` is not an object");
  EXPECT_EQ(
      ParseRankTable("{\"version\": \"1.0\", \"status\": \"completed\", \"server_list\": []}", "t").error().message,
      "the rank table `t` has a `server_list` that is not a list, or an empty one, at line 1, column 58");
  EXPECT_EQ(ReadRankTable("no/such/file").error().message,
            "the rank table: cannot read `no/such/file`: No such file or directory");
  EXPECT_EQ(ReadRankTable("/dev/zero").error().message,
            "the rank table: cannot read `/dev/zero`: it is a device or a pipe, not a file");
}

}  // namespace
}  // namespace cleave::runtime
