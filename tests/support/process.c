/* SPDX-License-Identifier: MIT */
#include "support/process.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * ThreadSanitizer's deadlock detector knows 64 locks per thread, and stops
 * the program when jemalloc takes more of its own for a fork.  Nor shall it
 * stop a child for starting a thread, as it does when its parent had some.
 */
__attribute__((visibility("default"))) const char *
__tsan_default_options(void);

const char *
__tsan_default_options(void)
{
	return "detect_deadlocks=0:die_after_fork=0";
}

/* The beginning of a small file, terminated; empty when there is none. */
static void
read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
}

/* The first number in the text. */
static size_t
number_in(const char *text)
{
	size_t value = 0;

	while (*text && (*text < '0' || *text > '9'))
		text++;
	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (size_t)(*text - '0');
	return value;
}

/* Not statm, whose count lags behind by some pages per processor. */
size_t
process_resident(void)
{
	char text[2048];
	const char *line;

	read_text("/proc/self/smaps_rollup", text, sizeof text);
	line = strstr(text, "\nRss:");
	return line ? number_in(line) << 10 : 0;
}

size_t
process_mapped(void)
{
	char text[128];

	read_text("/proc/self/statm", text, sizeof text);
	return number_in(text) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t
process_present(void *p, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 0;
	unsigned char seen;

	for (size_t at = 0; at < size; at += page)
		if (mincore((char *)p + at, page, &seen) == 0 && (seen & 1))
			bytes += page;
	return bytes;
}

#define THP "/sys/kernel/mm/transparent_hugepage/"

bool
process_huge_pages(void)
{
	char all[128], size[128];

	read_text(THP "enabled", all, sizeof all);
	/* Newer kernels have a word for each size besides. */
	read_text(THP "hugepages-2048kB/enabled", size, sizeof size);
	if (all[0] == '\0' || prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
		return false;
	if (size[0] == '\0' || strstr(size, "[inherit]"))
		return !strstr(all, "[never]");
	return !strstr(size, "[never]");
}

int
process_child(int (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 128 + WTERMSIG(status);
}

#define LOW_HALF(i) \
	(offsetof(struct seccomp_data, args) + (size_t)(i) * 8 + \
	 (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))

bool
process_deny(long number, int index, uint32_t value, int error)
{
	struct sock_filter deny[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 LOW_HALF(index < 0 ? 0 : index)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K,
			 SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof deny / sizeof deny[0],
		.filter = deny,
	};

	/* Any value: equal or not, go to the denial. */
	if (index < 0)
		deny[3].jf = 0;
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
