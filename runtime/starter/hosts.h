// The hosts of a job, which may come and go between two attempts.
//
//   node1 slots=4        # A line for each host; slots: how many ranks it takes (1). A host named again takes more.
//   node2 slots=4
//
// is the file that mpirun reads as --hostfile, and PBS writes as PBS_NODEFILE.
#ifndef CLEAVE_RUNTIME_STARTER_HOSTS_H_
#define CLEAVE_RUNTIME_STARTER_HOSTS_H_

#include <string>
#include <vector>

namespace cleave::runtime {

struct Host {
  std::string name;
  int slots = 0;
};

struct HostsLeft {
  std::vector<Host> hosts;        // Those that answer.
  int slots = 0;                  // Of these together.
  std::vector<std::string> lost;  // Names of those that do not.
};

// Asks all hosts of the file at once whether they run a command, by ssh or what OMPI_MCA_plm_rsh_agent names, and gives
// them 10 seconds; this host answers. `only_here`: no other host counts or is asked. What cannot be read ends the
// process with exit code 5, and a line that is wrong with 3.
HostsLeft FindHosts(const std::string& path, bool only_here);

// Writes them as such a file. Ends the process with exit code 5 where that fails.
void WriteHosts(const std::vector<Host>& hosts, const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_STARTER_HOSTS_H_
