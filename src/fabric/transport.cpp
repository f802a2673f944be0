#include "thinwire/fabric/transport.hpp"

#include <algorithm>
#include <numeric>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

class FreeTurn final : public Turn {
 public:
  void acquire() override {}
  void release() override {}
};

class SoloTransport final : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void meet() override {}
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    TW_REQUIRE(all.size() == mine.size(), "{} bytes into {}", mine.size(), all.size());
    std::ranges::copy(mine, all.begin());
  }
  void all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t>,
                   std::span<std::byte> all) override {
    TW_REQUIRE(all.size() >= mine.size(), "{} bytes into {}", mine.size(), all.size());
    std::ranges::copy(mine, all.begin());
  }
  void gatherv(int, std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
               std::span<std::byte> all) override {
    all_gatherv(mine, sizes, all);
  }
  void scatterv(int, std::span<const std::byte> all, std::span<const std::int64_t>,
                std::span<std::byte> into) override {
    TW_REQUIRE(all.size() >= into.size(), "{} bytes into {}", all.size(), into.size());
    std::ranges::copy(all.first(into.size()), into.begin());
  }
  void send_receive(std::span<const std::byte>, int to, std::span<std::byte>, int from) override {
    TW_REQUIRE(to < 0 && from < 0, "rank {} to rank {} where there is one", from, to);
  }
  Turn& turn() override { return turn_; }

 private:
  FreeTurn turn_;
};

}  // namespace

std::vector<std::vector<std::byte>> gather_all(Transport& transport,
                                               std::span<const std::byte> mine) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  const std::int64_t my_size = std::ssize(mine);
  std::vector<std::int64_t> sizes(ranks);
  transport.meet();
  transport.all_gather(std::as_bytes(std::span(&my_size, 1)),
                       std::as_writable_bytes(std::span(sizes)));
  std::vector<std::byte> all(
      static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})));
  transport.all_gatherv(mine, sizes, all);

  std::vector<std::vector<std::byte>> parts;
  auto next = all.begin();
  for (const std::int64_t size : sizes) {
    parts.emplace_back(next, next + size);
    next += size;
  }
  return parts;
}

std::unique_ptr<Transport> make_solo_transport() {
  return std::make_unique<SoloTransport>();
}

}  // namespace thinwire::fabric
