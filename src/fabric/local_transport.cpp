#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {
namespace {

/// Where the threads of one group meet. A thread that waits sleeps, and each is woken once: with a
/// mutex and a condition variable, the woken ones would also queue for the mutex.
class MeetingPlace {
 public:
  explicit MeetingPlace(int size) : size_(size) {}

  int size() const { return size_; }

  /// Throws Error unless all come.
  void meet() {
    const std::uint32_t before = state_.load(std::memory_order_acquire);
    check(before);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      state_.fetch_add(kRound, std::memory_order_acq_rel);
      state_.notify_all();
      return;
    }
    std::uint32_t now = before;
    while (now / kRound == before / kRound) {
      check(now);
      state_.wait(now, std::memory_order_acquire);
      now = state_.load(std::memory_order_acquire);
    }
  }

  void abandon() {
    state_.fetch_or(kAbandoned, std::memory_order_acq_rel);
    state_.notify_all();
  }

 private:
  // A flag, and above it the number of rounds, which may wrap.
  static constexpr std::uint32_t kAbandoned = 1, kRound = 2;

  static void check(std::uint32_t state) {
    if (state & kAbandoned) throw Error("another device of this group ended with an error");
  }

  int size_;
  std::atomic<int> arrived_ = 0;
  std::atomic<std::uint32_t> state_ = 0;
};

/// What the threads of one group share.
class LocalGroup {
 public:
  explicit LocalGroup(int size) : place_(size) {
    for (auto& parts : contributions_) parts.resize(static_cast<std::size_t>(size));
  }

  int size() const { return place_.size(); }
  std::mutex& turn() { return turn_; }
  void meet() { place_.meet(); }
  void abandon() { place_.abandon(); }

  /// The `call`th collective: calls read(contributions) when all have shown theirs. These are
  /// copies, of which two generations are kept, so that one meeting is enough: who writes those of
  /// this call has left the last one's meeting, which all entered after reading the one before.
  template <class Read>
  void share(std::int64_t call, int rank, std::span<const std::byte> mine, Read&& read) {
    std::vector<std::vector<std::byte>>& parts = contributions_[static_cast<std::size_t>(call % 2)];
    parts[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
    meet();
    read(std::span(std::as_const(parts)));
  }

 private:
  std::array<std::vector<std::vector<std::byte>>, 2> contributions_;  // [call % 2][rank]
  std::mutex turn_;
  MeetingPlace place_;
};

class LocalTurn final : public Turn {
 public:
  explicit LocalTurn(std::mutex& mutex) : mutex_(mutex) {}
  void acquire() override { mutex_.lock(); }
  void release() override { mutex_.unlock(); }

 private:
  std::mutex& mutex_;
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<LocalGroup> group, int rank)
      : group_(std::move(group)), rank_(rank), turn_(group_->turn()) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  void meet() override { group_->meet(); }
  Turn& turn() override { return turn_; }
  void abandon() override { group_->abandon(); }

  void tell(std::span<const std::byte> mine, std::span<std::byte> all) override {
    all_gather(mine, all);  // every collective is a meeting
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    TW_REQUIRE(all.size() == mine.size() * static_cast<std::size_t>(size()),
               "{} ranks' {} bytes into {}", size(), mine.size(), all.size());
    share(mine, [&](auto parts) { pack(parts, all); });
  }
  void all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                   std::span<std::byte> all) override {
    check(mine, sizes);
    share(mine, [&](auto parts) { pack(parts, all); });
  }
  void gatherv(int root, std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
               std::span<std::byte> all) override {
    check(mine, sizes);
    share(mine, [&](auto parts) {
      if (rank_ == root) pack(parts, all);
    });
  }
  void scatterv(int root, std::span<const std::byte> all, std::span<const std::int64_t> sizes,
                std::span<std::byte> into) override {
    check(into, sizes);
    const auto begin = std::accumulate(sizes.begin(), sizes.begin() + rank_, std::int64_t{0});
    share(all, [&](auto parts) {
      const std::span<const std::byte> roots = parts[static_cast<std::size_t>(root)];
      TW_REQUIRE(begin + std::ssize(into) <= std::ssize(roots), "{} bytes at {} of {}", into.size(),
                 begin, roots.size());
      std::ranges::copy(roots.subspan(static_cast<std::size_t>(begin), into.size()), into.begin());
    });
  }
  void send_receive(std::span<const std::byte> mine, int /*to*/, std::span<std::byte> into,
                    int from) override {
    share(mine, [&](auto parts) {
      if (from < 0) return;
      const std::span<const std::byte> theirs = parts[static_cast<std::size_t>(from)];
      TW_REQUIRE(theirs.size() == into.size(), "{} bytes from rank {} into {}", theirs.size(), from,
                 into.size());
      std::ranges::copy(theirs, into.begin());
    });
  }

 private:
  template <class Read>
  void share(std::span<const std::byte> mine, Read&& read) {
    group_->share(calls_++, rank_, mine, read);
  }
  void check(std::span<const std::byte> mine, std::span<const std::int64_t> sizes) const {
    TW_REQUIRE(
        std::ssize(sizes) == size() && sizes[static_cast<std::size_t>(rank_)] == std::ssize(mine),
        "{} sizes for {} ranks, {} bytes contributed", sizes.size(), size(), mine.size());
  }
  static void pack(std::span<const std::vector<std::byte>> parts, std::span<std::byte> all) {
    std::size_t end = 0;
    for (const std::vector<std::byte>& part : parts) {
      TW_REQUIRE(end + part.size() <= all.size(), "{} bytes into a buffer of {}", end + part.size(),
                 all.size());
      if (!part.empty()) std::memcpy(all.data() + end, part.data(), part.size());
      end += part.size();
    }
  }

  std::shared_ptr<LocalGroup> group_;
  int rank_;
  std::int64_t calls_ = 0;  // of collectives
  LocalTurn turn_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_local_transports(int size) {
  TW_REQUIRE(size >= 1, "a group of {} devices", size);
  const auto group = std::make_shared<LocalGroup>(size);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < size; ++rank)
    transports.push_back(std::make_unique<LocalTransport>(group, rank));
  return transports;
}

}  // namespace thinwire::fabric
