compile bad.model --mode generate --plan-only --quiet
