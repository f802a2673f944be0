#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {
namespace {

/// What the threads of one group share.
class LocalGroup {
 public:
  explicit LocalGroup(int size) : contributions_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(contributions_.size()); }
  std::mutex& turn() { return turn_; }

  void meet() {
    std::unique_lock lock(mutex_);
    check();
    const std::int64_t round = round_;
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || is_abandoned_; });
    if (round_ == round) check();
  }

  void abandon() {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
    changed_.notify_all();
  }

  /// Calls read(contributions) between two meetings: before, all have shown theirs; after, all have
  /// read and the bytes may change again.
  template <class Read>
  void share(int rank, std::span<const std::byte> mine, Read&& read) {
    contributions_[static_cast<std::size_t>(rank)] = mine;
    meet();
    read(std::span(contributions_));
    meet();
  }

 private:
  void check() const {
    if (is_abandoned_) throw Error("another device of this group ended with an error");
  }

  std::vector<std::span<const std::byte>> contributions_;
  std::mutex turn_, mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::int64_t round_ = 0;
  bool is_abandoned_ = false;
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

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    TW_REQUIRE(all.size() == mine.size() * static_cast<std::size_t>(size()),
               "{} ranks' {} bytes into {}", size(), mine.size(), all.size());
    group_->share(rank_, mine, [&](auto parts) { pack(parts, all); });
  }
  void all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                   std::span<std::byte> all) override {
    check(mine, sizes);
    group_->share(rank_, mine, [&](auto parts) { pack(parts, all); });
  }
  void gatherv(int root, std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
               std::span<std::byte> all) override {
    check(mine, sizes);
    group_->share(rank_, mine, [&](auto parts) {
      if (rank_ == root) pack(parts, all);
    });
  }
  void scatterv(int root, std::span<const std::byte> all, std::span<const std::int64_t> sizes,
                std::span<std::byte> into) override {
    check(into, sizes);
    const auto begin = std::accumulate(sizes.begin(), sizes.begin() + rank_, std::int64_t{0});
    group_->share(rank_, all, [&](auto parts) {
      const std::span<const std::byte> roots = parts[static_cast<std::size_t>(root)];
      TW_REQUIRE(begin + std::ssize(into) <= std::ssize(roots), "{} bytes at {} of {}", into.size(),
                 begin, roots.size());
      std::ranges::copy(roots.subspan(static_cast<std::size_t>(begin), into.size()), into.begin());
    });
  }
  void send_receive(std::span<const std::byte> mine, int /*to*/, std::span<std::byte> into,
                    int from) override {
    group_->share(rank_, mine, [&](auto parts) {
      if (from < 0) return;
      const std::span<const std::byte> theirs = parts[static_cast<std::size_t>(from)];
      TW_REQUIRE(theirs.size() == into.size(), "{} bytes from rank {} into {}", theirs.size(), from,
                 into.size());
      std::ranges::copy(theirs, into.begin());
    });
  }

 private:
  void check(std::span<const std::byte> mine, std::span<const std::int64_t> sizes) const {
    TW_REQUIRE(
        std::ssize(sizes) == size() && sizes[static_cast<std::size_t>(rank_)] == std::ssize(mine),
        "{} sizes for {} ranks, {} bytes contributed", sizes.size(), size(), mine.size());
  }
  static void pack(std::span<const std::span<const std::byte>> parts, std::span<std::byte> all) {
    std::size_t end = 0;
    for (const auto part : parts) {
      TW_REQUIRE(end + part.size() <= all.size(), "{} bytes into a buffer of {}", end + part.size(),
                 all.size());
      if (!part.empty()) std::memcpy(all.data() + end, part.data(), part.size());
      end += part.size();
    }
  }

  std::shared_ptr<LocalGroup> group_;
  int rank_;
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
