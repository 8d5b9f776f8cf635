/* SPDX-License-Identifier: MIT */
#include "tools/machine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file's first line, without its end. */
static bool
read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	bool done;

	if (!file)
		return false;
	done = fgets(text, (int)size, file);
	fclose(file);
	if (done)
		text[strcspn(text, "\n")] = '\0';
	return done;
}

void
machine_huge_pages(char text[MACHINE_TEXT])
{
	char line[MACHINE_TEXT], *begin, *end;

	strcpy(text, "?");
	if (!read_line("/sys/kernel/mm/transparent_hugepage/enabled", line,
		       sizeof line))
		return;
	begin = strchr(line, '[');
	end = strchr(line, ']');
	if (!begin || !end || end < begin)
		return;
	*end = '\0';
	strcpy(text, begin + 1);
}

bool
machine_reserved_pages(size_t *pages)
{
	static const char key[] = "HugePages_Free:";
	FILE *file = fopen("/proc/meminfo", "re");
	char line[MACHINE_TEXT];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof line, file)) {
		found = !strncmp(line, key, sizeof key - 1);
		if (found)
			*pages = strtoul(line + sizeof key - 1, NULL, 10);
	}
	fclose(file);
	return found;
}

size_t
machine_nodes(void)
{
	DIR *directory = opendir("/sys/devices/system/node");
	struct dirent *entry;
	size_t nodes = 0;

	if (!directory)
		return 1;
	while ((entry = readdir(directory)))
		if (!strncmp(entry->d_name, "node", 4) &&
		    entry->d_name[4] >= '0' && entry->d_name[4] <= '9')
			nodes++;
	closedir(directory);
	return nodes ? nodes : 1;
}

bool
machine_cache(size_t i, struct machine_cache *cache)
{
	static const char *const names[] = { "level", "type", "size" };
	char *const texts[] = { cache->level, cache->type, cache->size };
	const size_t sizes[] = { sizeof cache->level, sizeof cache->type,
				 sizeof cache->size };
	char path[MACHINE_TEXT];

	for (size_t j = 0; j < 3; j++) {
		snprintf(path, sizeof path,
			 "/sys/devices/system/cpu/cpu0/cache/index%zu/%s", i,
			 names[j]);
		if (!read_line(path, texts[j], sizes[j]))
			return false;
	}
	return true;
}
