#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "thinwire/base/error.hpp"

namespace thinwire::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{10};
constexpr std::size_t kTailBytes = 8192;

/// These signals wait in a descriptor instead of interrupting, for the life of this object.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
    descriptor_ = ::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    TW_REQUIRE(descriptor_ >= 0, "signalfd: {}", std::strerror(errno));
  }
  HeldSignals(const HeldSignals&) = delete;
  ~HeldSignals() {
    ::close(descriptor_);
    restore();
  }
  void restore() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  int descriptor() const { return descriptor_; }
  /// The next one, or 0.
  int take() const {
    signalfd_siginfo info{};
    return ::read(descriptor_, &info, sizeof(info)) == sizeof(info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

class Pipe {
 public:
  Pipe() { TW_REQUIRE(::pipe2(ends_.data(), O_CLOEXEC) == 0, "pipe: {}", std::strerror(errno)); }
  Pipe(const Pipe&) = delete;
  ~Pipe() {
    close_writing();
    ::close(ends_[0]);
  }
  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

class Child {
 public:
  Child(const std::vector<std::string>& command, bool reads_stderr)
      : reads_stderr_(reads_stderr), process_(start(command)) {
    stderr_.close_writing();
    started_.close_writing();
    int reason = 0;  // the pipe ends without a word when the command has been started
    if (::read(started_.reading(), &reason, sizeof(reason)) != sizeof(reason)) return;
    ::waitpid(process_, nullptr, 0);
    throw InputError(
        fmt::format("{} could not be started ({}){}", command.front(), std::strerror(reason),
                    command.front() == "mpirun" ? "; on Debian: apt-get install openmpi-bin" : ""));
  }

  ChildEnd wait() {
    while (!has_ended_) {
      std::array<pollfd, 2> sources{{{signals_.descriptor(), POLLIN, 0},
                                     {reads_stderr_ ? stderr_.reading() : -1, POLLIN, 0}}};
      ::poll(sources.data(), sources.size(), milliseconds_to_kill());
      if (sources[1].revents != 0) pass_on();
      for (int signal = signals_.take(); signal != 0; signal = signals_.take()) handle(signal);
      if (kill_at_ && Clock::now() >= *kill_at_) ::kill(-process_, SIGKILL);
    }
    // What it said last; ranks that outlive mpirun could hold the pipe open for ever.
    if (reads_stderr_) {
      ::fcntl(stderr_.reading(), F_SETFL, O_NONBLOCK);
      while (pass_on()) {
      }
    }
    return end_;
  }

 private:
  pid_t start(const std::vector<std::string>& command) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    TW_REQUIRE(child >= 0, "fork: {}", std::strerror(errno));
    if (child == 0) become(words, parent);
    return child;
  }

  /// Between fork and exec: system calls only.
  [[noreturn]] void become(const std::vector<char*>& words, pid_t parent) const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    if (reads_stderr_) ::dup2(stderr_.writing(), STDERR_FILENO);
    signals_.restore();
    ::execvp(words.front(), words.data());
    const int reason = errno;
    [[maybe_unused]] const auto told = ::write(started_.writing(), &reason, sizeof(reason));
    ::_exit(1);
  }

  int milliseconds_to_kill() const {
    if (!kill_at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 100));
  }

  /// False at the end, or when there is nothing now.
  bool pass_on() {
    std::array<char, 4096> text;
    const ssize_t count = ::read(stderr_.reading(), text.data(), text.size());
    if (count == 0) reads_stderr_ = false;
    if (count <= 0) return false;
    const auto length = static_cast<std::size_t>(count);
    std::fwrite(text.data(), 1, length, stderr);
    end_.stderr_tail.append(text.data(), length);
    if (end_.stderr_tail.size() > kTailBytes)
      end_.stderr_tail.erase(0, end_.stderr_tail.size() - kTailBytes);
    return true;
  }

  void handle(int signal) {
    if (signal != SIGCHLD) {
      if (end_.stopped_by == 0) {
        end_.stopped_by = signal;
        kill_at_ = Clock::now() + kGrace;
        ::kill(process_, SIGTERM);
      }
      return;
    }
    int state = 0;
    if (::waitpid(process_, &state, WNOHANG) != process_) return;
    has_ended_ = true;
    end_.status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  }

  HeldSignals signals_;
  Pipe stderr_, started_;
  bool reads_stderr_;
  pid_t process_;
  std::optional<Clock::time_point> kill_at_;
  bool has_ended_ = false;
  ChildEnd end_;
};

}  // namespace

ChildEnd run_child(const std::vector<std::string>& command, bool reads_stderr) {
  return Child(command, reads_stderr).wait();
}

}  // namespace thinwire::cli
