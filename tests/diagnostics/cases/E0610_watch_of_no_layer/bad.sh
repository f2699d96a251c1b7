compile good.model --watch 'logit.*' --plan-only --quiet
