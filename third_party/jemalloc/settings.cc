// jemalloc gives memory that is free back to the system after a while. These programs soon need it again, and to get it
// anew, page by page, takes longer than most of what they do with it; they end when they are done. Large pages made
// small plans faster and large ones slower, where the machine is a virtual one.
extern "C" {
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1";
}
