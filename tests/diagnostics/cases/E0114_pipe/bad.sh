mkfifo bad.model
compile bad.model --plan-only --quiet
