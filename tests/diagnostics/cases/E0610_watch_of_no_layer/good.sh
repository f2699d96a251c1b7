compile good.model --watch 'logits.*' --plan-only --quiet
