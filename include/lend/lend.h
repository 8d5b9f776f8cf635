/* SPDX-License-Identifier: MIT */
/* All of liblend. */
#ifndef LEND_LEND_H
#define LEND_LEND_H

#include <lend/arena.h>
#include <lend/buffer.h>
#include <lend/conf.h>
#include <lend/exec.h>
#include <lend/prepared.h>
#include <lend/request.h>
#include <lend/team.h>
#include <lend/warm.h>
#include <lend/warmer.h>
#include <lend/worker.h>
#include <lend/workspace.h>

#endif
