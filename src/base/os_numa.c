/* SPDX-License-Identifier: MIT */
/* NUMA nodes: how many there are, and which one we run on. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/os_private.h"

#define NODE_LIST "/sys/devices/system/node/online"

unsigned
os_parse_nodes(const char *list)
{
	unsigned id = 0, nodes = 1;

	/* "0-1,4": the largest number of all is the highest id. */
	for (; *list; list++) {
		if (*list >= '0' && *list <= '9') {
			id = id * 10 + (unsigned)(*list - '0');
			if (id >= OS_NODES_MAX)
				return OS_NODES_MAX;
			if (id >= nodes)
				nodes = id + 1;
		} else if (*list == '-' || *list == ',') {
			id = 0;
		} else {
			break;
		}
	}
	return nodes;
}

static unsigned
read_nodes(void)
{
	int saved = errno;
	int state, fd;
	ssize_t n = -1;
	/* A list of 64 ids without a single range is shorter than this. */
	char list[256];

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	fd = open(NODE_LIST, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, list, sizeof list - 1);
		close(fd);
	}
	pthread_setcancelstate(state, NULL);
	errno = saved;
	list[n > 0 ? n : 0] = '\0';
	return os_parse_nodes(list);
}

unsigned
os_nodes(void)
{
	static _Atomic(unsigned) cached;
	/* Relaxed: a stale 0 costs one more read of the same file. */
	unsigned nodes = load_relaxed(&cached);

	if (nodes == 0) {
		nodes = read_nodes();
		/* Relaxed: the number is all that there is to publish. */
		store_relaxed(&cached, nodes);
	}
	return nodes;
}

unsigned
os_node(void)
{
	int saved = errno;
	unsigned node = 0, nodes = os_nodes();

	if (getcpu(NULL, &node))
		node = 0;
	errno = saved;
	/* A node that came online after the list was read has no entry. */
	return node < nodes ? node : nodes - 1;
}
