/* SPDX-License-Identifier: MIT */
/* lend stats: what the library is on this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/json.h"
#include "tools/machine.h"
#include "tools/message.h"
#include "tools/print.h"
#include "tools/threads.h"

enum { OPT_JSON = 1 };

static const struct args_option options[] = {
	{ "json", OPT_JSON, 0, NULL, "print JSON" },
	ARGS_HELP,
	{ 0 },
};

static const char *const kernels[] = { "avx512", "avx2", "portable" };
#define KERNELS (sizeof kernels / sizeof kernels[0])

struct facts {
	struct lend_stats stats;
	bool kernel[KERNELS];
	const char *best;
	bool reserved_known;
	size_t reserved;
	char huge[MACHINE_TEXT];
	const char *conf;
};

/*
 * Which kernel a plan has that asks for `name`, or null for the best; null:
 * none.
 */
static const char *
kernel_of(const char *name)
{
	size_t a[] = { 64, 64 };
	struct lend_layout layout = { 2, a, NULL };
	struct lend_plan_options wish = { .size = sizeof wish, .kernel = name };
	struct lend_plan_info info = { .size = sizeof info };
	const char *found = NULL;
	lend_plan *plan;

	if (lend_plan_create(&plan, "ab,bc->ac", LEND_F64, &layout, &layout,
			     NULL, &wish, NULL))
		return NULL;
	if (!lend_plan_describe(plan, 1, &info))
		found = info.kernel;
	lend_plan_destroy(plan);
	return found;
}

static int
find_out(struct facts *facts)
{
	lend_arena *arena;
	int error = lend_arena_create(&arena, NULL);

	if (!error)
		error = lend_arena_stats(arena, &facts->stats);
	if (error)
		return complain("stats: an arena: %s", strerror(-error));
	/* No loan is out, so that it cannot be refused. */
	if (lend_arena_destroy(arena))
		return STATUS_BAD;
	for (size_t i = 0; i < KERNELS; i++)
		facts->kernel[i] = kernel_of(kernels[i]);
	facts->best = kernel_of(NULL);
	machine_huge_pages(facts->huge);
	facts->reserved_known = machine_reserved_pages(&facts->reserved);
	facts->conf = getenv("LEND_CONF");
	return 0;
}

static const char *
protocol(const struct facts *facts)
{
	return facts->stats.protocol == LEND_PROTOCOL_FAST ? "fast"
							   : "exchange";
}

static void
print_kernels(const struct facts *facts)
{
	char text[MACHINE_TEXT] = "";

	for (size_t i = 0; i < KERNELS; i++)
		if (facts->kernel[i])
			snprintf(text + strlen(text),
				 sizeof text - strlen(text), "%s%s",
				 text[0] ? ", " : "", kernels[i]);
	print_line("kernels", "%s; the best is %s", text,
		   facts->best ? facts->best : "?");
}

static void
print_human(const struct facts *facts)
{
	struct machine_cache cache;
	char text[PRINT_SIZE];

	puts("lend " PACKAGE_VERSION);
	print_line("backend", "%s", facts->stats.backend);
	print_line("protocol", "%s", protocol(facts));
	if (facts->stats.limit_bytes)
		print_line("limit", "%s",
			   print_bytes((double)facts->stats.limit_bytes,
				       text));
	print_line("LEND_CONF", "%s", facts->conf ? facts->conf : "not set");
	print_kernels(facts);
	print_line("processors", "%zu", threads_of_machine());
	print_line("NUMA nodes", "%zu", machine_nodes());
	for (size_t i = 0; machine_cache(i, &cache); i++)
		print_line(i ? "" : "caches", "L%s %s, %s", cache.level,
			   cache.size, cache.type);
	if (facts->reserved_known)
		print_line("huge pages", "transparent: %s; reserved and free: "
			   "%zu", facts->huge, facts->reserved);
	else
		print_line("huge pages", "transparent: %s", facts->huge);
}

static void
json_caches(struct json_out *json)
{
	struct machine_cache cache;

	json_begin(json, "caches", '[');
	for (size_t i = 0; machine_cache(i, &cache); i++) {
		json_begin(json, NULL, '{');
		json_put_size(json, "level", strtoul(cache.level, NULL, 10));
		json_put_text(json, "type", cache.type);
		json_put_text(json, "size", cache.size);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void
print_json(const struct facts *facts)
{
	struct json_out json = { .file = stdout };

	json_begin(&json, NULL, '{');
	json_put_text(&json, "version", PACKAGE_VERSION);
	json_put_text(&json, "backend", facts->stats.backend);
	json_put_text(&json, "protocol", protocol(facts));
	json_put_size(&json, "limit_bytes", facts->stats.limit_bytes);
	if (facts->conf)
		json_put_text(&json, "conf", facts->conf);
	else
		json_put_null(&json, "conf");
	json_begin(&json, "kernels", '[');
	for (size_t i = 0; i < KERNELS; i++)
		if (facts->kernel[i])
			json_put_text(&json, NULL, kernels[i]);
	json_end(&json, ']');
	if (facts->best)
		json_put_text(&json, "kernel", facts->best);
	else
		json_put_null(&json, "kernel");
	json_put_size(&json, "processors", threads_of_machine());
	json_put_size(&json, "numa_nodes", machine_nodes());
	json_caches(&json);
	json_put_text(&json, "transparent_huge_pages", facts->huge);
	if (facts->reserved_known)
		json_put_size(&json, "reserved_huge_pages_free", facts->reserved);
	else
		json_put_null(&json, "reserved_huge_pages_free");
	json_end(&json, '}');
}

static int
run(const struct args_command *command, int argc, char **argv)
{
	struct facts facts = { 0 };
	bool json = false;
	struct args args;
	int key, status;

	args_start(&args, command, argc, argv);
	while ((key = args_next(&args)) != ARGS_END) {
		if (key == ARGS_STOP)
			return args.status;
		json = true;
	}
	if (!args_operands(&args, 0, 0))
		return args.status;
	status = find_out(&facts);
	if (!status)
		(json ? print_json : print_human)(&facts);
	return status;
}

const struct args_command command_stats = {
	"stats", "",
	"tell what the library is on this machine",
	"Tells what the library is on this machine: its backend and protocol, the\n"
	"kernels that the processor has, caches, huge pages, memory nodes.",
	options, run,
};
