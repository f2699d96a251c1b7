cp "$(command -v sh)" bad.model
compile bad.model --plan-only --quiet
