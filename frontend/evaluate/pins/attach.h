// Attributes and `pin` statements: turns their demands into pins on ops of the graph, and checks them against the
// shapes there.
#ifndef CLEAVE_FRONTEND_EVALUATE_PINS_ATTACH_H_
#define CLEAVE_FRONTEND_EVALUATE_PINS_ATTACH_H_

#include <optional>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/attributes/attributes.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/evaluate/pins/pin_recorder.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// Pins what `attribute` demands of `op`. `ops`: all ops of the outermost call, to which attributes apply that are not
// about one of them (IsAboutOne). `evaluate` gives the attribute's numbers.
void AddPin(const dsl::syntax::Attribute& attribute, ir::OpId op, const std::vector<ir::OpId>& ops,
            const IntEvaluator& evaluate, PinRecorder& pins);

// The attributes of an expression that has made `operation` (nothing where it made no op) and has this value. Regions
// are handled elsewhere: they open and close around their calls (regions.h).
void Attach(const std::vector<dsl::syntax::Attribute>& attributes, const std::optional<Operation>& operation,
            const Value& value, const IntEvaluator& evaluate, PinRecorder& pins);

// These report a demand that does not fit the shape of `op`, and then return false.
bool CheckShard(const dsl::syntax::Attribute& attribute, const ir::ShardPin& pin, ir::OpId op, const PinRecorder& pins);
bool CheckLayout(const dsl::syntax::Attribute& attribute, const ir::LayoutPin& pin, ir::OpId op,
                 const PinRecorder& pins);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PINS_ATTACH_H_
