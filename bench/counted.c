/* SPDX-License-Identifier: MIT */
/*
 * What a loan in the steady state costs beside time: system calls and calls
 * of an allocator, counted, not trusted.
 *
 *   parent                         child (this program again)
 *   traces the child   <--stops--  each thread: warm up, meet,
 *   and counts system              marker, the loans, marker
 *   calls between the
 *   two markers
 *
 * Before the loans, a control runs that makes one system call and one
 * allocation per turn: if these are not seen, neither would those of a loan
 * be, and nothing is said.
 *
 * Prints one line per number of threads: threads, loans, system calls, calls
 * of an allocator, growths; -1 for what could not be counted.
 */
#include "bench/counted.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness.h"

#ifndef __WALL
#define __WALL 0x40000000
#endif
/* Of the kernel's ABI; not in every C library's header. */
#define GET_SYSCALL_INFO 0x420e
#define INFO_ENTRY 1

/* As the kernel writes it: the part that an entry to a system call has. */
struct syscall_entry {
	uint8_t op;
	uint8_t pad[3];
	uint32_t arch;
	uint64_t instruction_pointer, stack_pointer;
	uint64_t number, argument[6];
};

struct traced {
	pid_t thread;
	bool inside;
};

struct counts {
	long long syscalls;
	struct counted_result result;
	bool valid;
};

static struct traced *
find(struct traced *threads, pid_t thread)
{
	for (int i = 0; i < 2 * COUNTED_THREADS_MAX; i++) {
		if (threads[i].thread == thread)
			return &threads[i];
		if (threads[i].thread == 0) {
			threads[i].thread = thread;
			return &threads[i];
		}
	}
	bench_die("too many threads");
}

/* Counts one system call's beginning.  False: the kernel does not tell. */
static bool
count_entry(struct traced *traced, long long *syscalls)
{
	struct syscall_entry entry = { .op = 0 };

	if (ptrace(GET_SYSCALL_INFO, traced->thread, (void *)sizeof(entry),
		   &entry) <= 0)
		return false;
	if (entry.op != INFO_ENTRY)
		return true;
	if (entry.number == SYS_prctl && entry.argument[0] == COUNTED_MARKER)
		traced->inside = entry.argument[1] == COUNTED_BEGIN;
	else if (traced->inside)
		++*syscalls;
	return true;
}

/* The signal to pass on to a thread that stopped. */
static int
signal_to_pass(int status)
{
	int signal = WSTOPSIG(status);

	/* Stops of the tracing itself, and a new thread's first stop. */
	if (status >> 16 || signal == SIGTRAP || signal == SIGSTOP)
		return 0;
	return signal;
}

/* Until the child ends.  The number of system calls, or -1. */
static long long
trace(pid_t child)
{
	struct traced threads[2 * COUNTED_THREADS_MAX] = { { 0 } };
	long long syscalls = 0;
	bool told = true;
	int status = 0;
	pid_t thread;

	if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status))
		return -1;
	if (ptrace(PTRACE_SETOPTIONS, child, NULL,
		   (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
				  PTRACE_O_EXITKILL)))
		return -1;
	ptrace(PTRACE_SYSCALL, child, NULL, NULL);
	while ((thread = waitpid(-1, &status, __WALL)) > 0) {
		int signal = 0;

		if (!WIFSTOPPED(status)) {
			if (thread == child)
				break;
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			told &= count_entry(find(threads, thread), &syscalls);
		} else {
			signal = signal_to_pass(status);
		}
		ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(long)signal);
	}
	return told ? syscalls : -1;
}

/* Becomes the child, its standard output the pipe. */
static _Noreturn void
become_child(enum counted_job job, int threads, size_t turns, int pipe_end)
{
	char job_text[16], threads_text[16], turns_text[32];
	char *const argv[] = {
		(char []) { "counted" }, (char []) { "--child" },
		job_text, threads_text, turns_text, NULL
	};

	snprintf(job_text, sizeof(job_text), "%d", (int)job);
	snprintf(threads_text, sizeof(threads_text), "%d", threads);
	snprintf(turns_text, sizeof(turns_text), "%zu", turns);
	if (dup2(pipe_end, STDOUT_FILENO) < 0)
		_exit(1);
	/* Refused: the parent sees no stop; the rest counts all the same. */
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		raise(SIGSTOP);
	execv("/proc/self/exe", argv);
	_exit(1);
}

static struct counts
count(enum counted_job job, int threads, size_t turns)
{
	struct counts counts = { .valid = false };
	int ends[2];
	pid_t child;

	if (pipe(ends))
		bench_die("pipe: %s", strerror(errno));
	fflush(stdout);
	child = fork();
	if (child < 0)
		bench_die("fork: %s", strerror(errno));
	if (child == 0)
		become_child(job, threads, turns, ends[1]);
	close(ends[1]);
	counts.syscalls = trace(child);
	counts.valid = read(ends[0], &counts.result, sizeof(counts.result)) ==
		       sizeof(counts.result);
	close(ends[0]);
	return counts;
}

static int
child_main(char **argv)
{
	struct counted_result result =
		counted_run((enum counted_job)atoi(argv[0]), atoi(argv[1]),
			    strtoul(argv[2], NULL, 10));

	return write(STDOUT_FILENO, &result, sizeof(result)) !=
	       sizeof(result);
}

int
main(int argc, char **argv)
{
	size_t turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	bool sees_syscalls, sees_calls;
	struct counts control;

	if (argc == 5 && strcmp(argv[1], "--child") == 0)
		return child_main(argv + 2);
	control = count(COUNTED_CONTROL, 1, turns);
	/* Each turn of the control allocates, frees, and calls the system. */
	sees_syscalls = control.syscalls == (long long)turns;
	sees_calls = control.valid &&
		     control.result.allocator_calls == 2 * turns;
	for (int threads = 1; threads <= 2; threads++) {
		struct counts loans = count(COUNTED_LOANS, threads, turns);

		if (!loans.valid)
			bench_die("the counted child failed");
		printf("%d %llu %lld %lld %lld\n", threads,
		       (unsigned long long)loans.result.loans,
		       sees_syscalls ? loans.syscalls : -1,
		       sees_calls ?
		       (long long)loans.result.allocator_calls : -1,
		       (long long)loans.result.growths);
	}
	return 0;
}
