/* SPDX-License-Identifier: MIT */
/*
 * The explorer's memory: values, vector clocks, store buffers.
 *
 * Sets of a buffer's entries are bit masks, the oldest entry in bit 0.
 */
#include <string.h>

#include "explorer_internal.h"

/* Values. */

uint64_t
explorer_get(const void *address, size_t size)
{
	uint8_t u8;
	uint32_t u32;
	uint64_t u64;

	switch (size) {
	case 1:
		memcpy(&u8, address, 1);
		return u8;
	case 4:
		memcpy(&u32, address, 4);
		return u32;
	case 8:
		memcpy(&u64, address, 8);
		return u64;
	}
	explorer_fail(MODEL_UNUSABLE, "an object that is not 1, 4 or 8 bytes");
}

void
explorer_put(void *address, size_t size, uint64_t value)
{
	uint8_t u8 = (uint8_t)value;
	uint32_t u32 = (uint32_t)value;

	if (explorer_get(address, size) == value)
		return;
	explorer.changes++;
	if (size == 1)
		memcpy(address, &u8, 1);
	else if (size == 4)
		memcpy(address, &u32, 4);
	else
		memcpy(address, &value, 8);
}

uint64_t
explorer_cut(uint64_t value, size_t size)
{
	return size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

/* Objects and clocks. */

struct object *
explorer_object(const void *address)
{
	uint64_t hash = (uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
	struct object *o;

	for (unsigned i = (unsigned)(hash >> 32);; i++) {
		o = &explorer.object[i % OBJECTS];
		if (o->execution != explorer.execution)
			break;
		if (o->address == address)
			return o;
	}
	if (++explorer.objects > OBJECTS / 2)
		explorer_fail(MODEL_UNUSABLE, "too many objects");
	*o = (struct object){ .address = address,
			      .execution = explorer.execution };
	return o;
}

void
explorer_join(struct clock *clock, const struct clock *other)
{
	for (unsigned i = 0; i < MODEL_THREADS; i++)
		if (clock->at[i] < other->at[i])
			clock->at[i] = other->at[i];
}

void
explorer_settle(struct thread *t)
{
	explorer_join(&t->clock, &t->pending);
	t->settled = t->clock;
	for (unsigned i = 0; i < t->buffered; i++)
		t->buffer[i].settled = true;
}

/* Store buffers. */

/* Whether `first` reaches memory before `then`, which was stored later. */
static bool
precedes(const struct entry *first, const struct entry *then)
{
	return explorer.model.memory == MODEL_TSO || then->release ||
		first->address == then->address;
}

uint32_t
explorer_with_preceding(const struct thread *t, unsigned i)
{
	uint32_t set = 1u << i;

	for (unsigned j = i; j-- > 0;)
		for (unsigned k = j + 1; k <= i; k++)
			if (set >> k & 1 &&
			    precedes(&t->buffer[j], &t->buffer[k])) {
				set |= 1u << j;
				break;
			}
	return set;
}

static void
reach_memory(const struct entry *e)
{
	explorer_put(e->address, e->size, e->value);
	explorer_object(e->address)->released = e->clock;
}

void
explorer_drain_set(struct thread *t, uint32_t set)
{
	unsigned kept = 0;

	if (!set)
		return;
	for (unsigned i = 0; i < t->buffered; i++) {
		struct entry *e = &t->buffer[i];

		if (set >> i & 1) {
			reach_memory(e);
			explorer_record(t, ARRIVED, e->text, e->value);
		} else {
			t->buffer[kept++] = *e;
		}
	}
	t->buffered = kept;
}

void
explorer_issue(struct thread *t, const struct entry *e)
{
	explorer_record(t, STORED, e->text, e->value);
	if (explorer.model.memory == MODEL_SC) {
		reach_memory(e);
		return;
	}
	if (t->buffered == BUFFER)
		explorer_drain_set(t, 1);
	t->buffer[t->buffered++] = *e;
}

uint64_t
explorer_look(struct thread *t, const void *address, size_t size,
	      enum model_order order)
{
	for (unsigned i = t->buffered; i-- > 0;)
		if (t->buffer[i].address == address)
			return t->buffer[i].value;
	if (order & MODEL_ORDER_ACQUIRE)
		explorer_join(&t->clock, &explorer_object(address)->released);
	return explorer_get(address, size);
}
