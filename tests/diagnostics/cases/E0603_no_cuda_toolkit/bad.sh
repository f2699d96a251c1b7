mkdir tools && ln -s "$(command -v make)" "$(command -v g++)" tools
PATH=$PWD/tools CUDA_HOME=/nowhere "$(command -v compile)" good.model --target cuda --run --launch local --quiet
