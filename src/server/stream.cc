#include "server/stream.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

namespace retsu::server {
namespace {

namespace asio = boost::asio;

// Waits for bytes without a buffer of its own: ten thousand who say nothing cost little.
class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  void open(Opened done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }

  void read(Read done) override {
    socket_.async_wait(Socket::wait_read, [this, done = std::move(done)](error_code code) mutable {
      if (code) return done(code, {});
      thread_local std::array<char, 64 << 10> bytes;
      const std::size_t size = socket_.read_some(asio::buffer(bytes), code);
      if (code == asio::error::would_block) return read(std::move(done));
      done(code, {bytes.data(), size});
    });
  }

  void write(std::string_view bytes, Written done) override {
    socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), std::move(done));
  }

  void end_writing() override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, asio::ssl::context& tls) : stream_(std::move(socket), tls) {}

  void open(Opened done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
  }

  void read(Read done) override {
    stream_.async_read_some(asio::buffer(bytes_),
                            [this, done = std::move(done)](error_code code, std::size_t size) {
                              done(code, {bytes_.data(), size});
                            });
  }

  void write(std::string_view bytes, Written done) override {
    stream_.async_write_some(asio::buffer(bytes.data(), bytes.size()), std::move(done));
  }

  // The other side is told by the connection's end: an answer to the farewell is not waited for.
  void end_writing() override {
    error_code ignored;
    stream_.next_layer().shutdown(Socket::shutdown_send, ignored);
  }

  void close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  asio::ssl::stream<Socket> stream_;
  std::array<char, 16 << 10> bytes_;
};

}  // namespace

std::unique_ptr<Stream> make_stream(Stream::Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

std::unique_ptr<Stream> make_tls_stream(Stream::Socket socket, asio::ssl::context& tls) {
  return std::make_unique<TlsStream>(std::move(socket), tls);
}

}  // namespace retsu::server
