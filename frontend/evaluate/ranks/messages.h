// `send` and `recv`: they are matched at compile time, and each pair of calls becomes one exchange of messages.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_MESSAGES_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_MESSAGES_H_

#include "frontend/evaluate/frame/context.h"
#include "frontend/manual/mailbox.h"

namespace cleave::frontend {

class Messages {
 public:
  // A statement. The value that it sends waits for the `recv` that takes it.
  void Send(const CallSite& site, const Context& context);

  // `recv((32, 10), from = rank - 1)`: a tensor of that shape, zeros on ranks that receive from nobody.
  Value Receive(const CallSite& site, const Context& context);

  // Called when the model has been run.
  void ReportUnreceived(Reporter& reporter) const;

 private:
  Mailbox mailbox_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_MESSAGES_H_
