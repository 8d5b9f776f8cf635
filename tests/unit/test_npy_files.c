/* SPDX-License-Identifier: MIT */
/* .npy files: how they are opened, how they appear, how they do not. */
#include "tools/npy.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/suite.h"

#define VALUES 6

static char directory[] = "/tmp/test_npy_XXXXXX";
static const double values[VALUES] = { 1, -2, 3.5, 0x1p-1000, 1e300, 0 };
static const struct npy_header shape = { .type = LEND_F64, .rank = 2,
					 .extent = { 2, 3 } };

static size_t
files(void)
{
	DIR *open = opendir(".");
	struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(open)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(open);
	return n;
}

static void
set_up(void)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert(!chdir(directory));
	npy_named = false;
}

static void
tear_down(void)
{
	char command[128];

	ck_assert(!chdir("/"));
	snprintf(command, sizeof command, "rm -rf %s", directory);
	ck_assert(!system(command));
}

/* The values after `pad` more spaces in the header, in either order. */
static void
write_file(const char *path, size_t pad, bool foreign)
{
	FILE *file = fopen(path, "w");
	bool little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != foreign;
	char dict[256];
	int n = snprintf(dict, sizeof dict, "{'descr': '%cf8', "
			 "'fortran_order': False, 'shape': (2, 3)}%*s\n",
			 little ? '<' : '>', (int)pad, "");

	ck_assert_ptr_nonnull(file);
	fwrite("\x93NUMPY\x01", 1, 8, file);
	fputc(n & 0xff, file);
	fputc(n >> 8, file);
	fputs(dict, file);
	for (size_t i = 0; i < VALUES; i++) {
		uint64_t bits;

		memcpy(&bits, &values[i], sizeof bits);
		if (foreign)
			bits = __builtin_bswap64(bits);
		fwrite(&bits, sizeof bits, 1, file);
	}
	fclose(file);
}

START_TEST(opens)
{
	/* Every alignment of the elements, in both orders. */
	bool foreign = _i >= 16;
	struct npy_input input;
	struct message why = { "" };

	write_file("a.npy", (size_t)_i % 16, foreign);
	if (!npy_open(&input, "a.npy", &why))
		ck_abort_msg("refused: %s", why.text);
	ck_assert_uint_eq((uintptr_t)input.data % sizeof(double), 0);
	ck_assert(!memcmp(input.data, values, sizeof values));
	ck_assert_int_eq(input.mapped,
			 !foreign && input.header.data % 8 == 0);
	ck_assert(npy_unchanged(&input, &why));
	npy_close(&input);
}
END_TEST

START_TEST(sees_changes)
{
	struct npy_input input;
	struct message why = { "" };

	write_file("a.npy", 0, true);
	ck_assert(npy_open(&input, "a.npy", &why));
	ck_assert(!truncate("a.npy", 100));
	ck_assert(!npy_unchanged(&input, &why));
	ck_assert_ptr_nonnull(strstr(why.text, "changed"));
	npy_close(&input);
}
END_TEST

static void
must_not_open(const char *path, const char *what)
{
	struct npy_input input;
	struct message why = { "" };

	ck_assert(!npy_open(&input, path, &why));
	if (!strstr(why.text, what))
		ck_abort_msg("'%s' does not say '%s'", why.text, what);
}

START_TEST(opens_no_other)
{
	must_not_open("none.npy", "No such file");
	must_not_open(".", "is a directory");
	ck_assert(!mkfifo("pipe", 0600));
	must_not_open("pipe", "is not a regular file");
	ck_assert(!close(creat("empty", 0600)));
	must_not_open("empty", "is empty");
	/* The descriptor of what was refused is closed: this one is next. */
	ck_assert_int_eq(open(".", O_RDONLY), open("/", O_RDONLY) - 1);
}
END_TEST

static void
must_create(struct npy_output *output, const char *path)
{
	struct message why = { "" };

	if (!npy_create(output, path, &shape, &why))
		ck_abort_msg("refused: %s", why.text);
	ck_assert_uint_eq((uintptr_t)output->data % 64, 0);
	memcpy(output->data, values, sizeof values);
}

static void
must_commit(struct npy_output *output)
{
	struct message why = { "" };

	if (!npy_commit(output, &why))
		ck_abort_msg("refused: %s", why.text);
}

static void
must_hold_values(const char *path)
{
	struct npy_input input;

	ck_assert(npy_open(&input, path, NULL));
	ck_assert_uint_eq(input.header.rank, shape.rank);
	ck_assert(!memcmp(input.data, values, sizeof values));
	npy_close(&input);
}

/* Both ways of making a file. */
START_TEST(appears_at_the_end)
{
	struct npy_output output;
	struct stat seen;
	mode_t mask = umask(027);

	npy_named = _i;
	must_create(&output, "c.npy");
	ck_assert_int_ne(access("c.npy", F_OK), 0);
	ck_assert_uint_eq(files(), npy_named);
	must_commit(&output);
	ck_assert_uint_eq(files(), 1);
	must_hold_values("c.npy");
	ck_assert(!stat("c.npy", &seen));
	ck_assert_int_eq(seen.st_mode & 0777, 0640);
	umask(mask);
}
END_TEST

START_TEST(replaces)
{
	struct npy_output output;

	npy_named = _i;
	ck_assert(!close(creat("c.npy", 0600)));
	must_create(&output, "c.npy");
	must_not_open("c.npy", "is empty");
	must_commit(&output);
	must_hold_values("c.npy");
	ck_assert_uint_eq(files(), 1);
}
END_TEST

START_TEST(discards)
{
	struct npy_output output;

	npy_named = _i;
	must_create(&output, "c.npy");
	npy_discard(&output);
	ck_assert_uint_eq(files(), 0);
}
END_TEST

START_TEST(follows_links)
{
	struct npy_output output;
	struct stat seen;

	npy_named = _i;
	ck_assert(!mkdir("there", 0700));
	ck_assert(!close(creat("there/c.npy", 0600)));
	ck_assert(!symlink("there/c.npy", "link.npy"));
	must_create(&output, "link.npy");
	must_commit(&output);
	ck_assert(!lstat("link.npy", &seen) && S_ISLNK(seen.st_mode));
	must_hold_values("there/c.npy");
	ck_assert_uint_eq(files(), 2);
}
END_TEST

/* The name is taken by a folder after the beginning: nothing is left. */
START_TEST(fails_to_appear)
{
	struct npy_output output;
	struct message why = { "" };

	npy_named = _i;
	must_create(&output, "c.npy");
	ck_assert(!mkdir("c.npy", 0700));
	ck_assert(!npy_commit(&output, &why));
	ck_assert_ptr_nonnull(strstr(why.text, "cannot be given its name"));
	ck_assert_uint_eq(files(), 1);
}
END_TEST

static void
must_not_create(const char *path, const struct npy_header *header,
		const char *what)
{
	struct npy_output output;
	struct message why = { "" };

	ck_assert(!npy_create(&output, path, header, &why));
	if (!strstr(why.text, what))
		ck_abort_msg("'%s' does not say '%s'", why.text, what);
	ck_assert_uint_eq(files(), 0);
}

START_TEST(creates_no_other)
{
	struct npy_header huge = { .type = LEND_F64, .rank = 1,
				   .extent = { PTRDIFF_MAX / 8 } };

	npy_named = _i;
	must_not_create("", &shape, "names no file");
	must_not_create("folder/", &shape, "names no file");
	must_not_create("folder/c.npy", &shape, "directory 'folder': No such");
	must_not_create(".", &shape, "is a directory");
	must_not_create("/dev/null", &shape, "is not a regular file");
	must_not_create("c.npy", &huge, "");
	huge.extent[0] = PTRDIFF_MAX;
	must_not_create("c.npy", &huge, "overflows");
}
END_TEST

START_TEST(needs_its_storage)
{
	struct rlimit limit = { 4096, RLIM_INFINITY }, before;
	struct npy_header large = { .type = LEND_F64, .rank = 1,
				    .extent = { 1000 } };

	npy_named = _i;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert(!getrlimit(RLIMIT_FSIZE, &before));
	limit.rlim_max = before.rlim_max;
	ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
	must_not_create("c.npy", &large, "no storage for its 8128 bytes");
	ck_assert(!setrlimit(RLIMIT_FSIZE, &before));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("npy_files");
	TCase *inputs = suite_case(suite, "inputs");
	TCase *outputs = suite_case(suite, "outputs");

	tcase_add_checked_fixture(inputs, set_up, tear_down);
	tcase_add_checked_fixture(outputs, set_up, tear_down);
	tcase_add_loop_test(inputs, opens, 0, 32);
	tcase_add_test(inputs, sees_changes);
	tcase_add_test(inputs, opens_no_other);
	/* 1: with a temporary name. */
	tcase_add_loop_test(outputs, appears_at_the_end, 0, 2);
	tcase_add_loop_test(outputs, replaces, 0, 2);
	tcase_add_loop_test(outputs, discards, 0, 2);
	tcase_add_loop_test(outputs, follows_links, 0, 2);
	tcase_add_loop_test(outputs, fails_to_appear, 0, 2);
	tcase_add_loop_test(outputs, creates_no_other, 0, 2);
	tcase_add_loop_test(outputs, needs_its_storage, 0, 2);
	return suite_run(suite);
}
