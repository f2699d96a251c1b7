// `send` and `recv`: brought together at compile time, one exchange of messages for each pair of calls.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_MESSAGES_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_MESSAGES_H_

#include "frontend/evaluate/frame/context.h"
#include "frontend/manual/mailbox.h"

namespace cleave::frontend {

class Messages {
 public:
  // A statement; what it sends waits for the `recv` that takes it.
  void Send(const CallSite& site, const Context& context);

  // `recv((32, 10), from = rank - 1)`: a tensor of that shape, zeros on ranks that receive from nobody.
  Value Receive(const CallSite& site, const Context& context);

  // When the model has been run.
  void ReportUnreceived(Reporter& reporter) const;

 private:
  Mailbox mailbox_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_MESSAGES_H_
