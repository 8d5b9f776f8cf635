/* SPDX-License-Identifier: MIT */
/* Included before the pool's sources: all ids have one of four hashes. */
#ifndef TESTS_SUPPORT_WARM_COLLIDE_H
#define TESTS_SUPPORT_WARM_COLLIDE_H

#define NAME_HASH(hash) ((hash) & 0x8000000000000001)

#endif
