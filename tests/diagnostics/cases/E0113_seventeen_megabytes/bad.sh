head -c 17000000 /dev/zero | tr '\0' ' ' > bad.model
compile bad.model --plan-only --quiet
