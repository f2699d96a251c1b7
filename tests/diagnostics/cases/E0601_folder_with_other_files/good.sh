mkdir thesis
echo "years of work" > thesis/draft.txt
compile good.model --out thesis/small --quiet
