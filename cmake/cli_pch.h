// For src/cli: the parser of command lines costs seconds in every file that includes it.
#pragma once

#include <CLI/CLI.hpp>

#include "model_pch.h"
