#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace boost::asio::ssl {
class context;
}

namespace retsu::server {

using boost::system::error_code;

// The two directions of a connection, in the clear or encrypted. On the loop's thread; at most one
// read and one write at a time; what is under way when it is closed ends with an error.
class Stream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Opened = std::function<void(error_code)>;
  using Read = std::function<void(error_code, std::string_view)>;  // bytes of use until it returns
  using Written = std::function<void(error_code, std::size_t)>;

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual void open(Opened done) = 0;
  virtual void read(Read done) = 0;                              // some, at least one byte
  virtual void write(std::string_view bytes, Written done) = 0;  // some; they outlive it
  virtual void end_writing() = 0;
  virtual void close() = 0;
};

std::unique_ptr<Stream> make_stream(Stream::Socket socket);
std::unique_ptr<Stream> make_tls_stream(Stream::Socket socket, boost::asio::ssl::context& tls);

}  // namespace retsu::server
