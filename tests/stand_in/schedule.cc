// Which task runs next. Each lane has a priority, and the task of the highest one runs; from time to time all
// priorities are drawn anew. So some streams are far behind others, which finds more than drawing each task by itself:
// one that waits for nobody runs well before the work that it should wait for.
//
// A task that others must help to end ("in flight", as a collective) is asked whether it has ended whenever another
// task has run. The lock of the schedule is not held while tasks run.
#include "schedule.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "guard.h"

namespace stand_in {

struct ScheduledTask {
  TaskRequest request;
  uint64_t number = 0;
  int waits_for = 0;
  std::vector<Task> before;  // What waits for it.
  HasEnded has_ended;        // While it is in flight.
  bool ended = false;
};

namespace {

constexpr int kMostOfLane = 1000;  // As many calls as a stream takes before the next one waits.

class Schedule {
 public:
  Task Add(TaskRequest request);
  void Await(const Task& task);
  bool Look(const Task& task);
  void AwaitDevice(int device);
  void Wake();

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Queue = std::deque<ScheduledTask*>;

  Queue& QueueOf(const ScheduledTask& task) {
    static const uint64_t queues = Connections();
    return queues_[{task.request.device, static_cast<uint64_t>(task.request.queue) % queues}];
  }
  static uint64_t Connections();

  bool MayBegin(const ScheduledTask& task) { return task.request.queue < 0 || QueueOf(task).front() == &task; }
  uint64_t PriorityOf(const ScheduledTask& task) const {
    return Mixed(epoch_ * 1000003 + static_cast<uint64_t>(task.request.lane));
  }
  uint64_t Draw() { return Mixed(++drawn_); }

  // A thread that has nothing to do.
  struct Idle {
    const Task& target;
    std::condition_variable woken;
  };

  // Runs a task, or ends those in flight that have ended; false: there was nothing to do.
  bool Step(Lock& lock);
  bool EndFlights();
  void End(const Task& task);
  void WaitFor(Lock& lock, const Task& target, std::chrono::milliseconds most);
  void WakeOne();
  void Leave() {
    if (!ready_.empty()) WakeOne();
  }
  template <typename Condition>
  void StepUntil(Lock& lock, const Task& target, const Condition& condition);

  std::mutex mutex_;
  std::list<Idle*> idle_;  // Those that nobody has woken.
  std::vector<Task> ready_;
  std::vector<Task> flights_;
  std::map<std::pair<int, uint64_t>, Queue> queues_;  // By device and number: what has not begun.
  std::map<int, std::set<uint64_t>> unfinished_;      // By device: numbers of tasks.
  std::map<int64_t, int> of_lane_;                    // Tasks that have not ended.
  uint64_t numbers_ = 0;
  uint64_t epoch_ = 0;
  uint64_t drawn_ = 0;
};

uint64_t Schedule::Connections() {
  const char* const asked = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return asked == nullptr ? 8 : std::max<uint64_t>(1, std::strtoull(asked, nullptr, 10));
}

void Schedule::End(const Task& task) {
  task->ended = true;
  task->has_ended = nullptr;
  task->request.run = nullptr;
  unfinished_[task->request.device].erase(task->number);
  --of_lane_[task->request.lane];
  for (const Task& next : task->before) {
    if (--next->waits_for == 0) ready_.push_back(next);
  }
  task->before.clear();
  idle_.remove_if([&](Idle* idle) {
    if (idle->target != task) return false;
    idle->woken.notify_one();
    return true;
  });
}

void Schedule::WakeOne() {
  if (idle_.empty()) return;
  idle_.front()->woken.notify_one();
  idle_.pop_front();
}

void Schedule::Wake() {
  const Lock lock(mutex_);
  while (!idle_.empty()) WakeOne();
}

void Schedule::WaitFor(Lock& lock, const Task& target, std::chrono::milliseconds most) {
  Idle idle = {target, {}};
  idle_.push_back(&idle);
  idle.woken.wait_for(lock, most);
  idle_.remove(&idle);
}

bool Schedule::EndFlights() {
  std::vector<Task> ended;
  for (const Task& task : flights_) {
    if (task->has_ended()) ended.push_back(task);
  }
  for (const Task& task : ended) {
    flights_.erase(std::find(flights_.begin(), flights_.end(), task));
    End(task);
  }
  return !ended.empty();
}

bool Schedule::Step(Lock& lock) {
  if (EndFlights()) return true;
  if (Draw() % 16 == 0) ++epoch_;
  size_t best = ready_.size();
  int possible = 0;
  for (size_t i = 0; i < ready_.size(); ++i) {
    if (!MayBegin(*ready_[i])) continue;
    ++possible;
    if (best == ready_.size() || PriorityOf(*ready_[i]) > PriorityOf(*ready_[best])) best = i;
  }
  if (best == ready_.size()) return false;
  if (possible > 1) WakeOne();
  const Task task = ready_[best];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(best));
  if (task->request.queue >= 0) QueueOf(*task).pop_front();
  if (task->request.run != nullptr) {
    lock.unlock();
    HasEnded has_ended;
    {
      const DeviceWork work;
      has_ended = task->request.run();
    }
    lock.lock();
    task->has_ended = std::move(has_ended);
  }
  if (task->has_ended == nullptr) {
    End(task);
  } else {
    flights_.push_back(task);
  }
  EndFlights();  // Which may have waited for this one.
  return true;
}

template <typename Condition>
void Schedule::StepUntil(Lock& lock, const Task& target, const Condition& condition) {
  constexpr std::chrono::milliseconds kUntilOthersAct(20);
  while (!condition()) {
    if (!Step(lock) && !condition()) WaitFor(lock, target, kUntilOthersAct);
  }
  Leave();
}

Task Schedule::Add(TaskRequest request) {
  Lock lock(mutex_);
  const int64_t lane = request.lane;
  StepUntil(lock, nullptr, [&] { return of_lane_[lane] < kMostOfLane || request.queue < 0; });
  const auto task = std::make_shared<ScheduledTask>();
  task->request = std::move(request);
  task->number = ++numbers_;
  unfinished_[task->request.device].insert(task->number);
  ++of_lane_[lane];
  for (const Task& first : task->request.after) {
    if (first == nullptr || first->ended) continue;
    ++task->waits_for;
    first->before.push_back(task);
  }
  task->request.after.clear();
  if (task->request.queue >= 0) QueueOf(*task).push_back(task.get());
  if (task->waits_for == 0) ready_.push_back(task);
  // How eager the device is differs from time to time, too.
  const uint64_t eagerness = Mixed(epoch_) % 4;
  if (eagerness == 3) {
    while (!task->ended && Step(lock)) continue;
  } else if (eagerness == 2 && Draw() % 2 == 0) {
    Step(lock);
  }
  Leave();
  return task;
}

void Schedule::Await(const Task& task) {
  Lock lock(mutex_);
  StepUntil(lock, task, [&] { return task->ended; });
}

bool Schedule::Look(const Task& task) {
  Lock lock(mutex_);
  // Who asks again and again leaves the core to others in between, which takes long where there are many.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
  for (uint64_t steps = 1 + Draw() % 64; steps > 0 && !task->ended; --steps) {
    if (Step(lock)) continue;
    if (std::chrono::steady_clock::now() >= end) break;
    WaitFor(lock, task, std::chrono::milliseconds(3));
  }
  Leave();
  return task->ended;
}

void Schedule::AwaitDevice(int device) {
  Lock lock(mutex_);
  const std::set<uint64_t>& unfinished = unfinished_[device];
  StepUntil(lock, nullptr, [&, last = numbers_] { return unfinished.empty() || *unfinished.begin() > last; });
}

Schedule& TheSchedule() {
  static auto& schedule = *new Schedule;
  return schedule;
}

}  // namespace

Task AddTask(TaskRequest request) { return TheSchedule().Add(std::move(request)); }
void AwaitTask(const Task& task) {
  if (task != nullptr) TheSchedule().Await(task);
}
bool LookAtTask(const Task& task) { return task == nullptr || TheSchedule().Look(task); }
void AwaitDevice(int device) { TheSchedule().AwaitDevice(device); }
void WakeWaiting() { TheSchedule().Wake(); }

uint64_t Seed() {
  static const uint64_t seed = [] {
    const char* const asked = std::getenv("CUDA_STAND_IN_SEED");
    return asked == nullptr ? uint64_t{0} : std::strtoull(asked, nullptr, 10);
  }();
  return seed;
}

// The finalizer of SplitMix64.
uint64_t Mixed(uint64_t value) {
  value += (Seed() + 1) * 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace stand_in
