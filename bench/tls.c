/* SPDX-License-Identifier: MIT */
#include "bench/tls.h"

#define EXPORT __attribute__((visibility("default")))
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#define DEFAULT_MODEL __attribute__((tls_model("global-dynamic")))

struct table {
	const struct tls_entry *entry;
	size_t length;
};

static _Thread_local struct table table INITIAL_EXEC;
static _Thread_local struct table table_default DEFAULT_MODEL;

EXPORT void
bench_tls_set(const struct tls_entry *entry, size_t length)
{
	table = (struct table) { entry, length };
	table_default = (struct table) { entry, length };
}

static inline void *
find(const struct table *t, size_t index, uint64_t key)
{
	if (index >= t->length || t->entry[index].key != key)
		return NULL;
	return t->entry[index].slot;
}

EXPORT void *
bench_tls_find(size_t index, uint64_t key)
{
	return find(&table, index, key);
}

EXPORT void *
bench_tls_find_default(size_t index, uint64_t key)
{
	return find(&table_default, index, key);
}
