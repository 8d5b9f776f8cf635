/* SPDX-License-Identifier: MIT */
/*
 * C++: that every public header is good C++11, and that a loan is returned
 * when an exception ends it.
 */
#include <lend/visibility.h>
#include <lend/arena.h>
#include <lend/exec.h>
#include <lend/request.h>
#include <lend/team.h>
#include <lend/worker.h>
#include <lend/workspace.h>
#include <lend/lend.h>
#include <lend/network.h>

#include <check.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>

namespace {

lend_stats
stats_of(const lend_arena *arena)
{
	lend_stats stats;

	std::memset(&stats, 0xff, sizeof(stats));
	(void)lend_arena_stats(arena, &stats);
	return stats;
}

lend_req
request_of(std::size_t bytes)
{
	lend_req req = lend_req();

	req.a_bytes = bytes;
	req.tile_bytes = bytes;
	req.worker_scatter = bytes / 8;
	return req;
}

lend_arena *
new_arena()
{
	lend_arena *arena = nullptr;

	ck_assert_int_eq(lend_arena_create(&arena, nullptr), 0);
	ck_assert_ptr_ne(arena, nullptr);
	return arena;
}

/* Nothing is out, and `bytes` are retained; the arena can go. */
void
end_arena(lend_arena *arena, std::size_t bytes)
{
	lend_stats stats = stats_of(arena);

	ck_assert_uint_eq(stats.slots_out, 0);
	ck_assert_uint_eq(stats.leased_bytes, 0);
	ck_assert_uint_eq(stats.retained_bytes, bytes);
	ck_assert_uint_eq(stats.abandoned, 0);
	ck_assert_int_eq(lend_arena_destroy(arena), 0);
}

/* What a callback of C++ may do: throw through the library. */
struct Thrower {
	lend_arena *arena;
	int depth;
	int level;
	int unwound;
};

struct Counted {
	int &count;
	explicit Counted(int &c) : count(c) {}
	~Counted() { count++; }
};

void
throw_at_depth(lend_worker *loan, void *ctx)
{
	Thrower *thrower = static_cast<Thrower *>(ctx);
	lend_req req = request_of(4096);
	Counted counted(thrower->unwound);

	std::memset(loan->a, 1, 4096);
	if (++thrower->level < thrower->depth) {
		int error = lend_with_worker(thrower->arena, &req,
					     throw_at_depth, ctx);
		ck_abort_msg("returned %d", error);
	}
	throw std::runtime_error("from depth " +
				 std::to_string(thrower->level));
}

/* The message of the exception that comes out of `depth` nested calls. */
std::string
caught(Thrower &thrower, int depth)
{
	lend_req req = request_of(4096);

	thrower.depth = depth;
	thrower.level = 0;
	thrower.unwound = 0;
	try {
		(void)!lend_with_worker(thrower.arena, &req, throw_at_depth,
					&thrower);
	} catch (const std::runtime_error &error) {
		return error.what();
	}
	return "nothing";
}

} // namespace

START_TEST(an_exception_returns_the_slot)
{
	Thrower thrower = { new_arena(), 0, 0, 0 };

	for (int i = 0; i < 10; i++) {
		ck_assert(caught(thrower, 1) == "from depth 1");
		ck_assert_int_eq(thrower.unwound, 1);
		ck_assert_uint_eq(stats_of(thrower.arena).slots_out, 0);
	}
	ck_assert_uint_eq(stats_of(thrower.arena).reentrant, 0);
	end_arena(thrower.arena, 3 * 4096);
}
END_TEST

START_TEST(an_exception_returns_all_nested_slots)
{
	Thrower thrower = { new_arena(), 0, 0, 0 };

	ck_assert(caught(thrower, 9) == "from depth 9");
	ck_assert_int_eq(thrower.unwound, 9);
	ck_assert_uint_eq(stats_of(thrower.arena).reentrant, 8);
	end_arena(thrower.arena, 3 * 4096);
}
END_TEST

/* A callback that catches what it threw itself ends plainly. */
static void
throw_and_catch(lend_worker *, void *ctx)
{
	try {
		throw 7;
	} catch (int value) {
		*static_cast<int *>(ctx) = value;
	}
}

START_TEST(an_exception_within_the_callback_is_its_own)
{
	lend_arena *arena = new_arena();
	lend_req req = request_of(4096);
	int value = 0;

	ck_assert_int_eq(lend_with_worker(arena, &req, throw_and_catch,
					  &value), 0);
	ck_assert_int_eq(value, 7);
	end_arena(arena, 3 * 4096);
}
END_TEST

/* A thread's end unwinds C++ callbacks, too, and runs their destructors. */
struct Ending {
	lend_arena *arena;
	bool cancelled;
	int unwound;
	lend_stats after;
};

static void
end_thread(lend_worker *, void *ctx)
{
	Ending *ending = static_cast<Ending *>(ctx);
	Counted counted(ending->unwound);

	if (ending->cancelled) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	pthread_exit(ctx);
}

struct Looks {
	Ending *ending;
	explicit Looks(Ending *e) : ending(e) {}
	~Looks() { ending->after = stats_of(ending->arena); }
};

static void *
run_ending(void *arg)
{
	Ending *ending = static_cast<Ending *>(arg);
	lend_req req = request_of(4096);
	Looks looks(ending);

	(void)!lend_with_worker(ending->arena, &req, end_thread, ending);
	return nullptr;
}

START_TEST(a_threads_end_returns_the_slot)
{
	Ending ending = { new_arena(), _i != 0, 0, lend_stats() };
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, nullptr, run_ending,
					&ending), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_eq(result, _i ? PTHREAD_CANCELED : &ending);
	ck_assert_int_eq(ending.unwound, 1);
	ck_assert_uint_eq(ending.after.slots_out, 0);
	ck_assert_uint_eq(ending.after.slots_idle, 1);
	end_arena(ending.arena, 3 * 4096);
}
END_TEST

/* The usual guard of C++ around the two plain calls. */
class Loan {
public:
	Loan(lend_arena *arena, const lend_req &req) : arena_(arena)
	{
		int error = lend_worker_checkout(arena, &req, &loan_);

		if (error)
			throw std::runtime_error(std::strerror(-error));
	}
	~Loan() { (void)lend_worker_return(arena_, &loan_); }
	Loan(const Loan &) = delete;
	Loan &operator=(const Loan &) = delete;
	lend_worker *operator->() { return &loan_; }

private:
	lend_arena *arena_;
	lend_worker loan_;
};

START_TEST(a_guard_of_the_host_serves)
{
	lend_arena *arena = new_arena();
	bool seen = false;

	try {
		Loan loan(arena, request_of(4096));
		Loan nested(arena, request_of(8192));

		std::memset(loan->a, 1, 4096);
		std::memset(nested->a, 1, 8192);
		ck_assert_uint_eq(stats_of(arena).slots_out, 1);
		throw 1;
	} catch (int) {
		seen = true;
	}
	ck_assert(seen);
	end_arena(arena, 3 * 4096);
}
END_TEST

/* Every struct, every initialiser, every call's types, from C++. */
START_TEST(the_whole_interface_serves)
{
	lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	lend_req req = { 4096, 4096, 512, 4096, 512, 2 };
	lend_workspace *workspace = nullptr;
	lend_team team;
	lend_exec exec;
	std::size_t bytes = 0;

	options.name = "cxx";
	lend_exec_serial(&exec);
	ck_assert_uint_eq(lend_exec_budget(&exec), 1);
	ck_assert_int_eq(lend_req_bytes(&req, &bytes), 0);
	ck_assert_uint_eq(bytes, 3 * 4096 + 2 * 4096 +
			  2 * LEND_BARRIER_BYTES);
	ck_assert_int_eq(lend_workspace_create(&workspace, &req, &options),
			 0);
	ck_assert_uint_eq(lend_workspace_have(workspace), bytes);
	ck_assert(lend_req_covered_by(&req, lend_workspace_req(workspace)));
	ck_assert_int_eq(lend_team_take(lend_workspace_arena(workspace), &req,
					1, 1, &team), 0);
	ck_assert(lend_barrier_wait(lend_team_barrier(&team, 1)));
	ck_assert_int_eq(lend_team_return(lend_workspace_arena(workspace),
					  &team), 0);
	ck_assert_int_eq(lend_workspace_destroy(workspace), 0);
}
END_TEST

int
main()
{
	Suite *suite = suite_create("cxx");
	TCase *loans = tcase_create("loans");
	SRunner *runner;
	int failed;

	tcase_set_timeout(loans, 60);
	tcase_add_test(loans, an_exception_returns_the_slot);
	tcase_add_test(loans, an_exception_returns_all_nested_slots);
	tcase_add_test(loans, an_exception_within_the_callback_is_its_own);
	tcase_add_loop_test(loans, a_threads_end_returns_the_slot, 0, 2);
	tcase_add_test(loans, a_guard_of_the_host_serves);
	tcase_add_test(loans, the_whole_interface_serves);
	suite_add_tcase(suite, loans);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
