// Private to tests/stand_in: work of the device, which runs later than it is asked for.
//
// A task runs when all tasks before it have ended. Nothing else orders tasks: of those that may run, a random one does,
// so that a program which forgot to say that one comes after another gets wrong numbers. Tasks run on threads of the
// host that wait for one, ask for one, or ask whether one has ended; while nobody does, the device stands still. Each
// of these helps all ranks of the process, whose threads may wait for each other in any way.
//
//   const Task first = AddTask({.device = 0, .lane = 7, .run = [] { …; return HasEnded(); }});
//   const Task second = AddTask({.device = 0, .lane = 8, .after = {first}, .run = …});
//   AwaitTask(second);
//
// CUDA_STAND_IN_SEED=N (0) chooses the order; with ranks that are threads it also depends on theirs.
// CUDA_DEVICE_MAX_CONNECTIONS=N, CUDA's own variable (8): the streams of a device share N queues, and a task of a queue
// does not begin before those ahead of it in the queue have begun.
#ifndef STAND_IN_SCHEDULE_H_
#define STAND_IN_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cuda_runtime.h"

namespace stand_in {

// Null for a task that has ended long ago.
using Task = std::shared_ptr<struct ScheduledTask>;

// What of a task is left when it has run: whether it has ended. Empty: it has. Called again and again; it must not
// wait.
using HasEnded = std::function<bool()>;

struct TaskRequest {
  int device = 0;
  int64_t lane = 0;               // Tasks of one lane have one priority; a lane for each stream.
  int64_t queue = -1;             // Of the device; a number for each of its streams, or -1: in none.
  std::vector<Task> after;        // May hold null.
  std::function<HasEnded()> run;  // Empty: it only marks a place.
};

// May run tasks, and waits where a thousand of the lane have not begun.
Task AddTask(TaskRequest request);

// Returns when it has ended.
void AwaitTask(const Task& task);

// Whether it has ended; runs some tasks if not, or waits for a moment.
bool LookAtTask(const Task& task);

// Returns when all that was asked of the device so far has ended.
void AwaitDevice(int device);

// Called when something may have changed that a HasEnded tells.
void WakeWaiting();

// The number that chooses the orders of this process.
uint64_t Seed();

// A number that is the same in each run with the same seed.
uint64_t Mixed(uint64_t value);

}  // namespace stand_in

#endif  // STAND_IN_SCHEDULE_H_
