// For the tests in tests/.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/broker.h"
#include "pch.h"
