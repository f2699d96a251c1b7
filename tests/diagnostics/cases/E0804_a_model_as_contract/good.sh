echo 'expect { step <= 1s; }' > limits.model
compile good.model --plan-only --quiet --expect limits.model
