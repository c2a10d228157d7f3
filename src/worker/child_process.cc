#include "worker/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

namespace retsu::worker {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// For what is still in its pipes when it has ended; somebody who left the group may hold them open.
constexpr milliseconds kLastWords{1'000};
constexpr int kAboveStandard = 10;
constexpr int kLongestPoll = 60'000;

struct Pipe {
  File read;
  File write;
};

// Its ends are none of the descriptors that the child is given.
std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const File low_read(ends[0]);
  const File low_write(ends[1]);
  Pipe pipe{File(::fcntl(ends[0], F_DUPFD_CLOEXEC, kAboveStandard)),
            File(::fcntl(ends[1], F_DUPFD_CLOEXEC, kAboveStandard))};
  if (!pipe.read.is_open() || !pipe.write.is_open()) return std::nullopt;
  return pipe;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// What this process, or the machine, has not enough of, or a command that is being replaced.
bool is_want(int error) {
  constexpr int kWants[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOENT, EACCES, ETXTBSY};
  return std::ranges::find(kWants, error) != std::ranges::end(kWants);
}

// Then the system forgets children as they end.
bool is_nobody_waited_for() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) != 0) return false;
  return action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0;
}

// A child that does not read its input must not end us.
class WithoutBrokenPipes {
 public:
  WithoutBrokenPipes() {
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
  }
  WithoutBrokenPipes(const WithoutBrokenPipes&) = delete;
  WithoutBrokenPipes& operator=(const WithoutBrokenPipes&) = delete;
  ~WithoutBrokenPipes() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      while (sigtimedwait(&broken_pipe_, nullptr, &at_once) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t broken_pipe_;
  sigset_t before_;
};

// Reads what is there; closes it at its end.
void listen(File& file, const std::function<void(std::string_view)>& take) {
  std::array<char, std::size_t{16} << 10> bytes;
  const ssize_t size = ::read(file.number(), bytes.data(), bytes.size());
  if (size > 0) take(std::string_view(bytes.data(), static_cast<std::size_t>(size)));
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) file.close();
}

void give(File& file, std::string_view& input) {
  const ssize_t written = ::write(file.number(), input.data(), input.size());
  if (written > 0) input.remove_prefix(static_cast<std::size_t>(written));
  if (input.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) file.close();
}

int until(std::optional<Steady::time_point> time) {
  if (!time) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*time - Steady::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), milliseconds(kLongestPoll)).count());
}

}  // namespace

void File::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

tl::expected<ChildProcess, ChildProcess::Refusal> ChildProcess::start(Command command) {
  if (is_nobody_waited_for()) {
    return tl::unexpected(Refusal{"SIGCHLD is ignored, so nobody could tell how it ends"});
  }
  auto input = make_pipe();
  auto output = make_pipe();
  auto error = make_pipe();
  auto progress = make_pipe();
  ChildProcess child;
  child.stopped_ = File(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!input || !output || !error || !progress || !child.stopped_.is_open()) {
    return tl::unexpected(Refusal{std::strerror(errno), true});
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  int standard = 0;
  for (const File* end : {&input->read, &output->write, &error->write, &progress->write}) {
    posix_spawn_file_actions_adddup2(&files, end->number(), standard++);
  }
  posix_spawn_file_actions_addclosefrom_np(&files, standard);  // libraries open files as they like
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failure =
      ::posix_spawnp(&child.pid_, command.words[0].c_str(), &files, &attributes,
                     pointers(command.words).data(), pointers(command.variables).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) return tl::unexpected(Refusal{std::strerror(failure), is_want(failure)});
  child.ended_ = File(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.ended_.is_open()) {
    const int why = errno;
    ::kill(-child.pid_, SIGKILL);
    ::waitpid(child.pid_, nullptr, 0);
    return tl::unexpected(Refusal{std::strerror(why), true});
  }
  child.input_ = std::move(input->write);
  child.output_ = std::move(output->read);
  child.error_ = std::move(error->read);
  child.progress_ = std::move(progress->read);
  for (const File* end : {&child.input_, &child.output_, &child.error_, &child.progress_}) {
    ::fcntl(end->number(), F_SETFL, O_NONBLOCK);
  }
  return child;
}

ChildProcess::Ended ChildProcess::attend(std::string_view input, const Listener& listener,
                                         const std::stop_token& stop, milliseconds grace) {
  const WithoutBrokenPipes guard;
  const std::stop_callback on_stop(stop, [&] { ::eventfd_write(stopped_.number(), 1); });
  std::optional<Steady::time_point> patience;  // until SIGKILL; when it has ended, for last words
  Ended end;
  bool has_ended = false;
  if (input.empty()) input_.close();
  while (!has_ended || output_.is_open() || error_.is_open() || progress_.is_open()) {
    std::array<pollfd, 6> files{{{has_ended ? -1 : ended_.number(), POLLIN, 0},
                                 {has_ended || end.was_told_to ? -1 : stopped_.number(), POLLIN, 0},
                                 {input_.number(), POLLOUT, 0},
                                 {output_.number(), POLLIN, 0},
                                 {error_.number(), POLLIN, 0},
                                 {progress_.number(), POLLIN, 0}}};
    if (::poll(files.data(), files.size(), until(patience)) < 0) continue;
    if (files[2].revents != 0) give(input_, input);
    if (files[3].revents != 0) listen(output_, listener.output);
    if (files[4].revents != 0) listen(error_, listener.error);
    if (files[5].revents != 0) listen(progress_, listener.progress);
    if (files[0].revents != 0) {
      ::kill(-pid_, SIGKILL);  // before we wait for it: until then the group's number is its own
      ::waitpid(pid_, &end.status, 0);
      has_ended = true;
      patience = Steady::now() + kLastWords;
    }
    const bool is_late = patience && Steady::now() >= *patience;
    if (has_ended) {
      if (is_late) break;
    } else if (files[1].revents != 0) {
      end.was_told_to = true;
      ::kill(-pid_, SIGTERM);
      patience = Steady::now() + grace;
    } else if (is_late) {
      ::kill(-pid_, SIGKILL);
      patience.reset();
    }
  }
  return end;
}

}  // namespace retsu::worker
