seq 200 > letters.txt
compile good.model --plan-only --quiet
