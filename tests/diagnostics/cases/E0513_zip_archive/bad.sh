printf 'PK\003\004 and more' > w.npy
compile bad.model --plan-only --quiet
