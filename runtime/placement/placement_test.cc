#include "runtime/placement/placement.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace cleave::runtime {
namespace {

using Variables = std::map<std::string, std::string>;

// The placement that is found if the environment has these variables, and no others that matter.
Result<std::optional<Placement>> Find(const Variables& variables) {
  for (const char* name : {"CLEAVE_SCHEDULER", "CLEAVE_LOCAL_RANK", "CLEAVE_PORT", "RANK_TABLE_FILE", "RANK_ID", "RANK",
                           "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID", "SLURM_NTASKS",
                           "SLURM_LOCALID", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  return FindPlacement();
}

Placement Found(const Variables& variables) {
  const Result<std::optional<Placement>> found = Find(variables);
  EXPECT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE(found.value().has_value());
  return found.value().value_or(Placement{});
}

std::string Mistake(const Variables& variables) {
  const Result<std::optional<Placement>> found = Find(variables);
  if (found.ok()) return "nothing";
  EXPECT_EQ(found.error().code, ExitCode::kInput);
  return found.error().message;
}

std::string TableOfThree() {
  const std::string path = testing::TempDir() + "/table.json";
  std::ofstream(path) << R"({"version": "1.0", "server_count": "2", "status": "completed", "server_list": [
    {"server_id": "10.0.0.1", "device": [{"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "2"}]},
    {"server_id": "10.0.0.2", "device": [{"device_id": "0", "rank_id": "1"}]}]})";
  return path;
}

TEST(Placement, Alone) {
  const Result<std::optional<Placement>> found = Find({});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found.value().has_value());
}

TEST(Placement, OfARankTable) {
  const Placement placement = Found({{"RANK_TABLE_FILE", TableOfThree()}, {"RANK_ID", "2"}});
  EXPECT_EQ(placement.rank, 2);
  EXPECT_EQ(placement.ranks, 3);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(ToString(placement.meeting), "10.0.0.1:29617");
  EXPECT_EQ(placement.hosts, std::vector<std::string>({"10.0.0.1", "10.0.0.2", "10.0.0.1"}));
  EXPECT_FALSE(placement.has_scheduler);
  EXPECT_EQ(Found({{"RANK_TABLE_FILE", TableOfThree()}, {"RANK_ID", "0"}, {"CLEAVE_PORT", "77"}}).meeting.port, 77);
}

TEST(Placement, OfARankTableThatIsIncomplete) {
  EXPECT_EQ(Mistake({{"RANK_TABLE_FILE", TableOfThree()}}),
            "RANK_TABLE_FILE is set and RANK_ID is not: both say which rank this process is");
  EXPECT_EQ(Mistake({{"RANK_ID", "0"}}), "RANK_ID is set and RANK_TABLE_FILE, the rank table, is not");
  EXPECT_EQ(Mistake({{"RANK_TABLE_FILE", TableOfThree()}, {"RANK_ID", "3"}}),
            "RANK_ID is `3`, and must be a whole number from 0 to 2");
  EXPECT_EQ(Mistake({{"RANK_TABLE_FILE", TableOfThree()}, {"RANK_ID", "0"}, {"CLEAVE_PORT", "65536"}}),
            "CLEAVE_PORT is `65536`, and must be a whole number from 1 to 65535");
}

TEST(Placement, OfTorchrun) {
  const Placement placement = Found(
      {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(placement.rank, 5);
  EXPECT_EQ(placement.ranks, 8);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(ToString(placement.meeting), "node1:29500");
  EXPECT_EQ(Mistake({{"RANK", "5"}}), "RANK is set and WORLD_SIZE is not: both say which rank this process is");
  EXPECT_EQ(Mistake({{"WORLD_SIZE", "5"}}), "WORLD_SIZE is set and RANK is not: both say which rank this process is");
  EXPECT_EQ(Mistake({{"RANK", "8"}, {"WORLD_SIZE", "8"}}), "RANK is `8`, and must be a whole number from 0 to 7");
  EXPECT_EQ(Mistake({{"RANK", "0"}, {"WORLD_SIZE", "8"}}),
            "RANK and WORLD_SIZE are set and MASTER_ADDR, the host of rank 0, is not");
  EXPECT_EQ(Mistake({{"RANK", "0"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "0"}}),
            "MASTER_PORT is `0`, and must be a whole number from 1 to 65535");
}

TEST(Placement, OfSlurm) {
  const Variables variables = {
      {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}, {"SLURM_STEP_NODELIST", "node[08-09]"}};
  const Placement placement = Found(variables);
  EXPECT_EQ(placement.rank, 3);
  EXPECT_EQ(placement.ranks, 4);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(ToString(placement.meeting), "node08:29617");
  EXPECT_EQ(Mistake({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_NODELIST", "node["}}),
            "SLURM_STEP_NODELIST is `node[`, which is not a list of hosts such as `node[01-04,7]`");
  EXPECT_EQ(Mistake({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}}),
            "SLURM_PROCID is set and SLURM_STEP_NODELIST, whose first host is that of rank 0, is not");
}

TEST(Placement, OfASchedulerBeforeAllOthers) {
  const Placement placement =
      Found({{"CLEAVE_SCHEDULER", "[::1]:700"}, {"CLEAVE_LOCAL_RANK", "2"}, {"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_TRUE(placement.has_scheduler);
  EXPECT_FALSE(placement.rank.has_value());
  EXPECT_EQ(placement.local_rank, 2);
  EXPECT_EQ(placement.meeting.host, "::1");
  EXPECT_EQ(ToString(placement.meeting), "[::1]:700");
  for (const char* text : {"here", "here:", ":1", "here:0", "here:70000", "::1:5", "here:1x"}) {
    EXPECT_EQ(Mistake({{"CLEAVE_SCHEDULER", text}}),
              "CLEAVE_SCHEDULER is `" + std::string(text) + "`, and must be host:port, such as `10.0.0.1:29617`");
  }
}

TEST(JoinTimeout, IsANumberOfSeconds) {
  setenv("CLEAVE_JOIN_TIMEOUT", "2.5", 1);
  EXPECT_EQ(JoinTimeout().value(), 2.5);
  for (const char* text : {"0", "-1", "x", "1x", "nan", "100000"}) {
    setenv("CLEAVE_JOIN_TIMEOUT", text, 1);
    EXPECT_FALSE(JoinTimeout().ok()) << text;
  }
  unsetenv("CLEAVE_JOIN_TIMEOUT");
  EXPECT_EQ(JoinTimeout().value(), 60);
}

}  // namespace
}  // namespace cleave::runtime
