seq 200 > letters.txt
compile bad.model --quiet
