#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace retsu {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest;
  RETSU_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace retsu
