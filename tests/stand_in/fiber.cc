#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace stand_in {
namespace {

constexpr size_t kStackBytes = 256 * 1024;  // Only the part that is used takes memory.
constexpr size_t kGuardBytes = 4096;        // A page below the stack that cannot be accessed.

void* NewStack() {
  void* const memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  mprotect(memory, kGuardBytes, PROT_NONE);
  return memory;
}

}  // namespace

#if defined(__x86_64__)

// Saves the registers that a called function must keep (System V ABI, AMD64 supplement, 3.2.1) on the stack that is
// left.
extern "C" void StandInSwitch(void** left, void* entered);
asm(R"(
.text
.type StandInSwitch, @function
StandInSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size StandInSwitch, .-StandInSwitch

# The first switch to a fiber returns here, with the function in %rbx and its argument in %r12.
.type StandInBegin, @function
StandInBegin:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size StandInBegin, .-StandInBegin
)");
extern "C" void StandInBegin();

Fiber::Fiber(void (*run)(void*), void* argument) : stack_(NewStack()) {
  // The stack is as StandInSwitch leaves it: r15, r14, r13, r12, rbx, rbp, the return address. StandInBegin finds the
  // stack pointer at a multiple of 16, as a call needs it.
  void** top = reinterpret_cast<void**>(static_cast<char*>(stack_) + kStackBytes - 16);
  *--top = reinterpret_cast<void*>(&StandInBegin);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(run);
  *--top = argument;
  for (int i = 0; i < 3; ++i) *--top = nullptr;
  here_ = top;
}

void Fiber::Resume() { StandInSwitch(&there_, here_); }
void Fiber::Pause() { StandInSwitch(&here_, there_); }

#else

Fiber::Fiber(void (*run)(void*), void* argument) : stack_(NewStack()) {
  getcontext(&here_);
  here_.uc_stack.ss_sp = stack_;
  here_.uc_stack.ss_size = kStackBytes;
  here_.uc_link = nullptr;
  // makecontext passes ints only.
  const uint64_t parts[] = {reinterpret_cast<uint64_t>(run), reinterpret_cast<uint64_t>(argument)};
  void (*const begin)(unsigned, unsigned, unsigned, unsigned) = [](unsigned a, unsigned b, unsigned c, unsigned d) {
    reinterpret_cast<void (*)(void*)>(uint64_t{a} << 32 | b)(reinterpret_cast<void*>(uint64_t{c} << 32 | d));
  };
  makecontext(&here_, reinterpret_cast<void (*)()>(begin), 4, static_cast<unsigned>(parts[0] >> 32),
              static_cast<unsigned>(parts[0]), static_cast<unsigned>(parts[1] >> 32), static_cast<unsigned>(parts[1]));
}

void Fiber::Resume() { swapcontext(&there_, &here_); }
void Fiber::Pause() { swapcontext(&here_, &there_); }

#endif

const char* Fiber::stack_end() const { return stack() + kStackBytes; }

Fiber::~Fiber() { munmap(stack_, kStackBytes); }

}  // namespace stand_in
