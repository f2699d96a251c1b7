yes abcdefg | head -c 400 > letters.txt
compile bad.model --quiet
