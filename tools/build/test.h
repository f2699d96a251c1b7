// What most tests include, compiled once.
#include <filesystem>
#include <fstream>
#include <random>

#include "gtest/gtest.h"
#include "tools/build/library.h"
