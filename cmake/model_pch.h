// For the folders above model, all of which speak in its commands and replies.
#pragma once

#include <fmt/format.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered_map.hpp>

#include "model/operations.h"
#include "pch.h"
