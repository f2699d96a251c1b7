compile bad.model --devices 1 --plan-only --quiet
