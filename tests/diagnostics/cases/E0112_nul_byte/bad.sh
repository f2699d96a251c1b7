printf 'model Small\000 {}\n' > bad.model
compile bad.model --plan-only --quiet
