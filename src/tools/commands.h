/* SPDX-License-Identifier: MIT */
/* What `lend` can be asked to do. */
#ifndef LEND_TOOLS_COMMANDS_H
#define LEND_TOOLS_COMMANDS_H

#include "tools/args.h"

extern const struct args_command command_bench;
extern const struct args_command command_contract;
extern const struct args_command command_load;
extern const struct args_command command_network;
extern const struct args_command command_plan;
extern const struct args_command command_stats;

#endif
