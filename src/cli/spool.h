// What the commands of the spool have in common.
#pragma once

#include <string>

#include "cli/arguments.h"
#include "cli/session.h"
#include "cli/table.h"
#include "spool/spool.h"

namespace retsu::cli {

struct SpoolOption {
  std::string file;

  void add_to(Arguments& arguments);
  // Refused: none is named, or with kRefuse, it is not there.
  [[nodiscard]] Result<spool::Spool> open(
      Session::Missing missing = Session::Missing::kRefuse) const;
};

void show_dropped(Screen& screen, const spool::Dropped& dropped);
void show_added(Screen& screen, const spool::Spool::Added& added);
void note_damage(Screen& screen, const spool::Contents& contents);

}  // namespace retsu::cli
