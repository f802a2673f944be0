#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/coded_frame.hpp"
#include "thinwire/compress/index_frame.hpp"
#include "thinwire/strategy/exchange.hpp"
#include "thinwire/strategy/exchange_levels.hpp"
#include "thinwire/strategy/lost_rows.hpp"
#include "thinwire/strategy/token_columns.hpp"

namespace thinwire::strategy {

/// The methods that publish a row as the indices of its nearest codewords (METHODS 3.2): astra and
/// trace. They differ in which rows they code and in what a receiver makes of the peers' indices;
/// search, frames and the raw rows that some send in exchange 0 are here.
/// On a link that drops packets a token is lost with any bit of its indices; a frame without its
/// header, or one whose length depends on its contents, tells nothing at all. Attention does not
/// see a lost token (OnLoss::skip), or takes for its index the one that this exchange's codebook
/// would have given the codeword of the exchange before (OnLoss::reuse): the peer's state as last
/// known, coded anew, which costs a table look-up. Where the exchange before was not coded or is
/// itself unknown, it is not seen.
class IndexExchange : public Exchange {
 public:
  compress::Published published() const final { return codebooks_.use().published; }
  void begin(const Layout& layout, const model::ModelInput& input, Observer* observer) final;
  fabric::Payload encode(Index exchange, MatrixView<const float> rows,
                         fabric::Fabric& fabric) final;
  std::int64_t payload_bytes(Index exchange, int device) const final;
  bool has_fixed_sizes(Index exchange) const final;
  std::span<std::byte> receive_buffer(Index exchange) final;
  /// Throws Error that names the sender of a malformed frame.
  void decode(Index layer, const fabric::Delivery& arrived, ops::KvContext& context,
              Operations& counted) final;
  RowLosses losses() const final { return {lost_.rows(), lost_.count()}; }

 protected:
  /// level: of the codebooks' hierarchy; where options.level_control chooses them, the finest
  /// format: of the frames, for that level's codewords
  IndexExchange(const model::Model& model, const DeviceRole& role, const StrategyOptions& options,
                int level, compress::FrameFormat format, std::span<const Layout> layouts);

  /// Appends the peers' columns for block `layer` to the context: append_remote() and the rows to
  /// write. Their tokens are in remote_indices(), or copy_raw_remote() has them if the exchange is
  /// not coded.
  virtual void decode_remote(Index layer, ops::KvContext& context, Operations& counted) = 0;
  /// Before decode_remote() on a link that drops packets: hides lost tokens, or lets something else
  /// stand in for them. Here indices, where find_successors() has been called; else nothing.
  virtual void stand_in(Index layer, fabric::OnLoss policy);
  /// For OnLoss::reuse: which index of this exchange stands for one of the exchange before.
  void find_successors(const DeviceRole& role);

  const model::Model& model() const { return model_; }
  const compress::CodebookSet& codebooks() const { return codebooks_; }
  /// The exchange that is decoded came over a link that drops packets.
  bool is_lossy() const { return is_lossy_; }
  /// Of the peers' tokens, in order; of a lossy exchange.
  LostRows& lost() { return lost_; }
  /// Rows that the peers publish in this pass.
  Index remote_tokens() const { return layout_->remote_tokens(); }
  /// What the peers sent [remote_tokens * G], in token order.
  std::span<const std::int32_t> remote_indices() const;
  /// The peers' rows of an exchange that is not coded.   rows [remote_tokens, hidden]
  void copy_raw_remote(MatrixView<float> rows) const;
  /// Columns of the peers' tokens: their K|V rows [remote_tokens, 2 * hidden], to be written.
  MatrixView<float> append_remote(ops::KvContext& context);

 private:
  /// What frames of `exchange` are written with.
  compress::IndexCoding coding_of(Index exchange) const;
  std::span<const compress::IndexTables> tables(Index exchange, int level) const;
  /// Bytes of the longest frame of `rows` rows.
  std::int64_t frame_bytes(Index exchange, Index rows) const;
  /// Of a run of rows, of `exchange` or one of the two before it, where these are kept.
  std::span<std::int32_t> indices_of(Matrix<std::int32_t>& kept, Index exchange, Index first_row,
                                     Index rows) const;
  compress::KnownIndices known(Matrix<std::int32_t>& kept, Index exchange, Index first_row,
                               Index rows, int device) const;
  void choose_level(Index exchange, Index rows, const fabric::Fabric& fabric);
  fabric::Payload pack(Index exchange, std::span<const std::int32_t> indices);
  void unpack_frames(Index exchange, const fabric::Delivery& arrived);
  void note_losses(Index exchange, const fabric::Delivery& arrived);
  bool is_readable(Index exchange, const fabric::Delivery& arrived, int device) const;
  void clear_lost(Index exchange, const fabric::Delivery& arrived, int device);
  Slice bytes_of(Index exchange, Index row, const compress::FrameFormat& format) const;
  int sender_level(Index exchange, const fabric::Delivery& arrived, int device);
  compress::FrameFormat format_at(int level) const;

  const model::Model& model_;
  const compress::CodebookSet& codebooks_;
  const compress::FrameFormat most_;      ///< of its frames
  int level_;                             ///< of the own frame
  compress::FrameFormat format_;          ///< of the own frame
  std::optional<ExchangeLevels> levels_;  ///< who chooses level_ and format_, if anybody
  compress::IndexCoding coding_;
  bool has_terminal_;
  Index exchange_ = 0;  ///< that was decoded last
  const Layout* layout_ = nullptr;
  Observer* observer_ = nullptr;
  TokenColumns remote_;                  ///< the peers' tokens, in order
  Matrix<std::int32_t> own_indices_;     ///< [1 or 3 exchanges, n_p * G], which take turns
  Matrix<std::int32_t> remote_indices_;  ///< [1 or 3 exchanges, remote tokens * G]
  Matrix<float> scores_;                 ///< [1, what a search of n_p rows needs]
  Matrix<std::byte> frame_;              ///< [1, most bytes of the own frame]
  Matrix<std::byte> frames_;             ///< [1, most bytes of all devices' frames]
  LostRows lost_;
  bool is_lossy_ = false;               ///< the exchange under way
  Matrix<std::int32_t> successors_;     ///< [exchange, K_m * G] in place of the index before
  Matrix<std::int32_t> known_indices_;  ///< [1, remote tokens * G] of the exchange before
  Matrix<std::uint8_t> is_known_;       ///< [1, remote tokens] whether there is one
  Matrix<float> raw_;                   ///< [all devices' rows, hidden] if exchange 0 is not coded
};

/// options.level as an index into the hierarchy. Throws InputError for a level that it lacks.
int chosen_level(const StrategyOptions& options, const compress::CodebookSet& codebooks);

}  // namespace thinwire::strategy
