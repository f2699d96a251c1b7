// Every number that a model, its settings or a command line has may be huge: the compiler writes a program, or says in
// a diagnostic why not. ir/proof/check/limits_test.cc does the same for every number of every op.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"

namespace cleave::tests::diagnostics {
namespace {

// A model with `N` where the number stands, and arguments for the compiler.
struct Place {
  std::string name;
  std::string body;
  std::string train;
  std::string parallel;
  std::string model_arguments = "batch: int = 8";
  std::vector<std::string> arguments = {};
};

constexpr char kBody[] = "input x: f32[batch, 4]; loss reduce_mean(square(dense(x, 4)));";
constexpr char kImages[] = "input x: f32[batch, 4, 8, 8]; loss reduce_mean(conv2d(x, 4, ";

Place OfTrain(const std::string& setting) { return {setting, kBody, setting, ""}; }
Place OfParallel(const std::string& setting) { return {setting, kBody, "", setting}; }
Place OfBody(const std::string& body) { return {body, body, "", ""}; }
Place OfValue(const std::string& value) {
  return OfBody(absl::StrCat("input x: f32[batch, N]; param w: f32[1] = constant(0.5); loss reduce_mean(", value,
                             ") * reduce_mean(w);"));
}

std::vector<Place> Places() {
  std::vector<Place> places = {
      OfTrain("epochs = N;"),
      OfTrain("steps = N;"),
      OfTrain("log_every = N;"),
      OfTrain("checkpoint = every(N);"),
      OfTrain("checkpoint = every(10); keep = N;"),
      OfTrain("data = synthetic(test = 8); eval_every = N;"),
      OfTrain("validation = N;"),
      OfTrain("data = synthetic(test = 8); checkpoint = every(10); best = min(loss); patience = N;"),
      OfTrain("seed = N;"),
      OfTrain("data = synthetic(train = N);"),
      OfTrain("data = synthetic(test = N);"),
      OfTrain("optimizer = sgd(lr = N);"),
      OfTrain("optimizer = momentum(momentum = N);"),
      OfTrain("optimizer = adam(beta1 = N);"),
      OfTrain("optimizer = adam(epsilon = N);"),
      OfTrain("optimizer = adamw(weight_decay = N);"),
      OfTrain("optimizer = sgd(lr = cosine(0.1, steps = N));"),
      OfTrain("optimizer = sgd(lr = cosine(0.1, steps = 10, warmup = N));"),
      OfTrain("optimizer = sgd(lr = linear_warmup(0.1, N));"),
      OfParallel("devices = N;"),
      OfParallel("mesh = (a = N);"),
      OfParallel("mesh = (a = N, b = N);"),
      OfParallel("mesh = (a = 2048, b = 1024);"),
      OfParallel("devices = 4; memory = N;"),
      OfParallel("devices = 4; memory = NGiB;"),
      OfParallel("devices = 4; zero = N;"),
      OfParallel("devices = 4; gradient_weight = N;"),
      OfParallel("devices = 4; cost = bytes; gradient_weight = N;"),
      OfParallel("devices = 4; cost = bytes; gradient_weight = 1000000.0;"),
      OfParallel("devices = 4; cost = bytes; search = exact; gradient_weight = 1e9;"),
      OfParallel("devices = 4; cost = classic; redistribution_weight = N;"),
      OfParallel("devices = 4; pin \"dense.matmul\" = shard((N, 1), (1, 1));"),
      {"--devices", kBody, "", "", "batch: int = 8", {"--devices=N"}},
      {"--set batch", kBody, "", "", "batch: int = 8", {"--set", "batch=N"}},
      {"an argument", kBody, "", "", "batch: int = N"},
      OfValue("x"),
      OfValue("x[.., 1 .. N]"),
      OfValue("x[.., N - 1]"),
      OfValue("split(x, N, axis = 1)[0]"),
      OfValue("concat((x, x), axis = 1)"),
      OfValue("pad(x, (0, N), (N, 0))"),
      OfValue("broadcast_to(x, (N, batch, N))"),
      OfValue("reshape(x, (N, batch))"),
      OfValue("top_k(x, 3)"),
      OfValue("dense(x, N)"),
      OfValue("cumsum(x, axis = N)"),
      OfValue("one_hot(cast(x, i32), N)"),
      OfBody("input x: f32[batch, N * N]; loss reduce_mean(x);"),
      OfBody("input x: f32[batch, N + N]; loss reduce_mean(dense(x, 1));"),
      OfBody("input x: f32[batch, 4]; let mut h = dense(x, 4); for _ in 0..N { h = relu(h); } loss reduce_mean(h);"),
      OfBody("input x: i32[batch]; loss reduce_mean(embedding(x, N, 4));"),
      OfBody("input x: f32[batch, 4, N, 8]; loss reduce_mean(conv2d(x, 4, kernel = 3));"),
      OfBody("input x: f32[batch, 4, N, N]; loss reduce_mean(conv2d(x, 4, kernel = 3));"),
      OfBody("input x: f32[batch, 4, N, 8]; loss reduce_mean(dense(avg_pool(x, kernel = (N, 8)), 2));"),
  };
  for (const char* end :
       {"kernel = N));", "kernel = 3, stride = N));", "kernel = 3, padding = N));", "kernel = N, padding = N));"}) {
    places.push_back(OfBody(absl::StrCat(kImages, end)));
  }
  return places;
}

class NumbersTest : public testing::TestWithParam<std::string> {};

TEST_P(NumbersTest, EndsWithAProgramOrADiagnostic) {
  const std::string folder = FreshFolder(absl::StrCat("numbers_", GetParam()));
  const std::vector<std::pair<std::string, std::string>> number = {{"N", GetParam()}};
  for (const Place& place : Places()) {
    const std::string text = absl::StrCat("model M(", place.model_arguments, ") { ", place.body, " }\ntrain M { ",
                                          place.train, " }\nparallel { ", place.parallel, " }\n");
    WriteText(folder + "/m.model", absl::StrReplaceAll(text, number));
    std::vector<std::string> command = {DataPath("tools/compile"), "m.model", "--out", "out"};
    for (const std::string& argument : place.arguments) command.push_back(absl::StrReplaceAll(argument, number));
    const CommandResult result = RunCommand(command, folder, {absl::StrCat("BUILD_WORKING_DIRECTORY=", folder)});
    const bool is_refused =
        (result.exit_code == 3 || result.exit_code == 4) && result.err.find("error[E") != std::string::npos;
    const bool is_usage = result.exit_code == 2 && result.err.find("error: ") == 0;
    EXPECT_TRUE(result.exit_code == 0 || is_refused || is_usage)
        << place.name << " with " << GetParam() << " ends with " << result.exit_code << "\n"
        << result.err;
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Huge, NumbersTest,
                         testing::Values("0", "1000003", "2147483648", "1099511627776", "4611686018427387904",
                                         "9223372036854775807"),
                         [](const testing::TestParamInfo<std::string>& info) { return info.param; });

}  // namespace
}  // namespace cleave::tests::diagnostics
