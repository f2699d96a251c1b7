seq 200 > letters.txt
compile good.model --quiet
