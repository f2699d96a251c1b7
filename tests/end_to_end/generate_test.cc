// Programs that continue texts: the tokens that models of PyTorch give, on any number of ranks, and what is said of
// prompts that do not fit.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

const std::string kData = "tests/end_to_end/weights/";
const std::vector<std::string> kGpt2 = {
    "batch=3", "seq=4",   "vocab=11",      "width=8",
    "heads=2", "depth=2", "precision=f32", "data=npy(tokens = \"tokens.npy\", next = \"next.npy\")"};

// The weights of tests/end_to_end/weights under the names of our model. `mapping`: default the name of the file.
std::string Imported(const std::string& weights, const std::string& mapping = "") {
  const std::string path = FreshFolder(absl::StrCat("weights_", weights)) + "/ours.safetensors";
  const CommandResult imported =
      RunCommand({DataPath("tools/cleave"), "weights", "import", DataPath(kData + weights + ".safetensors"), path,
                  "--map", mapping.empty() ? weights : mapping, "--heads", "2"});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  return path;
}

LocalProgram Generator(const std::string& name, const std::string& model, std::vector<std::string> settings,
                       const std::string& ranks, const std::string& chunk = "1") {
  std::vector<std::string> arguments = {"--mode", "generate", "--devices", ranks, "--chunk", chunk};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return BuildLocal(absl::StrCat(name, "_", ranks, "_", chunk), model, arguments);
}

// What the likeliest tokens are, and were with PyTorch's losses (tests/end_to_end/weights/README.md).
TEST(Generate, TheLikeliestTokensOfGpt2) {
  const std::string params = absl::StrCat("--quiet --temperature 0 --params ", Imported("gpt2"));
  for (const char* const ranks : {"1", "2"}) {
    const LocalProgram program = Generator("gpt2", "bench/gpu/gpt2.model", kGpt2, ranks);
    const CommandResult ran = Train(program, FreshFolder("out"),
                                    absl::StrCat(params, " --prompt 3 --prompt '7 1' --prompt '5 0 9' --prompt 3"));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.out, "--- 1 ---\n3 7 7 7\n--- 2 ---\n7 1 7 7\n--- 3 ---\n5 0 9 7\n--- 4 ---\n3 7 7 7\n");
  }
}

// Longer than what these weights were trained on: places are turned, and not looked up. With steps of one place, and of
// more places than the prompts have tokens.
TEST(Generate, TheLikeliestTokensOfLlama) {
  const std::string params = absl::StrCat("--quiet --temperature 0 --params ", Imported("llama"));
  const std::vector<std::pair<std::string, std::string>> ways = {{"1", "1"}, {"2", "1"}, {"1", "2"}, {"2", "5"}};
  for (const auto& [ranks, chunk] : ways) {
    const LocalProgram program = Generator("llama", kData + "llama.model", {"seq=24"}, ranks, chunk);
    const std::vector<std::pair<std::string, std::string>> known = {
        {"3", "3 1 10 10 10 10 7 3 3 3 5 1 3 5 1 3 5 1 3 5 1 3 5 1\n"},
        {"7 1", "7 1 3 5 5 5 3 5 3 5 5 3 5 3 5 3 5 5 3 5 3 5 3 5\n"},
        {"5 0 9", "5 0 9 8 2 8 2 8 2 8 2 8 2 8 2 2 2 2 2 2 2 2 2 2\n"}};
    for (const auto& [prompt, text] : known) {
      const std::string out = FreshFolder("out");
      const CommandResult ran = Train(program, out, absl::StrCat(params, " --prompt '", prompt, "'"));
      EXPECT_EQ(ran.exit_code, 0) << ran.err;
      EXPECT_EQ(ran.out, text);
      const auto run = *ParseStrictJson(ReadText(out + "/run.json"));
      EXPECT_EQ(run["exit"], 0);
      const int64_t given = 1 + static_cast<int64_t>(std::count(prompt.begin(), prompt.end(), ' '));
      EXPECT_EQ(run["generation"]["prompt_tokens"], given);
      EXPECT_EQ(run["generation"]["tokens"], 24 - given);
      EXPECT_EQ(run["steps"], chunk == "1" ? 23 : 24 - given + (given > std::stoi(chunk) ? 1 : 0));
    }
    const CommandResult ended =
        Train(program, FreshFolder("out"), absl::StrCat(params, " --prompt '5 0 9' --end 2 --length 7"));
    EXPECT_EQ(ended.out, "5 0 9 8\n");
    const CommandResult cut = Train(program, FreshFolder("out"), absl::StrCat(params, " --prompt '5 0 9' --length 3"));
    EXPECT_EQ(cut.out, "5 0 9 8 2 8\n");
    const CommandResult stopped =
        Train(program, FreshFolder("out"), absl::StrCat(params, " --prompt '5 0 9' --stop '2 8'"));
    EXPECT_EQ(stopped.out, "5 0 9 8 \n");
    // The second of two samples begins behind the prompt.
    const std::string out = FreshFolder("out");
    EXPECT_EQ(Train(program, out, absl::StrCat(params, " --prompt '5 0 9' --length 3 --samples 2")).out,
              "--- 1 ---\n5 0 9 8 2 8\n--- 2 ---\n5 0 9 8 2 8\n");
    if (chunk == "1") EXPECT_EQ((*ParseStrictJson(ReadText(out + "/run.json")))["steps"], 5 + 3);
  }
}

// Requests of a file, a batch at once, are answered in their order; a line that is none is an error.
TEST(Generate, RequestsOfAFile) {
  const LocalProgram program = Generator("llama_of_4", kData + "llama.model", {"seq=24", "batch=4"}, "2");
  const std::string folder = FreshFolder("requests"), params = absl::StrCat("--quiet --params ", Imported("llama"));
  WriteText(folder + "/requests.jsonl",
            "{\"prompt\": \"3\", \"temperature\": 0, \"max_tokens\": 3, \"id\": \"a\"}\n\n"
            "{\"prompt\": \"5 0 9\", \"temperature\": 0, \"stop\": [\"2\"]}\n");
  const CommandResult ran =
      Train(program, FreshFolder("out"), absl::StrCat(params, " --chat-file ", folder, "/requests.jsonl"));
  EXPECT_EQ(ran.out,
            "{\"id\":\"a\",\"content\":\" 1 10 10\",\"finish_reason\":\"length\",\"prompt_tokens\":1,"
            "\"completion_tokens\":3}\n"
            "{\"content\":\" 8 \",\"finish_reason\":\"stop\",\"prompt_tokens\":3,\"completion_tokens\":2}\n")
      << ran.err;
  WriteText(folder + "/wrong.jsonl", "{\"prompt\": \"3\"}\n{\"messages\": []}\n");
  const CommandResult wrong =
      Train(program, FreshFolder("out"), absl::StrCat(params, " --chat-file ", folder, "/wrong.jsonl"));
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_TRUE(
      absl::StrContains(wrong.err, "wrong.jsonl:2: has `messages`, and the program's tokenizer no chat template"))
      << wrong.err;
  EXPECT_EQ(Train(program, FreshFolder("out"), params + " --chat").exit_code, 2);
}

// Heads of queries that share keys and values.
TEST(Generate, TheLikeliestTokensOfLlamaWithSharedKeys) {
  const std::string params =
      absl::StrCat("--quiet --temperature 0 --params ", Imported("llama_grouped", /*mapping=*/"llama"));
  const std::vector<std::pair<std::string, std::string>> ways = {{"1", "1"}, {"2", "1"}, {"2", "5"}};
  for (const auto& [ranks, chunk] : ways) {
    const LocalProgram program = Generator("llama_grouped", kData + "llama.model",
                                           {"seq=24", "width=16", "heads=4", "key_heads=2"}, ranks, chunk);
    const CommandResult ran =
        Train(program, FreshFolder("out"), absl::StrCat(params, " --prompt 3 --prompt '7 1' --prompt '5 0 9'"));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.out,
              "--- 1 ---\n3 8 0 8 10 8 8 4 10 10 4 4 6 5 4 4 4 4 4 4 6 4 4 4\n"
              "--- 2 ---\n7 1 8 4 10 10 4 0 4 4 4 4 4 4 10 4 4 4 4 4 6 4 6 4\n"
              "--- 3 ---\n5 0 9 0 8 0 8 8 8 8 0 8 0 8 8 8 0 8 0 8 8 8 0 8\n");
  }
}

// Draws depend on the seed, and not on the ranks or on what else is drawn: also where texts end one by one, and each
// makes room for the next.
TEST(Generate, DrawsAreTheSameOnAnyNumberOfRanksAndSlots) {
  const std::string params =
      absl::StrCat("--quiet --prompt 3 --prompt '5 0 9' --samples 4 --end 1 --params ", Imported("llama"));
  std::vector<std::string> said;
  std::vector<int64_t> steps;
  const auto run = [&](const LocalProgram& program) {
    const std::string out = FreshFolder("out");
    said.push_back(Train(program, out, params).out);
    steps.push_back((*ParseStrictJson(ReadText(out + "/run.json")))["steps"]);
  };
  for (const char* const ranks : {"1", "2"}) {
    const LocalProgram program = Generator("llama", kData + "llama.model", {"seq=24"}, ranks);
    run(program);
    EXPECT_NE(said.back(), Train(program, FreshFolder("out"), absl::StrCat(params, " --seed 9")).out);
  }
  run(Generator("llama_of_4", kData + "llama.model", {"seq=24", "batch=4"}, "2"));
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(said[0], said[2]);
  EXPECT_TRUE(absl::StrContains(said[0], "--- 8 ---\n5 0 9 ")) << said[0];
  EXPECT_LT(steps[2], steps[0] / 2);
}

TEST(Generate, PromptsAndFlagsThatDoNotFit) {
  const LocalProgram program = Generator("llama", kData + "llama.model", {"seq=24"}, "2");
  const std::string params = absl::StrCat("--params ", Imported("llama"));
  const auto expect = [&](const std::string& flags, int code, const std::string& message) {
    const CommandResult ran = Train(program, FreshFolder("out"), flags);
    EXPECT_EQ(ran.exit_code, code) << flags;
    EXPECT_TRUE(absl::StrContains(ran.err, message)) << flags << ": " << ran.err;
  };
  expect(params, 2, "there is nothing to continue: `--prompt TEXT`, `--prompt-file FILE`");
  expect("--prompt 3", 3, "cannot read `");
  expect(params + " --prompt ''", 2, "the prompt has no tokens");
  expect(params + " --prompt 11", 3, "`11` is no token: tokens are the numbers from 0 to 10");
  expect(params + " --prompt '1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1'", 2,
         "the prompt has 24 tokens, and the model 24 places: none is left for a new token");
  expect(params + " --prompt 3 --length 24", 2, "the model has 24 places, and the prompt takes 1");
  expect(params + " --prompt 3 --length 0", 2, "`--length` is `0`");
  expect(params + " --prompt 3 --temperature -1", 2, "temperature");
  expect(params + " --prompt 3 --top-p 0", 2, "top");
  expect(params + " --prompt 3 --end the", 2, "`--end the` is no token of the tokenizer");
  expect(params + " --prompt-file nowhere", 3, "nowhere");
  expect(params + " --prompt 3 --steps 4", 2, "unknown flag `--steps`");
}

}  // namespace
}  // namespace cleave::tests
