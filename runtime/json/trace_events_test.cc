#include "runtime/json/trace_events.h"

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "runtime/json/json.h"

namespace cleave::runtime {
namespace {

TEST(TraceEvents, AreJsonWithTheFieldsOfTheFormat) {
  TraceEvents events(Timeline::kPredicted, 3);
  JsonObject arguments;
  arguments.Add("place", std::string("a.model:7"));
  events.Bar(Track::kKernels, "h\"1", "products", 1e-3, 1.0000015e-3, arguments);
  events.Bar(Track::kKernels, "nothing", "loops", 1e-3, 1.0000000001e-3);
  const int64_t flow = events.BeginFlow(Track::kCollectives, 0.5);
  events.EndFlow(flow, Track::kKernels, 1000.5);
  JsonObject bytes;
  bytes.AddInteger("bytes", int64_t{1} << 40);
  events.Count("allocated", 0, bytes);
  EXPECT_EQ(events.count(), 4);
  const std::string text = TraceText(Timeline::kPredicted, {}, {events.Text(), events.Text()});
  EXPECT_EQ(text.find(TraceBegin(Timeline::kPredicted)), 0u);
  const Result<Json> json = ParseJson(text);
  ASSERT_TRUE(json.ok()) << json.error().message << text;
  std::map<std::string, int> kinds;
  for (const Json& event : json.value().Find("traceEvents")->items) {
    ++kinds[event.Find("ph")->text];
    EXPECT_EQ(event.Find("pid")->text, "80");
    EXPECT_NE(event.Find("tid"), nullptr);
    if (event.Find("ph")->text == "M") continue;
    EXPECT_EQ(event.Find("ts")->kind, Json::Kind::kNumber);
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"M", 28}, {"X", 2}, {"C", 2}, {"s", 2}, {"f", 2}}));
  // Whole nanoseconds: bars that follow one another do not overlap.
  EXPECT_NE(text.find(R"({"ph":"X","pid":80,"tid":83,"ts":1000.000,"dur":0.002,"name":"h\"1","cat":"products",)"
                      R"("args":{"place":"a.model:7"}})"),
            std::string::npos)
      << text;
}

TEST(TraceEvents, FlowsOfRanksAndTimelinesDiffer) {
  TraceEvents a(Timeline::kPredicted, 0), b(Timeline::kMeasured, 0), c(Timeline::kMeasured, 1);
  EXPECT_NE(a.BeginFlow(Track::kCollectives, 0), a.BeginFlow(Track::kCollectives, 0));
  const int64_t flow = b.BeginFlow(Track::kCollectives, 0);
  EXPECT_NE(flow, a.BeginFlow(Track::kCollectives, 0));
  EXPECT_NE(flow, c.BeginFlow(Track::kCollectives, 0));
}

}  // namespace
}  // namespace cleave::runtime
