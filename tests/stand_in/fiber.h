// Private to tests/stand_in: a separate stack, and the switch to it and back.
#ifndef STAND_IN_FIBER_H_
#define STAND_IN_FIBER_H_

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace stand_in {

class Fiber {
 public:
  // `run` is called, with `argument`, on the fiber's stack at the first Resume. It must not return.
  Fiber(void (*run)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Called outside of the fiber: runs it until it pauses.
  void Resume();

  // Called on the fiber: goes back to the caller of Resume.
  void Pause();

  // Its memory.
  const char* stack() const { return static_cast<const char*>(stack_); }
  const char* stack_end() const;

 private:
  void* stack_ = nullptr;
#if defined(__x86_64__)
  void* here_ = nullptr;   // Stack pointer while it is paused.
  void* there_ = nullptr;  // The stack pointer of the caller of Resume.
#else
  ucontext_t here_;
  ucontext_t there_;
#endif
};

}  // namespace stand_in

#endif  // STAND_IN_FIBER_H_
