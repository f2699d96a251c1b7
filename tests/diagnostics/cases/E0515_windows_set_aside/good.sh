yes abcdefg | head -c 400 > letters.txt
compile good.model --quiet
