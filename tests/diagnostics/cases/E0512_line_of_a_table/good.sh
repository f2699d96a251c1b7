printf 'width,class,length\n1.5,0,2\n2.5,1,wide\n3.5,2,4\n0.5,1,1\n' > table.csv
compile good.model --quiet
