// What a client must remember to go on after it was killed.
#pragma once

#include <memory>
#include <string>

#include "model/error.h"

namespace retsu::library {

// One of the places of a folder in which clients of one machine keep the claim that they work on. A
// place is one client's while it lives; whoever comes next takes over what a dead one left.
class ResumePlace {
 public:
  // One that a dead client left with a claim, else any that is free. Makes the folder.
  static Result<std::unique_ptr<ResumePlace>> take(const std::string& folder);
  // The former only; none: nobody left one.
  static std::unique_ptr<ResumePlace> take_left(const std::string& folder);
  ResumePlace(const ResumePlace&) = delete;
  ResumePlace& operator=(const ResumePlace&) = delete;
  ~ResumePlace();

  [[nodiscard]] const std::string& processing_id() const { return processing_id_; }  // empty: none
  Status keep(const std::string& processing_id);  // durable when it returns
  void clear();

 private:
  static std::unique_ptr<ResumePlace> try_place(const std::string& folder, int number);
  ResumePlace(int lock, std::string path, std::string processing_id)
      : lock_(lock), path_(std::move(path)), processing_id_(std::move(processing_id)) {}

  const int lock_;
  const std::string path_;
  std::string processing_id_;
};

}  // namespace retsu::library
