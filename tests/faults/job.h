// A job that run.sh runs, seen from outside.
#ifndef CLEAVE_TESTS_FAULTS_JOB_H_
#define CLEAVE_TESTS_FAULTS_JOB_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace cleave::tests::faults {

class Job {
 public:
  // Starts `./run.sh` with the flags in a session of its own. `environment`: "NAME=value".
  Job(const std::string& folder, const std::vector<std::string>& flags, const std::vector<std::string>& environment);
  // Kills what is left.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  pid_t script() const { return script_; }

  // The exit code of run.sh, 128 + signal where a signal has ended it; nullopt when it runs longer than that.
  std::optional<int> Wait(double seconds);

  // All processes that run for this job.
  std::vector<pid_t> Processes() const;

  // Waits for the process of a rank; -1 where there is none within half a minute, or the job has ended. Where ranks are
  // threads, it is the process of all.
  pid_t ProcessOfRank(int rank);

  static std::string NameOf(pid_t process);  // Of its program: "mpirun".

  std::string Output() const;  // Standard output and error so far.

 private:
  std::string marker_;  // A variable that all its processes have.
  std::string log_;
  pid_t script_ = -1;
  std::optional<int> exit_;
};

// Seconds of a clock that never goes back.
double Seconds();
void Sleep(double seconds);

}  // namespace cleave::tests::faults

#endif  // CLEAVE_TESTS_FAULTS_JOB_H_
