/* SPDX-License-Identifier: MIT */
/*
 * What an arena holds and lends: sums over its slots and sets, taken without
 * a lock while everybody works on.  Each account is read once and counted in
 * retained, and in leased where its loan is out, so that no snapshot can show
 * more leased than retained.
 */
#include "arena/stats.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena/buffer.h"
#include "arena/directory.h"
#include "arena/loan.h"
#include "arena/slot.h"
#include "base/os.h"
#include "mem/backend.h"
#include "mem/init.h"
#include "sync/reclaim.h"

/* All loads here are relaxed: a snapshot of words each right by itself. */

static void
add_slots(const struct lend_arena *arena, struct lend_stats *stats)
{
	uint32_t slots = registry_count(&arena->slots);

	for (uint32_t i = 0; i < slots; i++) {
		struct slot *slot = registry_at(&arena->slots, i);
		size_t bytes = load_relaxed(&slot->bytes);

		stats->retained_bytes += bytes;
		if (loan_is_out(&slot->loan)) {
			stats->leased_bytes += bytes;
			stats->slots_out++;
		} else {
			stats->slots_idle++;
		}
	}
}

static void
add_sets(const struct lend_arena *arena, struct lend_stats *stats)
{
	uint32_t sets = registry_count(&arena->sets);

	for (uint32_t i = 0; i < sets; i++) {
		struct team_set *set = registry_at(&arena->sets, i);
		size_t panel = load_relaxed(&set->panel_bytes);
		size_t bytes = panel + load_relaxed(&set->rest_bytes);

		stats->panel_bytes += panel;
		stats->retained_bytes += bytes;
		if (number_is_out(load_relaxed(&set->number))) {
			stats->leased_bytes += bytes;
			stats->sets_out++;
		} else {
			stats->sets_idle++;
		}
	}
}

static void
add_buffers(const struct lend_arena *arena, struct lend_stats *stats)
{
	uint32_t buffers = registry_count(&arena->buffers);

	for (uint32_t i = 0; i < buffers; i++) {
		const struct buffer *buffer = registry_at(&arena->buffers, i);
		size_t bytes = buf_bytes(&buffer->buf);

		stats->buffer_bytes += bytes;
		stats->retained_bytes += bytes;
		if (buffer_is_out(buffer)) {
			stats->leased_bytes += bytes;
			stats->buffers_out++;
		} else {
			stats->buffers_idle += bytes != 0;
		}
	}
}

/*
 * The sums are not taken at one moment: what moved from one slot to another
 * meanwhile may be in them twice.  Under a limit that is known to be so when
 * they exceed it, as what is held never does.
 */
static void
clamp(const struct lend_arena *arena, struct lend_stats *stats)
{
	if (arena->limit)
		stats->retained_bytes = size_min(stats->retained_bytes,
						 arena->limit);
	stats->leased_bytes = size_min(stats->leased_bytes,
				       stats->retained_bytes);
	stats->panel_bytes = size_min(stats->panel_bytes,
				      stats->retained_bytes);
	stats->buffer_bytes = size_min(stats->buffer_bytes,
				       stats->retained_bytes);
}

int
lend_arena_stats(const lend_arena *arena, struct lend_stats *stats)
{
	if (!arena || !stats)
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	add_slots(arena, stats);
	add_sets(arena, stats);
	add_buffers(arena, stats);
	clamp(arena, stats);
	stats->limit_bytes = arena->limit;
	stats->growths = load_relaxed(&arena->growths);
	stats->reentrant = load_relaxed(&arena->reentrant);
	stats->abandoned = load_relaxed(&arena->abandoned);
	stats->adopted = load_relaxed(&arena->adopted);
	stats->trims = load_relaxed(&arena->trims);
	stats->key = arena->key;
	stats->protocol = arena->fast ? LEND_PROTOCOL_FAST :
			  LEND_PROTOCOL_EXCHANGE;
	stats->backend = lend__backend->name;
	return 0;
}

static int
add_huge(const struct page_buf *buf, size_t *bytes)
{
	void *start = load_relaxed(&buf->start);
	size_t size = load_relaxed(&buf->bytes);

	return start && size ? os_huge_bytes(start, size, bytes) : 0;
}

int
lend_arena_huge_bytes(const lend_arena *arena, size_t *bytes)
{
	size_t sum = 0;
	int error = 0;

	if (!arena || !bytes)
		return -EINVAL;
	for (uint32_t i = 0; i < registry_count(&arena->bufs); i++) {
		const struct bufs *bufs = registry_at(&arena->bufs, i);

		error = add_huge(&bufs->a, &sum);
		if (!error)
			error = add_huge(&bufs->tile, &sum);
		if (!error)
			error = add_huge(&bufs->scatter, &sum);
		if (error)
			return error;
	}
	for (uint32_t i = 0; i < registry_count(&arena->sets); i++) {
		const struct team_set *set = registry_at(&arena->sets, i);

		error = add_huge(&set->panel, &sum);
		if (!error)
			error = add_huge(&set->scatter, &sum);
		if (!error)
			error = add_huge(&set->barrier, &sum);
		if (error)
			return error;
	}
	for (uint32_t i = 0; i < registry_count(&arena->buffers); i++) {
		const struct buffer *buffer = registry_at(&arena->buffers, i);

		error = add_huge(&buffer->buf, &sum);
		if (error)
			return error;
	}
	*bytes = sum;
	return 0;
}

/* A text that is measured whole and written as far as it fits. */
struct text {
	char *at;
	size_t size;
	size_t length;
};

static __attribute__((format(printf, 2, 3))) void
append(struct text *text, const char *format, ...)
{
	size_t room = text->length < text->size ? text->size - text->length : 0;
	va_list args;
	int added;

	va_start(args, format);
	added = vsnprintf(room ? text->at + text->length : NULL, room, format,
			  args);
	va_end(args);
	if (added > 0)
		text->length += (size_t)added;
}

/*
 * The bytes of the UTF-8 character that begins here; 0: none does.  No longer
 * form than needed, no surrogates, nothing above U+10FFFF.
 */
static int
utf8_length(const unsigned char *c)
{
	unsigned char low = 0x80, high = 0xbf;
	int length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 :
		     c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;

	/* What the first byte leaves to the second. */
	if (c[0] == 0xe0)
		low = 0xa0;
	else if (c[0] == 0xf0)
		low = 0x90;
	else if (c[0] == 0xed)
		high = 0x9f;
	else if (c[0] == 0xf4)
		high = 0x8f;
	if (length > 1 && (c[1] < low || c[1] > high))
		return 0;
	/* The string's end is no such byte, so nothing past it is read. */
	for (int i = 2; i < length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* JSON is UTF-8: any other byte becomes U+FFFD. */
static void
append_string(struct text *text, const char *string)
{
	int length;

	append(text, "\"");
	for (; *string; string += length) {
		unsigned char c = (unsigned char)*string;

		length = utf8_length((const unsigned char *)string);
		if (c == '"' || c == '\\')
			append(text, "\\%c", c);
		else if (c < 0x20)
			append(text, "\\u%04x", c);
		else if (length == 0)
			append(text, "\xef\xbf\xbd");
		else
			append(text, "%.*s", length, string);
		length += length == 0;
	}
	append(text, "\"");
}

static void
append_stats(struct text *text, const struct lend_stats *stats)
{
	append(text, ",\"retained_bytes\":%zu,\"leased_bytes\":%zu"
	       ",\"panel_bytes\":%zu,\"limit_bytes\":%zu",
	       stats->retained_bytes, stats->leased_bytes, stats->panel_bytes,
	       stats->limit_bytes);
	append(text, ",\"slots_idle\":%zu,\"slots_out\":%zu"
	       ",\"sets_idle\":%zu,\"sets_out\":%zu", stats->slots_idle,
	       stats->slots_out, stats->sets_idle, stats->sets_out);
	append(text, ",\"buffer_bytes\":%zu,\"buffers_idle\":%zu"
	       ",\"buffers_out\":%zu", stats->buffer_bytes,
	       stats->buffers_idle, stats->buffers_out);
	append(text, ",\"growths\":%llu,\"reentrant\":%llu"
	       ",\"abandoned\":%llu,\"adopted\":%llu,\"trims\":%llu",
	       (unsigned long long)stats->growths,
	       (unsigned long long)stats->reentrant,
	       (unsigned long long)stats->abandoned,
	       (unsigned long long)stats->adopted,
	       (unsigned long long)stats->trims);
	append(text, ",\"protocol\":\"%s\",\"backend\":\"%s\"",
	       stats->protocol == LEND_PROTOCOL_FAST ? "fast" : "exchange",
	       stats->backend);
}

ssize_t
lend_arena_stats_json(const lend_arena *arena, char *buffer, size_t size)
{
	struct text text = { buffer, size, 0 };
	struct lend_stats stats;
	size_t huge;

	if (!arena || (!buffer && size))
		return -EINVAL;
	(void)lend_arena_stats(arena, &stats);
	append(&text, "{\"name\":");
	append_string(&text, arena->name);
	append(&text, ",\"key\":%llu", (unsigned long long)stats.key);
	append_stats(&text, &stats);
	if (lend_arena_huge_bytes(arena, &huge) == 0)
		append(&text, ",\"huge_bytes\":%zu}", huge);
	else
		append(&text, ",\"huge_bytes\":null}");
	return (ssize_t)text.length;
}

void
stats_print(const struct lend_arena *arena)
{
	char text[1536];

	if (lend_arena_stats_json(arena, text, sizeof(text)) >= 0)
		os_complain("lend: %s\n", text);
}

/* At the program's end: the arenas that are still there. */
static __attribute__((destructor)) void
print_all(void)
{
	if (!lend__conf.stats_print)
		return;
	reclaim_read_begin();
	for (uint32_t i = 0; i < directory_count(); i++) {
		const struct lend_arena *arena = directory_at(i);

		if (arena)
			stats_print(arena);
	}
	reclaim_read_end();
}
