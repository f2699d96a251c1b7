seq 200 > letters.txt
compile bad.model --plan-only --quiet
